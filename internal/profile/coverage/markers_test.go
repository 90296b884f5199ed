package coverage

import (
	"bytes"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestReadMarkers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text            string // lines, separated by |
		lines, branches []Range
		unreachable     []Range
		functions       []int
		problem         string
	}{
		{text: "a|b // LCOV_EXCL_LINE|c", lines: []Range{{2, 2}}},
		{text: "a|b // GCOVR_EXCL_LINE|GCOV_EXCL_LINE", lines: []Range{{2, 3}}},
		{text: "a|// LCOV_EXCL_START|b|// LCOV_EXCL_STOP|c", lines: []Range{{2, 3}}},
		{text: "LCOV_EXCL_BR_LINE|LCOV_EXCL_BR_START|x|LCOV_EXCL_BR_STOP", branches: []Range{{1, 3}}},
		{text: "LCOV_EXCL_START|GCOVR_EXCL_BR_LINE|LCOV_EXCL_STOP", lines: []Range{{1, 2}}, branches: []Range{{2, 2}}},
		{text: "LCOV_EXCL_START x LCOV_EXCL_STOP|y"},
		{text: "GCOVR_EXCL_START|GCOVR_EXCL_START|x|GCOVR_EXCL_STOP|y|GCOVR_EXCL_STOP", lines: []Range{{1, 5}}},
		{text: "int f() { // GCOVR_EXCL_FUNCTION", functions: []int{1}},
		{text: "LCOV_UNREACHABLE_START|x|LCOV_UNREACHABLE_STOP|LCOV_UNREACHABLE_LINE|GCOVR_UNREACHABLE_LINE", unreachable: []Range{{1, 2}, {4, 4}}},
		{text: "XLCOV_EXCL_LINE|LCOV_EXCL_LINES|LCOVR_EXCL_LINE|EXCL_LINE"},
		{text: "custom: ignore|x", lines: []Range{{1, 1}}},
		{text: "x|no branch", branches: []Range{{2, 2}}},
		{text: "x|LCOV_EXCL_STOP", problem: "line 2: LCOV_EXCL_STOP has no START"},
		{text: "x|LCOV_EXCL_START|y", problem: "line 2: LCOV_EXCL_START has no STOP: it excludes nothing"},
		{
			text: "LCOV_EXCL_START|GCOVR_EXCL_STOP", lines: []Range{{1, 1}},
			problem: "line 2: GCOVR_EXCL_STOP ends the region of LCOV_EXCL_START of line 1",
		},
		{
			text: "LCOV_EXCL_START|LCOV_EXCL_LINE|LCOV_EXCL_STOP", lines: []Range{{1, 2}},
			problem: "line 2: LCOV_EXCL_LINE is in the region that begins on line 1",
		},
	} {
		m := ReadMarkers([]byte(strings.ReplaceAll(c.text, "|", "\r\n")), true, []*regexp.Regexp{regexp.MustCompile("custom: +ignore")}, []*regexp.Regexp{regexp.MustCompile("no branch")})
		if !equal(m.Lines, c.lines) || !equal(m.Branches, c.branches) || !equal(m.Functions, c.functions) || !equal(m.Unreachable, c.unreachable) {
			t.Errorf("%s: lines %v, branches %v, functions %v", c.text, m.Lines, m.Branches, m.Functions)
		}
		if got := strings.Join(m.Problems, "; "); got != c.problem {
			t.Errorf("%s: problems %q, want %q", c.text, got, c.problem)
		}
	}
}

// equal compares lists, of which nil is an empty one.
func equal[T any](a, b []T) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }

func TestExclude(t *testing.T) {
	t.Parallel()
	f := SourceFile{
		File:  "a.c",
		Funcs: []SourceFunc{{Name: "f", Line: 1, End: 4, Runs: 1}, {Name: "g", Line: 6, End: 9}, {Name: "h", Line: 11, End: 12}},
		Lines: []Line{{1, Ran, 1, 0}, {2, Missed, 0, 0}, {3, Ran, 1, 0}, {7, Missed, 0, 0}, {8, Missed, 0, 0}, {9, Missed, 0, 0}, {11, Unknown, 0, 0}, {12, Missed, 0, 0}},
	}
	m := Markers{Lines: []Range{{2, 2}, {11, 11}}, Functions: []int{6, 5}}
	kept, n := m.Exclude(&f)
	want := SourceFile{File: "a.c", Funcs: f.Funcs[:1], Lines: []Line{{1, Ran, 1, 0}, {3, Ran, 1, 0}, {12, Missed, 0, 0}}}
	if !reflect.DeepEqual(kept, want) {
		t.Errorf("kept %v, want %v", kept, want)
	}
	if n != (Excluded{Lines: 5, Functions: 2}) {
		t.Errorf("excluded %+v", n)
	}
	if len(m.Problems) != 1 || !strings.Contains(m.Problems[0], "line 5") {
		t.Errorf("problems %q", m.Problems)
	}
}

// TestUnreachable: what a marker says cannot run is excluded unless it ran.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	f := SourceFile{File: "a.c", Lines: []Line{{1, Ran, 1, 0}, {2, Missed, 0, 0}, {3, Ran, 2, 0}, {4, Unknown, 0, 0}, {5, Missed, 0, 0}}}
	m := Markers{Unreachable: []Range{{2, 4}}}
	kept, n := m.Exclude(&f)
	if want := []Line{{1, Ran, 1, 0}, {3, Ran, 2, 0}, {5, Missed, 0, 0}}; !reflect.DeepEqual(kept.Lines, want) || n.Lines != 2 {
		t.Errorf("kept %v, excluded %+v", kept.Lines, n)
	}
	if len(m.Problems) != 1 || m.Problems[0] != "line 3: it ran, and a marker says that it is unreachable" {
		t.Errorf("problems %q", m.Problems)
	}
}

// TestStatements: a range of statements is excluded if all its lines with text are.
func TestStatements(t *testing.T) {
	t.Parallel()
	rows := bytes.Split([]byte("if x {\n\t// LCOV_EXCL_START\n\tf()\n\n\tg()\n\t// LCOV_EXCL_STOP\n}\nh() // LCOV_EXCL_LINE\ni() // LCOV_UNREACHABLE_LINE\n"), []byte("\n"))
	m := ReadMarkers(bytes.Join(rows, []byte("\n")), true, nil, nil)
	for _, c := range []struct {
		from, column, to int
		ran, want        bool
	}{{1, 6, 7, true, true}, {1, 1, 7, false, false}, {3, 2, 8, false, true}, {8, 1, 8, true, true}, {8, 1, 9, false, true}, {8, 1, 9, true, false}, {7, 1, 7, false, false}, {20, 1, 30, false, false}} {
		if got := m.Statements(rows, c.from, c.column, c.to, c.ran); got != c.want {
			t.Errorf("%d.%d to %d, ran %v: %v", c.from, c.column, c.to, c.ran, got)
		}
	}
}

func FuzzReadMarkers(f *testing.F) {
	f.Add([]byte("a\nLCOV_EXCL_START\nb\nGCOVR_EXCL_STOP GCOV_EXCL_BR_LINE"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m := ReadMarkers(text, true, nil, nil)
		rows := 1 + strings.Count(string(text), "\n")
		for _, r := range slices.Concat(m.Lines, m.Branches, m.Unreachable) {
			if r.From < 1 || r.To < r.From || r.To > rows {
				t.Fatalf("range %v of %d lines", r, rows)
			}
		}
	})
}
