package domtree

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestOf compares the tree with its definition: without a dominator no path is left.
func TestOf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "nodes")
		succs, preds := make([][]int, n), make([][]int, n)
		for _, e := range rapid.SliceOfN(rapid.IntRange(0, n*n-1), 0, 2*n).Draw(t, "edges") {
			succs[e/n] = append(succs[e/n], e%n)
			preds[e%n] = append(preds[e%n], e/n)
		}
		idom, depth := Of(0, succs, preds)
		from := func(without int) []bool {
			reached := make([]bool, n)
			if without != 0 {
				for _, i := range Postorder(0, cut(succs, without)) {
					reached[i] = true
				}
			}
			return reached
		}
		all := from(-1)
		for b := range n {
			var dominators []int // of b, itself left out
			for a := range n {
				if all[b] && a != b && !from(a)[b] {
					dominators = append(dominators, a)
				}
			}
			var found []int
			for x := b; all[b] && idom[x] != x; x = idom[x] {
				found = append(found, idom[x])
			}
			slices.Sort(found)
			want := len(dominators)
			if !all[b] {
				want = -1
			}
			if !slices.Equal(found, dominators) || depth[b] != want || (idom[b] < 0) == all[b] {
				t.Fatalf("dominators of %d are %v, at depth %d; found %v, depth %d", b, dominators, want, found, depth[b])
			}
		}
	})
}

// cut returns a graph without the edges to a node.
func cut(succs [][]int, node int) [][]int {
	out := make([][]int, len(succs))
	for i, to := range succs {
		for _, x := range to {
			if x != node {
				out[i] = append(out[i], x)
			}
		}
	}
	return out
}
