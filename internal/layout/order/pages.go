package order

import (
	"math/bits"
	"slices"
)

// packing lowers the number of pages that the traces touch by moving groups.
// The path that it starts from counts stretches, as if all gaps between them
// cost the same. But a gap of 16 bytes costs nothing nearly always.
//
// Where the page borders fall is not known before the link. A trace that uses n
// bytes with gaps g1, g2, ... between them touches on average over all borders
//
//	(n + min(g1, P) + min(g2, P) + ... + P - 1) / P
//
// pages of P bytes: a byte that is not used is on a touched page if there is one
// in use less than P before it. So the sum of the gaps, each cut to P and with
// the weight of the trace, is what is lowered. (To count the pages for one
// position of the borders gains more at that position, 3 % on sqlite, and loses
// more at all others, 5 %.)
//
// The search takes a random part of the path, moves it or turns it round within
// a window of positions, and keeps that unless the sum grows. Moves that leave
// the sum as it is are kept too, which lets the search cross plateaus. The
// groups outside the window keep their addresses, so only what is near it is
// counted anew. A budget bounds the search; there is no clock.
type packing struct {
	groups   []group
	bytes    []uint64 // by group, each function aligned
	weights  []uint64 // by trace
	pageSize uint64
	order    []int
	start    []uint64 // by position, where the group there begins
	last     []uint64 // by trace, where its last group counted ends
	saved    []int    // a window before a move
	visited  int      // memberships counted
}

const (
	packingWindow = 50      // positions that a part moves by at most
	packingPart   = 4       // groups in a part that moves
	packingMoves  = 400     // moves tried for each group
	packingLeast  = 10_000  // moves tried, however few groups
	packingBudget = 1 << 27 // memberships counted
)

func newPacking(in *Input, groups []group, traces []trace, pageSize uint64) *packing {
	p := &packing{groups: groups, pageSize: pageSizeOr4K(pageSize), bytes: make([]uint64, len(groups))}
	for i := range groups {
		for _, f := range groups[i].funcs {
			p.bytes[i] += alignedSize(in.Funcs[f].Size)
		}
	}
	for i := range traces {
		p.weights = append(p.weights, min(traces[i].weight, maxWeight))
	}
	p.last = make([]uint64, len(traces))
	return p
}

// set makes order the one that is improved.
func (p *packing) set(order []int) {
	p.order = order
	p.start = make([]uint64, len(order)+1)
	p.place(0, len(order))
}

// place computes the addresses of the groups from lo to hi.
func (p *packing) place(lo, hi int) {
	for i := lo; i < hi; i++ {
		p.start[i+1] = p.start[i] + p.bytes[p.order[i]]
	}
}

// count returns the weighted gaps before the groups from lo to hi, in bytes. The
// first group of a trace there has a gap of a page before it.
func (p *packing) count(lo, hi int) uint64 {
	clear(p.last)
	var sum uint64
	for i := lo; i < hi; i++ {
		// Addresses count from one page on, so that a zero is far away.
		start, end := p.start[i]+p.pageSize, p.start[i+1]+p.pageSize
		for k, word := range p.groups[p.order[i]].signature {
			for ; word != 0; word &= word - 1 {
				t := k*64 + bits.TrailingZeros64(word)
				sum += min(start-p.last[t], p.pageSize) * p.weights[t]
				p.last[t] = end
				p.visited++
			}
		}
	}
	return sum
}

// search tries moves until the budget is used.
func (p *packing) search() {
	if len(p.order) < 2 {
		return
	}
	rng := generator(1)
	p.visited = 0
	for moves := 0; moves < packingLeast+packingMoves*len(p.order) && p.visited < packingBudget; moves++ {
		p.try(&rng)
	}
}

// try makes one random move and takes it back if the gaps grow.
func (p *packing) try(rng *generator) {
	below := func(n int) int { return int(rng.next() % uint64(n)) }
	n := len(p.order)
	from := below(n)
	part := min(1+below(packingPart), n-from)
	to := from - packingWindow + below(2*packingWindow+part+1)
	kind := below(3)
	if to < 0 || to > n {
		return
	}
	lo, hi := min(from, to), max(from+part, to)
	// A gap that reaches further than a page from the window counts as a page
	// whatever happens in the window.
	left, right := lo, hi
	for left > 0 && p.start[lo]-p.start[left] < p.pageSize {
		left--
	}
	for right < n && p.start[right]-p.start[hi] < p.pageSize {
		right++
	}
	before := p.count(left, right)
	p.saved = append(p.saved[:0], p.order[lo:hi]...)
	switch {
	case kind == 0:
		slices.Reverse(p.order[lo:hi])
	case to >= from && to <= from+part:
		slices.Reverse(p.order[from : from+part])
	default:
		shift(p.order, from, part, to, kind == 1)
	}
	p.place(lo, hi)
	if p.count(left, right) > before {
		copy(p.order[lo:hi], p.saved)
		p.place(lo, hi)
	}
}
