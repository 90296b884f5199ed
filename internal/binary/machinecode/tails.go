package machinecode

// LeavingJumps returns the direct jumps out of their range of code, conditional ones included,
// ascending. They include tail calls.
func (s *Set) LeavingJumps() []Ref { return s.ascending(0, s.leaving) }

// IndirectJumps returns the jumps to computed addresses, ascending.
func (s *Set) IndirectJumps() []Ref { return s.ascending(1, s.computed) }

// span is a part of the address space in one range of code, without nested ranges.
type span struct {
	lo, hi uint64 // [lo, hi)
	of     *Range // nil if there is none
}

func (p *span) has(addr uint64) bool { return addr-p.lo < p.hi-p.lo }

// Extent returns the range of code that contains an instruction, nil if there is none, and the
// first later instruction outside of it.
func (s *Set) Extent(r Ref) (in *Range, end Ref) {
	b := s.Binary(r)
	p := b.span(s.Address(r))
	return p.of, b.From(p.hi)
}

// span returns the span that contains an address.
func (b *Binary) span(addr uint64) span {
	i := b.rangeBefore(addr)
	if i < 0 || addr >= b.ranges[i].Hi {
		return span{addr, addr + 1, nil}
	}
	p := span{b.ranges[i].Lo, b.ranges[i].Hi, &b.ranges[i]}
	if i+1 < len(b.ranges) {
		p.hi = min(p.hi, b.ranges[i+1].Lo)
	}
	return p
}
