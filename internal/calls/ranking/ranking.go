// Package ranking ranks the stacks of a trie of calls: by their time on a processor, by waits, and by waits for work, each
// for itself.
package ranking

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/waiting"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Part is a part of the stacks of a trie, which is ranked for itself. They are in the order of the output.
type Part uint8

const (
	All       Part = iota // in logs without waits
	Processor             // functions, by their time on a processor
	Waiting               // waits
	Idle                  // waits for work
)

// Keys are what stacks can be ranked by.
var Keys = []string{"self", "total", "calls"}

// Order is how stacks are ranked, and which.
type Order struct {
	By     string // one of Keys
	Top    int    // the number of stacks; 0 for all
	WaitOf func(calllog.FuncID) string
	Match  func(calllog.FuncID) bool                  // whether stacks of this innermost function are listed
	Omit   func(fn calllog.FuncID, total uint64) bool // functions that are only counted; nil for none
}

// List is the ranked stacks of a part of a trie.
type List struct {
	Trie    *calltrie.Trie
	Part    Part
	Split   *waiting.Division // nil if nothing waits
	Nodes   []calltrie.NodeID // the first ones
	Omitted Omitted
	Sum     uint64 // of self times
	Found   int    // stacks that matched
}

// Omitted are functions that were left out.
type Omitted struct {
	Count int
	Time  uint64
}

// Add counts a function.
func (o *Omitted) Add(time uint64) {
	o.Count++
	o.Time += time
}

// Rank returns the ranked stacks of each part that a trie has.
func Rank(trie *calltrie.Trie, order Order) []*List {
	split := waiting.Divide(trie, order.WaitOf)
	parts := []Part{All}
	if split != nil {
		parts = []Part{Processor, Waiting}
		if split.Idle() > 0 {
			parts = append(parts, Idle)
		}
	}
	var lists []*List
	for _, part := range parts {
		l := &List{Trie: trie, Part: part, Split: split}
		l.fill(&order)
		lists = append(lists, l)
	}
	return lists
}

// fill finds the stacks.
func (l *List) fill(o *Order) {
	for id, n := range l.Trie.Nodes() {
		l.Sum += l.Self(id, n)
		if l.Part == Processor && o.Omit != nil && o.Omit(n.Func, n.Total) {
			if l.Self(id, n) > 0 {
				l.Omitted.Add(l.Self(id, n))
			}
			continue
		}
		if n.Calls > 0 && l.holds(id, n) && l.matches(n, o.Match) {
			l.Nodes = append(l.Nodes, id)
		}
	}
	l.Found = len(l.Nodes)
	key := func(id calltrie.NodeID) uint64 { return l.order(id, o.By, l.key(id, o.By)) }
	if o.Top > 0 && o.Top < len(l.Nodes) {
		// Millions of stacks are not sorted for ten.
		least := leastOfTop(l.Nodes, o.Top, key)
		l.Nodes = slices.DeleteFunc(l.Nodes, func(id calltrie.NodeID) bool { return key(id) < least })
	}
	var ranks []uint32 // of stacks, to order those with equal keys
	stablesort.Func(l.Nodes, func(a, b calltrie.NodeID) int {
		if c := cmp.Compare(key(b), key(a)); c != 0 {
			return c
		}
		if ranks == nil {
			ranks = l.Trie.Ranks()
		}
		return cmp.Compare(ranks[a], ranks[b])
	})
	if o.Top > 0 {
		l.Nodes = l.Nodes[:min(o.Top, len(l.Nodes))]
	}
}

// holds reports whether a node is in the part of the list.
func (l *List) holds(id calltrie.NodeID, n *calltrie.Node) bool {
	switch l.Part {
	case Processor:
		return l.Split.For(id) == ""
	case Waiting:
		return l.Split.For(id) != "" && (n.Self > n.Idle || n.Self == 0)
	case Idle:
		return n.Idle > 0
	}
	return true
}

// Self returns the time of a node in the part of the list.
func (l *List) Self(id calltrie.NodeID, n *calltrie.Node) uint64 {
	switch {
	case !l.holds(id, n):
		return 0
	case l.Part == Waiting:
		return n.Self - min(n.Idle, n.Self)
	case l.Part == Idle:
		return n.Idle
	}
	return n.Self
}

// Waits returns how much of the total of a node was in waits.
func (l *List) Waits(id calltrie.NodeID, n *calltrie.Node) uint64 {
	if l.Split == nil {
		return 0
	}
	return min(l.Split.Waits(id), n.Total)
}

// key returns the value by which a node is ranked in its part.
func (l *List) key(id calltrie.NodeID, by string) uint64 {
	n := l.Trie.Node(id)
	switch {
	case by == "calls":
		return n.Calls
	case l.Part > Processor:
		return l.Self(id, n)
	case by == "total":
		return n.Total - l.Waits(id, n)
	}
	return n.Self
}

// order returns the value by which a node is ordered: waits for other threads come behind other waits.
func (l *List) order(id calltrie.NodeID, by string, key uint64) uint64 {
	const first = 1 << 63
	if by == "calls" || l.Part == Waiting && waiting.ForThreads(l.Split.For(id)) {
		return min(key, first-1)
	}
	return min(key, first-1) | first
}

// matches reports whether the innermost function of a stack matches, or of a wait the one that waited.
func (l *List) matches(n *calltrie.Node, match func(calllog.FuncID) bool) bool {
	return match(n.Func) || l.Part > Processor && n.Parent != calltrie.Root && match(l.Trie.Node(n.Parent).Func)
}

// leastOfTop returns the least key of the n nodes with the greatest, of which there are
// more than n.
func leastOfTop(nodes []calltrie.NodeID, n int, key func(calltrie.NodeID) uint64) uint64 {
	top := make([]uint64, 0, 2*n)
	least := uint64(0)
	for _, id := range nodes {
		k := key(id)
		if k < least {
			continue
		}
		if top = append(top, k); len(top) == cap(top) {
			slices.Sort(top)
			top = top[:copy(top, top[len(top)-n:])]
			least = top[0]
		}
	}
	slices.Sort(top)
	return top[len(top)-n]
}
