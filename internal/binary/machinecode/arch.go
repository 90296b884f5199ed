package machinecode

import (
	"errors"

	"github.com/cairnprof/cairn/internal/binary/aarch64"
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// MaxLen is the maximum length of an instruction in bytes.
const MaxLen = x86.MaxLen

// Inst is one instruction of any machine, at a known address.
type Inst struct {
	Len   uint8
	Class controlflow.Class
	// Restores reports that it loads the caller's frame pointer from the stack.
	Restores bool
	// Refers reports that it has a memory operand, or computes an address; Memory is that
	// address.
	Refers bool
	Target uint64 // target of a direct branch
	Memory uint64
}

// brief has the fields of Inst that a Set keeps. Values with more fields than four do not stay in registers.
type brief struct {
	len      uint8
	class    controlflow.Class
	restores bool
	target   uint64
}

// brief is of an instruction that was decoded, without err.
func (i *Inst) brief(err error) (b brief, ok bool) {
	return brief{i.Len, i.Class, i.Restores, i.Target}, err == nil
}

// Effect is the part of an instruction's effect that an optimiser must preserve.
type Effect uint8

// The effects.
const (
	Nothing  Effect = iota // it is padding, or marks a location
	Computes               // it computes, compares, jumps or returns
	Stores                 // it writes to memory that is not a spilled register
	Calls                  // it calls a function or the system, or traps
)

// Arch decodes the machine code of one machine. Its file also has the methods that are
// specific to the machine.
type Arch interface {
	// Decode reads the instruction at the start of code, which is at addr.
	Decode(code []byte, addr uint64) (Inst, error)
	// scan is Decode of what a Set keeps of an instruction; ok is false where Decode has an error.
	scan(code []byte, addr uint64) (b brief, ok bool)
	// Effect returns the effect of the instruction at the start of code.
	Effect(code []byte) Effect
	// Use returns how the instruction at the start of code takes part in a decision.
	Use(code []byte) Use
	// KeepsReturn reports whether the instructions around a call save the return address as
	// the path for the first call does in a probe.
	KeepsReturn(code interface{ Bytes(lo, hi uint64) []byte }, call uint64) bool
	// step is the minimum distance between instructions.
	step() uint64
	// lasting reports whether the instruction that restores the frame pointer may be followed
	// by other instructions of the function's epilogue, up to the jump.
	lasting() bool
	// constant returns the address that instruction r may compute.
	constant(s *Set, r Ref) (uint64, bool)
	// taken calls add with the addresses that a section may take; if the program has a fixed
	// load address, these include all bytes that look like an address.
	addressed(t *text, fixed bool, add func(addr uint64))
	// For walk: the calling convention, the effect of an instruction on registers, and where
	// an indirect call or jump reads its target.
	convention() convention
	move(w *walk, at Ref) moved
	dispatch(w *walk, at Ref) Dispatch
}

// ErrInstruction reports bytes that are not an instruction.
var ErrInstruction = errors.New("unknown instruction")

// For returns the Arch of a machine. The error lists the supported machines.
func For(k machine.Kind) (Arch, error) {
	switch k {
	case machine.X86_64:
		return x86Arch{}, nil
	case machine.AArch64:
		return aarch64Arch{}, nil
	}
	return nil, k.Only("instructions are read", machine.X86_64, machine.AArch64)
}

// Reader decodes code in address order. It also finds addresses that code computes in two
// steps.
type Reader struct {
	arch  Arch
	pages pages
}

// NewReader returns a Reader for some code.
func NewReader(arch Arch) *Reader { return &Reader{arch: arch} }

// Decode decodes the instruction at the start of code, which is at addr. The instructions
// decoded before are assumed to have run before it.
func (r *Reader) Decode(code []byte, addr uint64) (Inst, error) {
	in, err := r.arch.Decode(code, addr)
	if _, two := r.arch.(aarch64Arch); two && err == nil {
		r.pages.follow(aarch64.Decode(code), &in)
	}
	return in, err
}
