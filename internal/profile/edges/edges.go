// Package edges computes how often the blocks of a function ran, and how often control went from each to those that
// follow it, from the counters of mode edge. It is pure.
package edges

import (
	"cmp"

	"github.com/cairnprof/cairn/internal/disjoint"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Problem: a counter in each block and on each branch costs twice what is needed, as what enters a block leaves it.
//
// Choice: that of Knuth and Stevenson (Optimal measurement points for program frequency counts, BIT 13, 1973). A block
// is an edge of its own, from where control enters it to where it leaves. With the edges between blocks, and those
// from and to the outside, the number of executions of the edges at each of these points adds up. Edges without
// counters form no cycle in this graph, in which all that is outside is one point; so one of them is alone at its
// point, follows from the others there, and then the next.
//
// Cost: linear in the edges; the order in which they follow is computed once for each function.

// Outside stands for what is not in the function, as the place where an edge leads.
const Outside = ^uint32(0)

// Edge is how often control went from a block to another.
type Edge struct {
	From, To uint32 // blocks; To may be Outside
	Times    uint64
}

// Plan is how the executions of the blocks of a function follow from its counters. It is immutable.
type Plan struct {
	blocks   int
	edges    []edge
	counters []int32 // of the non-entry blocks with a probe: the edge of each
	steps    []step
}

// edge has the points at its ends, or outside. The first edges are those of the blocks.
type edge struct{ from, to int32 }

const outside = -1

// Points are numbered: a block is entered at twice its number, and left at the next.
func in(block uint32) int32  { return int32(2 * block) }
func out(block uint32) int32 { return int32(2*block + 1) }

// step is an edge that follows from the others at a point.
type step struct{ edge, point int32 }

// NewPlan returns the plan of f, whose mode has edges. f obeys the rules that package mip checks; of a function
// whose counters do not determine all blocks the others are 0.
func NewPlan(f *prof.Func) *Plan {
	p := graphOf(f)
	bare := make([]bool, p.blocks)
	for i := range f.Implied {
		bare[f.Implied[i].Block] = true
	}
	for b := 1; b < p.blocks; b++ {
		if !bare[b] {
			p.counters = append(p.counters, int32(b))
		}
	}
	p.order(func(b int) bool { return !bare[b] })
	return p
}

// Counters returns the number of counters, those of the non-entry blocks with a probe.
func (p *Plan) Counters() int { return len(p.counters) }

// graphOf returns the edges of f, those of blocks first.
func graphOf(f *prof.Func) *Plan {
	p := &Plan{blocks: len(f.Flow)}
	for b := range f.Flow {
		p.edges = append(p.edges, edge{in(uint32(b)), out(uint32(b))})
	}
	for b := range f.Flow {
		flow := &f.Flow[b]
		for _, to := range flow.Next {
			p.edges = append(p.edges, edge{out(uint32(b)), in(to)})
		}
		if flow.Leaves {
			p.edges = append(p.edges, edge{out(uint32(b)), outside})
		}
		if flow.Entered {
			p.edges = append(p.edges, edge{outside, in(uint32(b))})
		}
	}
	return p
}

// order finds the steps, given which blocks are known.
func (p *Plan) order(known func(block int) bool) {
	unknown := make([]int32, 2*p.blocks) // by point: edges that are not known
	sum := make([]int32, 2*p.blocks)     // by point: the sum of their numbers
	change := func(e, by int32) {
		for _, point := range [...]int32{p.edges[e].from, p.edges[e].to} {
			if point != outside {
				unknown[point] += by
				sum[point] += by * e
			}
		}
	}
	for e := range p.edges {
		if e >= p.blocks || !known(e) {
			change(int32(e), 1)
		}
	}
	var ready []int32
	for point, n := range unknown {
		if n == 1 {
			ready = append(ready, int32(point))
		}
	}
	for len(ready) > 0 {
		point := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		if unknown[point] != 1 {
			continue // its last edge followed from the other end
		}
		e := sum[point]
		p.steps = append(p.steps, step{e, point})
		change(e, -1)
		for _, end := range [...]int32{p.edges[e].from, p.edges[e].to} {
			if end != outside && unknown[end] == 1 {
				ready = append(ready, end)
			}
		}
	}
}

// maxTimes is more often than any block runs: a hundred years of a nanosecond each.
const maxTimes = 1 << 62

// Solver computes executions by plans. Its memory is that of the largest function. The zero Solver is ready.
type Solver struct {
	times []int64 // by edge
	sums  []int64 // by point: what enters less what leaves, of the edges that are known
}

// Blocks returns how often each block ran, the entry block first, until the next call. The entry block ran as often
// as the function was called; counters has the counter of each further block with a probe. contradictory reports that
// no run has these counts, as threads took counts from each other or the image was taken in the middle of a block:
// a count may be wrong, and is 0 where it would be negative. In a function that was not called, a process goes on that was
// forked there: it left the block of the call before more often than it entered it.
func (s *Solver) Blocks(p *Plan, calls uint64, counters []uint64) (times []int64, contradictory bool) {
	s.reset(p)
	s.set(p, 0, int64(calls))
	for i, e := range p.counters {
		n := counters[i]
		if n > maxTimes { // of a damaged image
			n, contradictory = 0, true
		}
		s.set(p, e, int64(n))
	}
	return s.times[:p.blocks], s.solve(p, calls == 0) || contradictory
}

func (s *Solver) reset(p *Plan) {
	s.times = append(s.times[:0], make([]int64, len(p.edges))...)
	s.sums = append(s.sums[:0], make([]int64, 2*p.blocks)...)
}

func (s *Solver) set(p *Plan, e int32, times int64) {
	s.times[e] = times
	if to := p.edges[e].to; to != outside {
		s.sums[to] += times
	}
	if from := p.edges[e].from; from != outside {
		s.sums[from] -= times
	}
}

// solve takes the steps of a plan, and reports whether a count was negative. In a process that was forked in the function,
// the edge to the outside of the block that it was forked in is.
func (s *Solver) solve(p *Plan, forked bool) (negative bool) {
	for _, st := range p.steps {
		times := s.sums[st.point]
		if p.edges[st.edge].to == st.point {
			times = -times
		}
		if times < 0 {
			negative = negative || !forked || p.edges[st.edge].to != outside
			times = 0
		}
		s.set(p, st.edge, times)
	}
	return negative
}

// Of returns the edges of f that ran, given how often its blocks did, the entry block first: ascending by the block
// that they come from, then by where they lead.
func Of(f *prof.Func, times []uint64) []Edge {
	p := graphOf(f)
	p.order(func(int) bool { return true })
	var s Solver
	s.reset(p)
	for b := range p.blocks {
		s.set(p, int32(b), int64(min(times[b], maxTimes)))
	}
	s.solve(p, false)
	var ran []Edge
	for e := p.blocks; e < len(p.edges); e++ {
		if n := s.times[e]; n > 0 && p.edges[e].from != outside {
			to := Outside
			if at := p.edges[e].to; at != outside {
				to = uint32(at / 2)
			}
			ran = append(ran, Edge{From: uint32(p.edges[e].from / 2), To: to, Times: uint64(n)})
		}
	}
	return ran
}

// Fit returns executions of the blocks of f, the entry block first, that are near to others, and from which the edges follow:
// what enters a block leaves it, if it can be reached and left. Those of the blocks that ran least are kept, and the others
// computed.
func Fit(f *prof.Func, times []uint64) []uint64 {
	p := graphOf(f)
	sets := disjoint.New(1 + 2*p.blocks) // the outside, then the points
	for _, e := range p.edges[p.blocks:] {
		sets.Join(int(e.from)+1, int(e.to)+1)
	}
	byTimes := make([]int, p.blocks)
	for b := range byTimes {
		byTimes[b] = b
	}
	stablesort.Func(byTimes, func(a, b int) int { return cmp.Compare(times[b], times[a]) })
	follows := make([]bool, p.blocks)
	for _, b := range byTimes {
		follows[b] = sets.Join(int(p.edges[b].from)+1, int(p.edges[b].to)+1)
	}
	p.order(func(b int) bool { return !follows[b] })
	var s Solver
	s.reset(p)
	for b := range p.blocks {
		if !follows[b] {
			s.set(p, int32(b), int64(min(times[b], maxTimes)))
		}
	}
	for _, st := range p.steps {
		n := s.sums[st.point]
		if p.edges[st.edge].to == st.point {
			n = -n
		}
		s.set(p, st.edge, n)
	}
	s.raise(p)
	fit := make([]uint64, p.blocks)
	for b := range fit {
		fit[b] = uint64(max(s.times[b], 0))
	}
	return fit
}

// raise adds to each negative edge, and to a way from its end back to its beginning, what it lacks: then what enters a block
// still leaves it.
func (s *Solver) raise(p *Plan) {
	const places = 1 // the outside is place 0, before the points
	var from [][]int32
	for e := range p.edges {
		for s.times[e] < 0 {
			if from == nil {
				from = make([][]int32, places+2*p.blocks)
				for e := range p.edges {
					at := p.edges[e].from + places
					from[at] = append(from[at], int32(e))
				}
			}
			lacks := -s.times[e]
			s.times[e] = 0
			for _, on := range p.way(from, p.edges[e].to+places, p.edges[e].from+places) {
				s.times[on] += lacks
			}
		}
	}
}

// way returns the edges of a shortest way between two places, given the edges from each; none if there is no way.
func (p *Plan) way(from [][]int32, start, end int32) (way []int32) {
	const places, none = 1, -1
	by := make([]int32, len(from)) // the edge by which each place was reached
	for i := range by {
		by[i] = none
	}
	reached := []int32{start}
	for len(reached) > 0 && by[end] == none && start != end {
		at := reached[0]
		reached = reached[1:]
		for _, e := range from[at] {
			if to := p.edges[e].to + places; to != start && by[to] == none {
				by[to] = e
				reached = append(reached, to)
			}
		}
	}
	for at := end; at != start && by[at] != none; at = p.edges[by[at]].from + places {
		way = append(way, by[at])
	}
	return way
}
