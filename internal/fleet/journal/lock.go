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
	return lock(f, dir)
}

// TakeTemporary locks a directory that is removed some day, by who has the lock. The lock is on the directory itself,
// which systemd-tmpfiles(8) then leaves alone, and is only taken if dir still leads there: a file in it could be removed
// and made again meanwhile.
func TakeTemporary(dir string) (*Lock, error) {
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
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
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
