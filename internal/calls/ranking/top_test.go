package ranking

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// TestLeastOfTop compares with sorting all.
func TestLeastOfTop(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		keys := make([]uint64, 2+r.IntN(60))
		nodes := make([]calltrie.NodeID, len(keys))
		for i := range keys {
			keys[i], nodes[i] = r.Uint64N(20), calltrie.NodeID(i)
		}
		n := 1 + r.IntN(len(keys)-1)
		got := leastOfTop(nodes, n, func(id calltrie.NodeID) uint64 { return keys[id] })
		sorted := slices.Sorted(slices.Values(keys))
		if want := sorted[len(sorted)-n]; got != want {
			t.Fatalf("the least of the top %d of %v is %d, want %d", n, sorted, got, want)
		}
	}
}
