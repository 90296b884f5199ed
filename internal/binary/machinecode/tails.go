package machinecode

// LeavingJumps returns the direct jumps that leave the range of code that they are
// in, conditional ones included, ascending. Tail calls are among them.
func (s *Set) LeavingJumps() []Ref { return s.leaving }

// IndirectJumps returns the jumps to computed addresses, ascending.
func (s *Set) IndirectJumps() []Ref { return s.computed }

// span is where one range of code is, and no other within it.
type span struct {
	lo, hi uint64 // [lo, hi)
	of     *Range // nil where there is none
}

func (p *span) has(addr uint64) bool { return addr-p.lo < p.hi-p.lo }

// Extent returns the range of code that an instruction is in, nil if there is none, and
// the first instruction after it that is not in it.
func (s *Set) Extent(r Ref) (in *Range, end Ref) {
	b := s.Binary(r)
	p := b.span(s.Address(r))
	return p.of, b.From(p.hi)
}

// span returns addresses around one.
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
