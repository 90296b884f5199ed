package account

import (
	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// Outside is the caller of the functions that threads begin in. No log uses it: it would be function 2^24-1 of
// object 255.
const Outside = ^calllog.FuncID(0)

// Edge is the cost of the calls of a function by another, on any stack. A function that calls itself directly
// has an edge to itself. The Total of an edge excludes its calls below calls of the same edge.
type Edge struct {
	Caller, Callee calllog.FuncID
	Costs
}

// Edges returns the edges of a trie, ascending by caller and then by callee. Calls of unknown callers have the
// caller Outside and come last.
func Edges(t *calltrie.Trie) []Edge {
	groups := groupNodes(t, func(n *calltrie.Node) uint64 {
		caller := Outside
		if n.Parent != calltrie.Root {
			caller = t.Node(n.Parent).Func
		}
		return uint64(caller)<<32 | uint64(n.Func)
	})
	list := make([]Edge, len(groups))
	for i, g := range groups {
		list[i] = Edge{calllog.FuncID(g.key >> 32), calllog.FuncID(g.key), NewCosts(&g.stats, g.outer)}
	}
	return list
}
