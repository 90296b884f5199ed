package probe

import (
	"slices"
	"sort"

	"github.com/cairnprof/cairn/internal/binary/domtree"
	"github.com/cairnprof/cairn/internal/disjoint"
	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Mode edge counts executions. Problem: a counter in each block and on each branch is more than twice what is needed, as
// what enters a block leaves it, and loops run most of them.
//
// Choice: counters on the edges that are not in a spanning tree (Knuth and Stevenson, see package edges, which computes
// the others). A block is an edge of its own, between a point where it is entered and one where it is left. All that is
// outside of the function is one point: calls come from there, returns go there, and so do the ways that are not known:
// jumps through tables, landings of exceptions, calls that do not come back. Such an edge can have no counter, nor can
// one between blocks, but for a critical one (edges.go) of which the jump can be written anew. So these are in the tree
// first; they form no cycle, as each has an end that no other one has. Then come the edges that are expected to run
// most, in the innermost loops, and of equals those whose counter would cost most.

// countPlan is where mode edge has counters.
type countPlan struct {
	counted []bool // by block: it has a counter
	ways    []asm.Way
	onto    []int // by way: the block that it leads to
	first   []int // by way: the first block of its fragment
}

// An arc is an edge of the graph of points.
type arc struct {
	from, to int     // points
	block    int     // the block that it is, or -1
	way      int     // index of the critical edge that it is, or -1
	weight   float64 // expected cost of a counter
}

// spanningTree chooses the counters of a function with the graph g. ways are the critical edges that can have one;
// expensive reports blocks at whose beginning a counter costs more. ok is false if the counters cannot tell all.
func spanningTree(g *asm.Graph, plan *countPlan, expensive func(block int) bool) (ok bool) {
	n := len(g.Succs) - asm.Nodes
	depth := loopDepths(g)
	var arcs []arc
	in, out := func(b int) int { return 1 + 2*b }, func(b int) int { return 2 + 2*b } // 0 is outside
	critical := map[[2]int]int{}
	for i, to := range plan.onto {
		critical[[2]int{plan.first[i] + plan.ways[i].Block, to}] = i
	}
	joined := disjoint.New(1 + 2*n)
	for b := range n {
		const cost, dear = 1, 3
		weight := frequency(depth[b]) * cost
		if expensive(b) {
			weight *= dear
		}
		if b > 0 { // calls are counted anyway
			arcs = append(arcs, arc{in(b), out(b), b, -1, weight})
		}
		for _, s := range g.Succs[asm.Nodes+b] {
			to := s - asm.Nodes
			if way, ok := critical[[2]int{b, to}]; ok && s != asm.NodeOut {
				// Half of the block's runs, and a jump.
				arcs = append(arcs, arc{out(b), in(to), -1, way, frequency(min(depth[b], depth[to])) * 1.2})
				continue
			}
			point := 0
			if s != asm.NodeOut {
				point = in(to)
			}
			if !joined.Join(out(b), point) {
				return false
			}
		}
		if slices.Contains(g.Preds[asm.Nodes+b], asm.NodeIn) && !joined.Join(0, in(b)) {
			return false
		}
	}
	sort.SliceStable(arcs, func(i, k int) bool { return arcs[i].weight > arcs[k].weight })
	plan.counted = make([]bool, n)
	plan.counted[0] = true
	take := make([]bool, len(plan.ways))
	for _, a := range arcs {
		switch {
		case joined.Join(a.from, a.to):
		case a.block >= 0:
			plan.counted[a.block] = true
		default:
			take[a.way] = true
		}
	}
	plan.keep(take)
	return true
}

// keep drops the ways that get no counter.
func (p *countPlan) keep(take []bool) {
	n := 0
	for i, t := range take {
		if t {
			p.ways[n], p.onto[n], p.first[n] = p.ways[i], p.onto[i], p.first[i]
			n++
		}
	}
	p.ways, p.onto, p.first = p.ways[:n], p.onto[:n], p.first[:n]
}

// frequency is how often a block in so many loops is expected to run.
func frequency(depth int) float64 {
	const perLoop, most = 8, 6
	f := 1.0
	for range min(depth, most) {
		f *= perLoop
	}
	return f
}

// repeated reports of each block whether it may run more than once in a call: it is on a cycle of the graph, or on one of
// the ways that are not known, which lead from wherever the function may be left to wherever it may be entered but by a call.
func repeated(g *asm.Graph) []bool {
	entered := slices.DeleteFunc(slices.Clone(g.Succs[asm.NodeIn]), func(n int) bool { return n == asm.Nodes })
	next := func(n int) []int {
		switch n {
		case asm.NodeIn:
			return nil
		case asm.NodeOut:
			return entered
		}
		return g.Succs[n]
	}
	on := cycles(len(g.Succs), next)
	return on[asm.Nodes:]
}

// cycles reports which of n nodes are on a cycle, by Tarjan's algorithm for strongly connected components (1972).
func cycles(n int, next func(int) []int) []bool {
	type visit struct{ node, edge int }
	on := make([]bool, n)
	index, low := make([]int, n), make([]int, n) // from 1; 0 was not visited
	open := make([]bool, n)                      // its component is not complete
	var stack []int
	count := 0
	for root := range n {
		if index[root] != 0 {
			continue
		}
		path := []visit{{root, 0}}
		for len(path) > 0 {
			v := &path[len(path)-1]
			if v.edge == 0 {
				count++
				index[v.node], low[v.node], open[v.node] = count, count, true
				stack = append(stack, v.node)
			}
			if to := next(v.node); v.edge < len(to) {
				at := to[v.edge]
				v.edge++
				switch {
				case at == v.node:
					on[at] = true
				case index[at] == 0:
					path = append(path, visit{at, 0})
				case open[at]:
					low[v.node] = min(low[v.node], index[at])
				}
				continue
			}
			node := v.node
			path = path[:len(path)-1]
			if len(path) > 0 {
				low[path[len(path)-1].node] = min(low[path[len(path)-1].node], low[node])
			}
			if low[node] != index[node] {
				continue
			}
			at := len(stack) - 1
			for stack[at] != node {
				at--
			}
			for _, member := range stack[at:] {
				open[member] = false
				on[member] = on[member] || len(stack)-at > 1
			}
			stack = stack[:at]
		}
	}
	return on
}

// loopDepths returns in how many natural loops each block is: those of the edges that lead to a block which dominates
// the one that they come from.
func loopDepths(g *asm.Graph) []int {
	idom, depth := domtree.Of(asm.NodeIn, g.Succs, g.Preds)
	loops := map[int][]int{} // by head, the ends of its edges back
	for b := asm.Nodes; b < len(g.Succs); b++ {
		for _, s := range g.Succs[b] {
			if s >= asm.Nodes && depth[s] >= 0 && depth[b] >= 0 && asm.Dominates(s, b, idom, depth) {
				loops[s] = append(loops[s], b)
			}
		}
	}
	depths := make([]int, len(g.Succs))
	seen := make([]int, len(g.Succs))
	for head := asm.Nodes; head < len(g.Succs); head++ {
		list := slices.Clone(loops[head])
		if len(list) == 0 {
			continue
		}
		seen[head] = head
		depths[head]++
		for len(list) > 0 {
			b := list[len(list)-1]
			list = list[:len(list)-1]
			if seen[b] == head || b < asm.Nodes {
				continue
			}
			seen[b] = head
			depths[b]++
			list = append(list, g.Preds[b]...)
		}
	}
	return depths[asm.Nodes:]
}
