package sourcefunc

import (
	"reflect"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

func TestName(t *testing.T) {
	t.Parallel()
	for symbol, want := range map[string]string{
		"f": "f", "f.part.0": "f", "f.__part.1": "f", "f.isra.0": "f", "f.constprop.12.isra.0": "f",
		"f.part.0.isra.0": "f", "f.constprop.0.part.0.part.1": "f", "f.cold.1": "f", "f.specialized.2": "f",
		// Symbols of local functions of several files that were linked as one.
		"f.lto_priv.0": "f.lto_priv.0", "f.lto_priv.0.part.0": "f.lto_priv.0",
		"f.partly": "f.partly", ".part.0": ".part.0", "f.part.x": "f.part.x",
	} {
		if got := Name(symbol); got != want {
			t.Errorf("%s: %s, want %s", symbol, got, want)
		}
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	m := &prof.Module{Raws: 3}
	add := func(name, file string, addr, calls, runs uint64) {
		m.Funcs = append(m.Funcs, prof.Func{Name: name, File: file, Mode: prof.ModeCount, Fragments: []prof.Fragment{{Addr: addr, Size: 1}}})
		m.Counts = append(m.Counts, prof.Counts{Calls: calls, Runs: runs, OrderSum: runs * addr})
	}
	add("g.part.0", "b.c", 1, 7, 1)    // its function is inlined everywhere
	add("f.part.0", "a.c", 2, 900, 2)  // entered by f and by others
	add("f.isra.0", "a.c", 3, 10, 1)   //
	add("f", "a.c", 4, 100, 3)         //
	add("f.part.1", "a.c", 5, 30, 1)   //
	add("f.cold.1", "a.c", 6, 5000, 1) // in a loop
	add("f.part.0", "a.c", 99, 5, 1)   // of the file compiled again
	add("f", "a.c", 100, 1, 1)         //
	add("h", "a.c", 200, 40, 2)        //
	add("f.constprop.0", "b.c", 300, 0, 0)
	type row struct {
		name  string
		funcs []int
		split bool
		calls uint64
		runs  uint64
		order uint64
	}
	want := []row{
		{"g", []int{0}, true, 7, 1, 1},
		{"f", []int{3, 1, 2, 4, 5}, true, 900, 3, 3},
		{"f", []int{7, 6}, true, 5, 1, 99},
		{"h", []int{8}, false, 40, 2, 400},
		{"f", []int{9}, false, 0, 0, 0},
	}
	var got []row
	for _, f := range Of(&m.Map) {
		c := f.Counts(m)
		got = append(got, row{f.Name, f.Funcs, f.Split, c.Calls, c.Runs, c.OrderSum})
		if f.Ran(m) != (c.Runs > 0) {
			t.Errorf("%s: ran is %v in %d runs", f.Name, f.Ran(m), c.Runs)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
