package sampleset

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// inside returns the path by which this process reaches a file of a process that lives and has other mounts or another
// root directory, such as a container, "" if there is none. path is that of a mapping at start in it: a process that got
// the number since has not the same file there.
func inside(pid int32, start uint64, path string) string {
	if pid <= 0 || !filepath.IsAbs(path) {
		return ""
	}
	proc := fmt.Sprintf("/proc/%d", pid)
	root, err := os.Readlink(proc + "/root")
	if err != nil || root == "/" && sameMounts(proc) || !hasMapped(proc, start, path) {
		return ""
	}
	return proc + "/root" + path
}

// sameMounts reports whether a process has the mounts of this one.
func sameMounts(proc string) bool {
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return true // not known: as is usual
	}
	other, err := os.Readlink(proc + "/ns/mnt")
	return err != nil || own == other
}

// hasMapped reports whether a process has a file mapped at an address.
func hasMapped(proc string, start uint64, path string) bool {
	f, err := os.Open(proc + "/maps")
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		from, _, _ := strings.Cut(lines.Text(), "-")
		if at, err := strconv.ParseUint(from, 16, 64); err == nil && at == start {
			return strings.HasSuffix(lines.Text(), " "+path)
		}
	}
	return false
}
