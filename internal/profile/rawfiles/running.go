package rawfiles

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/procmaps"
)

// Running reports whether the process of a raw file still writes to it: the file was not
// completed, and the process with that number on this machine has it mapped. A process on
// another machine, or of another user, is assumed to have ended.
func Running(path string, raw *mip.Raw) bool {
	if !raw.Continuous || raw.Sealed {
		return false
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", raw.PID))
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
