package merge

import (
	"slices"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

func TestFirstExecutions(t *testing.T) {
	t.Parallel()
	modes := []prof.Mode{prof.ModeCover, prof.ModeBlock, prof.ModeCount, prof.ModeFull, prof.ModeOrder, prof.ModeBlockOrder}
	for _, mode := range modes {
		m := &prof.Map{RawSize: 64}
		for i := range 4 {
			m.Funcs = append(m.Funcs, prof.Func{Mode: mode, Record: uint64(16 * i), Fragments: []prof.Fragment{{Addr: uint64(64 + 64*i), Size: 64}}})
		}
		a := NewAccumulator(NewLayout(m), 10)
		if err := a.AddRun(FirstExecutions(m, []uint32{2, 0, 3})); err != nil {
			t.Fatal(err)
		}
		got := a.Module()
		for i, order := range []uint64{2, 0, 1, 3} {
			c := got.Counts[i]
			if c.Runs != min(order, 1) || mode.HasOrder() && c.OrderSum != order || mode.HasCalls() && c.Calls != min(order, 1) {
				t.Errorf("%s: function %d: %+v", mode, i, c)
			}
		}
		if mode.HasOrder() && (len(got.Traces) != 1 || !slices.Equal(got.Traces[0].Funcs, []uint32{2, 0, 3}) || got.Traces[0].Cut) {
			t.Errorf("%s: %+v", mode, got.Traces)
		}
	}
}
