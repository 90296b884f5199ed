package calltrie

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/calllog"
)

// TestFold checks that folding a trie keeps the largest stacks, the sum of all times, and the
// callers.
func TestFold(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		trie := New()
		ids := []NodeID{Root}
		for range rnd.IntN(2000) {
			ids = append(ids, trie.Child(ids[rnd.IntN(len(ids))], calllog.FuncID(1+rnd.IntN(4))))
		}
		for id := trie.Len() - 1; id > 0; id-- {
			n := trie.Node(NodeID(id))
			self := rnd.Uint64N(4)
			n.Add(n.Total+self, self) // the total is what callees added
			n.Calls += uint64(rnd.IntN(2))
			if n.Parent != Root {
				trie.Node(n.Parent).Total += n.Total
			}
		}
		// Add counts totals that are there already.
		for _, n := range trie.Nodes() {
			n.Total /= 2
		}
		old, stacks := map[NodeID]Stats{}, map[NodeID][]calllog.FuncID{}
		var sum uint64
		for id, n := range trie.Nodes() {
			old[id], stacks[id] = n.Stats, trie.Stack(id)
			sum += n.Self
		}
		var stay []NodeID
		for id := ids[rnd.IntN(len(ids))]; id != Root; id = trie.Node(id).Parent {
			stay = append(stay, id)
		}
		keep := 1 + rnd.IntN(len(old)+1)
		where, lost := trie.Fold(keep, stay)
		if trie.Len() > keep+len(stay) {
			t.Fatalf("%d nodes of %d, %d were to be kept and %d had to", trie.Len(), len(old)+1, keep, len(stay))
		}
		var calls, folded uint64
		for id, stats := range old {
			at := where[id]
			stack := trie.Stack(at)
			if !slices.Equal(stack, stacks[id][:len(stack)]) {
				t.Fatalf("%v went to %v", stacks[id], stack)
			}
			if len(stack) == len(stacks[id]) {
				if n := trie.Node(at); n.Calls != stats.Calls || n.Total != stats.Total || n.Self < stats.Self {
					t.Fatalf("%v has %+v, and had %+v", stack, n.Stats, stats)
				}
				continue
			}
			if slices.Contains(stay, id) || stats.Total > lost.MostTime || stats.Calls > lost.MostCalls {
				t.Fatalf("%v with %+v is lost, of %v and %+v", stacks[id], stats, stay, lost)
			}
			calls, folded = calls+stats.Calls, folded+stats.Self
		}
		if calls != lost.Calls || folded != lost.Self {
			t.Fatalf("%d calls of %d lost their stack, said are %+v", calls, folded, lost)
		}
		rest := trie.Node(Root).Self
		for id, n := range trie.Nodes() {
			rest += n.Self
			if got, ok := trie.Find(n.Parent, n.Func); !ok || got != id {
				t.Fatalf("node %d is not found", id)
			}
		}
		if rest != sum {
			t.Fatalf("self times are %d, and were %d", rest, sum)
		}
		trie.Child(trie.Child(Root, 77), 78) // it goes on
	}
}
