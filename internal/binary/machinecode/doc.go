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
// What is a machine's own is behind Arch, with one file and one package for each:
// x86.go and internal/binary/x86, aarch64.go and internal/binary/aarch64.
package machinecode

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

// Class is what an instruction does to the flow of control.
type Class uint8

// The classes. Those from Call to Jump are never run over: what is behind them
// runs after a branch only.
const (
	Other Class = iota
	Call
	IndirectCall
	Return
	Jump // to a fixed address
	IndirectJump
	Conditional

	// A Set has these as Other.
	Stop    // control does not go on by itself
	System  // a call of the system
	Nop     // fills space
	Landing // a place that indirect branches may reach
)

// IsCall reports whether the instruction is a call of any kind.
func (c Class) IsCall() bool { return c == Call || c == IndirectCall }

// inSet is what a Set has for a class.
func (c Class) inSet() Class {
	if c > Conditional {
		return Other
	}
	return c
}

// ends reports whether a run of instructions without a taken branch ends here.
// An indirect jump is not among them, since LLVM has it so and profiles are to
// be the same: data in code that looks like one would cut a range.
func (c Class) ends() bool { return c >= Call && c <= Jump }
