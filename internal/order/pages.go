package order

import (
	"math/bits"
	"slices"
)

// packing lowers the number of pages that the traces touch by moving groups.
// The path that it starts from counts stretches, which is pages only on
// average: a group of 16 bytes between two others may cost a page or none,
// depending on where the page borders fall. So here pages are counted, each
// with the weight of the trace that touches it.
//
// The search takes a random part of the path, moves it or turns it round within
// a window of positions, and keeps that unless the count grows. Moves that
// leave the count as it is are kept too, which lets the search cross plateaus.
// The groups outside the part keep their addresses, so only the window is
// counted anew. A budget bounds it; there is no clock.
type packing struct {
	groups   []group
	bytes    []uint64 // by group, each function aligned
	weights  []uint64 // by trace
	pageSize uint64
	order    []int
	start    []uint64 // by position, where the group there begins
	last     []uint64 // by trace, the last page counted
	saved    []int    // a window before a move
	visited  int      // memberships counted
}

const (
	packingWindow = 50      // positions that a part moves by at most
	packingPart   = 4       // groups in a part that moves
	packingMoves  = 200_000 // moves tried
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

// count returns the weighted pages that the groups from lo to hi touch.
func (p *packing) count(lo, hi int) uint64 {
	for t := range p.last {
		p.last[t] = ^uint64(0)
	}
	var sum uint64
	for i := lo; i < hi; i++ {
		first, end := p.start[i]/p.pageSize, (p.start[i+1]-1)/p.pageSize
		for k, word := range p.groups[p.order[i]].signature {
			for ; word != 0; word &= word - 1 {
				t := k*64 + bits.TrailingZeros64(word)
				pages := end - first + 1
				if p.last[t] == first {
					pages--
				}
				p.last[t] = end
				sum += pages * p.weights[t]
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
	for moves := 0; moves < packingMoves && p.visited < packingBudget; moves++ {
		p.try(&rng)
	}
}

// try makes one random move and takes it back if that costs pages.
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
	// The neighbours that share the window's first and last page count too.
	left, right := lo, hi
	for left > 0 && p.start[left]/p.pageSize >= p.start[lo]/p.pageSize {
		left--
	}
	for right < n && p.start[right]/p.pageSize <= (p.start[hi]-1)/p.pageSize {
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
