// Package flowcount computes how often the blocks of a function ran from the numbers of
// samples of the instruction pointer in each.
//
// Problem: a block has as many samples as it took time. So its count is that number by
// what a run of it costs, which is known badly: samples are few, instructions do not cost
// the same, and a slow one has its samples at the next one, which may be in another block.
//
// Choice: control that comes to a block leaves it again. Counts are those flows along the
// edges of the graph that fit all samples best, by weighted least squares: a block counts
// the less the more its count may err, by the number of its samples and by a part of its
// count that is larger for short blocks. Such weights depend on the counts, so they are
// found in rounds. Flows are improved one edge at a time, from the first block to the last
// and back, which needs no more memory than the graph and cannot fail.
package flowcount

import "math"

// Block is a basic block of a function.
type Block struct {
	Next []int // indexes of the blocks that may run after it
	// Entered says that control may come to it from elsewhere, and Left that it may go
	// elsewhere after it.
	Entered, Left bool
	Samples       uint64
	Cost          float64 // of one run of it, in any unit; more than 0
}

// Counts is how often blocks ran, in samples by cost.
type Counts struct {
	Blocks []float64
	Edges  [][]float64 // parallel to Next of each block
}

const (
	rounds = 6  // in which weights are found
	sweeps = 40 // over all edges in a round, each there and back
	// A count may err by this part of it, and by the second one more for a block of one
	// instruction.
	anyError, shortError = 0.25, 1.5
	// balance is how much more it counts that what comes to a block leaves it than that a
	// count fits the samples.
	balance = 10
)

// Infer returns the counts that fit the samples of a function best.
func Infer(blocks []Block) Counts {
	g := newGraph(blocks)
	for round := range rounds {
		g.weigh(round)
		for range sweeps {
			for e := range g.edges {
				g.improve(&g.edges[e])
			}
			for e := len(g.edges) - 1; e >= 0; e-- {
				g.improve(&g.edges[e])
			}
		}
	}
	out := Counts{make([]float64, len(blocks)), make([][]float64, len(blocks))}
	for i := range blocks {
		out.Blocks[i] = g.count(i)
		out.Edges[i] = make([]float64, len(blocks[i].Next))
	}
	for i := range g.edges {
		if e := &g.edges[i]; e.index >= 0 {
			out.Edges[e.from][e.index] = e.flow
		}
	}
	return out
}

// graph has the flows of a function.
type graph struct {
	blocks []Block
	edges  []edge
	sums   []sums // of the blocks
}

// edge leads from a block to another one; -1 is elsewhere.
type edge struct {
	from, to int
	index    int // in Next of from, -1 if one of them is elsewhere
	flow     float64
}

type sums struct {
	in, out       float64
	measured      float64 // the count that the samples tell
	weight, equal float64 // of that, and of in being out
}

func newGraph(blocks []Block) *graph {
	g := &graph{blocks: blocks, sums: make([]sums, len(blocks))}
	for i := range blocks {
		g.sums[i].measured = float64(blocks[i].Samples) / blocks[i].Cost
	}
	for i := range blocks {
		b, own := &blocks[i], g.sums[i].measured
		if b.Entered {
			g.add(-1, i, -1, 0)
		}
		total := 0.0
		for _, to := range b.Next {
			total += g.sums[to].measured
		}
		for k, to := range b.Next {
			flow := own / float64(len(b.Next))
			if total > 0 {
				flow = own * g.sums[to].measured / total
			}
			g.add(i, to, k, flow)
		}
		if b.Left {
			g.add(i, -1, -1, 0)
		}
	}
	return g
}

func (g *graph) add(from, to, index int, flow float64) {
	g.edges = append(g.edges, edge{from, to, index, flow})
	if from >= 0 {
		g.sums[from].out += flow
	}
	if to >= 0 {
		g.sums[to].in += flow
	}
}

func (g *graph) count(i int) float64 { return (g.sums[i].in + g.sums[i].out) / 2 }

// weigh sets the weights by the counts of the round before.
func (g *graph) weigh(round int) {
	for i := range g.sums {
		s, cost := &g.sums[i], g.blocks[i].Cost
		count := g.count(i)
		if round == 0 {
			count = s.measured
		}
		off := (anyError + shortError/cost) * count * cost
		s.weight = cost * cost / (1 + count*cost + off*off)
		s.equal = balance * s.weight
	}
	for i := range g.edges { // as much as for the neighbours
		if e := &g.edges[i]; e.from >= 0 && e.to >= 0 {
			from, to := &g.sums[e.from], &g.sums[e.to]
			from.equal = max(from.equal, balance*to.weight)
			to.equal = max(to.equal, balance*from.weight)
		}
	}
}

// improve sets the flow of an edge to the best one while all others stay.
func (g *graph) improve(e *edge) {
	slope, curve := 0.0, 0.0
	if e.from >= 0 {
		s := &g.sums[e.from]
		slope += s.weight*(s.out-s.measured) + s.equal*(s.out-s.in)
		curve += s.weight + s.equal
	}
	if e.to >= 0 {
		s := &g.sums[e.to]
		slope += s.weight*(s.in-s.measured) + s.equal*(s.in-s.out)
		curve += s.weight + s.equal
	}
	if e.from == e.to && e.from >= 0 { // a loop of one block: what comes leaves
		s := &g.sums[e.from]
		slope, curve = s.weight*(s.in+s.out-2*s.measured), 2*s.weight
	}
	change := math.Max(-slope/curve, -e.flow)
	e.flow += change
	if e.from >= 0 {
		g.sums[e.from].out += change
	}
	if e.to >= 0 {
		g.sums[e.to].in += change
	}
}
