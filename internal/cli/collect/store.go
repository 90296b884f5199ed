package collect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/depot"
	"github.com/cairnprof/cairn/internal/fleet/journal"
	"github.com/cairnprof/cairn/internal/fleet/journal/object"
	"github.com/cairnprof/cairn/internal/objectstore"
	"github.com/cairnprof/cairn/internal/verb"
)

// shared is one of the collectors that share a place in an object store.
type shared struct {
	*collector.Collector
	*depot.DebugBucket
	dir  string // of temporary files
	lock *journal.Lock
}

func (s *shared) temp() string { return s.dir }

// Close stops the collector and removes its temporary files.
func (s *shared) Close(ctx context.Context) error {
	return errors.Join(s.Collector.Close(ctx), os.RemoveAll(s.dir), s.lock.Close())
}

// temporary returns a directory of temporary files, which is locked while it is in use. It removes those of collectors
// that were killed.
func temporary() (dir string, lock *journal.Lock, err error) {
	const prefix = "cairn-collector-" // those of versions before have a lock in the directory, which says nothing of this one
	old, err := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	if err != nil {
		return "", nil, err
	}
	for _, dir := range old {
		if lock, err := journal.TakeTemporary(dir); err == nil {
			os.RemoveAll(dir) //nolint:errcheck // the next start tries again
			lock.Close()
		}
	}
	for range 10 {
		if dir, err = os.MkdirTemp("", prefix); err != nil {
			return "", nil, err
		}
		if lock, err = journal.TakeTemporary(dir); err == nil {
			return dir, lock, nil
		}
		// Another collector that starts takes it for an old one.
	}
	return "", nil, err
}

// openStore opens a collector that keeps everything in an object store.
func (f *collectFlags) openStore(place string, options collector.Options) (backend, error) {
	store, err := objectstore.Open(place)
	if err != nil {
		return nil, verb.Usagef("collect: %v", err)
	}
	j, err := object.Open(store)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	options.Shared = true
	dir, lock, err := temporary()
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	options.Free = func() (int64, error) { return free(dir) }
	d, err := depot.NewBucket(store, filepath.Join(dir, "objects"))
	if err != nil {
		return nil, errors.Join(err, j.Close(), os.RemoveAll(dir), lock.Close())
	}
	c, err := collector.Open(j, d, options)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", place, err), j.Close(), os.RemoveAll(dir), lock.Close())
	}
	return &shared{c, depot.NewDebugBucket(store, f.debugBuilds), dir, lock}, nil
}
