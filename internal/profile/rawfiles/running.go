package rawfiles

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairnprof/cairn/format/mip"
)

// isRunning reports whether the process that left a raw file still counts into it: the
// file was not completed, and the process of that number here has it mapped. Of a
// process elsewhere, or of somebody else, it is not known, and taken for ended.
func isRunning(path string, raw *mip.Raw) bool {
	if !raw.Continuous || raw.Sealed {
		return false
	}
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", raw.PID))
	if err != nil { // mostly, as it ended
		return false
	}
	defer maps.Close()
	path, err = filepath.Abs(path)
	if err != nil {
		return false
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return false
	}
	for s := bufio.NewScanner(maps); s.Scan(); {
		if strings.HasSuffix(s.Text(), " "+path) {
			return true
		}
	}
	return false
}
