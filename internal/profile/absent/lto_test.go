package absent

import (
	"reflect"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// TestOfLTO: of what the program lacks, functions that nothing in it refers to were removed, and so were those that
// only such refer to. The others may have run where they were inlined, or been computed.
func TestOfLTO(t *testing.T) {
	t.Parallel()
	at := func(name, file string, line, end uint32) prof.Absent {
		return prof.Absent{Name: name, File: file, Source: file, Line: line, Lines: lines(file, line, end)}
	}
	units := []prof.Unit{
		{File: "a.c", LTO: true, Funcs: []prof.Absent{
			at("main", "a.c", 1, 5), at("same", "a.c", 7, 9), at("computed", "a.c", 11, 12), at("unused", "a.c", 14, 20), at("chain", "a.c", 22, 24),
		}, Refs: []prof.Refs{{From: "main", To: []string{"inlined", "same"}}, {From: "inlined", To: []string{"computed"}}, {From: "unused", To: []string{"chain"}}}},
		{File: "b.c", LTO: true, Funcs: []prof.Absent{
			at("same", "b.c", 1, 2), at("copied", "b.c", 4, 6), {Name: "_Z3invv", File: "b.c", Shared: true}, {Name: "guess", File: "b.c", Inlined: true},
		}},
		{File: "c.c", LTO: true, Unlinked: true, Funcs: []prof.Absent{{Name: "spare", File: "c.c", Note: "libx.a"}, {Name: "computed", File: "c.c", Note: "libx.a"}}},
		{File: artificial, Funcs: []prof.Absent{
			{Name: "main", File: artificial, Source: "a.c", Line: 1, Lines: append(lines("a.c", 1, 5), lines("b.c", 5, 5)...)},
			{Name: "same.lto_priv.0", File: artificial, Source: "a.c", Line: 7, Lines: lines("a.c", 7, 9)},
			{Name: "same.lto_priv.1", File: artificial, Source: "b.c", Line: 1, Lines: lines("b.c", 1, 2)},
		}},
	}
	funcs := []prof.Func{
		{Name: "main", File: artificial},
		{Name: "same.lto_priv.0", File: artificial},
		{Name: "same.lto_priv.1", File: artificial},
		{Name: "_Z3invv", File: "c.c"},
	}
	NameSources(units, funcs)
	for i, want := range []string{"a.c", "a.c", "b.c", "c.c"} {
		if funcs[i].File != want {
			t.Errorf("%s is of %s, want %s", funcs[i].Name, funcs[i].File, want)
		}
	}
	whys := map[string]prof.Absence{}
	for _, a := range Of(units, funcs, nil) {
		whys[a.File+" "+a.Name] = a.Why
	}
	want := map[string]prof.Absence{
		"a.c computed": prof.Optimised, "a.c unused": prof.Dropped, "a.c chain": prof.Dropped,
		"b.c copied": prof.Optimised, "b.c guess": prof.Optimised, "c.c spare": prof.NotLinked, "c.c computed": prof.NotLinked,
	}
	if !reflect.DeepEqual(whys, want) {
		t.Errorf("Of = %v, want %v", whys, want)
	}
}
