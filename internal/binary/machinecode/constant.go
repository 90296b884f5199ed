package machinecode

import (
	"encoding/binary"

	"github.com/cairnprof/cairn/internal/binary/x86"
)

// Constant returns the link-time address that an instruction may take: that of a
// lea relative to itself, or an immediate of 32 or 64 bits, which in a program that
// is loaded at a fixed address may be one. Other instructions have none.
func (s *Set) Constant(r Ref) (uint64, bool) {
	if s.Class(r) != Other || !r.IsInstruction() {
		return 0, false
	}
	t := s.Binary(r).textOf(r)
	off := s.offsets[r-firstRef]
	in, err := x86.Decode(t.data[off:])
	if err != nil {
		return 0, false
	}
	imm := t.data[off+uint32(in.ImmOff):]
	switch {
	case in.Map == x86.MapOne && in.Opcode == 0x8d && in.RIP:
		return in.Memory(t.addr + uint64(off)), true
	case in.ImmSize == 4 && len(imm) >= 4:
		return uint64(int64(int32(binary.LittleEndian.Uint32(imm)))), true
	case in.ImmSize == 8 && len(imm) >= 8:
		return binary.LittleEndian.Uint64(imm), true
	}
	return 0, false
}

// TailCall reports whether a branch is a jump that enters another function.
func (s *Set) TailCall(from, to Ref) bool {
	switch s.Class(from) {
	case Jump, IndirectJump, Conditional:
	default:
		return false
	}
	if !to.IsInstruction() || !s.entries.has(uint32(to-firstRef)) {
		return false
	}
	return !s.SameFunction(from, to)
}

// SameFunction reports whether two instructions are of one function, which may have
// several ranges of code.
func (s *Set) SameFunction(x, y Ref) bool {
	a, b := s.Binary(x), s.Binary(y)
	if a == nil || a != b {
		return false
	}
	p, q := a.RangeAt(s.Address(x)), a.RangeAt(s.Address(y))
	if p == q || p == nil || q == nil {
		return p == q && p != nil
	}
	return p.Function == q.Function && !(p.Start && q.Start)
}
