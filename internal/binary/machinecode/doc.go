// Package machinecode analyses the instructions of programs: where each one starts, its
// kind of branch, its function, and whether the stack of a sample at it is reliable. It
// takes what internal/binary/objfile reads and disassembles it from symbol to symbol.
//
// A Set holds the instructions of all binaries of a run under numbers without
// gaps (Ref), in the order of the binaries and of the addresses. Whatever walks
// millions of samples works with these numbers: to ask for the class of an
// instruction, the one before it, or whether control can run from one to another
// is to look into an array.
//
// The machine-dependent parts implement Arch, with one file and one package for each:
// x86.go and internal/binary/x86, aarch64.go and internal/binary/aarch64.
package machinecode

import "github.com/cairnprof/cairn/internal/binary/controlflow"

// Ref is the number of an instruction in a Set.
type Ref uint32

// Refs that are no instructions.
const (
	None     Ref = 0 // nothing is known
	External Ref = 1 // an address that is in none of the binaries
	firstRef Ref = 2
)

// IsInstruction reports whether r is neither None nor External.
func (r Ref) IsInstruction() bool { return r >= firstRef }

// inSet is what a Set has for a class.
func inSet(c controlflow.Class) controlflow.Class {
	if c > controlflow.Conditional {
		return controlflow.Other
	}
	return c
}

// endsRange reports whether a run of instructions without a taken branch ends here.
// An indirect jump is not among them, since LLVM has it so and profiles are to
// be the same: data in code that looks like one would cut a range.
func endsRange(c controlflow.Class) bool { return c >= controlflow.Call && c <= controlflow.Jump }
