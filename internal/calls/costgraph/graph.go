// Package costgraph makes the graph of who calls whom from a trie of calls, with the costs of functions and of the calls
// between them, and draws it.
package costgraph

import (
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// Graph is a graph that is ready to be written.
type Graph struct {
	Nodes []Node // by id; the outside, if it has an edge, is last
	Edges []Edge // by caller, then callee
	Unit  string
	Step  uint64 // see calllog.Clock
	// The columns to show; nil for none. JSON has all.
	Label, EdgeLabel, Shade *account.Key
}

// Node is a function of a call graph and the cost of its calls.
type Node struct {
	account.Function
	calllog.Func
	Shown   string
	Outside bool
}

// Edge is an edge between two nodes, by index.
type Edge struct {
	From, To int
	account.Costs
	Kind     string // of edges that are no calls
	Inferred bool   // it was not seen
}

// Describe returns what is known of a function, with its symbol as the name, and the name to show.
type Describe func(calllog.FuncID) (fn calllog.Func, shown string)

// Build sets the nodes and edges and returns how many functions it omitted: those whose share of all time
// is below minPercent, and those without an edge that match accepts.
func (g *Graph) Build(trie *calltrie.Trie, describe Describe, minPercent float64, match func(*Node) bool) (left int) {
	least := threshold(trie, minPercent)
	var nodes []Node
	index := make(map[calllog.FuncID]int)
	for _, fn := range account.Functions(trie) {
		known, shown := describe(fn.Func)
		index[fn.Func] = len(nodes)
		nodes = append(nodes, Node{Function: fn, Func: known, Shown: shown})
	}
	index[account.Outside] = len(nodes)
	nodes = append(nodes, Node{Outside: true, Shown: "outside"})
	keep := func(n *Node) bool { return n.Outside || float64(n.Total) >= least }
	used := make([]bool, len(nodes))
	for _, e := range account.Edges(trie) {
		from, to := index[e.Caller], index[e.Callee]
		a, b := &nodes[from], &nodes[to]
		if keep(a) && keep(b) && float64(e.Total) >= least && (!a.Outside && match(a) || match(b)) {
			g.Edges = append(g.Edges, Edge{From: from, To: to, Costs: e.Costs})
			used[from], used[to] = true, true
		}
	}
	// A function of which all edges are too small is omitted with them, unless its total is
	// large enough.
	at := make([]int, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		if used[i] || !n.Outside && keep(n) && match(n) {
			at[i] = len(g.Nodes)
			g.Nodes = append(g.Nodes, *n)
		} else if !n.Outside {
			left++
		}
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		e.From, e.To = at[e.From], at[e.To]
	}
	return left
}

// threshold returns the time that is a share of all.
func threshold(trie *calltrie.Trie, percent float64) float64 {
	var all uint64
	for _, n := range trie.Nodes() {
		if n.Parent == calltrie.Root {
			all += n.Total
		}
	}
	return float64(all) * percent / 100
}

// shades returns the ratio of a value to the largest one, from 0 to 1. It is the square root
// of the share, because otherwise most functions would look alike.
func (g *Graph) shades() (node, edge func(*account.Costs) float64) {
	most := func(list []*account.Costs) func(*account.Costs) float64 {
		if g.Shade == nil || len(list) == 0 {
			return func(*account.Costs) float64 { return 0 }
		}
		top := slices.MaxFunc(list, func(a, b *account.Costs) int { return compareBy(g.Shade, a, b) })
		return func(c *account.Costs) float64 { return rootShare(g.Shade.Of(c), g.Shade.Of(top)) }
	}
	var nodes, edges []*account.Costs
	for i := range g.Nodes {
		nodes = append(nodes, &g.Nodes[i].Costs)
	}
	for i := range g.Edges {
		edges = append(edges, &g.Edges[i].Costs)
	}
	return most(nodes), most(edges)
}
