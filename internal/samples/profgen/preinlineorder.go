package profgen

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// callGraph has the calls in contexts.
type callGraph map[string]*function

// function is a function of a callGraph.
type function struct {
	name  string
	calls []*call // ascending by the names of callees, each once

	// State of Tarjan's algorithm.
	number, low int
	open        bool
}

// call is an edge of a callGraph.
type call struct {
	from, to *function
	count    uint64
}

// topDown returns the functions of contexts with callers before callees. Cold calls are
// ignored, as they differ from run to run. Within cycles, functions with the hottest calls
// come first.
func topDown(root *node, cold uint64) []string {
	g := newCallGraph(root, cold)
	var order []string
	for _, cycle := range g.components() {
		members := spanningOrder(cycle)
		slices.Reverse(members)
		for _, f := range members {
			order = append(order, f.name)
		}
	}
	slices.Reverse(order)
	return order
}

// newCallGraph returns the graph of the calls in contexts with counts above cold.
func newCallGraph(root *node, cold uint64) callGraph {
	g := callGraph{}
	counts := map[*function]map[*function]uint64{}
	var walk func(caller *node, from *function)
	walk = func(caller *node, from *function) {
		for _, callee := range caller.next {
			to := g.function(callee.frame.name)
			if from != nil {
				if counts[from] == nil {
					counts[from] = map[*function]uint64{}
				}
				counts[from][to] += callee.weight()
			}
			walk(callee, to)
		}
	}
	walk(root, nil)
	for from, of := range counts {
		for to, n := range of {
			if n > cold || cold == 0 {
				from.calls = append(from.calls, &call{from, to, n})
			}
		}
		stablesort.Func(from.calls, func(a, b *call) int { return cmp.Compare(a.to.name, b.to.name) })
	}
	return g
}

// weight is the count of calls of n, 0 if its caller or n itself has no samples.
func (n *node) weight() uint64 {
	if n.samples == nil || n.parent.samples == nil {
		return 0
	}
	return n.calls()
}

func (g callGraph) function(name string) *function {
	f := g[name]
	if f == nil {
		f = &function{name: name}
		g[name] = f
	}
	return f
}

// components returns the strongly connected components, callees before callers, by
// Tarjan's algorithm. Functions are visited in the order of their names.
func (g callGraph) components() [][]*function {
	var out [][]*function
	var stack []*function
	visited := 0
	var visit func(f *function)
	visit = func(f *function) {
		visited++
		f.number, f.low, f.open = visited, visited, true
		stack = append(stack, f)
		for _, c := range f.calls {
			if c.to.number == 0 {
				visit(c.to)
				f.low = min(f.low, c.to.low)
			} else if c.to.open {
				f.low = min(f.low, c.to.number)
			}
		}
		if f.low != f.number {
			return
		}
		first := slices.Index(stack, f)
		members := slices.Clone(stack[first:])
		slices.Reverse(members)
		for _, m := range members {
			m.open = false
		}
		stack = stack[:first]
		out = append(out, members)
	}
	for _, name := range slices.Sorted(maps.Keys(g)) {
		if g[name].number == 0 {
			visit(g[name])
		}
	}
	return out
}

// spanningOrder orders the functions of a cycle along the hottest calls: a maximum spanning
// tree (Kruskal), in topological order (Kahn).
func spanningOrder(members []*function) []*function {
	if len(members) == 1 {
		return members
	}
	calls := inside(members)
	tree, into := spanningTree(calls)
	var order []*function
	queued := map[*function]bool{}
	for _, c := range calls {
		if into[c.from] == 0 && !queued[c.from] {
			queued[c.from] = true
			order = append(order, c.from)
		}
	}
	for i := 0; i < len(order); i++ {
		for _, c := range order[i].calls {
			if !tree[c] {
				continue
			}
			if into[c.to]--; into[c.to] == 0 {
				order = append(order, c.to)
			}
		}
	}
	return order
}

// inside returns the calls among functions, hottest first.
func inside(members []*function) []*call {
	is := map[*function]bool{}
	for _, f := range members {
		is[f] = true
	}
	var calls []*call
	for _, f := range members {
		for _, c := range f.calls {
			if is[c.to] {
				calls = append(calls, c)
			}
		}
	}
	stablesort.Func(calls, func(a, b *call) int { return cmp.Compare(b.count, a.count) })
	return calls
}

// spanningTree selects, in order, the calls that connect functions which were not connected
// before. It returns them, and the number of selected calls into each function.
func spanningTree(calls []*call) (tree map[*call]bool, into map[*function]int) {
	tree, into = map[*call]bool{}, map[*function]int{}
	group := map[*function]*function{}
	var find func(f *function) *function
	find = func(f *function) *function {
		if next := group[f]; next != nil {
			group[f] = find(next)
			return group[f]
		}
		return f
	}
	for _, c := range calls {
		if from, to := find(c.from), find(c.to); from != to {
			group[to] = from
			tree[c] = true
			into[c.to]++
		}
	}
	return tree, into
}
