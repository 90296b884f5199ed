package calltrie

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/cairnprof/cairn/calllog"
)

// TestMemory checks that a node with a hundred calls, whose durations vary by a factor of 16
// with some outliers, has at most 500 bytes, and 300,000 such nodes 150 MB.
func TestMemory(t *testing.T) {
	const nodes = 30_000
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	before := heap()
	trie := New()
	for i := range nodes {
		id := trie.Child(NodeID(i/2), calllog.FuncID(i%1000))
		n := trie.Node(id)
		for range 100 {
			v := 100 + rnd.Uint64N(1500)
			if rnd.IntN(50) == 0 {
				v = rnd.Uint64N(100_000)
			}
			n.Add(v, v)
		}
	}
	per := float64(heap()-before) / float64(trie.Len())
	t.Logf("%.0f bytes per node", per)
	if per > 500 {
		t.Errorf("%.0f bytes per node", per)
	}
	runtime.KeepAlive(trie)
}
