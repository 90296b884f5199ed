// Package stackdiff compares two logs of calls, stack by stack and function by function.
// It is pure.
//
// Function numbers mean something within one build only, so functions are
// matched by their symbol names along the whole stack: a stack is the same in
// both if the names from its outermost function to its innermost are. Functions
// of one name, as static functions of two files can be, are one function here.
//
// A side can be the sum of several runs. Its values are then means of a run.
package stackdiff

import (
	"cmp"
	"math"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Side is one of the two.
type Side struct {
	Trie *calltrie.Trie
	Name func(calllog.FuncID) string // symbol names
	Runs int                         // that the trie is the sum of; 0 is 1
}

// Values are average costs of a run, times in the unit of the tries.
type Values struct{ Calls, Total, Self float64 }

// Key chooses one of the values.
type Key int

// The keys.
const (
	Self Key = iota
	Total
	Calls
)

// Of returns the value that k selects.
func (k Key) Of(v *Values) float64 {
	switch k {
	case Total:
		return v.Total
	case Calls:
		return v.Calls
	}
	return v.Self
}

// Kind says which sides something is on.
type Kind int

// The kinds.
const (
	Both Kind = iota
	Gone      // only in A
	New       // only in B
)

func (k Kind) String() string { return [...]string{"both", "gone", "new"}[k] }

// Node is a stack of either side.
type Node struct {
	Func   int // index into the result's Names
	Parent int // index into the result's Nodes; -1 for a thread's first function
	Depth  int // number of callers
	Kind   Kind
	A, B   Values
	// StatsA and StatsB are the sums over all runs, nil on a side without the stack.
	StatsA, StatsB *calltrie.Stats
}

// Change returns by how much a value grew from A to B.
func (n *Node) Change(k Key) float64 { return k.Of(&n.B) - k.Of(&n.A) }

// Func is a function of either side, for all callers. Its totals count recursion once.
type Func struct {
	Func int // index into the result's Names
	Kind Kind
	A, B Values
}

// Change returns by how much a value grew from A to B.
func (f *Func) Change(k Key) float64 { return k.Of(&f.B) - k.Of(&f.A) }

// Result is both sides in one tree.
type Result struct {
	Names []string // symbol names, ascending
	// Nodes are all stacks in the order of their names, each after its caller and before its caller's next
	// callee.
	Nodes []Node
	Funcs []Func // in the order of their names
	// A and B are calls of all functions, and the time of all outermost ones.
	A, B Values
}

// Tries compares two tries.
func Tries(a, b Side) *Result {
	names, ids := commonNames(a, b)
	left, right := renamed(a, ids), renamed(b, ids)
	r := &Result{Names: names, Nodes: merge(left, right)}
	r.Funcs = mergeFuncs(len(names), left, right)
	for i := range r.Nodes {
		n := &r.Nodes[i]
		r.A.add(&n.A, n.Parent < 0)
		r.B.add(&n.B, n.Parent < 0)
	}
	return r
}

func (v *Values) add(of *Values, outermost bool) {
	v.Calls += of.Calls
	v.Self += of.Self
	if outermost {
		v.Total += of.Total
	}
}

// Moved returns the nodes that are on both sides and whose value changed, the
// largest change first.
func (r *Result) Moved(k Key) []int {
	var list []int
	for i := range r.Nodes {
		if n := &r.Nodes[i]; n.Kind == Both && n.Change(k) != 0 {
			list = append(list, i)
		}
	}
	stablesort.Func(list, func(x, y int) int {
		return cmp.Compare(math.Abs(r.Nodes[y].Change(k)), math.Abs(r.Nodes[x].Change(k)))
	})
	return list
}

// Branch is a stack that only one side has while both have its caller's, and everything below it.
type Branch struct {
	Node   int // index into Nodes
	Stacks int // that begin with it, itself included
	Values     // of the branch: its own total, calls and self of all its stacks
}

// Branches returns the branches of kind Gone or New, the largest first.
func (r *Result) Branches(kind Kind, k Key) []Branch {
	var list []Branch
	in := make([]int, len(r.Nodes)) // 1 + index of the branch
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if n.Kind != kind {
			continue
		}
		v := &n.A
		if kind == New {
			v = &n.B
		}
		if n.Parent >= 0 {
			in[i] = in[n.Parent]
		}
		top := in[i] == 0
		if top {
			list = append(list, Branch{Node: i})
			in[i] = len(list)
		}
		b := &list[in[i]-1]
		b.Stacks++
		b.add(v, top)
	}
	stablesort.Func(list, func(x, y Branch) int { return cmp.Compare(k.Of(&y.Values), k.Of(&x.Values)) })
	return list
}

// ByChange returns the functions whose value changed, the largest change first.
func (r *Result) ByChange(k Key) []Func {
	list := slices.DeleteFunc(slices.Clone(r.Funcs), func(f Func) bool { return f.Change(k) == 0 && f.Kind == Both })
	stablesort.Func(list, func(x, y Func) int { return cmp.Compare(math.Abs(y.Change(k)), math.Abs(x.Change(k))) })
	return list
}
