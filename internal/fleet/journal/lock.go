package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Lock keeps other processes out of a directory of a journal until the file is closed.
func Lock(dir string) (*os.File, error) {
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
		return f, nil
	}
	return nil, errors.Join(err, f.Close())
}
