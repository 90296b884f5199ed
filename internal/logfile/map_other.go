//go:build !linux

package logfile

import "os"

// mapFile is not supported on this system.
func mapFile(*os.File, int64) []byte { return nil }

func unmap([]byte) {}
