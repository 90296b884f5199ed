package profgen

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/tailcall"
	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// CallGraph is the call graph as shown by samples: by taken branches, and by stacks.
type CallGraph struct {
	Nodes   []CallNode // ascending by their numbers
	Edges   []CallEdge // by caller, callee, then kind
	Samples uint64     // that have a stack
	Calls   uint64     // of all edges
}

// CallNode is a function, or code outside of functions.
type CallNode struct {
	ID calllog.FuncID
	calllog.Func
	Outside bool   // of the binaries
	Calls   uint64 // along the edges to it
	Total   uint64 // samples on whose stacks it is
	Self    uint64 // samples that were taken in it
}

// CallKind is the kind of an edge between functions.
type CallKind uint8

// The kinds.
const (
	PlainCall CallKind = iota
	TailCall           // a jump instead of a call
	// Incomplete is a call of another function than the next one on the stack: frames are
	// missing between them, and were not restored.
	Incomplete
)

// String names the kind.
func (k CallKind) String() string {
	return [...]string{"call", "tail call", "frames missing"}[k]
}

// CallEdge is the calls of a function by another one.
type CallEdge struct {
	Caller, Callee int // indexes of nodes
	Kind           CallKind
	Calls          uint64   // branches that were taken
	Samples        uint64   // on whose stacks it is
	Rules          []string // rules that restored it on stacks, ascending
}

// Inferred reports whether the edge was not observed, but only restored.
func (e *CallEdge) Inferred() bool { return e.Calls == 0 && len(e.Rules) > 0 }

// Calls makes the call graph of a result, in whose stacks missing frames are restored; by may
// be nil. Functions are those of code, and include inlined functions.
func Calls(r *unwind.Result, code *machinecode.Set, by tailcall.Inferrer) *CallGraph {
	g := callBuilder{
		stackBuilder: newStackBuilder(code, StackOptions{Inferrer: by}),
		nodes:        map[calllog.FuncID]*CallNode{}, edges: map[callKey]*CallEdge{},
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
	nodes   map[calllog.FuncID]*CallNode
	edges   map[callKey]*CallEdge
	samples uint64
}

// callKey identifies an edge.
type callKey struct {
	caller, callee calllog.FuncID
	kind           CallKind
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

func (g *callBuilder) edge(caller, callee *CallNode, kind CallKind) *CallEdge {
	key := callKey{caller.ID, callee.ID, kind}
	e := g.edges[key]
	if e == nil {
		e = &CallEdge{Kind: kind}
		g.edges[key] = e
	}
	return e
}

// branch counts a branch that enters a function. A jump to the beginning of its own function
// is a loop.
func (g *callBuilder) branch(b unwind.Count) {
	if entered(g.code, b.To) == "" {
		return
	}
	kind := PlainCall
	if b.From.IsInstruction() && !g.code.Class(b.From).IsCall() {
		kind = TailCall
		if g.code.Class(b.From) == controlflow.Return || g.function(b.From) == g.function(b.To) {
			return
		}
	}
	callee := g.node(b.To)
	callee.Calls += b.Count
	g.edge(g.node(b.From), callee, kind).Calls += b.Count
}

// kind returns the kind of edge from a frame to the next one.
func (g *callBuilder) kind(f tailcall.Frame, next *CallNode) CallKind {
	if f.Rule != "" {
		return TailCall
	}
	if g.code.Class(f.At) == controlflow.Call {
		target, _ := g.code.Target(f.At)
		to := g.code.Binary(f.At).At(target) // in no function if it is a stub of the dynamic linker
		if to.IsInstruction() && g.key(to).function >= 0 && g.function(to) != next.ID {
			return Incomplete
		}
	}
	return PlainCall
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
			before := g.frames[i-1]
			e := g.edge(caller, n, g.kind(before, n))
			if !edges[e] {
				edges[e] = true
				e.Samples += m.Count
			}
			if before.Rule != "" && !slices.Contains(e.Rules, before.Rule) {
				e.Rules = append(e.Rules, before.Rule)
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
	index := map[calllog.FuncID]int{}
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
	stablesort.Func(out.Edges, func(a, b CallEdge) int {
		return cmp.Or(cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Callee, b.Callee), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}
