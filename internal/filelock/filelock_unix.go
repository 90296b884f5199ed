//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Try locks a file or a directory. It does not wait: the error for one that is locked is ErrLocked, and
// errors.ErrUnsupported for a file system that has no locks.
func Try(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrLocked
		case errors.Is(err, syscall.ENOLCK):
			return errors.ErrUnsupported
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
}

// Unlock ends the lock of a file. Closing it would not be enough: a process that another goroutine starts at this
// moment has a copy of the descriptor until it executes its program, and with it the lock.
func Unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
