package machinecode

import (
	"errors"

	"github.com/cairnprof/cairn/internal/binary/aarch64"
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// MaxLen is the longest that an instruction can be, in bytes.
const MaxLen = x86.MaxLen

// Inst is one instruction of any machine, at a known address.
type Inst struct {
	Len   uint8
	Class controlflow.Class
	// Restores: it takes the caller's frame pointer from the stack.
	Restores bool
	// Refers: it has an operand in memory, or makes an address, which Memory returns.
	Refers bool
	Target uint64 // where a direct branch goes
	Memory uint64
}

// Effect is what of an instruction an optimiser must keep.
type Effect uint8

// The effects.
const (
	Nothing  Effect = iota // it fills space, or marks a place
	Computes               // it computes, compares, jumps or returns
	Stores                 // to memory that is not a copy of a register
	Calls                  // a function, or the system, or it stops
)

// Arch reads the machine code of one machine. What a machine has of its own beyond that
// is after methods of the same file as its Arch.
type Arch interface {
	// Decode reads the instruction at the start of code, which is at addr.
	Decode(code []byte, addr uint64) (Inst, error)
	// Effect is that of the instruction at the start of code.
	Effect(code []byte) Effect
	// KeepsReturn reports whether the instructions around a call put the return address by
	// as the path of a probe's first call does.
	KeepsReturn(code interface{ Bytes(lo, hi uint64) []byte }, call uint64) bool
	// step is how far instructions are apart at least.
	step() uint64
	// lasting: what restores the frame pointer may have others after it that belong to
	// the end of a function, up to the jump.
	lasting() bool
	// constant returns the address that the instruction numbered r may take.
	constant(s *Set, r Ref) (uint64, bool)
	// taken calls add with the addresses that a section may take: any number of bytes
	// that looks like one, if the program has a fixed place.
	taken(t *text, fixed bool, add func(addr uint64))
	// Of walk: what functions agree on, what an instruction does to registers, and where
	// an indirect call or jump has its target from.
	convention() convention
	move(w *walk, at Ref) moved
	dispatch(w *walk, at Ref) Dispatch
}

// ErrInstruction: the bytes are no instruction.
var ErrInstruction = errors.New("unknown instruction")

// For returns what reads a machine's code. The error says which machines can be read.
func For(k machine.Kind) (Arch, error) {
	switch k {
	case machine.X86_64:
		return x86Arch{}, nil
	case machine.AArch64:
		return aarch64Arch{}, nil
	}
	return nil, k.Only("instructions are read", machine.X86_64, machine.AArch64)
}

// Reader reads code in its order. It knows the addresses that code makes in two steps.
type Reader struct {
	arch  Arch
	pages pages
}

// NewReader returns one at the beginning of some code.
func NewReader(arch Arch) *Reader { return &Reader{arch: arch} }

// Decode reads the instruction at the start of code, which is at addr. Those before it
// are those that ran before it.
func (r *Reader) Decode(code []byte, addr uint64) (Inst, error) {
	in, err := r.arch.Decode(code, addr)
	if _, two := r.arch.(aarch64Arch); two && err == nil {
		r.pages.follow(aarch64.Decode(code), &in)
	}
	return in, err
}
