package coverage

import (
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
)

// clang gives the jump between the operands of && and || the line of the operator, which may be that of the second
// operand. Without optimisation the jump alone does not show that this line ran: gcov and llvm-cov count the operand.
// With optimisation, what is left of the first operand may have it.

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

// kept reports whether code of a line has an instruction with the line that LLVM leaves it only where it ran: see early.go.
func (o *observer) kept(e *early) bool {
	p := &e.flow.pieces[e.piece]
	for k := e.first; k <= e.last; k++ {
		in := &p.insts[k]
		if in.kind == none || !o.within(e, in) {
			continue
		}
		switch {
		case p.exit && k == len(p.insts)-1:
			return true
		case in.use == machinecode.Moves || in.use == machinecode.Spills:
		case in.kind != weak, !o.atOperator(e, in) && !o.hoisted(e, k):
			return true
		}
	}
	return false
}

// atOperator reports whether the place of an instruction of a line is an operator that the line begins with. If the place is
// not known, it may be that of a conditional jump.
func (o *observer) atOperator(e *early, in *inst) bool {
	if _, frames := o.where(e, in); len(frames) > len(e.frames) {
		return false
	}
	before, after, known := o.returns.modules[e.module].sources().Line(in.addr)
	if !known {
		return in.test
	}
	return strings.TrimSpace(before) == "" && (strings.HasPrefix(after, "&&") || strings.HasPrefix(after, "||"))
}
