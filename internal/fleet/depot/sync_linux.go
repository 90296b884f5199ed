package depot

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncAll writes everything of the file system of a directory to the disk.
func syncAll(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(os.NewSyscallError("syncfs", unix.Syncfs(int(f.Fd()))), f.Close())
}
