package rawfiles

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/procmaps"
)

// Running reports whether the process that left a raw file still counts into it: the
// file was not completed, and the process of that number here has it mapped. Of a
// process elsewhere, or of somebody else, it is not known, and taken for ended.
func Running(path string, raw *mip.Raw) bool {
	if !raw.Continuous || raw.Sealed {
		return false
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", raw.PID))
	if err != nil { // mostly, as it ended
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
