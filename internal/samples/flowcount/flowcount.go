// Package flowcount computes how often the blocks of a function ran, from the number of
// instruction-pointer samples in each.
//
// Problem: the number of samples in a block is proportional to the time spent in it. Its count
// is that number divided by the cost of one execution, which is only known approximately:
// samples are few, instructions have different costs, and the samples of a slow instruction
// are at the next one, which may be in another block.
//
// Choice: control enters a block as often as it leaves it. Counts are the flows along the
// edges of the graph that fit all samples best, by weighted least squares: the weight of a
// block decreases with its expected error, which depends on its number of samples and on a
// share of its count that is larger for short blocks. These weights depend on the counts, so
// they are computed in rounds. Flows are improved one edge at a time, from the first block to
// the last and back, which needs no more memory than the graph and always terminates.
package flowcount

import "math"

// Block is a basic block of a function.
type Block struct {
	Next []int // indexes of the blocks that may run after it
	// Entered reports that control may enter the block from elsewhere, and Left that it may
	// leave to elsewhere after it.
	Entered, Left bool
	Samples       uint64
	Cost          float64 // of one execution, in any unit; more than 0
}

// Counts has the executions of blocks, in samples divided by cost.
type Counts struct {
	Blocks []float64
	Edges  [][]float64 // parallel to Next of each block
}

const (
	rounds = 6  // of computing weights
	sweeps = 40 // over all edges in a round, each there and back
	// The relative error of a count, and the additional one for a block with one instruction.
	anyError, shortError = 0.25, 1.5
	// balance is the weight of the rule that control leaves a block as often as it enters it,
	// relative to the fit of the samples.
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

// edge leads from a block to another; -1 is elsewhere.
type edge struct {
	from, to int
	index    int // in Next of from, -1 if either end is elsewhere
	flow     float64
}

type sums struct {
	in, out       float64
	measured      float64 // the count according to the samples
	weight, equal float64 // of measured, and of the balance of in and out
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

// weigh computes the weights from the counts of the previous round.
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
	for i := range g.edges { // as for the neighbours
		if e := &g.edges[i]; e.from >= 0 && e.to >= 0 {
			from, to := &g.sums[e.from], &g.sums[e.to]
			from.equal = max(from.equal, balance*to.weight)
			to.equal = max(to.equal, balance*from.weight)
		}
	}
}

// improve sets the flow of an edge to its optimum while all others are fixed.
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
