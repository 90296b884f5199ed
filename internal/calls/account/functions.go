package account

import (
	"cmp"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/quantile"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Costs are calls and what they cost, in the unit of the trie they are from.
type Costs struct {
	Calls uint64
	// Total is the time from enter to exit of the outermost calls only: a recursive function, also an
	// indirectly recursive one, is counted once.
	Total uint64
	// TotalRaw is that sum over all calls. With recursion it exceeds the elapsed time; llvm-xray calls it the
	// sum.
	TotalRaw uint64
	Self     uint64 // time outside of callees
	// Of the times of single calls. Percentiles are exact up to sketch.Exact calls, and beyond that at most 1.6
	// % off.
	Min, Median, P90, P99, Max uint64
	// Spread reports whether these are known. In a log of sums they are not: Max alone may be, and is 0 otherwise.
	Spread bool
	// Deduced and Open are how many of the calls have no exit in the log, as in
	// calltrie.Stats.
	Deduced, Open uint64
	Inferred      uint64 // see calltrie.Stats
}

// NewCosts returns the costs of a node, or of several merged ones, whose outermost calls took total.
func NewCosts(s *calltrie.Stats, total uint64) Costs {
	return Costs{
		Calls: s.Calls, Total: total, TotalRaw: s.Total, Self: s.Self,
		Min: s.Min, Median: percentile(s, 0.5), P90: percentile(s, 0.9), P99: percentile(s, 0.99), Max: s.Max, Spread: s.Latency.Count() > 0,
		Deduced: s.Deduced, Open: s.Open, Inferred: s.Inferred,
	}
}

// percentile returns a quantile of single calls, limited to their range, as the middle of a bucket may be
// outside.
func percentile(s *calltrie.Stats, q float64) uint64 {
	return min(max(s.Latency.Quantile(q), s.Min), s.Max)
}

// Latencies returns the times of the single calls of each function, by all callers. They are empty in a log of sums.
func Latencies(t *calltrie.Trie) map[calllog.FuncID]*quantile.Sketch {
	of := make(map[calllog.FuncID]*quantile.Sketch)
	for _, n := range t.Nodes() {
		s := of[n.Func]
		if s == nil {
			s = &quantile.Sketch{}
			of[n.Func] = s
		}
		s.Merge(&n.Latency)
	}
	return of
}

// Function is the cost of the calls of a function, by all callers.
type Function struct {
	Func calllog.FuncID
	Costs
}

// Functions returns the functions of a trie, ascending by id. Functions that only have nodes without counted
// calls have zero calls.
func Functions(t *calltrie.Trie) []Function {
	return FunctionsOf(t, func(fn calllog.FuncID) calllog.FuncID { return fn })
}

// FunctionsOf is Functions where several ids stand for one function of the source, such as the bodies of a constructor: one
// returns the id for all. A call of one body by another is part of that call.
func FunctionsOf(t *calltrie.Trie, one func(calllog.FuncID) calllog.FuncID) []Function {
	groups := groupNodes(t, func(n *calltrie.Node) uint64 { return uint64(one(n.Func)) })
	list := make([]Function, len(groups))
	for i, g := range groups {
		list[i] = Function{calllog.FuncID(g.key), NewCosts(&g.stats, g.outer)}
	}
	return list
}

// group is the nodes of a trie that are counted together.
type group struct {
	key   uint64
	stats calltrie.Stats
	outer uint64 // total of those nodes that are not below one of the group
}

// groupNodes puts the nodes with the same key together, ascending by key.
func groupNodes(t *calltrie.Trie, key func(*calltrie.Node) uint64) []*group {
	index := make(map[uint64]int32)
	var groups []*group
	of := make([]int32, t.Len())
	for id, n := range t.Nodes() {
		k := key(n)
		g, ok := index[k]
		if !ok {
			g = int32(len(groups))
			index[k] = g
			groups = append(groups, &group{key: k})
		}
		of[id] = g
		s := &groups[g].stats
		if up := t.Node(n.Parent); n.Parent != calltrie.Root && up.Calls > 0 && of[n.Parent] == g && up.Func != n.Func {
			s.Self, s.Folded, s.Idle = s.Self+n.Self, s.Folded+n.Folded, s.Idle+n.Idle
			continue
		}
		s.Merge(&n.Stats)
	}
	addOuter(t, groups, of)
	stablesort.Func(groups, func(a, b *group) int { return cmp.Compare(a.key, b.key) })
	return groups
}

// addOuter adds to each group the totals of its outermost nodes with calls. It walks the
// trie once and keeps for each group how many of its nodes are on the path, as
// looking up all paths would take the square of their length.
func addOuter(t *calltrie.Trie, groups []*group, of []int32) {
	above := make([]uint32, len(groups))
	counted := func(id calltrie.NodeID) uint32 { return uint32(min(t.Node(id).Calls, 1)) }
	t.Walk(func(id calltrie.NodeID) {
		if above[of[id]] == 0 {
			groups[of[id]].outer += t.Node(id).Total
		}
		above[of[id]] += counted(id)
	}, func(id calltrie.NodeID) { above[of[id]] -= counted(id) })
}
