package profdiff

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/prof"
)

// fn returns a function and what ran of it, in a form short enough for tables: blocks has a
// digit, the number of runs, for each non-entry block.
type fn struct {
	name, file string
	sig        uint32
	runs       uint64
	calls      uint64
	blocks     string
}

func profile(id, name string, raws uint64, fns ...fn) *prof.Profile {
	m := prof.Module{Map: prof.Map{BuildID: prof.BuildID(id), Module: name}, Raws: raws}
	for i, f := range fns {
		fr := prof.Fragment{Addr: uint64(i+1) * 256, Size: 200}
		c := prof.Counts{Runs: f.runs, Calls: f.calls}
		for k, digit := range f.blocks {
			fr.Blocks = append(fr.Blocks, uint32(k+1))
			c.Blocks = append(c.Blocks, uint64(digit-'0'))
		}
		m.Funcs = append(m.Funcs, prof.Func{Name: f.name, File: f.file, Signature: f.sig, Mode: prof.ModeFull, Record: uint64(i), Fragments: []prof.Fragment{fr}})
		m.Counts = append(m.Counts, c)
	}
	return &prof.Profile{Modules: []prof.Module{m}}
}

// text writes a result compactly, a list a line.
func text(r *Result) string {
	var b strings.Builder
	list := func(title string, funcs []Func, detail func(*Func) string) {
		for i := range funcs {
			f := &funcs[i]
			changed := ""
			if f.Changed {
				changed = " changed"
			}
			fmt.Fprintf(&b, "%s: %s%s%s\n", title, f.Name, changed, detail(f))
		}
	}
	none := func(*Func) string { return "" }
	list("only a", r.OnlyA, none)
	list("only b", r.OnlyB, none)
	list("gone", r.Gone, none)
	list("new", r.New, none)
	list("blocks", r.Blocks, func(f *Func) string { return fmt.Sprintf(" -%v +%v", f.Lost, f.Gained) })
	list("moved", r.Moved, func(f *Func) string { return fmt.Sprintf(" %+.1f", f.Delta()) })
	fmt.Fprintf(&b, "both %d same %d missing %v\n", r.Both, r.Same, r.Missing())
	return b.String()
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		a, b *prof.Profile
		want string
	}{
		{
			"same build, matched by record", // although the names are one
			profile("1", "app", 2, fn{"f", "a.c", 1, 2, 20, "10"}, fn{"f", "a.c", 1, 0, 0, "0"}, fn{"g", "a.c", 1, 1, 1, "1"}),
			profile("1", "app", 1, fn{"f", "a.c", 1, 1, 5, "01"}, fn{"f", "a.c", 1, 1, 2, "0"}, fn{"g", "a.c", 1, 0, 0, "0"}),
			`only a: g
only b: f
blocks: f -[1] +[2]
moved: f -5.0
both 1 same 0 missing true
`,
		},
		{
			"other build, matched by name and file",
			profile("1", "app", 1, fn{"main", "a.c", 1, 1, 1, "1"}, fn{"s", "a.c", 7, 1, 4, "11"}, fn{"s", "b.c", 7, 1, 9, ""}, fn{"old", "a.c", 1, 1, 1, ""}),
			profile("2", "app", 1, fn{"new", "a.c", 1, 1, 1, ""}, fn{"s", "b.c", 7, 1, 9, ""}, fn{"s", "a.c", 8, 1, 6, "0"}, fn{"main", "a.c", 1, 1, 1, "1"}),
			`gone: old
new: new
moved: s changed +2.0
both 3 same 2 missing false
`,
		},
		{
			"moved by size of change",
			profile("1", "app", 1, fn{"a", "", 1, 1, 1, ""}, fn{"b", "", 1, 1, 100, ""}, fn{"c", "", 1, 1, 50, ""}),
			profile("2", "app", 2, fn{"a", "", 1, 2, 12, ""}, fn{"b", "", 1, 2, 40, ""}, fn{"c", "", 1, 2, 100, ""}),
			`moved: b -80.0
moved: a +5.0
both 3 same 1 missing false
`,
		},
		{
			"a lost block is missing",
			profile("1", "app", 1, fn{"a", "", 1, 1, 1, "11"}),
			profile("2", "app", 1, fn{"a", "", 1, 1, 1, "10"}),
			`blocks: a -[2] +[]
both 1 same 0 missing true
`,
		},
		{
			"modules of other names",
			profile("1", "app", 1, fn{"a", "", 1, 1, 1, ""}),
			profile("2", "lib", 1, fn{"a", "", 1, 1, 1, ""}),
			`gone: a
new: a
both 0 same 0 missing false
`,
		},
		{"nothing", &prof.Profile{}, &prof.Profile{}, "both 0 same 0 missing false\n"},
	}
	for _, test := range tests {
		if got := text(Profiles(test.a, test.b)); got != test.want {
			t.Errorf("%s:\n%swant\n%s", test.name, got, test.want)
		}
	}
}

// TestSymmetry checks that exchanging the profiles exchanges the sides, and that a profile does
// not differ from itself.
func TestSymmetry(t *testing.T) {
	t.Parallel()
	random := func(t *rapid.T, id, label string) *prof.Profile {
		fns := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) fn {
			f := fn{name: rapid.SampledFrom([]string{"f", "g", "h"}).Draw(t, "name"), sig: rapid.Uint32Range(1, 2).Draw(t, "sig")}
			f.runs = rapid.Uint64Range(0, 3).Draw(t, "runs")
			if f.runs > 0 {
				f.calls = rapid.Uint64Range(1, 9).Draw(t, "calls")
			}
			f.blocks = rapid.StringMatching(`[0-3]{2}`).Draw(t, "blocks")
			return f
		}), 0, 6).Draw(t, label)
		return profile(id, "app", 4, fns...)
	}
	names := func(funcs []Func) (out []string) {
		for _, f := range funcs {
			out = append(out, f.Name)
		}
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := random(t, "1", "a"), random(t, "2", "b")
		ab, ba := Profiles(a, b), Profiles(b, a)
		if ab.Both != ba.Both || ab.Same != ba.Same || len(ab.Moved) != len(ba.Moved) ||
			!reflect.DeepEqual(names(ab.Gone), names(ba.New)) || len(ab.OnlyA) != len(ba.OnlyB) {
			t.Fatalf("a, b:\n%sb, a:\n%s", text(ab), text(ba))
		}
		if r := Profiles(a, a); r.Missing() || r.Same != r.Both || len(r.OnlyA)+len(r.OnlyB)+len(r.Gone)+len(r.New)+len(r.Moved) > 0 {
			t.Fatalf("a, a:\n%s", text(r))
		}
	})
}
