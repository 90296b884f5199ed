package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Lock keeps other processes out of a directory of a journal.
type Lock struct{ file *os.File }

// TakeLock locks a directory. It does not wait: the error says that another process has the lock.
func TakeLock(dir string) (*Lock, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = fmt.Errorf("%s: another process uses this directory", dir)
	case err != nil:
		err = fmt.Errorf("locking %s: %w", f.Name(), err)
	default:
		return &Lock{f}, nil
	}
	return nil, errors.Join(err, f.Close())
}

// Close unlocks the directory. Closing the file would not be enough: a process that another goroutine
// starts at this moment has a copy of the descriptor until it executes its program, and with it the lock.
func (l *Lock) Close() error {
	return errors.Join(syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}
