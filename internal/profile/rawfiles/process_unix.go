//go:build unix

package rawfiles

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// descriptor is an open file of package syscall.
type descriptor = int

// HasEnded reports whether there is no process with an id, or only one that its parent has not waited for.
func HasEnded(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := bytes.Cut(stat[max(bytes.LastIndexByte(stat, ')'), 0):], []byte(" "))
	return bytes.HasPrefix(after, []byte("Z")) || bytes.HasPrefix(after, []byte("X"))
}
