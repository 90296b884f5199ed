// Package profgen makes sample profiles of what internal/samples/unwind counts: it gives
// ranges and branches to the functions, inlined ones included, that pseudo probes
// or debug information say they belong to, and names their calling contexts.
//
// The rules are those of LLVM's llvm-profgen, so that a profile is the same one:
// a place ran as often as the code at it; a function is entered as often as its
// first block ran; calls count where a branch was seen to go to a function's
// beginning, and inlined ones as often as what was inlined began.
//
// Besides, it names the stacks of samples, for tools other than compilers.
package profgen

import (
	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/samples/tailcall"
)

// Options say how contexts are made.
type Options struct {
	// Inferrer is nil where stacks are taken as they are.
	Inferrer tailcall.Inferrer
	// MaxDepth cuts contexts to so many innermost callers, as unwind.Innermost does.
	MaxDepth int
	// Recursion is how long repetitions are that contexts are without, as
	// unwind.CompressRecursion has it.
	Recursion int
	// Recount makes the total of a context that is keyed by lines the sum of its
	// counts, and not of what instructions ran. Calls that were raised do not count.
	Recount bool
	// Named are the contexts of counts that were made before and that are keyed by lines,
	// where those have names in place of Frames. They stay as they are.
	Named [][]sampleprof.Frame
}
