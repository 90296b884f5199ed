package edges

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/disjoint"
	"github.com/cairnprof/cairn/prof"
)

// random returns a function of n blocks with random flow, as many probes as are needed, and none where a block follows.
func random(r *rand.Rand, n int) *prof.Func {
	f := &prof.Func{Mode: prof.ModeEdge, Fragments: []prof.Fragment{{Blocks: make([]uint32, n-1)}}, Flow: make([]prof.Flow, n)}
	f.Flow[0].Entered = true
	for b := range f.Flow {
		for range r.IntN(3) {
			f.Flow[b].Next = append(f.Flow[b].Next, uint32(1+r.IntN(n-1)))
		}
		slices.Sort(f.Flow[b].Next)
		f.Flow[b].Next = slices.Compact(f.Flow[b].Next)
		f.Flow[b].Leaves = len(f.Flow[b].Next) == 0 || r.IntN(4) == 0
		f.Flow[b].Entered = b == 0 || r.IntN(6) == 0
	}
	points := disjoint.New(2*n + 1) // 0 is outside
	p := graphOf(f)
	for e := len(p.edges) - 1; e >= 0; e-- { // those between blocks first, as they have no counters
		switch {
		case e > 0 && points.Join(int(p.edges[e].from)+1, int(p.edges[e].to)+1):
			if e < n {
				f.Implied = append(f.Implied, prof.Implied{Block: uint32(e)})
			}
		case e >= n:
			return nil // a cycle of edges that can have no counter
		}
	}
	slices.Reverse(f.Implied)
	return f
}

// TestSolve walks through random graphs, and compares what follows from the counters with what was walked.
func TestSolve(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	tried, bare := 0, 0
	for tried < 300 {
		n := 2 + r.IntN(30)
		f := random(r, n)
		if f == nil {
			continue
		}
		tried++
		bare += len(f.Implied)
		blocks := make([]uint64, n)
		edges := map[[2]uint32]uint64{}
		calls := uint64(1 + r.IntN(5))
		for range calls {
			at := uint32(0)
			for step := range 100 {
				blocks[at]++
				flow := &f.Flow[at]
				if len(flow.Next) == 0 || flow.Leaves && r.IntN(3) == 0 || step == 99 {
					break
				}
				to := flow.Next[r.IntN(len(flow.Next))]
				edges[[2]uint32{at, to}]++
				at = to
			}
		}
		// A walk that was cut in the middle of a block without a way out is one that the graph does not have.
		flowsOut := make([]uint64, n)
		for e, times := range edges {
			flowsOut[e[0]] += times
		}
		cut := false
		for b := range f.Flow {
			cut = cut || !f.Flow[b].Leaves && flowsOut[b] != blocks[b]
		}
		if cut {
			continue
		}
		plan := NewPlan(f)
		var counters []uint64
		for _, e := range plan.counters {
			counters = append(counters, blocks[e])
		}
		var s Solver
		times, contradictory := s.Blocks(plan, calls, counters)
		if contradictory {
			t.Errorf("graph %d: the counts contradict each other", tried)
		}
		for b := range blocks {
			if uint64(times[b]) != blocks[b] {
				t.Fatalf("graph %d: block %d ran %d times, computed are %d", tried, b, blocks[b], times[b])
			}
		}
		for _, e := range Of(f, blocks) {
			if want := edges[[2]uint32{e.From, e.To}]; e.To != Outside && e.Times != want {
				t.Errorf("graph %d: %d to %d ran %d times, computed are %d", tried, e.From, e.To, want, e.Times)
			}
			delete(edges, [2]uint32{e.From, e.To})
		}
		if len(edges) > 0 {
			t.Errorf("graph %d: %v are missing", tried, edges)
		}
	}
	if bare < 1000 {
		t.Errorf("only %d blocks had no probe", bare)
	}
}

// TestContradictory checks that counts that no run has are reported and not negative.
func TestContradictory(t *testing.T) {
	t.Parallel()
	// 0 goes on to 1 or 2, both to 3; 1 has a counter.
	f := &prof.Func{
		Mode: prof.ModeEdge, Fragments: []prof.Fragment{{Blocks: make([]uint32, 3)}},
		Flow:    []prof.Flow{{Next: []uint32{1, 2}, Entered: true}, {Next: []uint32{3}}, {Next: []uint32{3}}, {Leaves: true}},
		Implied: []prof.Implied{{Block: 2}, {Block: 3}},
	}
	var s Solver
	if times, contradictory := s.Blocks(NewPlan(f), 10, []uint64{4}); contradictory || !slices.Equal(times, []int64{10, 4, 6, 10}) {
		t.Errorf("times %v, contradictory %v", times, contradictory)
	}
	for _, counter := range []uint64{11, 1 << 63, math.MaxUint64} {
		times, contradictory := s.Blocks(NewPlan(f), 10, []uint64{counter})
		if !contradictory || slices.Min(times) < 0 {
			t.Errorf("counter %d: times %v, contradictory %v", counter, times, contradictory)
		}
	}
}

// TestFit leaves executions of walks as they are, and gives noisy ones a flow: what enters a block leaves it.
func TestFit(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	tried := 0
	for tried < 200 {
		n := 2 + r.IntN(30)
		f := random(r, n)
		if f == nil || !connected(f) {
			continue
		}
		tried++
		blocks, cut := make([]uint64, n), false // a walk was cut that cannot end there
		for range 1000 {
			at := uint32(0)
			for step := range 100 {
				blocks[at]++
				flow := &f.Flow[at]
				cut = cut || step == 99 && !flow.Leaves
				if len(flow.Next) == 0 || flow.Leaves && r.IntN(3) == 0 || step == 99 {
					break
				}
				at = flow.Next[r.IntN(len(flow.Next))]
			}
		}
		if got := Fit(f, blocks); !slices.Equal(got, blocks) && !cut {
			t.Fatalf("executions %d of %+v became %d", blocks, f.Flow, got)
		}
		noisy := slices.Clone(blocks)
		for b := range noisy {
			noisy[b] += noisy[b] * uint64(r.IntN(10)) / 100
		}
		if cut {
			tried--
			continue
		}
		noisy[r.IntN(n)] = 0 // differences to it may be negative
		fit := Fit(f, noisy)
		out := make([]uint64, n)
		for _, e := range Of(f, fit) {
			out[e.From] += e.Times
		}
		if !slices.Equal(out, fit) {
			t.Errorf("blocks of %+v ran %d times, and were left %d times", f.Flow, fit, out)
		}
	}
}

// connected reports whether each block can be reached from the outside, and the outside from it.
func connected(f *prof.Func) bool {
	p := graphOf(f)
	for _, back := range []bool{false, true} {
		reached := map[int32]bool{outside: true}
		for grown := true; grown; {
			grown = false
			for _, e := range p.edges {
				from, to := e.from, e.to
				if back {
					from, to = to, from
				}
				if reached[from] && !reached[to] {
					reached[to], grown = true, true
				}
			}
		}
		if len(reached) != 1+2*p.blocks {
			return false
		}
	}
	return true
}

// TestForked has the counts of a process that was forked in block 0, by a call that need not come back: 1 or 2 follow, and 3.
func TestForked(t *testing.T) {
	t.Parallel()
	f := &prof.Func{
		Mode: prof.ModeEdge, Fragments: []prof.Fragment{{Blocks: make([]uint32, 3)}},
		Flow:    []prof.Flow{{Next: []uint32{1, 2}, Entered: true, Leaves: true}, {Next: []uint32{3}}, {Next: []uint32{3}}, {Leaves: true}},
		Implied: []prof.Implied{{Block: 3}},
	}
	var s Solver
	if times, contradictory := s.Blocks(NewPlan(f), 0, []uint64{1, 0}); contradictory || !slices.Equal(times, []int64{0, 1, 0, 1}) {
		t.Errorf("times %v, contradictory %v", times, contradictory)
	}
	if _, contradictory := s.Blocks(NewPlan(f), 1, []uint64{1, 1}); !contradictory {
		t.Error("one call went two ways")
	}
}
