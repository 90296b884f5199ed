package native

import (
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/instrument/timing"
)

// Rewrite returns the text of u with what a mode inserts: probes with records and their map, or code that times calls.
func Rewrite(u *asm.Unit, opts probe.Options) ([]byte, probe.Result) {
	if opts.Mode.Timed() && timing.Supports(u.Kind, opts.Mode) {
		return timing.Rewrite(u, opts)
	}
	return probe.Rewrite(u, opts)
}
