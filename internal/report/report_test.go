package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestShorten(t *testing.T) {
	t.Parallel()
	tests := []struct {
		s     string
		limit int
		want  string
	}{
		{"short", 0, "short"},
		{"short", 5, "short"},
		{"namespace::function(int)", 11, "names…(int)"},
		{"äöüäöüäöü", 4, "äö…ü"},
	}
	for _, test := range tests {
		if got := Shorten(test.s, test.limit); got != test.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", test.s, test.limit, got, test.want)
		}
	}
	for path, want := range map[string]string{"/a/b.c": "/a/b.c", "/usr/src/project/file.c": "…/file.c", "averylongfilename.c": "…gfilename.c"} {
		if got := ShortenPath(path, 12); got != want {
			t.Errorf("ShortenPath(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestPercentIsHonest(t *testing.T) {
	t.Parallel()
	for want, in := range map[string][2]int{
		"-": {0, 0}, "0.0%": {0, 7}, "100.0%": {7, 7}, "33.3%": {1, 3}, "66.7%": {2, 3},
		"99.9%": {99999, 100000}, "0.1%": {1, 100000},
	} {
		if got := Percent(in[0], in[1]); got != want {
			t.Errorf("Percent%v = %s, want %s", in, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for in, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", ^uint64(0): "18,446,744,073,709,551,615"} {
		if got := Count(in); got != want {
			t.Errorf("Count(%d) = %s, want %s", in, got, want)
		}
	}
	for in, want := range map[float64]string{0: "0", 3: "3", 1.5: "1.5", -2.25: "-2.25", 17.46: "17.5", -1200.25: "-1,200.2", 1e6: "1,000,000"} {
		if got := Decimal(in); got != want {
			t.Errorf("Decimal(%v) = %s, want %s", in, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	table := Table{Columns: []Column{{Title: "name", Shrink: Shorten}, {Title: "n", Align: Right}, {}}}
	table.Add(Text("main"), Text("2"), Cell{"hot", Hot})
	table.Add(Text("std::vector<int, std::allocator<int>>::push_back(int&&)"), Text("1,000"), Text(""))
	tests := []struct {
		name  string
		style Style
		want  string
	}{
		{"plain", Style{}, `name                                                         n
main                                                         2  hot
std::vector<int, std::allocator<int>>::push_back(int&&)  1,000
`},
		{"narrow", Style{Width: 36}, `name                          n
main                          2  hot
std::vector<…back(int&&)  1,000
`},
		{"colour", Style{Color: true, Width: 36}, "\x1b[1mname\x1b[0m                          \x1b[1mn\x1b[0m\n" +
			"main                          2  \x1b[1;31mhot\x1b[0m\nstd::vector<…back(int&&)  1,000\n"},
	}
	for _, test := range tests {
		var b bytes.Buffer
		if err := table.Write(&b, test.style); err != nil {
			t.Fatal(err)
		}
		if b.String() != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, b.String(), test.want)
		}
	}
	table.Add(Text(strings.Repeat("x", maxPadded+1)), Text("7"), Text("sticks out"))
	var b bytes.Buffer
	if err := table.Write(&b, Style{}); err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("x", maxPadded+1) + "      7  sticks out\n"; !strings.HasSuffix(b.String(), want) {
		t.Errorf("got\n%s\nwant a line\n%s", b.String(), want)
	}
	b.Reset()
	empty := Table{Columns: table.Columns}
	if err := empty.Write(&b, Style{}); err != nil || b.Len() > 0 {
		t.Errorf("empty table: %q, %v", b.String(), err)
	}
}

// TestTableFits checks that any table fits the terminal if its columns may shrink far enough,
// and that no line ends in a blank.
func TestTableFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		table := Table{Columns: []Column{{Title: "a", Shrink: Shorten}, {Title: "b", Align: Right}, {Shrink: ShortenPath}}}
		word := rapid.StringMatching(`[a-z/ :é]{0,80}[a-z]`)
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			table.Add(Text(word.Draw(t, "a")), Text(rapid.StringMatching(`[0-9]{1,9}`).Draw(t, "b")), Text(word.Draw(t, "c")))
		}
		limit := rapid.IntRange(2*minShrunk+9+4, 120).Draw(t, "width")
		var b bytes.Buffer
		if err := table.Write(&b, Style{Width: limit}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > limit || strings.HasSuffix(line, " ") {
				t.Fatalf("line %q on %d columns", line, limit)
			}
		}
	})
}

func TestWrap(t *testing.T) {
	t.Parallel()
	words := strings.Fields("HOT COLD HOT HOT COLD")
	widths := []int{3, 4, 3, 3, 4}
	if got, want := Wrap(words, widths, "  ", 10), "  HOT COLD\n  HOT HOT\n  COLD"; got != want {
		t.Errorf("Wrap = %q, want %q", got, want)
	}
	if got := Wrap(nil, nil, "  ", 10); got != "" {
		t.Errorf("Wrap of nothing = %q", got)
	}
}

func TestWriteJSON(t *testing.T) {
	t.Parallel()
	tests := []struct {
		doc  any
		want string
	}{
		{struct{}{}, "{\n  \"version\": 1\n}\n"},
		{map[string]string{"name": "f<int>"}, "{\n  \"version\": 1,\n  \"name\": \"f<int>\"\n}\n"},
	}
	for _, test := range tests {
		var b bytes.Buffer
		if err := WriteJSON(&b, test.doc); err != nil {
			t.Fatal(err)
		}
		if b.String() != test.want || !json.Valid(b.Bytes()) {
			t.Errorf("%v: %q, want %q", test.doc, b.String(), test.want)
		}
	}
	if err := WriteJSON(&bytes.Buffer{}, []int{1}); err == nil {
		t.Error("a list has no place for a version")
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	var names Names
	for symbol, want := range map[string]string{
		"main":                 "main",
		"_start":               "_start",
		"a\x1b[31m\nb":         "a\ufffd[31m\ufffdb",
		"_ZN3foo3barEi":        "foo::bar(int)",
		"__wrap__ZN3foo3barEi": "__wrap_foo::bar(int)",
		"__wrap_malloc":        "__wrap_malloc",
		"_RNvC6_123foo3bar":    "123foo::bar",

		"_ZL6f_callP9lua_StatePv.__uniq.30932350642477982": "f_call(lua_State*, void*)",
		"_ZL1fv.__uniq.12.cold":                            "f() [clone .cold]",
	} {
		if got := names.Show(symbol); got != want {
			t.Errorf("Show(%s) = %s, want %s", symbol, got, want)
		}
	}
	if got := (&Names{Mangled: true}).Show("_ZN3foo3barEi"); got != "_ZN3foo3barEi" {
		t.Errorf("mangled: %s", got)
	}
}

// TestWriteJSONList checks that a list written in parts has the same text as a whole document.
func TestWriteJSONList(t *testing.T) {
	t.Parallel()
	type item struct {
		Name  string `json:"name"`
		Calls []int  `json:"calls"`
	}
	type doc struct {
		Unit string `json:"unit"`
	}
	for _, items := range [][]item{{}, {{"a<b>", nil}}, {{"a", []int{1, 2}}, {"b", []int{}}}} {
		var whole, list bytes.Buffer
		if err := WriteJSON(&whole, struct {
			doc
			Items []item `json:"items"`
		}{doc{"ns"}, items}); err != nil {
			t.Fatal(err)
		}
		err := WriteJSONList(&list, doc{"ns"}, "items", func(yield func(any) bool) {
			for _, it := range items {
				if !yield(it) {
					return
				}
			}
		})
		if err != nil || whole.String() != list.String() {
			t.Errorf("%v: error %v, list\n%s\nwhole\n%s", items, err, &list, &whole)
		}
	}
}

func TestShortNames(t *testing.T) {
	t.Parallel()
	short := Names{Short: true}
	for symbol, want := range map[string]string{
		"main":                              "main",
		"_ZN3geo6squareEi":                  "geo::square",
		"_ZNSt6vectorIiSaIiEE9push_backEOi": "std::vector::push_back",
		"_ZSt4sortIPiEvT_S1_":               "std::sort",
		"_ZZ4mainENKUlvE_clEv":              "main::{lambda()#1}::operator()",
		"_ZNK1AcvbEv":                       "A::operator bool",
	} {
		if got := short.Show(symbol); got != want {
			t.Errorf("%s is shown as %q, want %q", symbol, got, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"f(int)":              "f(int)",
		"漢字 µ":                "漢字 µ",
		"a\x1b[31m\nb\u009b":  "a\ufffd[31m\ufffdb\ufffd",
		"x\u202egnp.\u2066":   "x\ufffdgnp.\ufffd",
		"one\u2028two\u2029.": "one\ufffdtwo\ufffd.",
		"\xff":                "\ufffd",
	} {
		if got := Printable(s); got != want {
			t.Errorf("%q is printed as %q, want %q", s, got, want)
		}
	}
}

func TestTableOptional(t *testing.T) {
	t.Parallel()
	table := &Table{Columns: []Column{{Title: "calls", Align: Right}, {Title: "function", Shrink: Shorten}, {Title: "source", Shrink: Shorten, Optional: true}}}
	table.Add(Text("1"), Text(strings.Repeat("f", 30)), Text(strings.Repeat("s", 30)))
	for limit, columns := range map[int]int{0: 3, 100: 3, 50: 3, 49: 3, 48: 2, 30: 2, 10: 2} {
		var b bytes.Buffer
		if err := table.Write(&b, Style{Width: limit}); err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(b.String(), "\n")
		if got := len(strings.Fields(head)); got != columns {
			t.Errorf("%d columns of a terminal: %d columns of the table, want %d:\n%s", limit, got, columns, &b)
		}
	}
	if len(table.Columns) != 3 {
		t.Error("the table has lost a column")
	}
}

// TestTableParts checks that a table in parts has one head, and columns that grow.
func TestTableParts(t *testing.T) {
	t.Parallel()
	table := Table{Columns: []Column{{Title: "n", Align: Right}, {Title: "text"}}}
	var b strings.Builder
	for _, row := range [][]string{{"1", "a"}, {"", ""}, {"222", "b"}, {"", ""}, {"3", "c"}} {
		if row[0] != "" {
			table.Add(Text(row[0]), Text(row[1]))
		} else if err := table.WritePart(&b, Style{}); err != nil {
			t.Fatal(err)
		}
	}
	if table.Len() != 1 {
		t.Errorf("%d rows are kept", table.Len())
	}
	if err := table.Write(&b, Style{}); err != nil {
		t.Fatal(err)
	}
	if want := "n  text\n1  a\n222  b\n  3  c\n"; b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
