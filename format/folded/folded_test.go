package folded

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestWriter(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := NewWriter(&b)
	w.Write([]string{"main"}, 12)
	w.Write([]string{"main", "work(int, long)", `C:\x`}, 0)
	w.Write([]string{"a;b", "operator\n7 8"}, 1<<64-1)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := `main 12
main;work(int, long);C:\\x 0
a\x3bb;operator\x0a7 8 18446744073709551615
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "main", "main x", "main -1", `a\ 1`, `a\x3 1`, `a\xzz 1`, `a\n 1`} {
		if stack, v, err := Parse(line); err == nil {
			t.Errorf("Parse(%q) = %q, %d", line, stack, v)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{"", "main", "a;b", "a\nb\x00", `\x3b`, `\`, "\xff ", " 12", "ns::f<int>(char&&)"} {
		f.Add(s, "x")
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		var b bytes.Buffer
		w := NewWriter(&b)
		stack := []string{one, two}
		w.Write(stack, 7)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		line, rest, _ := strings.Cut(b.String(), "\n")
		got, v, err := Parse(line)
		if err != nil || v != 7 || rest != "" || !slices.Equal(got, stack) {
			t.Fatalf("%q came back as %q, %d, %v", stack, got, v, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"main 1", "a;;b 2", `\x3b 3`, "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		stack, v, err := Parse(line)
		if err != nil {
			return
		}
		var b bytes.Buffer
		w := NewWriter(&b)
		w.Write(stack, v)
		w.Flush()
		again, v2, err := Parse(strings.TrimSuffix(b.String(), "\n"))
		if err != nil || v2 != v || !slices.Equal(again, stack) {
			t.Fatalf("%q is %q %d, and then %q %d, %v", line, stack, v, again, v2, err)
		}
	})
}
