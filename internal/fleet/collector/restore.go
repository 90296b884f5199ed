package collector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairnprof/cairn/internal/fleet/journal"
	"github.com/cairnprof/cairn/internal/fleet/tally"
)

// snapshot is what is known of a snapshot that is in its place. What is needed to continue from it is kept until there
// are two newer ones, so that a damaged snapshot is no loss.
type snapshot struct {
	list []byte
	seq  uint64
	used map[string]bool
}

// restore continues from the newest snapshot that is whole, or from the first record of the journal.
func (c *Collector) restore() error {
	heads, err := c.store.Heads()
	if err != nil {
		return err
	}
	var damaged error
	for _, head := range heads {
		state, err := (*tally.State)(nil), head.Err
		if err == nil {
			state, err = tally.Restore(head.List, c.store, c.o.Limits)
		}
		if err == nil {
			c.state, c.last = state, snapshot{head.List, state.Seq(), state.Used()}
			break
		}
		c.o.Log.Error("a snapshot is damaged; continuing from what is before it", "error", err)
		damaged = errors.Join(damaged, err)
	}
	if c.state == nil {
		c.state = tally.New(c.store, c.o.Limits)
		if r, err := c.journal.Read(1); err != nil {
			return errors.Join(damaged, err)
		} else if err := r.Close(); err != nil {
			return err
		}
	}
	last, err := c.journal.Last()
	if err != nil || last >= c.state.Seq() {
		return err
	}
	j, ok := c.journal.(interface{ Advance(uint64) error })
	if !ok {
		return fmt.Errorf("the snapshot has record %d, but the last of the journal is %d", c.state.Seq(), last)
	}
	c.o.Log.Error("the end of the journal is missing; uploads after the snapshot may be lost", "snapshot", c.state.Seq(), "journal", last)
	return j.Advance(c.state.Seq())
}

// attempts is how often begin tries to read a snapshot, while other collectors may replace it.
const attempts = 5

// begin restores the state and returns the reader of the records after it.
func (c *Collector) begin() (r journal.Reader, err error) {
	for n := 0; ; n++ {
		if err = c.restore(); err == nil {
			r, err = c.journal.Read(c.state.Seq() + 1)
		}
		if err == nil || !c.o.Shared || n == attempts {
			return r, err
		}
		c.state = nil
	}
}

// adopt continues from the newest snapshot of the collectors that share the store, and returns the reader of the records
// after it.
func (c *Collector) adopt(ctx context.Context, r journal.Reader) (journal.Reader, error) {
	for {
		from := &Collector{o: c.o, journal: c.journal, store: c.store, mu: newLock()}
		next, err := from.begin()
		if err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.state, c.last, c.partly = from.state, from.last, false
			for seq, r := range c.reserved {
				if seq <= c.state.Seq() {
					delete(c.reserved, seq)
					c.free(r)
				}
			}
			c.stir()
			return next, errors.Join(r.Close(), c.store.Keep(c.last.used))
		}
		if ctx.Err() != nil {
			return r, journal.ErrClosed
		}
		c.o.Log.Warn("continuing from the snapshot of another collector failed; trying again", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(retrySnapshot):
		}
	}
}

// Repair makes a new snapshot of what can be read of the newest one, if the collector cannot continue from any
// snapshot. It calls lost for each part that is left out.
func Repair(j journal.Journal, store Store, o Options, lost func(part string, err error)) error {
	c := &Collector{o: o, journal: j, store: store, mu: newLock()}
	if err := c.restore(); err == nil {
		return nil
	}
	heads, err := store.Heads()
	if err != nil {
		return err
	}
	var unread error
	for _, head := range heads {
		if head.Err != nil {
			unread = errors.Join(unread, head.Err)
			continue
		}
		state, err := tally.RestoreParts(head.List, store, o.Limits, func(part string, err error) error {
			lost(part, err)
			return nil
		})
		if err != nil {
			unread = errors.Join(unread, err)
			continue
		}
		list, err := state.Snapshot()
		if err != nil {
			return err
		}
		return store.SetHead(list, list)
	}
	return errors.Join(unread, errors.New("no snapshot can be read; restore a backup, or move the directory away to begin again"))
}
