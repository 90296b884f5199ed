package samples

import (
	"github.com/cairnprof/cairn/internal/watch/lbr"
	"github.com/cairnprof/cairn/internal/watch/ptrace"
)

// writeImage is for Linux.
func writeImage(string, string, *lbr.Image) error { return ptrace.ErrUnsupported }
