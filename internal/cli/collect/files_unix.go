//go:build unix

package collect

import "syscall"

// mostFiles returns how many files this process may open, if that is limited.
func mostFiles() (most uint64, ok bool) {
	var files syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files)
	return files.Cur, err == nil
}
