package profgen

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cairnprof/cairn/internal/machinecode"
	"github.com/cairnprof/cairn/internal/tailcall"
	"github.com/cairnprof/cairn/internal/unwind"
	"github.com/cairnprof/cairn/trace"
)

// CallGraph tells who called whom, as far as samples show it: by the branches that were
// taken, and by the stacks.
type CallGraph struct {
	Nodes   []CallNode // ascending by their numbers
	Edges   []CallEdge // by caller, callee, then calls before tail calls
	Samples uint64     // that have a stack
	Calls   uint64     // of all edges
}

// CallNode is a function, or what is in none.
type CallNode struct {
	ID trace.FuncID
	trace.Func
	Outside bool   // of the binaries
	Calls   uint64 // along the edges to it
	Total   uint64 // samples on whose stacks it is
	Self    uint64 // samples that were taken in it
}

// CallEdge is the calls of a function by another one, or jumps in place of calls.
type CallEdge struct {
	Caller, Callee int // indexes of nodes
	Tail           bool
	Calls          uint64   // branches that were taken
	Samples        uint64   // on whose stacks it is
	Rules          []string // those that put it on stacks, ascending
}

// Inferred reports whether the edge was not seen, but follows from others.
func (e *CallEdge) Inferred() bool { return e.Calls == 0 && len(e.Rules) > 0 }

// kind puts tail calls behind calls.
func (e *CallEdge) kind() int {
	if e.Tail {
		return 1
	}
	return 0
}

// Calls makes the call graph of a result, whose stacks get the frames that are missing;
// by may be nil. Functions are those of code, and what was inlined is part of them.
func Calls(r *unwind.Result, code *machinecode.Set, by tailcall.Inferrer) *CallGraph {
	g := callBuilder{
		stackBuilder: newStackBuilder(code, StackOptions{Inferrer: by}),
		nodes:        map[trace.FuncID]*CallNode{}, edges: map[callKey]*CallEdge{},
	}
	for i := range r.Contexts {
		for _, b := range r.Contexts[i].Branches {
			g.branch(b)
		}
	}
	for i := range r.Moments {
		g.stack(&r.Moments[i])
	}
	return g.graph()
}

// callBuilder is the state of Calls.
type callBuilder struct {
	*stackBuilder
	nodes   map[trace.FuncID]*CallNode
	edges   map[callKey]*CallEdge
	samples uint64
}

// callKey is what makes calls one edge.
type callKey struct {
	caller, callee trace.FuncID
	tail           bool
}

func (g *callBuilder) node(at ref) *CallNode {
	id := g.function(at)
	n := g.nodes[id]
	if n == nil {
		n = &CallNode{ID: id, Func: g.out.Funcs[id], Outside: g.code.Binary(at) == nil}
		g.nodes[id] = n
	}
	return n
}

func (g *callBuilder) edge(caller, callee *CallNode, tail bool) *CallEdge {
	key := callKey{caller.ID, callee.ID, tail}
	e := g.edges[key]
	if e == nil {
		e = &CallEdge{Tail: tail}
		g.edges[key] = e
	}
	return e
}

// branch counts a branch that enters a function. A jump to the beginning of the function
// that it is in is a loop.
func (g *callBuilder) branch(b unwind.Count) {
	if entered(g.code, b.To) == "" {
		return
	}
	tail := b.From.IsInstruction() && !g.code.Class(b.From).IsCall()
	if tail && (g.code.Class(b.From) == machinecode.Return || g.function(b.From) == g.function(b.To)) {
		return
	}
	callee := g.node(b.To)
	callee.Calls += b.Count
	g.edge(g.node(b.From), callee, tail).Calls += b.Count
}

// stack counts the functions and edges of a stack, each once.
func (g *callBuilder) stack(m *unwind.Moment) {
	g.read(m)
	g.samples += m.Count
	nodes, edges := map[*CallNode]bool{}, map[*CallEdge]bool{}
	var caller *CallNode
	for i, f := range g.frames {
		n := g.node(f.At)
		if !nodes[n] {
			nodes[n] = true
			n.Total += m.Count
		}
		if i > 0 {
			rule := g.frames[i-1].Rule
			e := g.edge(caller, n, rule != "")
			if !edges[e] {
				edges[e] = true
				e.Samples += m.Count
			}
			if rule != "" && !slices.Contains(e.Rules, rule) {
				e.Rules = append(e.Rules, rule)
			}
		}
		caller = n
	}
	if caller != nil {
		caller.Self += m.Count
	}
}

func (g *callBuilder) graph() *CallGraph {
	out := &CallGraph{Samples: g.samples}
	index := map[trace.FuncID]int{}
	for _, id := range slices.Sorted(maps.Keys(g.nodes)) {
		index[id] = len(out.Nodes)
		out.Nodes = append(out.Nodes, *g.nodes[id])
	}
	for key, e := range g.edges {
		e.Caller, e.Callee = index[key.caller], index[key.callee]
		slices.Sort(e.Rules)
		out.Edges = append(out.Edges, *e)
		out.Calls += e.Calls
	}
	slices.SortFunc(out.Edges, func(a, b CallEdge) int {
		return cmp.Or(cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Callee, b.Callee), cmp.Compare(a.kind(), b.kind()))
	})
	return out
}
