package coverage

import (
	"reflect"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// TestSeveralModules checks that a function that several programs have counts once, and ran if it did in one of them.
func TestSeveralModules(t *testing.T) {
	t.Parallel()
	module := func(file string, runs, block uint64, absent ...prof.Absent) Module {
		f := prof.Func{Name: "m.f", File: file, Mode: prof.ModeBlock, Signature: 1, Fragments: []prof.Fragment{{Addr: 0x1000, Size: 16, Blocks: []uint32{4, 8}}}}
		return Module{Module: &prof.Module{
			Map:  prof.Map{Funcs: []prof.Func{f}, Absent: absent},
			Raws: 1, Counts: []prof.Counts{{Runs: runs, Blocks: []uint64{block, 0}}},
		}}
	}
	gone := prof.Absent{Name: "m.g", File: "/src/a.go", Source: "/src/a.go", Line: 9, Why: prof.Dropped}
	for _, tc := range []struct {
		name    string
		modules []Module
		want    []Path
	}{
		{"ran in one", []Module{module("/src/a.go", 0, 0, gone), module("/src/a.go", 1, 0, gone), module("/src/a.go", 1, 1)}, []Path{{File: "/src/a.go", Functions: Tally{1, 2}, Blocks: Tally{2, 3}}}},
		{"ran in none", []Module{module("/src/a.go", 0, 0), module("/src/a.go", 0, 0)}, []Path{{File: "/src/a.go", Functions: Tally{0, 1}, Blocks: Tally{0, 3}}}},
		{"other files of one name", []Module{module("main.c", 0, 0), module("main.c", 1, 1)}, []Path{{File: "main.c", Functions: Tally{1, 2}, Blocks: Tally{2, 6}}}},
	} {
		if got := Analyse(tc.modules).Paths(anywhere); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

// anywhere selects functions wherever they are defined.
func anywhere(string, int) bool { return true }
