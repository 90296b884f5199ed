package probe

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/prof"
)

// counted is a function in mode edge.
type counted struct {
	fn      *asm.Function // with blocks for the critical edges that have counters
	implied [][]int       // by block: nil if it has a counter
	flow    []prof.Flow
	probes  blockProbes
}

// SupportsEdges reports whether there are counters of blocks for the unit's machine and object format.
func SupportsEdges(opts *Options) bool {
	return machines[opts.Machine].countsBlocks() && opts.Object == asm.ELF
}

// onlyCalls returns fn with the counter of its calls alone.
func onlyCalls(fn *asm.Function) *counted {
	return &counted{fn: fn, flow: []prof.Flow{{Entered: true, Leaves: true}}}
}

// WithCounters returns a copy of f that has the blocks of mode edge, or f if it has no others.
func WithCounters(f *asm.Function, u *asm.Unit) *asm.Function {
	return machines[u.Kind].count(&Rewriter{Unit: u}, f).fn
}

// counters are the counters of one function's blocks.
type counters interface {
	blockProbes
	// dear reports whether a counter at the beginning of a block of the function costs more than others.
	dear(block int) bool
	// add adds the place of the next counter, in f, where so much is live as at the beginning of a block of the function.
	// once reports that it runs at most once in each call.
	add(f *asm.Fragment, at, block int, once bool)
}

// planCounters plans counters of fn, whose places it adds to those given, which are empty. A function whose counts would
// not follow from them has that of its calls alone.
func (r *Rewriter) planCounters(fn *asm.Function, places counters) *counted {
	u := r.Unit
	g := fn.FlowGraph(u.Taken, u.Returns)
	plan := &countPlan{}
	first := asm.Nodes
	for _, f := range fn.Frags {
		for _, w := range countableEdges(f, u, g, first) {
			plan.ways = append(plan.ways, w.Way)
			plan.onto = append(plan.onto, w.to-asm.Nodes)
			plan.first = append(plan.first, first-asm.Nodes)
		}
		first += len(f.Blocks)
	}
	if !spanningTree(g, plan, places.dear) {
		return onlyCalls(fn)
	}
	return withCounters(fn, g, plan, places)
}

// withCounters returns fn with blocks for the edges of a plan.
func withCounters(fn *asm.Function, g *asm.Graph, plan *countPlan, places counters) *counted {
	c := &counted{fn: &asm.Function{Name: fn.Name, Orphan: fn.Orphan}}
	var number, ofWay []uint32
	first, way := 0, 0
	again := repeated(g)
	for _, f := range fn.Frags {
		to := way
		for to < len(plan.ways) && plan.first[to] == first {
			to++
		}
		split := f
		if to > way {
			split = withWays(f, plan.ways[way:to])
		}
		block := first
		for i := range split.Blocks {
			b := &split.Blocks[i]
			if b.Way != nil {
				ofWay = append(ofWay, uint32(len(c.implied)))
				c.implied = append(c.implied, nil)
				places.add(f, b.Way.At(), plan.onto[way], !again[first+plan.ways[way].Block])
				way++
				continue
			}
			var by []int
			if !plan.counted[block] {
				by = []int{}
			}
			number = append(number, uint32(len(c.implied)))
			c.implied = append(c.implied, by)
			places.add(f, b.Probe, block, !again[block])
			block++
		}
		c.fn.Frags = append(c.fn.Frags, split)
		first += len(f.Blocks)
	}
	c.flow, c.probes = flowOf(g, plan, number, ofWay), places
	return c
}

// flowOf returns the flow of the blocks of a graph, among which those of the ways of a plan are: number is what each
// block has become, and ofWay the number of the block of each way.
func flowOf(g *asm.Graph, plan *countPlan, number, ofWay []uint32) []prof.Flow {
	flow := make([]prof.Flow, len(number)+len(ofWay))
	between := map[[2]int]uint32{}
	for i, n := range ofWay {
		between[[2]int{plan.first[i] + plan.ways[i].Block, plan.onto[i]}] = n
		flow[n].Next = []uint32{number[plan.onto[i]]}
	}
	for b, n := range number {
		f := &flow[n]
		for _, s := range g.Succs[asm.Nodes+b] {
			to := s - asm.Nodes
			switch way, ok := between[[2]int{b, to}]; {
			case s == asm.NodeOut:
				f.Leaves = true
			case ok:
				f.Next = append(f.Next, way)
			default:
				f.Next = append(f.Next, number[to])
			}
		}
		slices.Sort(f.Next)
		f.Entered = slices.Contains(g.Preds[asm.Nodes+b], asm.NodeIn)
	}
	return flow
}

// countable is a critical edge and the node that it leads to.
type countable struct {
	asm.Way
	to int
}

// countableEdges returns the critical edges of fr that can have a counter, in the order of withWays. Block 0 of fr is
// node first of g. They may lead to another part of the function, as gcc -fprofile-use has of most. Besides conditional
// jumps they are those of blocks that a call may leave in the middle.
func countableEdges(fr *asm.Fragment, u *asm.Unit, g *asm.Graph, first int) (edges []countable) {
	last, branches := lastLines(fr), branchings[u.Kind]
	for i := range fr.Blocks {
		b := &fr.Blocks[i]
		node := first + i
		if len(g.Succs[node]) < 2 || last[i].Next == 0 || last[i].App {
			continue
		}
		way := asm.Way{Block: i, Jump: last[i]}
		line := u.Src[last[i].At:last[i].Next]
		switch b.Last {
		case asm.FlowBranch:
			to, known := g.Labelled(b.Target)
			if i+1 == len(fr.Blocks) || to == node+1 && known {
				continue
			}
			if word, ok := branches.opposite(line, b.Target); ok && known && len(g.Preds[to]) > 1 {
				taken := way
				taken.Taken, taken.Word = true, word
				edges = append(edges, countable{taken, to})
			}
			if len(g.Preds[node+1]) > 1 {
				edges = append(edges, countable{way, node + 1})
			}
		case asm.FlowJump:
			to, known := g.Labelled(b.Target)
			if way.Before = true; known && branches.jumps(line, b.Target) && len(g.Preds[to]) > 1 {
				edges = append(edges, countable{way, to})
			}
		case asm.FlowNext, asm.FlowCall:
			if i+1 < len(fr.Blocks) && len(g.Preds[node+1]) > 1 {
				way.Jump.Next = behindUnwind(u.Src, way.Jump.Next)
				edges = append(edges, countable{way, node + 1})
			}
		}
	}
	return edges
}

// behindUnwind returns the offset behind the unwind directives at an offset, which are of the instruction before it.
func behindUnwind(src []byte, at int32) int32 {
	for line := range bytes.Lines(src[at:]) {
		if !bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte(".cfi_")) {
			break
		}
		at += int32(len(line))
	}
	return at
}

// appendFlow appends the flow of the blocks to a map record.
func appendFlow(t []byte, flow []prof.Flow) []byte {
	for i := range flow {
		f := &flow[i]
		head := len(f.Next) * wire.FlowNext
		if f.Entered {
			head |= wire.FlowEntered
		}
		if f.Leaves {
			head |= wire.FlowLeaves
		}
		t = fmt.Appendf(t, "\t.long\t%d", head)
		for _, to := range f.Next {
			t = fmt.Appendf(t, ", %d", to)
		}
		t = append(t, '\n')
	}
	return t
}

// flowLength returns the bytes of what appendFlow appends.
func flowLength(flow []prof.Flow) int {
	n := 4 * len(flow)
	for i := range flow {
		n += 4 * len(flow[i].Next)
	}
	return n
}
