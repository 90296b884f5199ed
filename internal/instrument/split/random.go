package split

import (
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/layout/exttsp"
)

// Problem: processors foresee branches by the last jumps that were taken, some dozens of them; branches that are not taken leave nothing in
// that history. An order in which control seldom jumps makes it reach further back. Where each branch depends on data, as in decoders of
// compressed data and in searches, what is far back is chance: the same history hardly occurs twice, and branches that were foreseen
// by the few ones before them are not any more. A decoder of LZMA has half of the taken jumps in its best order, and takes two per
// cent more time; with useless jumps in it, it takes less.
//
// Choice: a function in whose best order too large a part of the jumps in the history is of branches that go either way keeps the order of
// the text, and nothing in it is copied. That part is at most the sum of what branches go their less frequent way, as of executions alone it
// is not known which of them follow a pattern, by all taken jumps, calls and returns.

// maxSurprise is the part of jumps above which the order of the text stays.
const maxSurprise = 0.4

// surprise returns that part for an order of the pieces, which are the blocks of g.
func (p *splitPlan) surprise(g *exttsp.Graph, pieces, order []int) float64 {
	next := make([]int, len(order))
	for i, b := range order {
		next[b] = -1
		if i+1 < len(order) {
			next[b] = order[i+1]
		}
	}
	least, ways := make([]uint64, len(pieces)), make([]int, len(pieces))
	taken := float64(p.flow.times[0])
	for _, e := range g.Edges {
		if ways[e.From]++; ways[e.From] == 1 {
			least[e.From] = e.Times
		} else {
			least[e.From] = min(least[e.From], e.Times)
		}
		if next[e.From] != e.To {
			taken += float64(e.Times)
		}
	}
	either := 0.0
	for i, k := range pieces {
		switch ways[i] {
		case 2:
			either += float64(least[i])
		case 0:
			taken += float64(p.flow.times[k])
		}
		taken += 2 * float64(p.calls(k)) * float64(p.flow.times[k])
	}
	return either / max(taken, 1)
}

// calls returns how many calls a piece has.
func (p *splitPlan) calls(k int) (n int) {
	for i := p.pieces[k].first; i < p.pieces[k].end; i++ {
		if !p.own(i) || p.text.lines[i].kind != asm.LineInsn {
			continue
		}
		if kind, _ := p.classify(p.text.statement(i)); kind == asm.FlowCall {
			n++
		}
	}
	return n
}
