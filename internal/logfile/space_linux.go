package logfile

import (
	"os"
	"syscall"
)

// diskSpace returns the bytes that a file's disk has for its user, and all of it.
func diskSpace(file *os.File) (free, total uint64, ok bool) {
	var st syscall.Statfs_t
	if err := syscall.Fstatfs(int(file.Fd()), &st); err != nil {
		return 0, 0, false
	}
	return st.Bavail * uint64(st.Bsize), st.Blocks * uint64(st.Bsize), true
}
