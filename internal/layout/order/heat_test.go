package order

import (
	"slices"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// TestMarkHot has a function that runs once, with a part that never runs, two that have nearly all of what is executed, one of
// which has a part that runs often, and one in a loop of few rounds. The hot ones come last, and their size is that of what
// ran and of the part.
func TestMarkHot(t *testing.T) {
	t.Parallel()
	function := func(addr uint64, size uint32, blocks ...uint32) prof.Func {
		return prof.Func{Mode: prof.ModeEdge, Fragments: []prof.Fragment{{Addr: addr, Size: size, Blocks: blocks}}}
	}
	parted := func(f prof.Func, size uint32, blocks ...uint32) prof.Func {
		f.Fragments = append(f.Fragments, prof.Fragment{Addr: f.Addr() + 1000, Size: size, Blocks: blocks})
		return f
	}
	m := &prof.Module{
		Map: prof.Map{Funcs: []prof.Func{
			function(0, 100, 60), parted(function(100, 80, 20, 50), 5, 0), parted(function(200, 40), 60, 0, 55), function(300, 50, 10), function(400, 10),
		}},
		Counts: []prof.Counts{
			{Runs: 1, Calls: 1, Times: []uint64{0}},
			{Runs: 1, Calls: 1000, Times: []uint64{90000, 0, 2}},
			{Runs: 1, Calls: 90000, Times: []uint64{60000, 0}},
			{Runs: 1, Calls: 1, Times: []uint64{7}},
			{},
		},
		Traces: []prof.Trace{{Scenario: "all", Funcs: []uint32{1, 0, 2, 3}}},
	}
	in := FromModule(m, []Edge{{0, 1, 1000}, {1, 2, 90000}})
	in.MarkHot(m)
	var hot, parts []bool
	var sizes []uint64
	for _, f := range in.Funcs {
		hot, parts, sizes = append(hot, f.Hot), append(parts, f.HotPart), append(sizes, f.Size)
	}
	if want := []bool{false, true, true, false, false}; !slices.Equal(hot, want) {
		t.Errorf("hot: %v, want %v", hot, want)
	}
	if want := []bool{false, false, true, false, false}; !slices.Equal(parts, want) {
		t.Errorf("hot parts: %v, want %v", parts, want)
	}
	if want := []uint64{60, 50, 100, 50, 10}; !slices.Equal(sizes, want) {
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
