// Package machinecode analyses the instructions of programs: where each one starts, its kind
// of branch, its function, and whether the stack of a sample at it is reliable. It
// disassembles the data read by internal/binary/objfile from symbol to symbol.
//
// A Set numbers the instructions of all binaries of a run without gaps (Ref), in the order of
// the binaries and of the addresses. Code that processes millions of samples works with these
// numbers: the class of an instruction, its predecessor, and whether control can run from one
// to another are array lookups.
//
// The machine-dependent parts implement Arch, with one file and one package for each:
// x86.go and internal/binary/x86, aarch64.go and internal/binary/aarch64.
package machinecode

import "github.com/cairnprof/cairn/internal/binary/controlflow"

// Ref is the number of an instruction in a Set.
type Ref uint32

// Refs that are not instructions.
const (
	None     Ref = 0 // nothing is known
	External Ref = 1 // an address that is in none of the binaries
	// Missing is on a stack where frames are missing.
	Missing  Ref = 2
	firstRef Ref = 3
)

// IsInstruction reports whether r is none of these.
func (r Ref) IsInstruction() bool { return r >= firstRef }

// inSet returns the class that a Set stores for c.
func inSet(c controlflow.Class) controlflow.Class {
	if c > controlflow.Conditional {
		return controlflow.Other
	}
	return c
}

// endsRange reports whether a sequence of instructions without a taken branch ends here.
// Indirect jumps do not end it, as in LLVM, so that profiles are the same: data in code that
// looks like one would cut a range.
func endsRange(c controlflow.Class) bool { return c >= controlflow.Call && c <= controlflow.Jump }
