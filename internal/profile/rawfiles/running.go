package rawfiles

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/procmaps"
)

// Running reports whether the process of a raw file still writes to it: the file was not
// completed, or changed since, and the process has it mapped.
func Running(path string, raw *mip.Raw) bool {
	return raw.Continuous && (!raw.Sealed || raw.Changed) && Mapped(path, raw.PID)
}

// Mapped reports whether the process with that number on this machine has a file mapped. A process on
// another machine, or of another user, is assumed to have ended. A child of a process completes its parent's
// file at its end if it was made by a system call of the program, not by fork of the C library.
func Mapped(path string, pid uint32) bool {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil { // usually because it ended
		return false
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return false
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return false
	}
	for m, err := range procmaps.All(maps) {
		if err == nil && m.Name == path {
			return true
		}
	}
	return false
}
