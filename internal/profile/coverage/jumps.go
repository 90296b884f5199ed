package coverage

import (
	"slices"

	"github.com/cairnprof/cairn/prof"
)

// Without optimisation, some lines have no code but an unconditional jump, such as break, and the loops of which the
// condition is constant. Compilers also write jumps that belong to no line, such as the one behind a switch, and give
// them the place of the code that they wrote last.

// jumpOf is a jump without other code of its line next to it.
type jumpOf struct {
	at    lineOf
	addr  uint64
	piece int
	runs  uint64
}

// jump records that the current line, in this piece, is only a jump.
func (s *scan) jump() {
	insts := s.fl.pieces[s.piece].insts
	s.ran(s.rest.at, 0)
	s.jumps = append(s.jumps, jumpOf{s.rest.at, insts[len(insts)-1].addr, s.piece, s.rest.runs})
}

// settle decides whether the lines of jumps ran.
func (s *scan) settle(c *prof.Counts) {
	for i := range s.jumps {
		j := &s.jumps[i]
		switch {
		case j.runs == 0:
			s.ran(j.at, s.looped(j, c))
		case s.observer.runs[j.at] > 0:
			s.ran(j.at, j.runs)
		default:
			s.place(j)
		}
	}
	s.jumps = nil
}

// place decides whether the line of a jump that ran did. If the line has other code, none of which ran or goes on to
// the jump, as the code of a macro does, a statement must begin where the jump is from. Without sources that is unknown.
func (s *scan) place(j *jumpOf) {
	if s.apart(j) {
		before, _, known := s.sources.Line(j.addr)
		if !known {
			s.observer.doubtful[j.at] = true
		}
		if !known || !beginsStatement(before) {
			return
		}
	}
	s.ran(j.at, j.runs)
}

// apart reports whether there is other code of the line of a jump, and none of it leads to the jump.
func (s *scan) apart(j *jumpOf) (apart bool) {
	for i := range s.fl.pieces {
		p := &s.fl.pieces[i]
		for k := range p.insts {
			in := &p.insts[k]
			if in.kind == none || in.jump || !s.isOf(in, j.at) {
				continue
			}
			if s.fl.leads(i, j.piece) {
				return false
			}
			apart = true
		}
	}
	return apart
}

// borrows reports whether the first instructions of a piece have the line of the code before it without being of that
// line: gcc gives the tests of a switch no line of their own, and the assembler that of the code before them. That code may
// go on there if it ran; if it did not, something else leads to them.
func (s *scan) borrows(p *piece) bool {
	if !s.plain || s.piece == 0 || s.begins(p.insts[0].addr) {
		return false
	}
	before := &s.fl.pieces[s.piece-1]
	if slices.Contains(before.succs, s.piece) && !before.borrows && (s.runs == 0 || before.ran || !p.decides) {
		return false
	}
	frames := s.m.Code.Frames(p.insts[0].addr)
	return len(frames) > 0 && frames[0].Records && !slices.ContainsFunc(p.insts, func(in inst) bool { return in.kind == stores || in.kind == calls })
}

// repeats reports whether a piece is only a jump, to where the one before it jumps: both may be of one statement, whose
// line gcc writes once.
func (s *scan) repeats(p *piece) bool {
	before := &s.fl.pieces[s.piece-1]
	return !slices.ContainsFunc(p.insts, func(in inst) bool { return in.kind != none && !in.jump }) &&
		before.insts[len(before.insts)-1].jump && slices.Equal(before.succs, p.succs)
}

// repeat records that the current piece, which ran, repeats the jump of a line before it. What leads there may prove that the
// line ran, as it does for a jump that did not run (past.go). Otherwise it may be the jump that closes a loop, behind a
// continue.
func (s *scan) repeat(at lineOf) {
	before := s.piece - 1
	r := remnant{at: at, flow: s.fl, piece: before, last: len(s.fl.pieces[before].insts) - 1}
	var runs uint64
	for _, from := range s.fl.preds[s.piece] {
		if edge, known := s.fl.wayRuns(from, s.piece); known && edge > 0 && s.fl.proves(from, s.piece, &r, s.sources) {
			runs = max(runs, edge)
		}
	}
	if runs == 0 {
		s.observer.doubtful[at] = true
	}
	s.ran(at, runs)
}

// begins reports whether a row of the line table begins at an address, or it is not known.
func (s *scan) begins(addr uint64) bool {
	begins, known := s.sources.Begins(addr)
	return begins || !known
}

// works reports whether code of a line does something other than jump.
func (s *scan) works(at lineOf) bool {
	for i := range s.fl.pieces {
		p := &s.fl.pieces[i]
		for k := range p.insts {
			if in := &p.insts[k]; in.kind != none && !in.jump && s.isOf(in, at) {
				return true
			}
		}
	}
	return false
}

// isOf reports whether an instruction is of a line.
func (s *scan) isOf(in *inst, at lineOf) bool {
	for file, line := range s.m.Lines.Lines(in.addr, in.addr+1) {
		if (lineOf{file, line}) == at {
			return true
		}
	}
	return false
}

// looped returns the runs of the loop that a jump, which did not run, closes, if the line of the jump is that of the
// loop's beginning, and no other code is of that line: the condition of the loop is constant.
func (s *scan) looped(j *jumpOf, c *prof.Counts) uint64 {
	p := &s.fl.pieces[j.piece]
	if len(p.succs) != 1 || p.succs[0] > j.piece || !s.fl.leads(p.succs[0], j.piece) {
		return 0
	}
	head := &s.fl.pieces[p.succs[0]]
	for k := range head.insts {
		for file, line := range s.m.Lines.Lines(head.insts[k].addr, head.insts[k].addr+1) {
			if head.insts[k].kind != none {
				if file == j.at.file && line > j.at.line && !s.works(j.at) {
					return blockRuns(c, head.block)
				}
				return 0
			}
		}
	}
	return 0
}

// leads reports whether code leads to another piece without going back.
func (fl *flow) leads(from, to int) bool {
	seen := map[int]bool{}
	for todo := []int{from}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, next := range fl.pieces[at].succs {
			if next == to {
				return true
			}
			if next > at && next < to && !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	return false
}
