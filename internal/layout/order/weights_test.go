package order

import (
	"slices"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// TestMeanWeights checks that the order by mean first execution follows the heavier trace, if the
// module has the traces of all runs: counts have no weights.
func TestMeanWeights(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		weights [2]uint64
		seen    uint64
		want    []uint32
	}{
		{[2]uint64{9, 1}, 2, []uint32{0, 2, 1}},
		{[2]uint64{1, 9}, 2, []uint32{0, 1, 2}},
		{[2]uint64{4, 4}, 2, []uint32{0, 1, 2}}, // equal means: by address
		{[2]uint64{9, 1}, 3, []uint32{0, 1, 2}}, // the traces are a sample
	} {
		m := &prof.Module{TracesSeen: tc.seen, Raws: 2, Counts: []prof.Counts{{Runs: 2, OrderSum: 2}, {Runs: 2, OrderSum: 5}, {Runs: 2, OrderSum: 5}}}
		for i := range m.Counts {
			m.Funcs = append(m.Funcs, prof.Func{Mode: prof.ModeOrder, Fragments: []prof.Fragment{{Addr: 0x1000 + uint64(i)*16, Size: 16}}})
		}
		m.Traces = []prof.Trace{{Weight: tc.weights[0], Funcs: []uint32{0, 2, 1}}, {Weight: tc.weights[1], Funcs: []uint32{0, 1, 2}}}
		r, err := Compute(FromModule(m, nil), Mean, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(r.Order, tc.want) {
			t.Errorf("weights %v of %d traces: %v, want %v", tc.weights, tc.seen, r.Order, tc.want)
		}
	}
}
