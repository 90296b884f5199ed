package calltrie

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/calllog"
)

func drawTrie(t *rapid.T, label string) *Trie {
	trie := New()
	for range rapid.IntRange(0, 40).Draw(t, label) {
		at := NodeID(rapid.IntRange(0, trie.Len()-1).Draw(t, "parent"))
		id := trie.Child(at, calllog.FuncID(rapid.IntRange(1, 4).Draw(t, "func")))
		total := rapid.Uint64Range(0, 1000).Draw(t, "total")
		trie.Node(id).Add(total, total/2)
	}
	return trie
}

// rows returns the contents of a trie, independent of the numbers of its nodes.
func rows(trie *Trie) map[string]Stats {
	m := map[string]Stats{}
	for id, n := range trie.Nodes() {
		key := ""
		for _, f := range trie.Stack(id) {
			key += string(rune('a'+f)) + ";"
		}
		m[key] = n.Stats
	}
	return m
}

func same(a, b *Trie) bool {
	x, y := rows(a), rows(b)
	if len(x) != len(y) {
		return false
	}
	for key, s := range x {
		o, ok := y[key]
		if !ok || !slices.Equal(s.Latency.Buckets(), o.Latency.Buckets()) ||
			s.Calls != o.Calls || s.Total != o.Total || s.Self != o.Self || s.Min != o.Min || s.Max != o.Max {
			return false
		}
	}
	return true
}

// TestMerge checks that the order of merging does not matter.
func TestMerge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawTrie(t, "a"), drawTrie(t, "b")
		ab, ba := New(), New()
		ab.Merge(Root, a, nil)
		ab.Merge(Root, b, nil)
		ba.Merge(Root, b, nil)
		where := ba.Merge(Root, a, nil)
		if !same(ab, ba) {
			t.Fatalf("a and b: %v\nb and a: %v", rows(ab), rows(ba))
		}
		for id := range a.Nodes() {
			if !slices.Equal(ba.Stack(where[id]), a.Stack(id)) {
				t.Fatalf("node %d went to another stack", id)
			}
		}
	})
}

func TestOutermost(t *testing.T) {
	t.Parallel()
	trie := New()
	f := trie.Child(Root, 1)
	g := trie.Child(f, 2)
	ff := trie.Child(g, 1)
	if got := trie.Outermost(); !slices.Equal(got, []bool{false, true, true, false}) {
		t.Errorf("outermost %v", got)
	}
	if got := trie.Stack(ff); !slices.Equal(got, []calllog.FuncID{1, 2, 1}) {
		t.Errorf("stack %v", got)
	}
	kids := trie.Children()
	if !slices.Equal(kids[Root], []NodeID{f}) || !slices.Equal(kids[g], []NodeID{ff}) || len(kids[ff]) != 0 {
		t.Errorf("children %v", kids)
	}
}

// TestRanks checks that ranks are ordered as stacks, and that a call is outermost according to
// its stack.
func TestRanks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		trie := drawTrie(t, "trie")
		ranks, outer := trie.Ranks(), trie.Outermost()
		for a, n := range trie.Nodes() {
			stack := trie.Stack(a)
			if want := !slices.Contains(stack[:len(stack)-1], n.Func); outer[a] != want {
				t.Fatalf("%v: outermost is %v", stack, outer[a])
			}
			for b := range trie.Nodes() {
				if want := slices.Compare(stack, trie.Stack(b)); want != cmp.Compare(ranks[a], ranks[b]) {
					t.Fatalf("%v and %v: ranks %d and %d", stack, trie.Stack(b), ranks[a], ranks[b])
				}
			}
		}
	})
}

// TestDeep checks that a deep stack is walked in linear time. A walk from each node to the root
// would take 3*10^10 steps.
func TestDeep(t *testing.T) {
	t.Parallel()
	const depth = 250_000
	trie := New()
	at := Root
	for i := range depth {
		at = trie.Child(at, calllog.FuncID(1+i%(depth-1)))
	}
	ranks, outer := trie.Ranks(), trie.Outermost()
	if ranks[at] != depth || outer[at] || !outer[at-1] {
		t.Errorf("rank %d, outermost %v and %v", ranks[at], outer[at], outer[at-1])
	}
}
