package stackdiff

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// commonNames returns the names of both sides' functions in order, and the
// number of each from 1.
func commonNames(sides ...Side) ([]string, map[string]calllog.FuncID) {
	ids := make(map[string]calllog.FuncID)
	var names []string
	for _, s := range sides {
		for _, f := range funcsOf(s.Trie) {
			if name := s.Name(f); ids[name] == 0 {
				ids[name] = 1
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for i, name := range names {
		ids[name] = calllog.FuncID(i + 1)
	}
	return names, ids
}

// funcsOf returns the functions in a trie.
func funcsOf(t *calltrie.Trie) []calllog.FuncID {
	seen := make(map[calllog.FuncID]bool)
	var list []calllog.FuncID
	for _, n := range t.Nodes() {
		if !seen[n.Func] {
			seen[n.Func] = true
			list = append(list, n.Func)
		}
	}
	return list
}

// half is a side whose functions have the common numbers.
type half struct {
	trie     *calltrie.Trie
	children [][]calltrie.NodeID
	runs     float64
}

func renamed(s Side, ids map[string]calllog.FuncID) *half {
	cache := make(map[calllog.FuncID]calllog.FuncID)
	t := calltrie.New()
	t.Merge(calltrie.Root, s.Trie, func(f calllog.FuncID) calllog.FuncID {
		id, ok := cache[f]
		if !ok {
			id = ids[s.Name(f)]
			cache[f] = id
		}
		return id
	})
	return &half{t, t.Children(), float64(max(s.Runs, 1))}
}

// values returns costs per run.
func (h *half) values(calls, total, self uint64) Values {
	return Values{float64(calls) / h.runs, float64(total) / h.runs, float64(self) / h.runs}
}

// A place is a stack of one side, or of both.
type place struct {
	a, b     calltrie.NodeID
	inA, inB bool
	parent   int // index of the caller's node
}

// merge walks both tries at once, each stack before its callees.
func merge(left, right *half) []Node {
	var nodes []Node
	todo := below(nil, left, right, place{inA: true, inB: true}, -1)
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		here := len(nodes)
		nodes = append(nodes, p.node(left, right))
		if p.parent >= 0 {
			nodes[here].Depth = nodes[p.parent].Depth + 1
		}
		todo = below(todo[:len(todo)-1], left, right, p, here)
	}
	return nodes
}

// below appends the callees of p to todo, the first of them last.
func below(todo []place, left, right *half, p place, parent int) []place {
	var a, b []calltrie.NodeID // both ascending by function
	if p.inA {
		a = left.children[p.a]
	}
	if p.inB {
		b = right.children[p.b]
	}
	first := len(todo)
	for len(a)+len(b) > 0 {
		order := 0
		switch {
		case len(a) == 0:
			order = 1
		case len(b) == 0:
			order = -1
		default:
			order = cmp.Compare(left.trie.Node(a[0]).Func, right.trie.Node(b[0]).Func)
		}
		next := place{inA: order <= 0, inB: order >= 0, parent: parent}
		if next.inA {
			next.a, a = a[0], a[1:]
		}
		if next.inB {
			next.b, b = b[0], b[1:]
		}
		todo = append(todo, next)
	}
	slices.Reverse(todo[first:])
	return todo
}

// node returns the node of a place.
func (p *place) node(left, right *half) Node {
	n := Node{Parent: p.parent}
	if p.inA {
		of := left.trie.Node(p.a)
		n.Func, n.StatsA, n.A = int(of.Func)-1, &of.Stats, left.values(of.Calls, of.Total, of.Self)
	}
	if p.inB {
		of := right.trie.Node(p.b)
		n.Func, n.StatsB, n.B = int(of.Func)-1, &of.Stats, right.values(of.Calls, of.Total, of.Self)
	}
	n.Kind = kindOf(p.inA, p.inB)
	return n
}

func kindOf(inA, inB bool) Kind {
	switch {
	case !inA:
		return New
	case !inB:
		return Gone
	}
	return Both
}

// mergeFuncs sums up functions, whose numbers are 1 to n.
func mergeFuncs(n int, left, right *half) []Func {
	list := make([]Func, n)
	inA := make([]bool, n)
	for i := range list {
		list[i] = Func{Func: i, Kind: New}
	}
	for _, f := range account.Functions(left.trie) {
		of := &list[f.Func-1]
		inA[f.Func-1] = true
		of.Kind, of.A = Gone, left.values(f.Calls, f.Total, f.Self)
	}
	for _, f := range account.Functions(right.trie) {
		of := &list[f.Func-1]
		of.Kind, of.B = kindOf(inA[f.Func-1], true), right.values(f.Calls, f.Total, f.Self)
	}
	return list
}
