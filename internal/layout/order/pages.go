package order

import (
	"math/bits"
	"slices"
)

// packing lowers the number of pages that the traces touch by moving groups. The initial path
// minimises the number of contiguous parts, as if all gaps between them had the same cost. But
// a gap of 16 bytes nearly always costs nothing.
//
// The positions of page borders are not known before the link. A trace that uses n bytes with
// gaps g1, g2, ... between them touches on average over all positions
//
//	(n + min(g1, P) + min(g2, P) + ... + P - 1) / P
//
// pages of P bytes: an unused byte is on a touched page if a used byte is less than P before
// it. So the minimised value is the sum of the gaps, each limited to P and weighted by its
// trace. (Counting the pages for one position of the borders gains more at that position, 3 %
// on sqlite, and loses more at all others, 5 %.)
//
// The search takes a random part of the path, moves or reverses it within a window of
// positions, and keeps the change unless the sum grows. Moves that do not change the sum are
// kept too, so the search can cross plateaus. The groups outside the window keep their
// addresses, so only gaps near it are recomputed. A budget limits the search, not a clock.
type packing struct {
	groups   []group
	bytes    []uint64 // by group, each function aligned
	weights  []uint64 // by trace
	pageSize uint64
	order    []int
	start    []uint64 // start address of the group at each position
	last     []uint64 // by trace, end of the last counted group
	saved    []int    // the window before a move
	visited  int      // memberships counted
}

const (
	packingWindow = 50      // maximum distance of a move, in positions
	packingPart   = 4       // maximum number of groups in a moved part
	packingMoves  = 400     // number of moves for each group
	packingLeast  = 10_000  // minimum number of moves
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

// set sets the order to be improved.
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

// count returns the weighted gaps before the groups from lo to hi, in bytes. The gap before
// the first group of a trace in this range is a page.
func (p *packing) count(lo, hi int) uint64 {
	clear(p.last)
	var sum uint64
	for i := lo; i < hi; i++ {
		// Addresses begin at one page, so that 0 is at least a page away.
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

// search makes moves until the budget is used.
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

// try makes one random move and reverts it if the gaps grow.
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
	// A gap from more than a page outside the window counts as a page, independently of the
	// window.
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
