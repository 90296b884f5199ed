// Package profgen makes sample profiles of what internal/unwind counts: it gives
// ranges and branches to the functions, inlined ones included, that pseudo probes
// or debug information say they belong to, and names their calling contexts.
//
// The rules are those of LLVM's llvm-profgen, so that a profile is the same one:
// a place ran as often as the code at it; a function is entered as often as its
// first block ran; calls count where a branch was seen to go to a function's
// beginning, and inlined ones as often as what was inlined began.
package profgen

import "github.com/cairnprof/cairn/internal/machinecode"

// Inferrer finds the frames that tail calls left out of stacks.
type Inferrer interface {
	// Infer is asked of two neighbours on a stack: stack[i] is a call, and
	// stack[i+1] a call or, at the end, an instruction that ran. It returns the
	// jumps that led from the function that was called to the function that has
	// stack[i+1], in the order in which they were taken, and the name of the rule
	// that found them. No jumps are the answer if none is missing or it cannot be
	// known which.
	//
	// The stack is as it was sampled, outermost first, but for recursion. It is not
	// to be kept or changed.
	Infer(stack []machinecode.Ref, i int) (jumps []machinecode.Ref, rule string)
}

// Options say how contexts are made.
type Options struct {
	// Inferrer is nil where stacks are taken as they are.
	Inferrer Inferrer
	// MaxDepth cuts contexts to so many innermost callers; 0 does not.
	MaxDepth int
}
