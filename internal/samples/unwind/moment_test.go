package unwind

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
)

// TestRanks compares the order of ranks with that of the frames, for random stacks.
func TestRanks(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		tree := newTrie()
		for range random.IntN(200) {
			tree.child(random.Uint32N(uint32(len(tree.nodes))), ref(1+random.Uint32N(6)))
		}
		frames := func(n uint32) (out []ref) {
			for ; n != root; n = tree.nodes[n].parent {
				out = append(out, tree.nodes[n].at)
			}
			slices.Reverse(out)
			return out
		}
		ranks := tree.ranks()
		for a := range uint32(len(tree.nodes)) {
			for b := range uint32(len(tree.nodes)) {
				if got, want := cmp.Compare(ranks[a], ranks[b]), slices.Compare(frames(a), frames(b)); got != want {
					t.Fatalf("%v and %v have ranks %d and %d", frames(a), frames(b), ranks[a], ranks[b])
				}
			}
		}
		for _, at := range []ref{machinecode.None, 5 | known} {
			other := trie{nodes: slices.Clone(tree.nodes), slots: slices.Clone(tree.slots)}
			other.child(root, at)
			if other.ranks() != nil {
				t.Errorf("stacks with %#x have ranks", at)
			}
		}
	}
}
