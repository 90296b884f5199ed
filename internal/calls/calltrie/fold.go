package calltrie

import (
	"math"
	"slices"
)

// NodeBytes is the approximate memory of a node, including the index and the times of some calls: 200 bytes
// with one call, 500 with a hundred.
const NodeBytes = 320

// Folds returns how often the trie was folded, which gives its nodes other numbers.
func (t *Trie) Folds() int { return t.folds }

// Folded describes the calls that lost their stacks in a Fold.
type Folded struct {
	Calls, Self uint64 // all of them, and their own time
	// MostTime and MostCalls are the largest loss of a stack.
	MostTime, MostCalls uint64
}

// Fold keeps at most that many nodes in the trie, besides those that must stay: it removes the least by the
// time of their calls, which becomes their callers' own. It returns the new place of each node's calls, by
// NodeID.
func (t *Trie) Fold(keep int, stay []NodeID) (where []NodeID, lost Folded) {
	t.folds++
	weight := t.weights()
	weight[Root] = math.MaxUint64
	for _, id := range append(stay, t.other) {
		weight[id] = math.MaxUint64
	}
	least, ties := threshold(weight, keep)
	where = make([]NodeID, t.nodes.n)
	kept := NodeID(1)
	for id := NodeID(1); int(id) < t.nodes.n; id++ {
		n := t.nodes.at(id)
		w := weight[id]
		if w == least && ties > 0 {
			ties--
			w++
		}
		if w <= least {
			lost.add(&n.Stats)
			where[id] = where[n.Parent]
			into := t.nodes.at(where[id])
			into.Self += n.Self
			into.Folded += n.Self
			continue
		}
		n.Parent = where[n.Parent]
		where[id] = kept
		*t.nodes.at(kept) = *n
		kept++
	}
	t.nodes.truncate(int(kept))
	t.other = where[t.other]
	t.expected = make([]child, 2*int(kept), 3*int(kept))
	t.reindex()
	return where, lost
}

// reindex rebuilds the index of all nodes, in a table of the same size, as a folded trie grows again.
func (t *Trie) reindex() {
	clear(t.index.slots)
	t.index.used = 0
	for id, n := range t.Nodes() {
		if id != t.other {
			t.index.insert(id, hash(n.Parent, n.Func))
		}
	}
}

// weights returns the weight of each node: the time of its calls, plus one for each call, as clocks may stand
// still. No callee weighs more than its caller.
func (t *Trie) weights() []uint64 {
	w := make([]uint64, t.nodes.n)
	for id := t.nodes.n - 1; id > 0; id-- {
		n := t.nodes.at(NodeID(id))
		w[id] = max(w[id], min(n.Total, math.MaxInt64)+min(n.Calls, math.MaxInt64-1))
		w[n.Parent] = max(w[n.Parent], w[id])
	}
	return w
}

// threshold returns the weight that nodes must exceed for that many of them to be kept, and how many nodes of
// exactly that weight can be kept in addition. Of these, callers come first.
func threshold(weight []uint64, keep int) (least uint64, ties int) {
	if keep >= len(weight) {
		return 0, len(weight)
	}
	sorted := slices.Clone(weight)
	slices.Sort(sorted)
	if least = sorted[len(sorted)-1-keep]; least == math.MaxUint64 {
		return least - 1, 0 // those that must stay are more
	}
	upTo, _ := slices.BinarySearch(sorted, least+1)
	return least, keep - (len(sorted) - upTo)
}

func (f *Folded) add(s *Stats) {
	f.Calls += s.Calls
	f.Self += s.Self - s.Folded // which is counted
	f.MostTime = max(f.MostTime, s.Total)
	f.MostCalls = max(f.MostCalls, s.Calls)
}

// truncate keeps the first n nodes.
func (x *nodes) truncate(n int) {
	x.n = n
	pages := (n + perPage - 1) >> pageBits
	clear(x.pages[pages:])
	x.pages = x.pages[:pages]
	last := &x.pages[pages-1]
	used := n - (pages-1)<<pageBits
	clear((*last)[used:])
	*last = (*last)[:used]
}
