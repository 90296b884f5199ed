package collector

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/cairnprof/cairn/internal/fleet/tally"
)

// Pinner is a Store that can keep objects although no snapshot lists them any more.
type Pinner interface {
	// Pin keeps objects until release is called.
	Pin(names []string) (release func())
}

// Backup is a consistent copy of a collector: a snapshot whose objects are kept until Release.
type Backup struct {
	Seq     uint64 // of the last record in it
	List    []byte
	Objects []string // names, ascending

	c       *Collector
	release func()
}

// ErrNoBackup reports a store of which there is no copy to be had: that is for the store's own means.
var ErrNoBackup = errors.New("this collector's store makes no backups")

// Backup writes a snapshot with everything that was acknowledged before the call.
func (c *Collector) Backup(ctx context.Context) (*Backup, error) {
	p, ok := c.store.(Pinner)
	if !ok {
		return nil, ErrNoBackup
	}
	b := &Backup{c: c}
	return b, c.look(ctx, func(s *tally.State) error {
		if err := c.snapshot(); err != nil {
			c.snapshotErrors++
			return err
		}
		c.snapshots++
		b.Seq, b.List = s.Seq(), c.last.list
		b.Objects = slices.DeleteFunc(slices.Sorted(maps.Keys(c.last.used)), func(name string) bool { return name == "" })
		b.release = p.Pin(b.Objects)
		return nil
	})
}

// Release ends the backup.
func (b *Backup) Release() {
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	b.release()
}
