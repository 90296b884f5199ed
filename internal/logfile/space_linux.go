package logfile

import (
	"os"
	"syscall"
)

// diskSpace returns the free bytes of a file's disk for its user, and the total.
func diskSpace(file *os.File) (free, total uint64, ok bool) {
	var st syscall.Statfs_t
	if err := syscall.Fstatfs(int(file.Fd()), &st); err != nil {
		return 0, 0, false
	}
	return st.Bavail * uint64(st.Bsize), st.Blocks * uint64(st.Bsize), true
}
