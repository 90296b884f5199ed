//go:build unix

package verb

import (
	"context"
	"errors"
	"os"

	"github.com/cairnprof/cairn/internal/filelock"
)

// LockProfile excludes other merges of the profile at path until unlock is called, so that concurrent merges
// lose nothing. The lock is on the file itself; as each merge replaces the file, the lock counts only if the
// path still leads to the locked file.
func LockProfile(ctx context.Context, path string) (unlock func(), err error) {
	for {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		if err := lockFile(ctx, f); err != nil {
			f.Close()
			return nil, err
		}
		locked, err1 := f.Stat()
		now, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(locked, now) {
			return func() { f.Close() }, nil
		}
		f.Close()
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
	}
}

// lockFile waits for the lock on f, or for the end of ctx.
func lockFile(ctx context.Context, f *os.File) error {
	for {
		err := filelock.Try(f)
		switch {
		case err == nil || errors.Is(err, errors.ErrUnsupported):
			return nil // or a file system without locks: merge anyway
		case !errors.Is(err, filelock.ErrLocked):
			return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
		if err := wait(ctx); err != nil {
			return err
		}
	}
}
