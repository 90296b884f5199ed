package linkorder

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestFamilyOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		want family
	}{
		{"f", family{root: "f"}},
		{"f.constprop.0", family{root: "f", kind: ".constprop"}},
		{"f.isra.0.constprop.12", family{root: "f", kind: ".isra.constprop"}},
		{"f.part.0.cold", family{root: "f", kind: ".part.cold", cold: true}},
		{"f.cold.3", family{root: "f", kind: ".cold", cold: true}},
		{"f.lto_priv.0", family{root: "f"}},
		{"f.llvm.10428339", family{root: "f"}},
		{"_ZL6secreti.__uniq.2281", family{root: "_ZL6secreti"}},
		{"f.localalias", family{root: "f"}},
		{"inner.0", family{root: "inner", kind: ".#"}},
		{"f.avx2", family{root: "f.avx2"}},
		{"f.avx2.cold", family{root: "f.avx2", kind: ".cold", cold: true}},
		{"f.cold.avx2", family{root: "f.cold.avx2"}},
		{".hidden", family{root: ".hidden"}},
		{"", family{}},
	}
	for _, test := range tests {
		if got := familyOf(test.name); got != test.want {
			t.Errorf("familyOf(%q) = %+v, want %+v", test.name, got, test.want)
		}
	}
}

// binary makes a symbol table: one function of 16 bytes for each word, at
// 0x1000 and on. A word is a name, or name@file for a local function.
func binary(words string) []Symbol {
	var syms []Symbol
	for i, w := range strings.Fields(words) {
		name, source, local := strings.Cut(w, "@")
		syms = append(syms, Symbol{
			Name: name, Addr: 0x1000 + 16*uint64(i), Size: 16, Section: ".text", Local: local, Source: source,
		})
	}
	return syms
}

// object is binary with a section for each function.
func object(path, words string) Object {
	o := Object{Path: path, Funcs: binary(words)}
	for i := range o.Funcs {
		f := &o.Funcs[i]
		f.Addr, f.Index, f.Section = 0, uint32(i+1), ".text."+f.Name
	}
	return o
}

// listOf makes a ranked list of name@file words.
func listOf(words string) []Func {
	var funcs []Func
	for _, w := range strings.Fields(words) {
		name, file, _ := strings.Cut(w, "@")
		funcs = append(funcs, Func{Name: name, File: file})
	}
	return funcs
}

func symbolsOf(r *Resolution) string {
	var names []string
	for i := range r.Entries {
		names = append(names, r.Entries[i].Symbol)
	}
	return strings.Join(names, " ")
}

// TestResolveNames checks that names of another build are found if only the numbers in them
// differ.
func TestResolveNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		list, link, want string
		vanished         []string
		renamed          int
	}{
		{"b a", "a b c", "b a", nil, 0},
		{"gone a", "a", "a", []string{"gone"}, 0},
		{"f.constprop.0", "f f.constprop.0", "f.constprop.0", nil, 0},
		{"f.constprop.0", "f f.constprop.1", "f.constprop.1", nil, 1},
		{"f.constprop.0", "f f.isra.0", "f", nil, 1},
		{"f", "f.constprop.1 f.cold", "f.constprop.1", nil, 1},
		{"f.cold", "f", "", []string{"f.cold"}, 0},
		{"f", "f.cold", "", []string{"f"}, 0},
		{"f", "f f.cold", "f", nil, 0},
		{"f.cold.1", "f f.cold", "f.cold", nil, 1},
		{"f.llvm.1", "f.llvm.2", "f.llvm.2", nil, 1},
		{"f", "f.__uniq.12", "f.__uniq.12", nil, 1},
		{"a a", "a", "a", nil, 0},
		{"secret", "_ZL6secreti.__uniq.12", "_ZL6secreti.__uniq.12", nil, 1},
		{"_ZL6secreti.__uniq.12", "secret", "secret", nil, 1},
		{"_ZL6secreti", "secret", "", []string{"_ZL6secreti"}, 0},
		{"x", "_ZL9xi.__uniq.12", "", []string{"x"}, 0},
	}
	for _, test := range tests {
		r := Resolve(listOf(test.list), &Link{Binary: binary(test.link)})
		if got := symbolsOf(r); got != test.want || !slices.Equal(r.Report.Vanished, test.vanished) || r.Report.Renamed != test.renamed {
			t.Errorf("%s in %s: %s, vanished %v, renamed %d; want %s, %v, %d",
				test.list, test.link, got, r.Report.Vanished, r.Report.Renamed, test.want, test.vanished, test.renamed)
		}
	}
}

// TestResolveAliases checks that of several names at one address the first in the list is
// written.
func TestResolveAliases(t *testing.T) {
	t.Parallel()
	link := binary("a b folded alias")
	link[2].Addr, link[3].Addr = link[0].Addr, link[1].Addr
	r := Resolve(listOf("folded alias a b"), &Link{Binary: link})
	if got := symbolsOf(r); got != "folded alias" || r.Report.Merged != 2 || r.Report.Resolved != 4 || r.Report.Bytes != 32 {
		t.Errorf("%s, %+v", got, r.Report)
	}
}

// TestResolveAddress checks that the function at the address in the profile is found under any
// name.
func TestResolveAddress(t *testing.T) {
	t.Parallel()
	link := binary("step@one.c step@two.c other")
	r := Resolve([]Func{{Name: "step", Addr: link[1].Addr}, {Name: "alias", Addr: link[2].Addr}}, &Link{Binary: link})
	if got := symbolsOf(r); got != "step other" || r.Entries[0].Source != "two.c" || !r.Entries[0].SharedName {
		t.Errorf("%s, %+v", got, r.Entries)
	}
}

// TestResolveObjectNames has objects whose symbols have no source file, as those of Mach-O: a static
// function is that of the object with the name of its source file, with a binary and without.
func TestResolveObjectNames(t *testing.T) {
	t.Parallel()
	objects := []Object{object("build/prog-one.o", "one step@"), object("build/two.c.o", "two step@"), {Path: "libx.a", Member: "three.o", Funcs: binary("three step@")}}
	linked := binary("one step@ two step@ three step@")
	list := listOf("step@src/three.c step@src/two.c two step@src/one.c")
	for _, bin := range [][]Symbol{nil, linked} {
		if bin != nil {
			list[0].Addr, list[1].Addr, list[3].Addr = bin[5].Addr, bin[3].Addr, bin[1].Addr
		}
		got, skipped := Render(FormatLD64, Resolve(list, &Link{Objects: objects, Binary: bin}).Entries)
		if want := "libx.a(three.o):_step\ntwo.c.o:_step\n_two\nprog-one.o:_step\n"; string(got) != want || len(skipped) > 0 {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestResolveMisplaced(t *testing.T) {
	t.Parallel()
	link := binary("label init code")
	link[0].Size, link[1].Section = 0, ".init"
	r := Resolve(listOf("label init code"), &Link{Binary: link})
	if got := symbolsOf(r); got != "code" || !slices.Equal(r.Report.Misplaced, []string{"label", "init"}) {
		t.Errorf("%s, %+v", got, r.Report)
	}
}

// TestResolveStatics checks that static functions of the same name are distinguished by their
// source files, and are written that way if the format permits it.
func TestResolveStatics(t *testing.T) {
	t.Parallel()
	link := &Link{
		Binary: binary("main step@one.c step@two.c"),
		Objects: []Object{
			object("build/lib/one.o", "step@one.c"), object("build/two.o", "step@two.c"),
			object("build/main.o", "main"), object("test/main.o", "main"),
		},
	}
	r := Resolve(listOf("step@src/two.c main"), link)
	want := []Entry{
		{
			Func: 0, Symbol: "step", Source: "two.c", Local: true, Size: 16, Sections: []string{".text.step"},
			Object: ObjectName{"two.o", "two.o"}, SharedName: true, SharedSection: true,
		},
		{Func: 1, Symbol: "main", Size: 16, Sections: []string{".text.main"}},
	}
	if !reflect.DeepEqual(r.Entries, want) {
		t.Errorf("%+v\nwant %+v", r.Entries, want)
	}
	for format, ambiguous := range map[Format]int{
		FormatLLD: 1, FormatGold: 1, FormatLD64: 0, FormatLD: 0, FormatLDScript: 0,
	} {
		if got := r.Warnings(format, nil); len(got) != ambiguous {
			t.Errorf("%s: %v, want %d warnings", format, got, ambiguous)
		}
	}
	// Without a file both may be meant, and both are listed.
	if r := Resolve(listOf("step"), link); len(r.Entries) != 2 || len(r.Report.Ambiguous) != 2 {
		t.Errorf("%+v", r)
	}
}

// TestResolveComdat checks that a function that several objects define is one function,
// whichever definition the linker keeps.
func TestResolveComdat(t *testing.T) {
	t.Parallel()
	link := &Link{Objects: []Object{object("a.o", "inline a"), object("b.o", "b inline")}}
	r := Resolve(listOf("b inline"), link)
	if got := symbolsOf(r); got != "b inline" || len(r.Report.Ambiguous) != 0 {
		t.Errorf("%s, %+v", got, r.Report)
	}
	if e := r.Entries[1]; e.SharedName || e.SharedSection || e.Object != (ObjectName{}) {
		t.Errorf("%+v", e)
	}
}

// TestResolveCrowded checks sections with several functions, as without -ffunction-sections,
// which no name identifies.
func TestResolveCrowded(t *testing.T) {
	t.Parallel()
	o := object("a.o", "one two three")
	for i := range o.Funcs {
		o.Funcs[i].Section, o.Funcs[i].Index, o.Funcs[i].Addr = ".text", 1, uint64(16*i)
	}
	r := Resolve(listOf("two one"), &Link{Objects: []Object{o}})
	if got := symbolsOf(r); got != "two one" || len(r.Report.Crowded) != 2 {
		t.Errorf("%s, %+v", got, r.Report)
	}
	if _, skipped := Render(FormatGold, r.Entries); len(skipped) != 2 {
		t.Errorf("gold: skipped %v", skipped)
	}
	if text, skipped := Render(FormatLD, r.Entries); len(skipped) != 0 || strings.Count(string(text), "[a].o(.text) */a.o(.text)") != 1 {
		t.Errorf("ld: skipped %v of %s", skipped, text)
	}
}

func TestResolveNothing(t *testing.T) {
	t.Parallel()
	r := Resolve([]Func{{Name: "f", Split: true}, {Name: "f"}, {Name: "g.cold"}, {Name: "h.cold", Sections: []string{".text.h"}}}, &Link{})
	if got := symbolsOf(r); got != "f g.cold h.cold" || r.Report.Merged != 1 {
		t.Errorf("%s, %+v", got, r.Report)
	}
	want := [][]string{{".text.f", ".text.startup.f", ".text.hot.f"}, {".text.unlikely.g", ".text.split.g"}, {".text.h"}}
	for i, w := range want {
		if got := r.Entries[i].Sections; !slices.Equal(got, w) {
			t.Errorf("%s: %v, want %v", r.Entries[i].Symbol, got, w)
		}
	}
}

func TestObjectNames(t *testing.T) {
	t.Parallel()
	got := objectNames([]Object{
		{Path: "./a/x.o"},
		{Path: "b/x.o"},
		{Path: "a/y.o"},
		{Path: "l/libz.a", Member: "x.o"},
		{Path: "c/d/same.o"},
		{Path: "c/d/same.o"},
	})
	want := []ObjectName{
		{"x.o", "a/x.o"},
		{"x.o", "b/x.o"},
		{"y.o", "y.o"},
		{"libz.a(x.o)", "libz.a:x.o"},
		{"same.o", "c/d/same.o"},
		{"same.o", "c/d/same.o"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestWarningsAreShort(t *testing.T) {
	t.Parallel()
	r := Resolve(listOf("a b c d e f g"), &Link{Binary: binary("x")})
	got := r.Warnings(FormatLLD, nil)
	want := "7 of 7 functions the linker will not find (inlined, dropped or renamed): a, b, c, d, e and 2 more"
	if len(got) != 1 || got[0] != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestWarningsOfStartFiles checks that there are no warnings for the start files, which every
// program has and nobody can change.
func TestWarningsOfStartFiles(t *testing.T) {
	t.Parallel()
	r := &Resolution{Report: Report{Listed: 3, Misplaced: []string{"_init", "odd", "frame_dummy"}}}
	got := r.Warnings(FormatLLD, nil)
	if want := "1 of 3 functions keep their place: without a size or outside .text: odd"; len(got) != 1 || got[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
}
