package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/cairnprof/cairn/internal/filelock"
)

// Lock keeps other processes out of a directory of a journal.
type Lock struct{ file *os.File }

// TakeLock locks a directory. It does not wait: the error says that another process has the lock.
func TakeLock(dir string) (*Lock, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return lock(f, dir)
}

// TakeTemporary locks a directory that is removed some day, by who has the lock. The lock is on the directory itself,
// which systemd-tmpfiles(8) then leaves alone, and is only taken if dir still leads there: a file in it could be removed
// and made again meanwhile. Windows locks no directories, and removes no open file.
func TakeTemporary(dir string) (*Lock, error) {
	if runtime.GOOS == "windows" {
		return TakeLock(dir)
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	l, err := lock(f, dir)
	if err != nil {
		return nil, err
	}
	locked, err1 := f.Stat()
	now, err2 := os.Stat(dir)
	if err := errors.Join(err1, err2); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if !os.SameFile(locked, now) {
		return nil, errors.Join(fmt.Errorf("%s: another process has replaced this directory", dir), l.Close())
	}
	return l, nil
}

// lock locks an open file or directory for dir, or closes it.
func lock(f *os.File, dir string) (*Lock, error) {
	err := filelock.Try(f)
	switch {
	case errors.Is(err, filelock.ErrLocked):
		err = fmt.Errorf("%s: another process uses this directory", dir)
	case err != nil:
		err = fmt.Errorf("locking %s: %w", f.Name(), err)
	default:
		return &Lock{f}, nil
	}
	return nil, errors.Join(err, f.Close())
}

// Close unlocks the directory.
func (l *Lock) Close() error { return errors.Join(filelock.Unlock(l.file), l.file.Close()) }
