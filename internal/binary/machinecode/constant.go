package machinecode

import "github.com/cairnprof/cairn/internal/binary/controlflow"

// Constant returns the link-time address that an instruction may compute. If several
// instructions compute it, this is the last one.
func (s *Set) Constant(r Ref) (uint64, bool) {
	if s.Class(r) != controlflow.Other || !r.IsInstruction() || s.hole(r) {
		return 0, false
	}
	return s.Binary(r).arch.constant(s, r)
}

// TailCall reports whether a branch is a jump that enters another function.
func (s *Set) TailCall(from, to Ref) bool {
	s.whole("TailCall")
	switch s.Class(from) {
	case controlflow.Jump, controlflow.IndirectJump, controlflow.Conditional:
	default:
		return false
	}
	if !to.IsInstruction() || !s.entries.has(uint32(to-firstRef)) {
		return false
	}
	return !s.SameFunction(from, to)
}

// SameFunction reports whether two instructions belong to one function, which may have several
// ranges of code.
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
