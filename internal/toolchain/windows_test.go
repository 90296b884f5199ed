package toolchain

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/driver"
)

func TestCalledAs(t *testing.T) {
	for _, c := range []struct{ self, first, want string }{
		{"/cache/build/gcc", "gcc", "/cache/build/gcc"}, // as shells start what they find on PATH
		{"/cache/key/bin/as", "/cache/key/bin/as", "/cache/key/bin/as"},
		{"/tools/cairn", "g++", "g++"}, // as cairn build starts cairn for its command
		{"/tools/cairn", "cairn", "cairn"},
		{"/tools/cairn-2", "g++", "g++"},
	} {
		if got := calledAs(c.self, []string{c.first, "-c"}); !slices.Equal(got, []string{c.want, "-c"}) {
			t.Errorf("%s, called as %s: %q", c.self, c.first, got)
		}
	}
}

// TestShortened shortens command lines, whose words tools then read from the file.
func TestShortened(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	long := strings.Repeat("x", 100)
	words := []string{"-c", `-DNAME="` + long + ` b"`, `C:\in\`, "x.c"}
	for _, c := range []struct {
		first []string
		read  func(text string) []string
	}{
		{[]string{"gcc"}, driver.SplitResponse},
		{[]string{"/bin/clang", "-cc1"}, driver.SplitResponse},
		{[]string{"clang-cl"}, readCL},
		{[]string{"lld-link-22"}, readCL},
		{[]string{"ld.lld"}, readCL},
	} {
		argv := slices.Concat(c.first, words)
		if got, done, err := shortened(argv, 1000); err != nil || !slices.Equal(got, argv) {
			t.Errorf("a line that fits: %q, %v", got, err)
		} else {
			done()
		}
		got, done, err := shortened(argv, 50)
		if err != nil || len(got) != len(c.first)+1 || !slices.Equal(got[:len(c.first)], c.first) {
			t.Fatalf("%q: %q, %v", c.first, got, err)
		}
		name := strings.TrimPrefix(got[len(c.first)], "@")
		text, err := os.ReadFile(name)
		if read := c.read(string(text)); err != nil || !slices.Equal(read, words) {
			t.Errorf("%q reads %q, %v", c.first, read, err)
		}
		if c.first[len(c.first)-1] == "-cc1" {
			if read := expanded(got[1:]); !slices.Equal(read, argv[1:]) {
				t.Errorf("a part of clang reads %q", read)
			}
		}
		done()
		if left, err := filepath.Glob(filepath.Join(os.TempDir(), "*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %q, %v", left, err)
		}
	}
}

// readCL reads a response file as lld-link does.
func readCL(text string) []string {
	line := driver.ParseLLDLink([]string{"@x"}, func(string) (string, error) { return text, nil }, func(string) string { return "" })
	var words []string
	for _, w := range line.Line.Words {
		words = append(words, w.Args...)
	}
	return words
}
