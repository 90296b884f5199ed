package toolchain

import (
	"slices"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// TestRanked has three functions of which the compiler has moved a part away: one that runs as often as the function, one
// that ran once, and one that never did. They come behind their function, behind all functions, and last.
func TestRanked(t *testing.T) {
	t.Parallel()
	function := func(name string, addr uint64) prof.Func {
		return prof.Func{Name: name, Mode: prof.ModeEdge, Fragments: []prof.Fragment{
			{Addr: addr, Size: 20, Blocks: []uint32{10}}, {Addr: addr + 1000, Size: 20, Blocks: []uint32{0}},
		}}
	}
	counts := func(main, part uint64) prof.Counts {
		return prof.Counts{Runs: 1, Calls: main, Blocks: []uint64{1, min(part, 1)}, Times: []uint64{main, part}}
	}
	p := &prof.Profile{Modules: []prof.Module{{
		Map:    prof.Map{Module: "app", Funcs: []prof.Func{function("never", 0), function("once", 100), function("often", 200)}},
		Counts: []prof.Counts{counts(900, 0), counts(800, 1), counts(700, 650)},
	}}}
	for _, tt := range []struct {
		opts useOptions
		want []string
	}{
		{useOptions{Algorithm: "hot"}, []string{
			"never", "once", "often", "often.cold", "once.cold", "never.cold", "never.cold.cairn", "once.cold", "once.cold.cairn", "often.cold", "often.cold.cairn",
		}},
		{useOptions{Algorithm: "hot", NoSplit: true}, []string{"never", "once", "often"}},
	} {
		b := &useBuild{opts: tt.opts}
		funcs, err := b.ranked(p, "app")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range funcs {
			got = append(got, f.Name)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %v, want %v", tt.opts, got, tt.want)
		}
		for i, f := range funcs {
			if i == 3 && !slices.Equal(f.Sections, []string{".text.unlikely.often", ".text.split.often"}) {
				t.Errorf("%s is looked for in %v", f.Name, f.Sections)
			}
		}
	}
}
