// Package collector merges uploads. Submit appends an upload to a journal and returns when it is
// durable; one goroutine reads the journal and merges the files; from time to time it writes a
// snapshot to a store and trims the journal.
package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/internal/fleet/journal"
	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/prof"
)

// Options are settings of a collector.
type Options struct {
	tally.Limits
	Sender          tally.Use     // that one sender may have at most; Bytes 0 for half of the disk
	MaxWaiting      int64         // bytes of raw files that may wait for the maps of their builds
	SnapshotRecords int           // records after which a snapshot is written
	SnapshotBytes   int64         // bytes of records after which it is written
	SnapshotEvery   time.Duration // after which it is written if there was a record
	MinFree         int64         // bytes that uploads leave on the disk, for snapshots
	Free            func() (int64, error)
	Keep            time.Duration // after which builds without uploads are removed, 0 for never
	Grace           time.Duration // after the start in which none is removed: devices may send first
	Patience        time.Duration // that a request waits for what is not merged yet, or for a snapshot; 0 for 45 seconds
	// Shared says that other collectors append to the journal and write snapshots as well. A collector continues from
	// the snapshots of the others: it need not write its own, and what is in them need not be in its memory.
	Shared bool
	Log    *slog.Logger
}

// Errors of Submit after which a sender should try again.
var (
	ErrWaiting = errors.New("too many raw files wait for the maps of their builds")
	ErrNoSpace = errors.New("no space left on the collector's disk")
)

// ErrBehind reports that uploads come faster than they are merged: a reader should try again.
var ErrBehind = errors.New("uploads that were acknowledged before the request are not merged yet")

// patience is less than the minute after which clients and proxies expect the beginning of an answer.
const patience = 45 * time.Second

func (c *Collector) patience() time.Duration { return cmp.Or(c.o.Patience, patience) }

// Store keeps the objects of snapshots, and the list of those that are in the last one.
type Store interface {
	tally.Objects
	// Heads returns the lists of the last snapshots, the newest first; none if there is no snapshot.
	Heads() ([]Head, error)
	// SetHead sets the list of the newest snapshot, and that of the one before it, nil for none. When it returns, they
	// and all objects are durable. If another process
	// did so since Heads, it returns ErrSuperseded.
	SetHead(list, before []byte) error
	// Keep removes the objects that are not used.
	Keep(used map[string]bool) error
}

// Head is the list of a snapshot, or why it cannot be read.
type Head struct {
	List []byte
	Err  error
}

// ErrObjects is in the error of a Store that may have lost objects which Put returned a name of: the state must not
// be used any more, but is that of the last snapshot and the journal.
var ErrObjects = errors.New("the disk lost what was written")

// Remote is a Store that several collectors share, and that is far away.
type Remote interface {
	// Begin returns why this collector should write no snapshot now: ErrSuperseded or ErrUnderWay.
	Begin() error
	// Send stores what was put, so that SetHead, during which nothing else can be done, has little to store.
	Send() error
	// Sweep removes from the store what Keep has found unused.
	Sweep() error
}

// Errors of stores that collectors share.
var (
	ErrSuperseded = errors.New("another process has written a snapshot")
	ErrUnderWay   = errors.New("another process is writing a snapshot")
)

// Collector collects. Its methods may be called by any number of goroutines.
type Collector struct {
	o       Options
	journal journal.Journal
	store   Store
	started time.Time
	cancel  context.CancelFunc
	ended   chan struct{}

	mu     lock
	state  *tally.State
	last   snapshot      // the newest one that can be read
	moved  chan struct{} // closed and replaced when the state changes
	failed error         // why merging ended
	partly bool          // a record was merged in part: the state is replaced before anybody sees it

	// What was submitted and is not merged yet.
	coming                      map[string]tally.Use // by sender
	comingWaiting, comingMemory int64
	reserved                    map[uint64]*reserved // by the number of their record

	snapshots, snapshotErrors uint64
}

// Open continues from the last snapshot in the store and the records after it in the journal.
// Close closes the journal.
func Open(j journal.Journal, store Store, o Options) (*Collector, error) {
	c := &Collector{
		o: o, journal: j, store: store, mu: newLock(), started: time.Now(), ended: make(chan struct{}), moved: make(chan struct{}),
		coming: make(map[string]tally.Use), reserved: make(map[uint64]*reserved),
	}
	r, err := c.begin()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go c.merge(ctx, r)
	return c, nil
}

// Result counts the files of an upload.
type Result struct {
	Files int `json:"files"` // that are durable now
	Known int `json:"known"` // of them, those that are merged already; merging follows an upload by a moment
}

// Submit makes items durable. They are merged soon after.
func (c *Collector) Submit(ctx context.Context, items []inbox.Item) (_ Result, refused []inbox.Refusal, err error) {
	seq := uint64(0)
	fresh, refused, need, err := c.sift(ctx, items)
	if err != nil {
		return Result{}, nil, err
	}
	defer func() { c.release(need, seq) }()
	result := Result{Files: len(items) - len(refused), Known: len(items) - len(refused) - len(fresh)}
	if len(fresh) == 0 {
		return result, refused, nil
	}
	if free, err := c.o.Free(); err != nil {
		return Result{}, nil, err
	} else if free < c.o.MinFree {
		return Result{}, nil, fmt.Errorf("%w: %d bytes are free, %d are kept for snapshots", ErrNoSpace, free, c.o.MinFree)
	}
	if seq, err = Append(ctx, c.journal, c.now(), fresh); err != nil {
		return Result{}, nil, err
	}
	return result, refused, nil
}

// Append appends items to a journal as one record.
func Append(ctx context.Context, j journal.Journal, now time.Time, items []inbox.Item) (seq uint64, err error) {
	record, err := encodeRecord(now.UnixNano(), items)
	if err != nil {
		return 0, err
	}
	if seq, err = j.Append(ctx, record); errors.Is(err, journal.ErrFull) {
		return 0, fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return seq, err
}

// now returns the time of the machine's clock at the start, plus the time since: a clock that is
// set while the collector runs changes nothing.
func (c *Collector) now() time.Time { return c.started.Add(time.Since(c.started)) }

// CheckMaps returns which maps are refused.
func (c *Collector) CheckMaps(ctx context.Context, items []inbox.Item) (refused []inbox.Refusal, err error) {
	return refused, c.look(ctx, func(*tally.State) error {
		_, refused, err = c.siftLocked(items)
		return err
	})
}

// Admit returns an error if a sender, or all of them, may not add what these files need. They are not reserved.
func (c *Collector) Admit(ctx context.Context, items []inbox.Item) error {
	return c.look(ctx, func(*tally.State) error {
		_, err := c.admit(items)
		return err
	})
}

// sift returns the items that were not counted yet, and refuses maps that differ from the map of their build. What the
// files need is reserved until release.
func (c *Collector) sift(ctx context.Context, items []inbox.Item) (fresh []inbox.Item, refused []inbox.Refusal, need *reserved, err error) {
	late := time.NewTimer(c.patience())
	defer late.Stop()
	if err := c.mu.within(ctx, late.C); err != nil {
		return nil, nil, nil, err
	}
	defer c.mu.Unlock()
	if c.failed != nil {
		return nil, nil, nil, c.failed
	}
	if fresh, refused, err = c.siftLocked(items); err != nil || len(fresh) == 0 {
		return nil, refused, nil, err
	}
	need, err = c.admit(fresh)
	if err != nil {
		return nil, nil, nil, err
	}
	c.coming[need.sender] = c.coming[need.sender].Add(need.use, 1)
	c.comingWaiting += need.waiting
	c.comingMemory += need.use.Memory
	return fresh, refused, need, nil
}

func (c *Collector) siftLocked(items []inbox.Item) (fresh []inbox.Item, refused []inbox.Refusal, err error) {
	for i := range items {
		it := &items[i]
		if known, err := c.state.Has(it); err != nil {
			return nil, nil, err
		} else if known {
			continue
		}
		if err := c.state.CheckOwner(it); err != nil {
			refused = append(refused, inbox.Refusal{Index: it.Index, Name: it.Name, Reason: err.Error()})
			continue
		}
		if it.Kind == inbox.Map {
			if err := c.state.CheckMap(it); err != nil {
				refused = append(refused, inbox.Refusal{Index: it.Index, Name: it.Name, Reason: err.Error()})
				continue
			}
		}
		fresh = append(fresh, *it)
	}
	return fresh, refused, nil
}

// merge applies the records of the journal until ctx ends.
func (c *Collector) merge(ctx context.Context, r journal.Reader) {
	defer close(c.ended)
	defer func() { r.Close() }()
	records, bytes := 0, int64(0) // since the last snapshot
	var due time.Time             // time of the next snapshot, zero without new records
	turn := 1                     // of the intervals between snapshots, how many this collector waits
	for {
		record, err := nextUntil(ctx, r, due)
		switch {
		case err == nil:
			if err := c.apply(record); c.o.Shared && errors.Is(err, ErrObjects) {
				records, bytes, due = 0, 0, time.Time{}
				if r, err = c.adopt(ctx, r); err != nil {
					c.fail(err)
					return
				}
				continue
			} else if err != nil {
				c.fail(fmt.Errorf("record %d of the journal: %w", record.Seq, err))
				return
			}
			records++
			bytes += int64(len(record.Data))
			if due.IsZero() {
				due = time.Now().Add(time.Duration(turn) * c.o.SnapshotEvery)
			}
			if records < turn*c.o.SnapshotRecords && bytes < int64(turn)*c.o.SnapshotBytes && time.Now().Before(due) {
				continue
			}
		case c.o.Shared && errors.Is(err, journal.ErrTrimmed):
			records, bytes, due = 0, 0, time.Time{}
			if r, err = c.adopt(ctx, r); err != nil {
				c.fail(err)
				return
			}
			continue
		case ctx.Err() != nil || errors.Is(err, journal.ErrClosed):
			return
		case !errors.Is(err, context.DeadlineExceeded):
			c.fail(err)
			return
		}
		records, bytes = 0, 0
		if r, due, turn, err = c.snapshotOr(ctx, r); err != nil {
			c.fail(err)
			return
		}
	}
}

// snapshotOr writes a snapshot, or continues from one that another collector has written. It returns the reader of the
// records after it, when to try again, zero for after the next record, and how many intervals after that record.
func (c *Collector) snapshotOr(ctx context.Context, r journal.Reader) (next journal.Reader, due time.Time, turn int, err error) {
	switch err := c.Snapshot(); {
	case err == nil:
		return r, time.Time{}, 1, nil
	case errors.Is(err, ErrUnderWay):
		return r, time.Now().Add(c.o.SnapshotEvery), 1, nil
	case errors.Is(err, ErrSuperseded), errors.Is(err, ErrObjects):
		// The other one is the first to write the next one, too.
		if c.o.Shared {
			r, err = c.adopt(ctx, r)
		}
		return r, time.Time{}, othersTurn, err
	default:
		c.o.Log.Error("writing a snapshot failed; trying again later", "error", err)
		return r, time.Now().Add(max(c.o.SnapshotEvery, retrySnapshot)), 1, nil
	}
}

// othersTurn is after how many intervals a collector writes a snapshot if another one has written the last one.
const othersTurn = 2

// retrySnapshot is the least time between attempts to write a snapshot.
const retrySnapshot = time.Second

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
	if r.Lost > 0 {
		c.o.Log.Error("acknowledged uploads are lost: the journal is damaged", "uploads", r.Lost, "first", r.Seq-r.Lost+1, "damage", r.Why)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.state.Skip(r.Seq)
		c.merged(r.Seq)
		c.stir()
		return nil
	}
	at, items, err := decodeRecord(r.Data)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	foreign := c.state.Totals().Foreign
	if err := c.state.Apply(r.Seq, at, items); err != nil {
		c.partly = true
		return err
	}
	c.merged(r.Seq)
	if n := c.state.Totals().Foreign - foreign; n > 0 {
		c.o.Log.Warn("files were ignored: their builds belong to other programs", "files", n, "programs", items[0].Claims)
	}
	c.stir()
	return nil
}

// stir wakes those that wait for a change of the state.
func (c *Collector) stir() {
	close(c.moved)
	c.moved = make(chan struct{})
}

// fail ends merging: uploads are refused from now on.
func (c *Collector) fail(err error) {
	c.o.Log.Error("merging stopped", "error", err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = err
	c.stir()
}

// Snapshot writes a snapshot and trims the journal. What takes long in a store that is far away is done before and after
// the state is locked.
func (c *Collector) Snapshot() error {
	remote, far := c.store.(Remote)
	err := error(nil)
	if far {
		err = c.send(remote)
	}
	c.mu.Lock()
	if err == nil {
		err = c.snapshot()
	}
	switch {
	case err == nil:
		c.snapshots++
	case !errors.Is(err, ErrUnderWay):
		c.snapshotErrors++
	}
	c.mu.Unlock()
	if far && err == nil {
		if err := remote.Sweep(); err != nil {
			c.o.Log.Warn("objects that no snapshot needs any more were not removed; they are found later", "error", err)
		}
	}
	return err
}

// send stores what changed of the builds, so that the snapshot after it has little to store.
func (c *Collector) send(remote Remote) error {
	if err := remote.Begin(); err != nil {
		return err
	}
	c.mu.Lock()
	err := c.state.Store()
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return remote.Send()
}

func (c *Collector) snapshot() error {
	if c.o.Keep > 0 && time.Since(c.started) >= c.o.Grace {
		if n := c.state.Expire(c.now().UnixNano(), int64(c.o.Keep)); n > 0 {
			c.o.Log.Info("removed builds without uploads", "builds", n, "for", c.o.Keep)
		}
	}
	list, err := c.state.Snapshot()
	if err != nil {
		return err
	}
	if err := c.store.SetHead(list, c.last.list); err != nil {
		return err
	}
	before := c.last
	c.last = snapshot{list, c.state.Seq(), c.state.Used()}
	used := maps.Clone(c.last.used)
	maps.Copy(used, before.used)
	if err := c.store.Keep(used); err != nil {
		return err
	}
	return c.journal.Trim(before.seq)
}

// look calls f with a state into which everything was merged that was acknowledged before the call. If merging takes
// longer than a reader waits, the error is ErrBehind.
func (c *Collector) look(ctx context.Context, f func(*tally.State) error) error {
	last, err := c.journal.Last()
	if err != nil {
		return err
	}
	late := time.NewTimer(c.patience())
	defer late.Stop()
	for {
		if err := c.mu.within(ctx, late.C); err != nil {
			return err
		}
		if c.state.Seq() >= last && !c.partly {
			defer c.mu.Unlock()
			return f(c.state)
		}
		moved, failed, merged := c.moved, c.failed, c.state.Seq()
		c.mu.Unlock()
		if failed != nil {
			return failed
		}
		select {
		case <-moved:
		case <-late.C:
			return fmt.Errorf("%w: %d of them", ErrBehind, last-min(last, merged))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// seen is look for a function that returns a value.
func seen[T any](ctx context.Context, c *Collector, f func(*tally.State) (T, error)) (v T, err error) {
	err = c.look(ctx, func(s *tally.State) (err error) {
		v, err = f(s)
		return err
	})
	return v, err
}

// Profile returns the profile of a build as a file.
func (c *Collector) Profile(ctx context.Context, id prof.BuildID) ([]byte, error) {
	return seen(ctx, c, func(s *tally.State) ([]byte, error) { return s.Profile(id) })
}

// Map returns the map of a build as a file.
func (c *Collector) Map(ctx context.Context, id prof.BuildID) ([]byte, error) {
	return seen(ctx, c, func(s *tally.State) ([]byte, error) { return s.Map(id) })
}

// Builds returns the list of the builds of a query.
func (c *Collector) Builds(ctx context.Context, q tally.Query) ([]tally.Build, error) {
	return seen(ctx, c, func(s *tally.State) ([]tally.Build, error) { return s.Builds(q), nil })
}

// Logs returns the list of the logs of a build.
func (c *Collector) Logs(ctx context.Context, id prof.BuildID) ([]tally.Log, error) {
	return seen(ctx, c, func(s *tally.State) ([]tally.Log, error) { return s.Logs(id) })
}

// LogFile returns a log of a build.
func (c *Collector) LogFile(ctx context.Context, id prof.BuildID, key inbox.Key) ([]byte, error) {
	return seen(ctx, c, func(s *tally.State) ([]byte, error) { return s.LogFile(id, key) })
}

// Spikes returns the places of the spikes of a build.
func (c *Collector) Spikes(ctx context.Context, id prof.BuildID) ([]tally.Spike, error) {
	return seen(ctx, c, func(s *tally.State) ([]tally.Spike, error) { return s.Spikes(id) })
}

// Status is the state of a collector for metrics.
type Status struct {
	tally.Totals
	Builds, Waiting           int
	WaitingBytes              int64
	Seen                      int
	Last, Merged              uint64 // numbers of records
	Snapshots, SnapshotErrors uint64
	Memory                    int64 // bytes of the state in memory, about
	Senders                   map[string]tally.Use
	Err                       error // why no uploads are accepted any more
}

// Add adds the state of another collector.
func (s *Status) Add(o Status) {
	s.Raws += o.Raws
	s.Maps += o.Maps
	s.Repeated += o.Repeated
	s.Damaged += o.Damaged
	s.Conflicts += o.Conflicts
	s.Totals.Logs += o.Totals.Logs
	s.Foreign += o.Foreign
	s.Lost += o.Lost
	s.Builds += o.Builds
	s.Waiting += o.Waiting
	s.WaitingBytes += o.WaitingBytes
	s.Seen += o.Seen
	s.Last += o.Last
	s.Merged += o.Merged
	s.Snapshots += o.Snapshots
	s.SnapshotErrors += o.SnapshotErrors
	s.Memory += o.Memory
	for sender, use := range o.Senders {
		if s.Senders == nil {
			s.Senders = make(map[string]tally.Use)
		}
		s.Senders[sender] = s.Senders[sender].Add(use, 1)
	}
	s.Err = errors.Join(s.Err, o.Err)
}

// Waiting returns the bytes of raw files that wait for maps.
func (c *Collector) Waiting() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, bytes := c.state.Waiting()
	return bytes
}

// Status returns the state of the collector.
func (c *Collector) Status() Status {
	last, err := c.journal.Last()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Status{
		Totals: c.state.Totals(), Builds: c.state.Len(), Seen: c.state.Seen(), Last: last, Merged: c.state.Seq(),
		Snapshots: c.snapshots, SnapshotErrors: c.snapshotErrors, Err: errors.Join(err, c.failed),
		Memory: c.state.Memory(), Senders: maps.Clone(c.state.Senders()),
	}
	s.Waiting, s.WaitingBytes = c.state.Waiting()
	return s
}

// Done is closed when merging has ended: by Close, by Kill, or by an error, which Status has.
func (c *Collector) Done() <-chan struct{} { return c.ended }

// Close merges what is acknowledged, writes a last snapshot, and closes the journal. If it fails nothing is lost:
// the next Open continues from the journal.
func (c *Collector) Close(ctx context.Context) error {
	merged := c.look(ctx, func(*tally.State) error { return nil })
	c.cancel()
	<-c.ended
	if merged == nil && c.failed == nil {
		if merged = c.Snapshot(); c.o.Shared && (errors.Is(merged, ErrSuperseded) || errors.Is(merged, ErrUnderWay)) {
			merged = nil // the others write the next one
		}
	}
	return errors.Join(merged, c.journal.Close())
}

// Kill stops merging and closes the journal. It writes no snapshot.
func (c *Collector) Kill() error {
	c.cancel()
	<-c.ended
	return c.journal.Close()
}
