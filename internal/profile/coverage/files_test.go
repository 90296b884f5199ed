package coverage

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestPathRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		maps, include, exclude []string
		path, want             string // "" if the report does not have it
	}{
		{nil, nil, nil, "/b/src/a.c", "/b/src/a.c"},
		{[]string{"/b=."}, nil, nil, "/b/src/a.c", "src/a.c"},
		{[]string{"/b/="}, nil, nil, "/b/src/a.c", "src/a.c"},
		{[]string{"/b=/x"}, nil, nil, "/b/src/a.c", "/x/src/a.c"},
		{[]string{"/b=/x"}, nil, nil, "/build/src/a.c", "/build/src/a.c"},
		{[]string{"/b=/x", "/b/src=/y"}, nil, nil, "/b/src/a.c", "/y/a.c"},
		{[]string{"/b/src=/y", "/b=/x"}, nil, nil, "/b/src/a.c", "/x/src/a.c"},
		{[]string{"/b/use=lld=."}, nil, nil, "/b/use=lld/a.c", "a.c"},
		{nil, []string{"*.c"}, nil, "/b/src/a.c", "/b/src/a.c"},
		{nil, []string{"*.c"}, nil, "/b/src/a.cc", ""},
		{nil, []string{"src"}, nil, "/b/src/x/a.c", "/b/src/x/a.c"},
		{nil, []string{"src/"}, nil, "/b/src/x/a.c", "/b/src/x/a.c"},
		{nil, []string{"src/*.c"}, nil, "/b/src/x/a.c", ""},
		{nil, []string{"src/**/*.c"}, nil, "/b/src/x/a.c", "/b/src/x/a.c"},
		{nil, []string{"src/**/*.c"}, nil, "/b/src/a.c", "/b/src/a.c"},
		{nil, []string{"rc"}, nil, "/b/src/a.c", ""},
		{nil, []string{"/src"}, nil, "/b/src/a.c", ""},
		{nil, []string{"/b"}, []string{"test_?.c"}, "/b/test_1.c", ""},
		{nil, []string{"/b"}, []string{"test_?.c"}, "/b/test_12.c", "/b/test_12.c"},
		{nil, nil, []string{"a+b[1].c"}, "a+b[1].c", ""},
		{[]string{"/b=/x"}, []string{"/x"}, []string{"/b"}, "/b/a.c", "/x/a.c"},
		{nil, nil, []string{"/usr/**"}, "/usr/include/stdio.h", ""},
	} {
		r, err := NewPathRules(c.maps, c.include, c.exclude)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := r.Path(c.path)
		if !ok {
			got = ""
		}
		if got != c.want {
			t.Errorf("%v %v %v: %s becomes %q, want %q", c.maps, c.include, c.exclude, c.path, got, c.want)
		}
	}
	for _, bad := range [][]string{{"nothing"}, {"=x"}} {
		if _, err := NewPathRules(bad, nil, nil); err == nil {
			t.Errorf("prefix map %v: no error", bad)
		}
	}
	for _, bad := range []string{"", "/", "\xff"} {
		if _, err := NewPathRules(nil, []string{bad}, nil); err == nil {
			t.Errorf("pattern %q: no error", bad)
		}
	}
}

// TestApply joins files that get the same name: a line gets the state of the file that knows
// more about it.
func TestApply(t *testing.T) {
	t.Parallel()
	files := []SourceFile{
		{File: "/one/a.c", Funcs: []SourceFunc{{Name: "f", Line: 1, End: 3, Runs: 2}, {Name: "g", Line: 5, End: 5, Runs: 0}}, Lines: []Line{{1, Ran, 2, 0}, {2, Missed, 0, 0}, {3, Missed, 0, 0}}},
		{File: "/two/a.c", Funcs: []SourceFunc{{Name: "f", Line: 1, End: 2, Runs: 1}}, Lines: []Line{{1, Missed, 0, 0}, {2, Unknown, 0, 0}, {4, Ran, 1, 0}}},
		{File: "/two/b.c", Funcs: nil, Lines: []Line{{1, Ran, 1, 0}}},
	}
	r, err := NewPathRules([]string{"/one=.", "/two=."}, nil, []string{"b.c"})
	if err != nil {
		t.Fatal(err)
	}
	want := []SourceFile{{File: "a.c", Funcs: []SourceFunc{{Name: "f", Line: 1, End: 3, Runs: 2}, {Name: "g", Line: 5, End: 5, Runs: 0}}, Lines: []Line{{1, Ran, 2, 0}, {2, Unknown, 0, 0}, {3, Missed, 0, 0}, {4, Ran, 1, 0}}}}
	got := r.Apply(files)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if tally := got[0].Tally(); tally != (LineTally{2, 1, 1}) || tally.Tally() != (Tally{2, 3}) {
		t.Errorf("tally %v: lines that are unknown must not be in the total", tally)
	}
}

func TestGaps(t *testing.T) {
	t.Parallel()
	f := SourceFile{
		File:  "a.c",
		Funcs: []SourceFunc{{Name: "ran", Line: 3, End: 7, Runs: 1}, {Name: "never", Line: 10, End: 12, Runs: 0}, {Name: "inlined", Line: 20, End: 21, Runs: 0}, {Name: "empty", Line: 30, End: 30, Runs: 0}, {Name: "outer", Line: 40, End: 49, Runs: 1}, {Name: "lambda", Line: 42, End: 44}, {Name: "unprobed", Line: 50, End: 51, Unknown: true}},
		Lines: []Line{{1, Missed, 0, 0}, {3, Ran, 1, 0}, {4, Missed, 0, 0}, {5, Missed, 0, 0}, {6, Unknown, 0, 0}, {7, Missed, 0, 0}, {10, Missed, 0, 0}, {12, Missed, 0, 0}, {20, Missed, 0, 0}, {21, Ran, 1, 0}, {40, Ran, 1, 0}, {42, Missed, 0, 0}, {43, Missed, 0, 0}, {46, Missed, 0, 0}, {47, Ran, 1, 0}, {51, Missed, 0, 0}},
	}
	want := []Gap{
		{nil, false, Range{1, 1}},
		{&f.Funcs[0], false, Range{4, 5}},
		{&f.Funcs[0], false, Range{7, 7}},
		{&f.Funcs[1], true, Range{10, 12}},
		{&f.Funcs[2], false, Range{20, 20}},
		{&f.Funcs[3], true, Range{30, 30}},
		{&f.Funcs[5], true, Range{42, 43}},
		{&f.Funcs[4], false, Range{46, 46}},
		{&f.Funcs[6], false, Range{51, 51}},
	}
	if got := f.Gaps(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestChanged compares with a plain count, line by line.
func TestChanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := SourceFile{File: "a.c"}
		for n := 1; n < 40; n++ {
			if s := rapid.IntRange(0, 3).Draw(t, "state"); s < 3 {
				f.Lines = append(f.Lines, Line{Number: n, State: State(s)})
			}
		}
		changed := map[int]bool{}
		var ranges []Range
		for range rapid.IntRange(0, 4).Draw(t, "ranges") {
			from := rapid.IntRange(1, 45).Draw(t, "from")
			to := from + rapid.IntRange(0, 6).Draw(t, "more")
			ranges = append(ranges, Range{from, to})
			for n := from; n <= to; n++ {
				changed[n] = true
			}
		}
		var want LineTally
		for _, l := range f.Lines {
			if changed[l.Number] {
				want.Add(l.State)
			}
		}
		got := Changed([]SourceFile{f}, []string{"a.c", "b.c"}, map[string][]Range{"a.c": ranges})
		if got[0].Tally != want || !got[0].Known || got[1].Known {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		lines := 0
		for _, s := range []State{Ran, Missed, Unknown} {
			for _, r := range got[0].Ranges(s) {
				for n := r.From; n <= r.To; n++ {
					if !changed[n] {
						t.Fatalf("range %v has line %d, which did not change", r, n)
					}
				}
				for _, l := range got[0].Lines {
					if r.From <= l.Number && l.Number <= r.To {
						if l.State != s {
							t.Fatalf("range %v of state %d has line %v", r, s, l)
						}
						lines++
					}
				}
			}
		}
		if lines != len(got[0].Lines) {
			t.Fatalf("ranges have %d of %d lines", lines, len(got[0].Lines))
		}
	})
}
