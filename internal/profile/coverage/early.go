package coverage

import (
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
)

// Optimisers run computations ahead of the test that they depend on, replace tests by selections, and share code between
// places. gcc leaves such code the line that it had; clang gives it none. But gcc marks where statements begin (is_stmt,
// DWARF 5, section 6.2.2), and does not move these marks: see statements.go. So gcc's code that ran proves that its line ran
// if a mark of that line does. If statements of the line begin only elsewhere, it is unknown. If none does, as in lines
// that continue a statement, only these prove it:
//
//   - a call, but one whose place is the operator && or || that the line begins with;
//   - a test whose comparison has the line, too: the jumps of a switch have lines of its cases;
//   - a return whose place is the bracket that closes the function.
//
// Where no statement of a function begins, as in templates and constructors, more does: a store, unless what it stores may be
// selected, or a computation behind which no test is on which the line may depend: one of an earlier line in the same
// function, but the test that closes a loop. Calls that may not return are tests as well. No way leads to it from a
// later line, which shares it. What moves constants or registers, as returns do, must be behind one place.
//
// In all this, what a statement without a choice in its text selects was computed ahead of a test. Code that several places
// share is left where gcc was told not to share any (driver.ApartOptions).
//
// clang, and others with LLVM, take the line of the code that they move. What is left proves that its line ran, but for
//
//   - moves, also of registers to and from the stack, and jumps: code that places share has the line of one of them, and
//     what places choose from is moved in each of them. What leaves the function is not shared with another line;
//   - code whose place is the operator && or || that its line begins with: it is the rest of the test before it;
//   - computations ahead of a test on which the line may depend: see hoisted.go.

// early is code of a line that ran, and that may have run ahead of a test.
type early struct {
	at          lineOf
	runs        uint64
	module      int
	flow        *flow
	piece       int
	first, last int     // instructions in the piece
	frames      []Frame // the functions in which the line is
}

// found records code of a line in the current piece.
func (s *scan) found(e early) {
	e.module, e.flow, e.piece = s.module, s.fl, s.piece
	if s.fl.pieces[s.piece].dead {
		s.ran(e.at, 0)
		return
	}
	if s.plain || e.runs == 0 || len(e.frames) == 0 || !e.frames[0].Records && s.kept(&e) {
		s.proved(&e)
		return
	}
	s.ran(e.at, 0)
	s.observer.early = append(s.observer.early, e)
}

// proved records that a line ran, and with it the functions in which it is.
func (o *observer) proved(e *early) {
	o.ran(e.at, e.runs)
	o.surely(e.frames, e.runs)
}

// callers records the lines that call the functions in which instruction number k of the piece is inlined.
func (s *scan) callers(frames []Frame, k int) {
	for i := 1; i < len(frames) && s.runs > 0; i++ {
		at := lineOf{frames[i].CallFile, frames[i].CallLine}
		if at.line == 0 {
			continue
		}
		e, ok := s.sites[at]
		if !ok {
			e = early{at: at, runs: s.runs, first: k, frames: frames[:i]}
		}
		e.last = k
		s.sites[at] = e
	}
}

// called records the lines that call what is inlined in the current piece.
func (s *scan) called() {
	for at, e := range s.sites {
		if s.observer.runs[at] == 0 {
			s.found(e)
		}
	}
	clear(s.sites)
}

// prove decides which lines ran of which only code ran that may be ahead of a test. Of the others it is unknown.
func (o *observer) prove() {
	for i := range o.early {
		e := &o.early[i]
		known := o.runs[e.at] > 0
		switch {
		case known && !o.unproved(e.frames):
		case e.frames[0].Records && !o.chosen(e) && o.provedBy(e):
		case !known:
			o.doubtful[e.at] = true
		}
	}
	o.early = nil
}

// provedBy records that a line ran if the mark of a statement or code of it proves it.
func (o *observer) provedBy(e *early) bool {
	if m := o.stated(e); m != nil {
		o.ran(e.at, e.runs)
		o.surely(o.both(e, m), e.runs)
		return true
	}
	if o.elsewhere(e) || !o.proves(e) {
		return false
	}
	o.proved(e)
	return true
}

// proves reports whether code proves that its line ran.
func (o *observer) proves(e *early) bool {
	fl := e.flow
	p := &fl.pieces[e.piece]
	marked := fl.marked[e.frames[len(e.frames)-1].owner()]
	for k := e.first; k <= e.last; k++ {
		in := &p.insts[k]
		switch {
		case in.kind == none || !o.within(e, in):
		case in.kind == calls && !o.atOperator(e, in), in.test && o.within(e, p.compared(k)), p.exit && k == len(p.insts)-1 && o.closes(e, in):
			return true
		case in.kind == stores:
			return !marked && !o.selected(e, k)
		}
	}
	once := len(fl.preds[e.piece]) <= 1 || !o.only(e, isMove)
	return !marked && once && o.effective(e) >= 0 && !o.shared(e, e.piece) && !o.ahead(e)
}

// closes reports whether the place of an instruction of a line is the last bracket of the function that has the code.
func (o *observer) closes(e *early, in *inst) bool {
	_, frames := o.where(e, in)
	_, after, known := o.returns.modules[e.module].sources().Line(in.addr)
	return len(frames) == 1 && known && strings.HasPrefix(after, "}")
}

// chosen reports whether the code of a line selects a value by flags, does nothing else that must stay there, and the text
// of the line has no choice.
func (o *observer) chosen(e *early) bool {
	p := &e.flow.pieces[e.piece]
	selects := false
	for k := e.first; k <= e.last; k++ {
		in := &p.insts[k]
		if in.kind == none || !o.within(e, in) {
			continue
		}
		switch {
		case in.kind == calls, in.kind == stores && !o.selected(e, k), in.test && o.within(e, p.compared(k)):
			return false
		case in.use == machinecode.Selects && !selects:
			_, frames := o.where(e, in)
			before, after, known := o.returns.modules[e.module].sources().Line(in.addr)
			selects = len(frames) == len(e.frames) && (!known || !hasChoice(before+after))
		}
	}
	return selects
}

// hasChoice reports whether a line of C has an operator whose result may be selected.
func hasChoice(line string) bool {
	line = strings.ReplaceAll(withoutComments(line), "->", "")
	return strings.ContainsAny(line, "?<>!") || slices.ContainsFunc([]string{"==", "&&", "||"}, func(op string) bool { return strings.Contains(line, op) })
}

// within reports whether an instruction is of the line, or inlined in it.
func (o *observer) within(e *early, in *inst) bool {
	at, frames := o.where(e, in)
	n := len(e.frames)
	switch {
	case len(frames) < n || !slices.Equal(frames[:n], e.frames):
		return false
	case len(frames) > n:
		at = lineOf{frames[n].CallFile, frames[n].CallLine}
	}
	return at == e.at
}

// where returns the line and the functions of an instruction of the module.
func (o *observer) where(e *early, in *inst) (at lineOf, frames []Frame) {
	m := &o.returns.modules[e.module]
	for file, line := range m.Lines.Lines(in.addr, in.addr+1) {
		at = lineOf{file, line}
	}
	return at, m.Code.Frames(in.addr)
}

// selected reports whether what instruction k stores may be selected, by a test of another line.
func (o *observer) selected(e *early, k int) bool {
	p := &e.flow.pieces[e.piece]
	for i := range k {
		if p.insts[i].use == machinecode.Selects && p.insts[i].kind != none && (o.depends(e, &p.insts[i]) || o.depends(e, p.compared(i))) {
			return true
		}
	}
	return false
}

// shared reports whether a way leads to the piece from a later line.
func (o *observer) shared(e *early, piece int) bool {
	fl := e.flow
	for _, from := range fl.preds[piece] {
		insts := fl.pieces[from].insts
		if fl.pieces[from].ran && !fl.backEdges()[[2]int{from, piece}] && o.compare(e, &insts[len(insts)-1]) == -1 {
			return true
		}
	}
	return false
}

// ahead reports whether a line may depend on a test behind code of it.
func (o *observer) ahead(e *early) bool {
	const most = 1000 // pieces
	fl, first := e.flow, e.first
	back := fl.backEdges()
	seen := map[int]bool{e.piece: true}
	for todo := []int{e.piece}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if len(seen) > most || o.tested(e, i, first) {
			return true
		}
		first = 0
		for _, next := range fl.pieces[i].succs {
			if !seen[next] && !back[[2]int{i, next}] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	return false
}

// tested reports whether a line may depend on a test in a piece, from an instruction on.
func (o *observer) tested(e *early, at, first int) bool {
	p := &e.flow.pieces[at]
	closes := slices.ContainsFunc(p.succs, func(s int) bool { return e.flow.back[[2]int{at, s}] })
	for k := first; k < len(p.insts); k++ {
		in := &p.insts[k]
		behind := at != e.piece || k > e.last
		switch {
		case in.use == machinecode.Selects && in.kind != none:
			if o.depends(e, in) || o.depends(e, p.compared(k)) {
				return true
			}
		case !behind:
		case in.kind == calls && !p.passed && o.returns.of(e.module, in.target) != returned,
			k == len(p.insts)-1 && len(p.succs) > 1 && !closes:
			if o.depends(e, in) {
				return true
			}
		}
	}
	return false
}

// compared returns the instruction that sets the flags of instruction k, as far as known.
func (p *piece) compared(k int) *inst {
	for i := k - 1; i >= 0; i-- {
		if p.insts[i].use == machinecode.Compares {
			return &p.insts[i]
		}
	}
	return &p.insts[k]
}

// depends reports whether a line may depend on a test.
func (o *observer) depends(e *early, test *inst) bool { return o.compare(e, test) >= 0 }

// compare returns 1 if an instruction is of an earlier place than a line in the function of the source that has both, -1
// if it is of a later one, -2 if it is of the same, and 0 if that is not known.
func (o *observer) compare(e *early, in *inst) int {
	at, frames := o.where(e, in)
	n := 0 // functions around both
	for n < min(len(frames), len(e.frames)) && frames[n] == e.frames[n] {
		n++
	}
	mine, inner := e.at, len(e.frames) > n
	if inner {
		mine = lineOf{e.frames[n].CallFile, e.frames[n].CallLine}
	}
	if len(frames) > n {
		at = lineOf{frames[n].CallFile, frames[n].CallLine}
	}
	switch {
	case n == 0 || at.line == 0 || at.file != mine.file || at.line == mine.line && inner:
		return 0
	case at.line < mine.line:
		return 1
	case at.line == mine.line:
		return -2
	}
	return -1
}

// backEdges returns the edges that lead back to the head of a loop.
func (fl *flow) backEdges() map[[2]int]bool {
	if fl.back != nil {
		return fl.back
	}
	fl.back = map[[2]int]bool{}
	before := fl.dominators()
	for i := range fl.pieces {
		for _, s := range fl.pieces[i].succs {
			for d := i; d >= 0 && d < len(fl.pieces); d = before[d] {
				if d == s {
					fl.back[[2]int{i, s}] = true
					break
				}
			}
		}
	}
	return fl.back
}
