//go:build !linux

package logfile

import "os"

// diskSpace is not supported on this system.
func diskSpace(*os.File) (free, total uint64, ok bool) { return 0, 0, false }
