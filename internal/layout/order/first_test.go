package order

import (
	"reflect"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

func TestMeanOrder(t *testing.T) {
	t.Parallel()
	fn := func(name string, addr uint64) prof.Func {
		return prof.Func{Name: name, Fragments: []prof.Fragment{{Addr: addr, Size: 1}}}
	}
	m := &prof.Module{
		Map: prof.Map{Funcs: []prof.Func{
			fn("unordered", 1), fn("never", 2), fn("late", 3), fn("tied", 4), fn("early", 5), fn("tied", 6),
		}},
		Counts: []prof.Counts{
			{Runs: 9},               // a mode without order
			{},                      // did not run
			{Runs: 1, OrderSum: 30}, // once, late
			{Runs: 2, OrderSum: 14}, // 7
			{Runs: 3, OrderSum: 3},  // always first
			{Runs: 1, OrderSum: 7},  // 7 as well, at a higher address
		},
	}
	in := FromModule(m, nil)
	r, err := Compute(in, Mean, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ranked := r.Ran(in)
	if want := []uint32{4, 3, 5, 2, 0}; !reflect.DeepEqual(ranked, want) {
		t.Errorf("ranked %v, want %v", ranked, want)
	}
	if got, want := Symbols(m, ranked), []string{"early", "tied", "late", "unordered"}; !reflect.DeepEqual(got, want) {
		t.Errorf("symbols %v, want %v", got, want)
	}
}
