//go:build unix

package disk

import (
	"io/fs"
	"os"
	"syscall"
)

// SpaceAt returns the space of the file system that a directory is on.
func SpaceAt(dir string) (Space, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return Space{}, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	size := uint64(st.Bsize)
	return Space{uint64(st.Bavail) * size, st.Blocks * size}, nil
}

// Taken returns how many bytes a file takes on its disk, 0 if that is not known.
func Taken(file fs.FileInfo) int64 {
	if s, ok := file.Sys().(*syscall.Stat_t); ok {
		return int64(s.Blocks) * 512
	}
	return 0
}
