package absent

import (
	"reflect"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

func lines(file string, from, to uint32) []prof.LineRange {
	return []prof.LineRange{{File: file, From: from, To: to}}
}

func TestOf(t *testing.T) {
	t.Parallel()
	units := []prof.Unit{
		{File: "a.c", Funcs: []prof.Absent{
			{Name: "main", File: "a.c"},
			{Name: "helper", File: "a.c", Lines: lines("a.c", 3, 4)},
			{Name: "_Z3invv", File: "a.c", Shared: true},
			{Name: "used.part.0", File: "a.c"},
		}},
		{File: "b.c", Funcs: []prof.Absent{{Name: "helper", File: "b.c"}, {Name: "_Z3invv", File: "b.c", Shared: true}, {Name: "_Z4gonev", File: "b.c", Shared: true}}},
		{File: "c.c", Unlinked: true, Funcs: []prof.Absent{
			{Name: "spare", File: "c.c", Note: "libx.a"},
			{Name: "raw", File: "c.c", Why: prof.Unprobed, Note: "naked"},
			{Name: "_Z4gonev", File: "c.c", Shared: true, Note: "libx.a", Lines: lines("h.h", 2, 2)},
		}},
		{File: "a.c", Unlinked: true, Funcs: []prof.Absent{{Name: "helper", File: "a.c", Note: "libx.a", Lines: lines("a.c", 5, 6)}}},
		{File: "x.asm", Funcs: []prof.Absent{{File: "x.asm", Why: prof.Unprobed, Note: "nasm"}}},
	}
	funcs := []prof.Func{{Name: "main", File: "a.c"}, {Name: "helper", File: "b.c"}, {Name: "_Z3invv", File: "b.c"}, {Name: "used", File: "a.c"}}
	got := Of(units, funcs, nil)
	want := []prof.Absent{
		{Name: "helper", File: "a.c", Why: prof.Dropped, Lines: lines("a.c", 3, 6)},
		{Name: "_Z4gonev", File: "b.c", Why: prof.Dropped, Shared: true, Lines: lines("h.h", 2, 2)},
		{Name: "raw", File: "c.c", Why: prof.Unprobed, Note: "naked"},
		{Name: "spare", File: "c.c", Why: prof.NotLinked, Note: "libx.a"},
		{File: "x.asm", Why: prof.Unprobed, Note: "nasm"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Of =\n%+v, want\n%+v", got, want)
	}
	// Symbols tell whether code without probes is in the module.
	if got := Of(units, funcs, map[string]bool{"main": true, "raw": true}); !reflect.DeepEqual(got, want) {
		t.Errorf("Of with its symbol =\n%+v, want\n%+v", got, want)
	}
	want[2].Why = prof.NotLinked
	if got := Of(units, funcs, map[string]bool{"main": true}); !reflect.DeepEqual(got, want) {
		t.Errorf("Of without its symbol =\n%+v, want\n%+v", got, want)
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	spare := prof.Absent{Name: "spare", File: "c.c", Why: prof.NotLinked}
	maps := []*prof.Map{
		{Funcs: []prof.Func{{Name: "main", File: "one.c"}}, Absent: []prof.Absent{{Name: "f", File: "f.c", Why: prof.Dropped}, spare}},
		{Funcs: []prof.Func{{Name: "f", File: "f.c"}}, Absent: []prof.Absent{spare, {Name: "main", File: "two.c", Why: prof.NoProgram}}},
	}
	want := []prof.Absent{spare, {Name: "main", File: "two.c", Why: prof.NoProgram}}
	if got := Missing(maps); !reflect.DeepEqual(got, want) {
		t.Errorf("Missing = %+v, want %+v", got, want)
	}
}

func TestUnlinked(t *testing.T) {
	t.Parallel()
	units := []prof.Unit{
		{File: "a.c", Funcs: []prof.Absent{{Name: "main", File: "a.c"}, {Name: "dropped", File: "a.c"}, {Name: "_Z3invv", File: "a.c", Shared: true}}},
		{File: "b.c", Funcs: []prof.Absent{{Name: "main", File: "b.c"}, {Name: "_Z3invv", File: "b.c", Shared: true}, {Name: "raw", File: "b.c", Why: prof.Unprobed}}},
		// Of two static functions of one name that gcc's linker made code of, the files are not known.
		{File: "c.c", LTO: true, Funcs: []prof.Absent{{Name: "same", File: "c.c"}}},
		{File: "d.c", LTO: true, Funcs: []prof.Absent{{Name: "same", File: "d.c"}}},
	}
	maps := []*prof.Map{{
		Funcs: []prof.Func{
			{Name: "main", File: "a.c"},
			{Name: "_Z3invv", File: "c.c"},
			{Name: "same", File: artificial},
			{Name: "same.lto_priv.0", File: artificial},
		},
		Absent: []prof.Absent{{Name: "dropped", File: "a.c", Why: prof.Dropped}},
	}}
	want := []prof.Absent{{Name: "main", File: "b.c", Why: prof.NoProgram}, {Name: "raw", File: "b.c", Why: prof.Unprobed}}
	if got := Unlinked(units, maps); !reflect.DeepEqual(got, want) {
		t.Errorf("Unlinked = %+v, want %+v", got, want)
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	a, b := []prof.Absent{{Name: "a", Why: prof.Dropped}}, []prof.Absent{{Name: "a", Why: prof.Dropped}, {Name: "b", Why: prof.Dropped}}
	for _, got := range [][]prof.Absent{Join(a, b), Join(b, a), Join(b, nil), Join(nil, b)} {
		if !reflect.DeepEqual(got, b) {
			t.Errorf("Join = %+v, want %+v", got, b)
		}
	}
}
