package split

import (
	"slices"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/layout/exttsp"
)

// Problem: compilers order blocks by guesses. A block that runs most often may be behind a jump, and a loop that is
// entered at its head costs two jumps for each round.
//
// Choice: where the executions of all edges are known, the pieces of the hot part get the order of package exttsp. The
// first piece, which is the entry, stays. Endings, unwind states, call sites and lines follow from the new order as
// they do where pieces are moved to the cold part. Alignment of the compiler was for its own order: it is dropped, and
// the pieces that begin a hot loop in the new order get it. Where the order of the text is the best one, those keep it.

// pieceFlow is the flow between the pieces of a plan.
type pieceFlow struct {
	times []uint64
	edges map[[2]int]uint64
}

// useFlow keeps the part of a function's flow that is between the pieces.
func (p *splitPlan) useFlow(f *Flow) {
	n := len(p.pieces)
	if f == nil || len(f.Times) < n {
		return
	}
	p.flow = &pieceFlow{f.Times[:n], map[[2]int]uint64{}}
	for _, e := range f.Edges {
		if e.From < n && e.To < n {
			p.flow.edges[[2]int{e.From, e.To}] = e.Times
		}
	}
}

// arrange decides the order of the pieces of the hot part.
func (p *splitPlan) arrange(executed uint64) {
	for k := range p.pieces {
		if !p.pieces[k].cold {
			p.order = append(p.order, k)
		}
	}
	if p.flow == nil || len(p.order) < minOrdered {
		return
	}
	p.ordered = p.reorder(executed > 0)
	if !p.random && p.copyHot(executed) {
		p.reorder(false)
		p.ordered = true
	}
	p.findTops(executed)
	if !p.ordered {
		p.unalign()
	}
}

// reorder finds an order that is better than the one that pieces have, and reports whether there is one. If it is asked to, it looks
// for branches that go either way (random.go).
func (p *splitPlan) reorder(foresee bool) bool {
	movable := p.order
	if last := p.written - 1; movable[len(movable)-1] == last && p.pieces[last].insns == 0 { // a label at the end of the function
		movable = movable[:len(movable)-1]
	}
	g := p.graph(movable)
	best := exttsp.Order(g)
	if foresee && p.surprise(g, movable, best) > maxSurprise {
		p.random = true
		return false
	}
	now := make([]int, len(best))
	for i := range now {
		now[i] = i
	}
	if exttsp.Score(g, best) <= exttsp.Score(g, now) {
		return false
	}
	order := make([]int, 0, len(p.order))
	for _, i := range best {
		order = append(order, movable[i])
	}
	p.order = append(order, p.order[len(movable):]...)
	return true
}

// unalign decides what becomes of the lines that align something, in a function that keeps the order of the text: those of what
// begins no hot loop go, and of the others there is one if the loop is fitted into lines of the cache.
func (p *splitPlan) unalign() {
	p.realigned = map[int]string{}
	for _, k := range p.order {
		padding, fitted := p.fitted[k]
		for n, i := range p.alignment(k) {
			switch {
			case !p.tops[k], fitted && (n > 0 || padding == ""):
				p.realigned[i] = ""
			case fitted:
				p.realigned[i] = padding
			}
		}
	}
	p.tops, p.align, p.fitted = nil, nil, nil
}

// inTextOrder keeps the order of the text.
func (p *splitPlan) inTextOrder() {
	if p.uncopied != nil {
		p.pieces, p.flow = p.uncopied, nil
		p.order = slices.DeleteFunc(p.order, func(k int) bool { return k >= p.written })
	}
	slices.Sort(p.order)
	p.ordered, p.tops, p.align, p.fitted = false, nil, nil, nil
}

// graph returns the flow between some pieces.
func (p *splitPlan) graph(pieces []int) *exttsp.Graph {
	g := &exttsp.Graph{}
	index := map[int]int{}
	for i, k := range pieces {
		index[k] = i
		g.Size, g.Times = append(g.Size, p.roughSize(k)), append(g.Times, p.flow.times[k])
	}
	for i, k := range pieces {
		for _, to := range p.ways(k) {
			if j, hot := index[to]; hot {
				g.Edges = append(g.Edges, exttsp.Edge{From: i, To: j, Times: p.flow.edges[[2]int{k, to}]})
			}
		}
	}
	return g
}

// ways returns the pieces that piece k goes on to, without those behind calls and tables.
func (p *splitPlan) ways(k int) (to []int) {
	pc := &p.pieces[k]
	if (pc.flow == asm.FlowJump || pc.flow == asm.FlowBranch) && pc.target >= 0 {
		to = append(to, pc.target)
	}
	if (pc.flow == asm.FlowNext || pc.flow == asm.FlowBranch) && pc.behind >= 0 && pc.target != pc.behind {
		to = append(to, pc.behind)
	}
	return to
}

// roughSize estimates the bytes of a piece.
func (p *splitPlan) roughSize(k int) int {
	if p.unit.Kind == machine.AArch64 {
		size, _ := p.codeSize(k)
		return size
	}
	const perInsn = 4 // of gcc and clang for x86-64, on average
	return perInsn * p.pieces[k].insns
}

// findTops finds the pieces that begin a hot loop in the order, and how the compiler aligns those of the function.
func (p *splitPlan) findTops(executed uint64) {
	at := make([]int, len(p.pieces))
	for i := range at {
		at[i] = -1
	}
	most := uint64(0)
	for i, k := range p.order {
		at[k] = i
		most = max(most, p.flow.times[k])
	}
	back := make([]uint64, len(p.pieces))
	falls := make([]uint64, len(p.pieces))
	for e, times := range p.flow.edges {
		switch from, to := at[e[0]], at[e[1]]; {
		case from < 0 || to < 0:
		case from >= to:
			back[e[1]] += times
		case from+1 == to:
			falls[e[1]] = times
		}
	}
	p.tops = map[int]bool{}
	for _, k := range p.order[1:] {
		// As gcc aligns by a profile: loops of four rounds and more, and not those that hardly run.
		const rounds, share = 4, 100
		if back[k] > 0 && back[k]/rounds >= falls[k] && back[k] >= most/share {
			p.tops[k] = true
		}
	}
	p.fitLoops(at, back, executed)
	for k := range p.pieces {
		if p.align = p.alignment(k); p.align != nil {
			return
		}
	}
}

// alignment returns the lines that align the beginning of a piece.
func (p *splitPlan) alignment(k int) (lines []int) {
	for i := p.pieces[k].first; i < p.pieces[k].code && k > 0; i++ {
		if l := &p.text.lines[i]; p.own(i) && l.app == 0 && l.kind == asm.LineDirective && isAlign(string(p.text.statement(i).Word)) {
			lines = append(lines, i)
		}
	}
	return lines
}

func isAlign(word string) bool { return word == ".p2align" || word == ".align" || word == ".balign" }

// jumpOver reports whether the conditional jump at the end of piece k, which is followed by neither of its ways, is
// to go to the next piece of the text, and the jump behind it where it went: more often control goes to the next piece.
func (p *splitPlan) jumpOver(k int) bool {
	pc := &p.pieces[k]
	return p.flow != nil && p.flow.edges[[2]int{k, pc.behind}] > p.flow.edges[[2]int{k, pc.target}]
}

// inOrder writes the pieces of the hot part in their new order. What is between them in other sections keeps its order,
// and names of files come before their uses.
func (w *emitter) inOrder() {
	p := w.p
	for i := p.first; i < p.tail; i++ {
		if !p.own(i) || p.isFile(i) {
			w.foreign(i)
		}
	}
	for _, k := range p.order {
		w.piece(k)
	}
	for k := range p.pieces {
		if p.pieces[k].cold {
			w.removed(k)
		}
	}
}

// removed writes what stays in the hot part in the place of a cold piece.
func (w *emitter) removed(k int) {
	p := w.p
	for i := p.pieces[k].first; i < p.pieces[k].end; i++ {
		if !p.own(i) || p.isFile(i) {
			if !p.ordered {
				w.foreign(i)
			}
		} else if p.text.lines[i].kind == asm.LineLabel {
			w.label(w.s.twins[string(p.text.statement(i).Word)])
		}
	}
}
