// Package profgen makes sample profiles from the counts of internal/samples/unwind: it
// attributes ranges and branches to functions, including inlined ones, by pseudo probes or
// debug information, and names their calling contexts.
//
// The rules are those of LLVM's llvm-profgen, so that profiles are equal: a location ran as
// often as its code; a function is entered as often as its first block ran; calls count if a
// branch to a function's beginning was observed, and inlined calls as often as the inlined
// function began.
//
// It also names the stacks of samples, for tools other than compilers.
package profgen

import (
	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/samples/tailcall"
)

// Options say how contexts are made.
type Options struct {
	// Inferrer is nil if stacks are used as they are.
	Inferrer tailcall.Inferrer
	// MaxDepth is the maximum number of innermost callers in contexts, see unwind.Innermost.
	MaxDepth int
	// Recursion is the maximum length of repetitions that are removed from contexts, see
	// unwind.CompressRecursion.
	Recursion int
	// Recount makes the total of a context that is keyed by lines the sum of its counts, and
	// not of executed instructions. Raised counts of calls are not included.
	Recount bool
	// Named has the contexts of counts that were read and are keyed by lines, if these have
	// names instead of Frames. They are not changed.
	Named [][]sampleprof.Frame
}
