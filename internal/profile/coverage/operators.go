package coverage

// clang gives the jump between the operands of && and || the line of the operator, which may be that of the second
// operand. Without optimisation the jump alone does not show that this line ran: gcov and llvm-cov count the operand.

// operator reports whether the last instruction of a piece is a conditional jump that alone has its line in the piece, and
// leads to other code of that line.
func (s *scan) operator(p *piece) bool {
	last := len(p.insts) - 1
	if !s.plain || !p.decides || last < 1 {
		return false
	}
	at, ok := s.lineAt(p.insts[last].addr)
	if before, known := s.lineAt(p.insts[last-1].addr); !ok || !known || before == at {
		return false
	}
	for _, to := range p.ways {
		if to == nowhere {
			continue
		}
		for k := range s.fl.pieces[to].insts {
			if in := &s.fl.pieces[to].insts[k]; in.kind != none {
				if !in.jump && !in.test && s.isOf(in, at) {
					return true
				}
				break
			}
		}
	}
	return false
}
