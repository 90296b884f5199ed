package order

import (
	"slices"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// TestMarkHot has a function that runs once, with a part that never runs, two that have nearly all of what is executed, and
// one in a loop of few rounds. The hot ones come last, and their size is that of what ran.
func TestMarkHot(t *testing.T) {
	t.Parallel()
	function := func(addr uint64, size uint32, blocks ...uint32) prof.Func {
		return prof.Func{Mode: prof.ModeEdge, Fragments: []prof.Fragment{{Addr: addr, Size: size, Blocks: blocks}}}
	}
	m := &prof.Module{
		Map: prof.Map{Funcs: []prof.Func{
			function(0, 100, 60), function(100, 80, 20, 50), function(200, 40), function(300, 50, 10), function(400, 10),
		}},
		Counts: []prof.Counts{
			{Runs: 1, Calls: 1, Times: []uint64{0}},
			{Runs: 1, Calls: 1000, Times: []uint64{90000, 0}},
			{Runs: 1, Calls: 90000},
			{Runs: 1, Calls: 1, Times: []uint64{7}},
			{},
		},
		Traces: []prof.Trace{{Scenario: "all", Funcs: []uint32{1, 0, 2, 3}}},
	}
	in := FromModule(m, []Edge{{0, 1, 1000}, {1, 2, 90000}})
	in.MarkHot(m)
	var hot []bool
	var sizes []uint64
	for _, f := range in.Funcs {
		hot, sizes = append(hot, f.Hot), append(sizes, f.Size)
	}
	if want := []bool{false, true, true, false, false}; !slices.Equal(hot, want) {
		t.Errorf("hot: %v, want %v", hot, want)
	}
	if want := []uint64{60, 50, 40, 50, 10}; !slices.Equal(sizes, want) {
		t.Errorf("sizes: %v, want %v", sizes, want)
	}
	for name, traces := range map[string][]prof.Trace{"trace": m.Traces, "no trace": nil} {
		in.Traces = traces
		if traces == nil {
			in.Funcs[0].MeanOrder, in.Funcs[3].MeanOrder, in.Funcs[1].MeanOrder = 2, 3, 1
		}
		r, err := Compute(in, Startup, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want := []uint32{0, 3, 1, 2, 4}; !slices.Equal(r.Order, want) || r.Startup != 2 || r.Hot != 2 {
			t.Errorf("%s: %v, %d of the start and %d hot; want %v", name, r.Order, r.Startup, r.Hot, want)
		}
	}
}
