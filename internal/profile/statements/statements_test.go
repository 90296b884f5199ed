package statements

import (
	"reflect"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/format/coverprofile"
	"github.com/cairnprof/cairn/format/golines"
	"github.com/cairnprof/cairn/prof"
)

func unit(fromLine, fromColumn, toLine, toColumn, statements, block int) golines.Unit {
	return golines.Unit{FromLine: fromLine, FromColumn: fromColumn, ToLine: toLine, ToColumn: toColumn, Statements: statements, Block: block}
}

// module returns a module with a function of two units at 0x1000, one that the linker dropped, and one
// without a probe.
func module(mode prof.Mode, c prof.Counts, second int) Module {
	fn := prof.Func{Name: "m.f", File: "/src/a.go", Mode: mode, Fragments: []prof.Fragment{{Addr: 0x1000, Size: 16, Blocks: []uint32{8}}}}
	return Module{
		&prof.Module{Map: prof.Map{Funcs: []prof.Func{fn}}, Raws: 3, Counts: []prof.Counts{c}},
		&golines.Table{
			Profile: map[string]string{"/src/a.go": "x/m/a.go"},
			Funcs: []golines.Func{
				{File: "/src/a.go", Units: []golines.Unit{unit(10, 2, 11, 3, 4, 0)}},
				{File: "/src/b.go", Unprobed: true, Units: []golines.Unit{unit(1, 2, 1, 3, 5, 0)}},
				{Addr: 0x1000, File: "/src/a.go", Units: []golines.Unit{unit(1, 2, 3, 4, 1, 0), unit(3, 4, 5, 6, 2, second)}},
			},
		},
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	ran := prof.Counts{Runs: 2, Calls: 9, Blocks: []uint64{0}}
	second := prof.Counts{Runs: 1, Blocks: []uint64{1}}
	for _, tc := range []struct {
		name       string
		modules    []Module
		mode       coverprofile.Mode
		counts     []int // of the three units in order; -1 if it has no row
		unrecorded int
	}{
		{"block", []Module{module(prof.ModeBlock, ran, 1)}, "set", []int{1, 0, 0}, 0},
		{"block, in another program", []Module{module(prof.ModeBlock, ran, 1), module(prof.ModeBlock, second, 1)}, "set", []int{2, 1, 0}, 0},
		{"cover", []Module{module(prof.ModeCover, ran, golines.NoBlock)}, "set", []int{1, -1, 0}, 2},
		{"cover, not run", []Module{module(prof.ModeCover, prof.Counts{}, golines.NoBlock)}, "set", []int{0, 0, 0}, 0},
		{"cover, in one of two", []Module{module(prof.ModeCover, prof.Counts{}, golines.NoBlock), module(prof.ModeCover, ran, golines.NoBlock)}, "set", []int{1, -1, 0}, 2},
		{"cover and block", []Module{module(prof.ModeBlock, second, 1), module(prof.ModeCover, ran, golines.NoBlock)}, "set", []int{2, 1, 0}, 0},
		{"count", []Module{module(prof.ModeCount, ran, golines.NoBlock)}, "count", []int{9, -1, 0}, 2},
		{"no record", []Module{module(prof.ModeCover, prof.Counts{Unprobed: 3}, golines.NoBlock)}, "set", []int{-1, -1, 0}, 0},
	} {
		p := Of(tc.modules, func(string) bool { return true })
		var want []coverprofile.Row
		for i, u := range []golines.Unit{unit(1, 2, 3, 4, 1, 0), unit(3, 4, 5, 6, 2, 0), unit(10, 2, 11, 3, 4, 0)} {
			if tc.counts[i] >= 0 {
				at := coverprofile.Unit{File: "x/m/a.go", FromLine: u.FromLine, FromColumn: u.FromColumn, ToLine: u.ToLine, ToColumn: u.ToColumn, Statements: u.Statements}
				want = append(want, coverprofile.Row{Unit: at, Count: uint64(tc.counts[i])})
			}
		}
		slices.SortFunc(p.Rows, func(a, b coverprofile.Row) int { return a.FromLine - b.FromLine })
		unprobed := 5
		if tc.name == "no record" {
			unprobed += 3
		}
		if !reflect.DeepEqual(p.Rows, want) || p.Mode != tc.mode || p.Unrecorded != tc.unrecorded || p.Unprobed != unprobed {
			t.Errorf("%s: %+v, want %+v", tc.name, p, want)
		}
	}
	if p := Of([]Module{module(prof.ModeBlock, ran, 1)}, func(file string) bool { return file == "/src/b.go" }); len(p.Rows) > 0 || p.Unprobed != 5 {
		t.Errorf("of one file: %+v", p)
	}
}
