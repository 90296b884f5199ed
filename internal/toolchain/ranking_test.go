package toolchain

import (
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/profile/callgraph"
	"github.com/cairnprof/cairn/prof"
)

// TestOrderEdges checks that the executions of the blocks that call are the weights of edges, and that without them calls
// are divided among the callers.
func TestOrderEdges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode prof.Mode
		want []order.Edge
	}{
		{prof.ModeEdge, []order.Edge{{Caller: 0, Callee: 2, Weight: 5}, {Caller: 1, Callee: 2, Weight: 907}}},
		{prof.ModeFull, []order.Edge{{Caller: 0, Callee: 2, Weight: 456}, {Caller: 1, Callee: 2, Weight: 456}}},
	} {
		caller := func(name string, addr uint64, in ...uint32) prof.Func {
			f := prof.Func{Name: name, Mode: tt.mode, Fragments: []prof.Fragment{{Addr: addr, Size: 90, Blocks: []uint32{30, 60}}}}
			for _, b := range in {
				f.Calls = append(f.Calls, prof.Call{Block: b, Callee: "called"})
			}
			return f
		}
		p := &prof.Profile{Modules: []prof.Module{{
			Map: prof.Map{Funcs: []prof.Func{caller("seldom", 0, 1), caller("often", 100, 1, 2), caller("called", 200)}},
			Counts: []prof.Counts{
				{Runs: 1, Calls: 5, Blocks: []uint64{1, 0}, Times: []uint64{5, 0}},
				{Runs: 1, Calls: 9, Blocks: []uint64{1, 1}, Times: []uint64{900, 7}},
				{Runs: 1, Calls: 912, Blocks: []uint64{0, 0}, Times: []uint64{0, 0}},
			},
		}}}
		if got := OrderEdges(callgraph.Build(p, false), 0, &p.Modules[0]); !slices.Equal(got, tt.want) {
			t.Errorf("mode %v: %v, want %v", tt.mode, got, tt.want)
		}
	}
}
