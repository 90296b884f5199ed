package filelock

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// last is the byte that is locked, behind the end of all files: Windows keeps others from reading what is locked.
func last() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: math.MaxInt32} }

// Try locks a file, not a directory. It does not wait: the error for one that is locked is ErrLocked, and
// errors.ErrUnsupported for a file system that has no locks.
func Try(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, last())
	switch {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return ErrLocked
	case errors.Is(err, windows.ERROR_INVALID_FUNCTION):
		return errors.ErrUnsupported
	}
	return err
}

// Unlock ends the lock of a file.
func Unlock(f *os.File) error { return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, last()) }
