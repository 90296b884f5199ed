// Package collector joins the parts of a collector on one machine: what comes goes to the
// journal, and is acknowledged; one goroutine reads the journal and adds up; from time to time
// it writes a snapshot and trims the journal.
package collector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cairnprof/cairn/internal/fleet/depot"
	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/internal/fleet/journal"
	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/prof"
)

// Options are settings of a collector.
type Options struct {
	Traces          int           // of runs that a profile keeps
	MaxWaiting      int64         // bytes of raw files that may wait for the maps of their builds
	SnapshotRecords int           // records after which a snapshot is written
	SnapshotBytes   int64         // bytes of records after which it is written
	SnapshotEvery   time.Duration // after which it is written if there was a record
	MinFree         int64         // bytes that uploads leave on the disk, for snapshots
	Free            func() (int64, error)
	Log             *slog.Logger
}

// Errors of Submit that a sender should try again after.
var (
	ErrWaiting = errors.New("too many raw files wait for the maps of their builds")
	ErrNoSpace = errors.New("no space left on the collector's disk")
)

// Collector collects. Its methods may be called by any number of goroutines.
type Collector struct {
	o       Options
	journal journal.Journal
	depot   *depot.Dir
	cancel  context.CancelFunc
	ended   chan struct{}

	mu     sync.Mutex
	state  *tally.State
	moved  chan struct{} // closed, and replaced, when the state changes
	failed error         // why merging ended

	snapshots, snapshotErrors uint64
}

// Open continues what is in a journal and a depot, which Close closes.
func Open(j journal.Journal, d *depot.Dir, o Options) (*Collector, error) {
	c := &Collector{o: o, journal: j, depot: d, ended: make(chan struct{}), moved: make(chan struct{})}
	head, err := d.Head()
	if err != nil {
		return nil, err
	}
	if c.state = tally.New(o.Traces); head != nil {
		if c.state, err = tally.Restore(head, d, o.Traces); err != nil {
			return nil, err
		}
	}
	r, err := j.Read(c.state.Seq() + 1)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go c.merge(ctx, r)
	return c, nil
}

// Result says what became of the files of an upload.
type Result struct {
	Files int `json:"files"` // that are durable now
	Known int `json:"known"` // of them, those that were there before
}

// Submit makes items durable. They are merged soon after.
func (c *Collector) Submit(ctx context.Context, items []inbox.Item) (Result, []inbox.Refusal, error) {
	fresh, refused, err := c.sift(items)
	if err != nil {
		return Result{}, nil, err
	}
	result := Result{Files: len(items) - len(refused), Known: len(items) - len(refused) - len(fresh)}
	if len(fresh) == 0 {
		return result, refused, nil
	}
	if free, err := c.o.Free(); err != nil {
		return Result{}, nil, err
	} else if free < c.o.MinFree {
		return Result{}, nil, fmt.Errorf("%w: %d bytes are free, %d are kept for snapshots", ErrNoSpace, free, c.o.MinFree)
	}
	record, err := encodeRecord(time.Now().UnixNano(), fresh)
	if err != nil {
		return Result{}, nil, err
	}
	if _, err := c.journal.Append(ctx, record); errors.Is(err, journal.ErrFull) {
		return Result{}, nil, fmt.Errorf("%w: %w", ErrNoSpace, err)
	} else if err != nil {
		return Result{}, nil, err
	}
	return result, refused, nil
}

// sift leaves out what was counted already, and maps that cannot be taken.
func (c *Collector) sift(items []inbox.Item) (fresh []inbox.Item, refused []inbox.Refusal, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return nil, nil, c.failed
	}
	coming := make(map[prof.BuildID]bool)
	unknown := int64(0)
	for i := range items {
		it := &items[i]
		if c.state.Has(it.Key) {
			continue
		}
		if it.Kind == inbox.Map {
			coming[it.Build] = true
			if err := c.state.CheckMap(it); err != nil {
				refused = append(refused, inbox.Refusal{Index: it.Index, Name: it.Name, Reason: err.Error()})
				continue
			}
		} else if !coming[it.Build] && !c.state.Known(it.Build) {
			unknown += int64(len(it.Data))
		}
		fresh = append(fresh, *it)
	}
	if _, waiting := c.state.Waiting(); unknown > 0 && waiting+unknown > c.o.MaxWaiting {
		return nil, nil, fmt.Errorf("%w: %d bytes", ErrWaiting, waiting)
	}
	return fresh, refused, nil
}

// merge applies the records of the journal until ctx ends.
func (c *Collector) merge(ctx context.Context, r journal.Reader) {
	defer close(c.ended)
	defer r.Close()
	records, bytes := 0, int64(0) // since the last snapshot
	var due time.Time             // of the next, zero if nothing came
	for {
		record, err := nextUntil(ctx, r, due)
		switch {
		case err == nil:
			if err := c.apply(record); err != nil {
				c.fail(fmt.Errorf("record %d of the journal: %w", record.Seq, err))
				return
			}
			records++
			bytes += int64(len(record.Data))
			if due.IsZero() {
				due = time.Now().Add(c.o.SnapshotEvery)
			}
			if records < c.o.SnapshotRecords && bytes < c.o.SnapshotBytes && time.Now().Before(due) {
				continue
			}
		case ctx.Err() != nil || errors.Is(err, journal.ErrClosed):
			return
		case !errors.Is(err, context.DeadlineExceeded):
			c.fail(err)
			return
		}
		records, bytes, due = 0, 0, time.Time{}
		if err := c.Snapshot(); err != nil {
			c.o.Log.Error("writing a snapshot; it is tried again", "error", err)
			due = time.Now().Add(c.o.SnapshotEvery)
		}
	}
}

// nextUntil is Next of a reader that waits until due at most, if that is a time.
func nextUntil(ctx context.Context, r journal.Reader, due time.Time) (journal.Record, error) {
	if due.IsZero() {
		return r.Next(ctx)
	}
	ctx, cancel := context.WithDeadline(ctx, due)
	defer cancel()
	return r.Next(ctx)
}

func (c *Collector) apply(r journal.Record) error {
	at, items, err := decodeRecord(r.Data)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.state.Apply(r.Seq, at, items); err != nil {
		return err
	}
	close(c.moved)
	c.moved = make(chan struct{})
	return nil
}

// fail ends merging: uploads are refused from now on.
func (c *Collector) fail(err error) {
	c.o.Log.Error("merging ended", "error", err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = err
	close(c.moved)
	c.moved = make(chan struct{})
}

// Snapshot writes a snapshot and trims the journal.
func (c *Collector) Snapshot() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.snapshot()
	if err != nil {
		c.snapshotErrors++
	} else {
		c.snapshots++
	}
	return err
}

func (c *Collector) snapshot() error {
	list, used, err := c.state.Snapshot(c.depot)
	if err != nil {
		return err
	}
	if err := c.depot.SetHead(list); err != nil {
		return err
	}
	if err := c.depot.Keep(used); err != nil {
		return err
	}
	return c.journal.Trim(c.state.Seq())
}

// look calls f with the state, in which all is that was acknowledged before.
func (c *Collector) look(ctx context.Context, f func(*tally.State) error) error {
	last, err := c.journal.Last()
	if err != nil {
		return err
	}
	for {
		c.mu.Lock()
		if c.failed != nil || c.state.Seq() >= last {
			defer c.mu.Unlock()
			return f(c.state)
		}
		moved := c.moved
		c.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Profile returns the profile of a program as a file, see tally.State.Profile.
func (c *Collector) Profile(ctx context.Context, program, build string) (data []byte, err error) {
	err = c.look(ctx, func(s *tally.State) (err error) {
		data, err = s.Profile(program, build)
		return err
	})
	return data, err
}

// Map returns the map of a build as a file.
func (c *Collector) Map(ctx context.Context, id prof.BuildID) (data []byte, err error) {
	err = c.look(ctx, func(s *tally.State) (err error) {
		data, err = s.Map(id)
		return err
	})
	return data, err
}

// Builds returns the list of builds.
func (c *Collector) Builds(ctx context.Context) (list []tally.Build, err error) {
	err = c.look(ctx, func(s *tally.State) error {
		list = s.Builds()
		return nil
	})
	return list, err
}

// Status is what metrics say.
type Status struct {
	tally.Totals
	Builds, Waiting           int
	WaitingBytes              int64
	Seen                      int
	Last, Merged              uint64 // numbers of records
	Snapshots, SnapshotErrors uint64
	Err                       error // why nothing is taken any more
}

// Status returns the state of the collector.
func (c *Collector) Status() Status {
	last, err := c.journal.Last()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Status{
		Totals: c.state.Totals(), Builds: c.state.Len(), Seen: c.state.Seen(), Last: last, Merged: c.state.Seq(),
		Snapshots: c.snapshots, SnapshotErrors: c.snapshotErrors, Err: errors.Join(err, c.failed),
	}
	s.Waiting, s.WaitingBytes = c.state.Waiting()
	return s
}

// Close merges what is acknowledged, writes a last snapshot, and closes the journal. Without
// any of it nothing would be lost: the next Open does the same.
func (c *Collector) Close(ctx context.Context) error {
	merged := c.look(ctx, func(*tally.State) error { return nil })
	c.cancel()
	<-c.ended
	if merged == nil && c.failed == nil {
		merged = c.Snapshot()
	}
	return errors.Join(merged, c.journal.Close())
}

// Kill closes the journal without anything else, as the end of the process would.
func (c *Collector) Kill() error {
	c.cancel()
	<-c.ended
	return c.journal.Close()
}
