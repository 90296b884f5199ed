package folded

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestRead(t *testing.T) {
	t.Parallel()
	const text = "main 12\r\n\nmain;f(int, long) 7\nno value\na\\x3bb;c:\\dir 1\n\\x3b 2\n"
	want := `["main"] 12
["main" "f(int, long)"] 7
line 4: no value after the stack
["a\\x3bb" "c:\\dir"] 1
[";"] 2
`
	if got := readAll(strings.NewReader(text)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	broken := io.MultiReader(strings.NewReader("a 1\n"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if got, want := readAll(broken), "[\"a\"] 1\nline 2: unexpected EOF\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func readAll(r io.Reader) string {
	var b strings.Builder
	for s, err := range Read(r) {
		if err != nil {
			fmt.Fprintln(&b, err)
			continue
		}
		fmt.Fprintf(&b, "%q %d\n", s.Names, s.Value)
	}
	return b.String()
}

func TestDetect(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]bool{
		"main 12\nmain;x 3\n":             true,
		"main;work":                       true, // the beginning of a long line
		"main;c:\\dir 3\n":                true,
		"":                                false,
		"main;work\n":                     false,
		"PERF_RECORD_MMAP2 1/1: [0x4]\n":  false,
		"\x7fELF;\x00 1\n":                false,
		"main:12:0\n 1: 12\n":             false,
		"{\"a\": 12}\n":                   false,
		"app 71/72 [003] 3.1: 3 cycles:u": false,
	} {
		if got := Detect([]byte(head)); got != want {
			t.Errorf("Detect(%q) = %v", head, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("a;b 1\nx\n\\ 2\n"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		Detect(text)
		for range Read(strings.NewReader(string(text))) {
		}
	})
}
