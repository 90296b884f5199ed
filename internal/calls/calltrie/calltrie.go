// Package calltrie holds the trie of calls: a node for each stack of functions that occurred, below the node of
// its caller, with the costs of its calls. All reports about logs of calls, tables, flame graphs, call graphs,
// differences and the database, are walks over it.
//
// Times are in the caller's unit; a trie of several logs must be in one unit.
package calltrie

import (
	"iter"
	"math"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/quantile"
)

// NodeID is the number of a node. A node's number is greater than its parent's.
type NodeID uint32

// Root is the node of the empty stack: it has no function, and its children are
// the functions that threads begin in.
const Root NodeID = 0

// Other is the function of the node for stacks that a trie has no room for, see SetLimit. No log uses it: it
// would be one of the last of object 255.
const Other = ^calllog.FuncID(0) - 1

// Node is a function under its callers and the calls that it had there.
type Node struct {
	Func   calllog.FuncID
	Parent NodeID
	Stats
}

// Stats are calls and their costs.
type Stats struct {
	Calls uint64
	// Total is the time from enter to exit, Self the part of it that was not in callees.
	Total, Self uint64
	Latency     quantile.Sketch // the totals of single calls
	Min, Max    uint64          // of the totals of single calls; 0 without calls
	// Deduced is how many of the calls have no exit in the log, because a caller
	// returned first: their time is a lower bound. Open is how many were still
	// running when the log ended.
	Deduced, Open uint64
	// Inferred is how many of the calls were made by a jump at the end of the caller,
	// whose frame the log had ended.
	Inferred uint64
	// Folded is the part of Self that was in callees removed by Trie.Fold.
	Folded uint64
	// Idle is the part of Self in which a thread waited with nothing begun, see package waiting.
	Idle uint64
}

// Add counts a call that took total, self of which in itself.
func (s *Stats) Add(total, self uint64) {
	s.Calls++
	s.Total += total
	s.Self += self
	// The fields that change with every call are in the first 64 bytes of a node. The least and the greatest
	// call are in the outer buckets, or the sketch is small.
	if !s.Latency.AddInner(total) {
		s.addOuter(total)
	}
}

func (s *Stats) addOuter(total uint64) {
	if s.Calls == 1 || total < s.Min {
		s.Min = total
	}
	s.Max = max(s.Max, total)
	s.Latency.Add(total)
}

// Merge adds the counts of other.
func (s *Stats) Merge(other *Stats) {
	if other.Calls > 0 && (s.Calls == 0 || other.Min < s.Min) {
		s.Min = other.Min
	}
	s.Max = max(s.Max, other.Max)
	s.Calls += other.Calls
	s.Total += other.Total
	s.Self += other.Self
	s.Deduced += other.Deduced
	s.Open += other.Open
	s.Inferred += other.Inferred
	s.Folded += other.Folded
	s.Idle += other.Idle
	s.Latency.Merge(&other.Latency)
}

// Trie is a tree of calls. The zero value is not usable: call New.
type Trie struct {
	nodes nodes
	// expected has the last callee, by Place.
	expected []child
	index    index
	limit    int    // nodes at most, with the root and without the node for other stacks
	other    NodeID // Root until there is one
	folds    int
}

type child struct {
	fn calllog.FuncID
	id NodeID
}

// New returns a trie with only the root.
func New() *Trie {
	return &Trie{nodes: nodes{n: 1, pages: [][]Node{make([]Node, 1)}}, expected: make([]child, 2), limit: math.MaxUint32}
}

// SetLimit bounds the number of nodes. When the limit is reached, calls of stacks without a node go to one node
// for all of them: its function is Other, its parent the root, and it is its own child for all functions. The
// Total of a call there must be its self time alone, see OfOthers.
func (t *Trie) SetLimit(nodes int) { t.limit = nodes }

// OfOthers reports whether a node is the one for stacks without a node.
func (t *Trie) OfOthers(id NodeID) bool { return id == t.other && id != Root }

// Len returns the number of nodes with the root.
func (t *Trie) Len() int { return t.nodes.n }

// Node returns a node. The pointer is valid until the next node is made.
func (t *Trie) Node(id NodeID) *Node { return t.nodes.at(id) }

// Child returns the node of fn below parent, and makes it if there is none.
func (t *Trie) Child(parent NodeID, fn calllog.FuncID) NodeID {
	if t.OfOthers(parent) {
		return parent
	}
	h := hash(parent, fn)
	if id, ok := t.index.find(&t.nodes, h, parent, fn); ok {
		return id
	}
	return t.newChild(h, parent, fn)
}

// newChild makes the node of fn below parent, where there is none.
func (t *Trie) newChild(h uint32, parent NodeID, fn calllog.FuncID) NodeID {
	if t.nodes.n >= t.limit {
		return t.theOther()
	}
	id := t.add(parent, fn)
	t.index.insert(id, h)
	return id
}

// Place is a position in a stack from which it makes calls: before its first call, or after another call. The
// next callee there is mostly the same as the last time: in a log of SQLite for 86 of 100 calls, whereas 35
// call the same function as the call before.
type Place uint32

// First is the place of a node before its first call.
func First(caller NodeID) Place { return Place(2 * caller) }

// After is the place of a node's caller after a call of the node.
func After(callee NodeID) Place { return Place(2*callee + 1) }

// Node returns the node that the place is of: the caller or the callee before.
func (p Place) Node() NodeID { return NodeID(p / 2) }

// Moved returns the place in another trie, where its node is the given one.
func (p Place) Moved(node NodeID) Place { return Place(2*node) | p&1 }

// Expect returns the node of fn below its caller if it was the last callee at the place. It is small enough to
// be inlined in loops, before ChildAt.
func (t *Trie) Expect(at Place, fn calllog.FuncID) (NodeID, bool) {
	c := &t.expected[at]
	return c.id, c.fn == fn && c.id != Root
}

// ChildAt is Child for a place of parent, and sets what Expect returns for it.
func (t *Trie) ChildAt(at Place, parent NodeID, fn calllog.FuncID) NodeID {
	id := t.Child(parent, fn)
	if !t.OfOthers(id) && !t.OfOthers(at.Node()) { // that one has many callers
		t.expected[at] = child{fn, id}
	}
	return id
}

func (t *Trie) add(parent NodeID, fn calllog.FuncID) NodeID {
	id := t.nodes.add()
	n := t.nodes.at(id)
	n.Func, n.Parent = fn, parent
	if len(t.expected)+2 > cap(t.expected) {
		// By half again: append's quarter would copy a large trie twice as often.
		t.expected = slices.Grow(t.expected, max(2, len(t.expected)/2))
	}
	t.expected = append(t.expected, child{}, child{})
	return id
}

// Find returns the node of fn below parent, if there is one.
func (t *Trie) Find(parent NodeID, fn calllog.FuncID) (NodeID, bool) {
	return t.index.find(&t.nodes, hash(parent, fn), parent, fn)
}

// theOther returns the node for other stacks. It is not in the index, so that no function of a log can be
// confused with it.
func (t *Trie) theOther() NodeID {
	if t.other == Root {
		t.other = t.add(Root, Other)
	}
	return t.other
}

// Children returns the children of each node, ascending by function: index it
// with a NodeID.
func (t *Trie) Children() [][]NodeID {
	sizes := make([]int, t.nodes.n)
	for i := 1; i < t.nodes.n; i++ {
		sizes[t.nodes.at(NodeID(i)).Parent]++
	}
	room := make([]NodeID, t.nodes.n-1)
	children := make([][]NodeID, t.nodes.n)
	for i, n := range sizes {
		children[i], room = room[:0:n], room[n:]
	}
	for i := 1; i < t.nodes.n; i++ {
		p := t.nodes.at(NodeID(i)).Parent
		children[p] = append(children[p], NodeID(i))
	}
	for _, list := range children {
		slices.SortFunc(list, func(a, b NodeID) int { return int(int64(t.nodes.at(a).Func) - int64(t.nodes.at(b).Func)) })
	}
	return children
}

// Nodes yields all nodes but the root, parents before their children.
func (t *Trie) Nodes() iter.Seq2[NodeID, *Node] {
	return func(yield func(NodeID, *Node) bool) {
		for i := 1; i < t.nodes.n; i++ {
			if !yield(NodeID(i), t.nodes.at(NodeID(i))) {
				return
			}
		}
	}
}

// Stack returns the functions from the outermost to that of id.
func (t *Trie) Stack(id NodeID) []calllog.FuncID {
	var stack []calllog.FuncID
	for ; id != Root; id = t.nodes.at(id).Parent {
		stack = append(stack, t.nodes.at(id).Func)
	}
	slices.Reverse(stack)
	return stack
}

// Merge adds the nodes below other's root below node at, and returns the new place of each node of other: index
// the result with a NodeID of other. Functions are renumbered by rename, which may be nil.
func (t *Trie) Merge(at NodeID, other *Trie, rename func(calllog.FuncID) calllog.FuncID) []NodeID {
	where := make([]NodeID, other.nodes.n)
	where[Root] = at
	for i := 1; i < other.nodes.n; i++ {
		n := other.nodes.at(NodeID(i))
		fn := n.Func
		if rename != nil {
			fn = rename(fn)
		}
		if NodeID(i) == other.other {
			where[i] = t.theOther()
		} else {
			where[i] = t.Child(where[n.Parent], fn)
		}
		t.mergeNode(where[i], &n.Stats)
	}
	return where
}

func (t *Trie) mergeNode(id NodeID, stats *Stats) {
	into := t.nodes.at(id)
	total := into.Total
	into.Merge(stats)
	if t.OfOthers(id) {
		into.Total = total + stats.Self
	}
}

// NewRoot makes a node that has the root as its parent but is not a child of it: a separate root for stacks
// whose place is not known yet. MergeFrom moves them there. The nodes below it have numbers between its own and
// the next root's.
func (t *Trie) NewRoot() NodeID { return t.add(Root, 0) }

// MergeFrom adds the nodes of other from below a root on, up to the node end, below node at. It sets their new
// places in where, which has an element for each node of other. Other must have no limit.
func (t *Trie) MergeFrom(at NodeID, other *Trie, root, end NodeID, where []NodeID) {
	where[root] = at
	for i := root + 1; i < end; i++ {
		n := other.nodes.at(NodeID(i))
		where[i] = t.Child(where[n.Parent], n.Func)
		t.mergeNode(where[i], &n.Stats)
	}
}
