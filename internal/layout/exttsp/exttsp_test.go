package exttsp

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// walked returns a graph of n blocks that was walked through: what enters a block leaves it.
func walked(r *rand.Rand, n, calls int) *Graph {
	g := &Graph{Size: make([]int, n), Times: make([]uint64, n)}
	next := make([][]int, n)
	times := map[[2]int]uint64{}
	for b := range n {
		g.Size[b] = 1 + r.IntN(40)
		if b+1 < n {
			next[b] = append(next[b], b+1)
		}
		if to := max(1, min(n-1, b+r.IntN(11)-5)); r.IntN(2) == 0 && !slices.Contains(next[b], to) {
			next[b] = append(next[b], to)
		}
	}
	share := make([]float64, n)
	for b := range share {
		share[b] = r.Float64()
	}
	for range calls {
		at := 0
		for range 50 + 10*n {
			g.Times[at]++
			if len(next[at]) == 0 {
				break
			}
			to := next[at][0]
			if len(next[at]) > 1 && r.Float64() < share[at] {
				to = next[at][1]
			}
			times[[2]int{at, to}]++
			at = to
		}
	}
	for b := range n {
		for _, to := range next[b] {
			g.Edges = append(g.Edges, Edge{b, to, times[[2]int{b, to}]})
		}
	}
	return g
}

// best returns the highest score of any order.
func best(g *Graph) (score float64) {
	order := make([]int, len(g.Size))
	for b := range order {
		order[b] = b
	}
	var permute func(k int)
	permute = func(k int) {
		if k == len(order) {
			score = max(score, Score(g, order))
			return
		}
		for i := k; i < len(order); i++ {
			order[k], order[i] = order[i], order[k]
			permute(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	permute(1)
	return score
}

// TestBest compares orders with the best ones, of all permutations.
func TestBest(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	sum, equal, worst, was := 0.0, 0, 1.0, 0.0
	const graphs = 300
	for range graphs {
		g := walked(r, 2+r.IntN(6), 20)
		text := make([]int, len(g.Size))
		for b := range text {
			text[b] = b
		}
		top := best(g)
		ratio := Score(g, Order(g)) / top
		sum, worst = sum+ratio, min(worst, ratio)
		was += Score(g, text) / top
		if ratio > 1-1e-9 {
			equal++
		}
	}
	t.Logf("of the best score: %.4f on average, %.4f at worst, %d of %d are the best; as written: %.4f", sum/graphs, worst, equal, graphs, was/graphs)
	if sum/graphs < 0.99 || worst < 0.8 || equal < graphs*8/10 {
		t.Errorf("the orders are far from the best ones")
	}
}

// TestOrder has orders that are obvious.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		g    Graph
		want []int
	}{
		{"nothing", Graph{}, nil},
		{"one", Graph{Size: []int{1}, Times: []uint64{0}}, []int{0}},
		{
			"an if that is seldom true",
			Graph{[]int{8, 8, 8}, []uint64{100, 1, 100}, []Edge{{0, 1, 1}, {0, 2, 99}, {1, 2, 1}}},
			[]int{0, 2, 1},
		},
		{
			"a loop with its test at its head: 1 tests, 2 is the body",
			Graph{[]int{8, 8, 8, 8}, []uint64{1, 100, 99, 1}, []Edge{{0, 1, 1}, {1, 2, 99}, {1, 3, 1}, {2, 1, 99}}},
			[]int{0, 2, 1, 3},
		},
		{
			"what never ran stays in order, behind what did",
			Graph{[]int{8, 8, 8, 8, 8}, []uint64{5, 0, 0, 5, 0}, []Edge{{0, 1, 0}, {0, 3, 5}, {1, 2, 0}, {2, 3, 0}, {3, 4, 0}}},
			[]int{0, 3, 1, 2, 4},
		},
		{
			"empty blocks",
			Graph{[]int{0, 0, 0}, []uint64{5, 0, 5}, []Edge{{0, 2, 5}, {1, 2, 0}}},
			[]int{0, 2, 1},
		},
		{
			"counts that would wrap round",
			Graph{[]int{8, 8, 8}, []uint64{1 << 63, 1, 1 << 63}, []Edge{{0, 1, 1}, {0, 2, 1<<63 - 1}, {1, 2, 1}}},
			[]int{0, 2, 1},
		},
	} {
		if got := Order(&test.g); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestLarge orders functions of many blocks: a chain of tests, a loop around a table of cases, and a random one.
func TestLarge(t *testing.T) {
	t.Parallel()
	const n = 8000
	star := &Graph{Size: make([]int, n), Times: make([]uint64, n)}
	for b := range n {
		star.Size[b], star.Times[b] = 10, uint64(1+b%7)
		if b > 1 {
			star.Edges = append(star.Edges, Edge{b, 1, uint64(1 + b%7)})
		}
	}
	for name, g := range map[string]*Graph{"star": star, "random": walked(rand.New(rand.NewPCG(5, 6)), n, 20)} {
		start := time.Now()
		order := Order(g)
		checkOrder(t, g, order)
		text := make([]int, n)
		for b := range text {
			text[b] = b
		}
		t.Logf("%s: %v; score %.0f of %.0f as written", name, time.Since(start), Score(g, order), Score(g, text))
		if Score(g, order) < Score(g, text) {
			t.Errorf("%s: the order is worse than the text's", name)
		}
	}
}

func checkOrder(t *testing.T, g *Graph, order []int) {
	t.Helper()
	sorted := slices.Sorted(slices.Values(order))
	for i, b := range sorted {
		if i != b {
			t.Fatalf("block %d is missing or twice there", i)
		}
	}
	if len(order) != len(g.Size) || len(order) > 0 && order[0] != 0 {
		t.Fatalf("%d of %d blocks, the first is %d", len(order), len(g.Size), order[0])
	}
}

// FuzzOrder checks that the order of any graph has all blocks, the entry first, and is the same each time.
func FuzzOrder(f *testing.F) {
	f.Add([]byte{4, 8, 8, 8, 8, 0, 1, 9, 1, 2, 3, 2, 1, 200})
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || data[0] == 0 {
			return
		}
		n := min(int(data[0]), len(data)-1)
		g := &Graph{Size: make([]int, n), Times: make([]uint64, n)}
		for b := range n {
			g.Size[b] = int(data[1+b])
		}
		seen := map[[2]int]bool{}
		for rest := data[1+n:]; n > 0 && len(rest) > 2; rest = rest[3:] {
			from, to, times := int(rest[0])%n, int(rest[1])%n, uint64(rest[2])<<(rest[2]%57)
			if !seen[[2]int{from, to}] {
				seen[[2]int{from, to}] = true
				g.Edges = append(g.Edges, Edge{from, to, times})
				g.Times[to] = max(g.Times[to], times)
			}
		}
		order := Order(g)
		checkOrder(t, g, order)
		if !slices.Equal(order, Order(g)) {
			t.Fatal("a second order differs")
		}
	})
}
