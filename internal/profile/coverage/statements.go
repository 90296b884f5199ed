package coverage

import (
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
)

// gcc marks where statements begin. It does not move marks with code, but it copies them with the code that it copies, and
// if a block is left empty its marks go to the next one. So a mark in code that ran is strong if
//
//   - the instruction there is of its line;
//   - or it is at the beginning of code that is entered from one place;
//   - or code of its line is behind it.
//
// Another mark is weak. It proves nothing if a statement of the line begins in code that did not run, too, or if the mark
// is where several ways meet and no code of the line is there. With link-time optimisation marks do move with code that
// makes constants and addresses of globals: it is ahead of a test on which the line may depend.

// mark is where a statement begins.
type mark struct {
	piece, inst int
	ran         bool
	own         bool    // the instruction is of the line
	frames      []Frame // the functions there
}

// states records the statements that begin at an instruction of the current piece.
func (s *scan) states(in *inst, p *piece, k int, frames []Frame) {
	if s.plain || s.doubtful || p.dead {
		return
	}
	meet := k == 0 && s.fl.dispatched(s.piece)
	var here lineOf // of several rows at an address the last one is of the instruction
	for file, line := range s.m.Lines.Lines(in.addr, in.addr+1) {
		here = lineOf{file, line}
	}
	for file, line := range s.sources.Statements(in.addr, in.addr+1) {
		at := lineOf{file, line}
		m := mark{piece: s.piece, inst: k, ran: s.runs > 0, own: at == here, frames: frames}
		if meet && !m.own {
			continue
		}
		if s.fl.marks == nil {
			s.fl.marks, s.fl.marked = map[lineOf][]mark{}, map[owner]bool{}
		}
		if m.own && len(frames) > 0 {
			s.fl.marked[frames[len(frames)-1].owner()] = true
		}
		s.fl.marks[at] = append(s.fl.marks[at], m)
	}
}

// dispatched reports whether several jumps to computed addresses lead to a piece. gcc makes one of all of them and copies
// it again, and the marks of those that jump may be where they lead.
func (fl *flow) dispatched(i int) bool {
	n := 0
	for _, k := range fl.preds[i] {
		if slices.Contains(fl.jumps, k) {
			n++
		}
	}
	return n > 1
}

// stated returns a mark which proves that the line of code that ran did, nil if there is none.
func (o *observer) stated(e *early) *mark {
	marks := e.flow.marks[e.at]
	for i := range marks {
		if m := &marks[i]; m.ran && o.marked(e, m, marks) {
			return m
		}
	}
	return nil
}

// marked reports whether a mark of code that ran proves that its line ran. marks are all of the line.
func (o *observer) marked(e *early, m *mark, marks []mark) bool {
	meet := e.flow.meets(m.piece)
	last := -1 // instruction of the line where the mark is
	if m.piece == e.piece {
		if meet && (o.only(e, isMove) || m.inst == 0 && o.only(e, isStore)) {
			return false // such code places share
		}
		if m.own && o.only(e, isConstant) && o.ahead(e) {
			return false
		}
		last = o.effective(e)
	}
	switch {
	case m.own:
		return true
	case last >= m.inst, m.inst == 0 && !meet:
		return !o.joined(e, m)
	case m.inst == 0 && o.effective(e) < 0:
		return false
	}
	return !slices.ContainsFunc(marks, func(m mark) bool { return !m.ran })
}

// meets reports whether several ways lead to a piece, of which one may not have run.
func (fl *flow) meets(i int) bool {
	return len(fl.preds[i]) > 1 && slices.ContainsFunc(fl.preds[i], func(k int) bool { return !fl.pieces[k].ran || len(fl.pieces[k].succs) > 1 })
}

// effective returns the last instruction of the line in its piece that does something, or -1.
func (o *observer) effective(e *early) int {
	p := &e.flow.pieces[e.piece]
	for k := e.last; k >= e.first; k-- {
		if p.insts[k].kind != none && o.within(e, &p.insts[k]) {
			return k
		}
	}
	return -1
}

// joined reports whether nothing is left of the line but a test in a function inlined there, and an operand of the
// condition before it has no test of its own: gcc makes one test of two.
func (o *observer) joined(e *early, m *mark) bool {
	fl := e.flow
	if m.piece != e.piece || len(fl.preds[e.piece]) != 1 || !o.only(e, func(in *inst) bool {
		_, frames := o.where(e, in)
		return in.kind == weak && len(frames) > len(e.frames)
	}) {
		return false
	}
	before := &fl.pieces[fl.preds[e.piece][0]]
	test := &before.insts[len(before.insts)-1]
	head, after, known := o.returns.modules[e.module].sources().Line(test.addr)
	if !before.decides || !known {
		return false
	}
	text := withoutComments(head + after)
	operands := strings.Count(text, "&&") + strings.Count(text, "||")
	at, _ := o.where(e, test)
	for i := range fl.pieces {
		p := &fl.pieces[i]
		if in := &p.insts[len(p.insts)-1]; p.decides {
			if line, _ := o.where(e, in); line == at {
				operands--
			}
		}
	}
	return operands >= 0
}

// only reports whether all code of the line in its piece that does something is of a kind.
func (o *observer) only(e *early, is func(in *inst) bool) bool {
	p := &e.flow.pieces[e.piece]
	for k := e.first; k <= e.last; k++ {
		if in := &p.insts[k]; in.kind != none && o.within(e, in) && !is(in) {
			return false
		}
	}
	return true
}

func isMove(in *inst) bool { return in.use == machinecode.Moves }

// isConstant reports whether an instruction makes a constant, or reads or makes an address of a known place.
func isConstant(in *inst) bool { return isMove(in) || in.refers && in.kind == weak }

func isStore(in *inst) bool { return in.kind == stores }

// both returns the functions of code of a line that a mark of the line proves: those that both are in. In one piece they are
// of one call.
func (o *observer) both(e *early, m *mark) []Frame {
	n := 0
	switch {
	case o.effective(e) < 0: // nothing of those that are inlined is there
		n = 1
	case m.piece == e.piece:
		n = len(e.frames)
	default:
		for n < min(len(e.frames), len(m.frames)) && e.frames[n] == m.frames[n] {
			n++
		}
	}
	return e.frames[:n]
}

// elsewhere reports whether a statement of a line begins in its function.
func (o *observer) elsewhere(e *early) bool {
	fl := e.flow
	if fl.statements == nil {
		fl.statements = map[lineOf]bool{}
		src := o.returns.modules[e.module].sources()
		for i := range fl.pieces {
			insts := fl.pieces[i].insts
			for file, line := range src.Statements(insts[0].addr, insts[len(insts)-1].addr+1) {
				fl.statements[lineOf{file, line}] = true
			}
		}
	}
	return fl.statements[e.at]
}
