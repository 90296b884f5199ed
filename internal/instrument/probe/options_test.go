package probe

import (
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// TestUnitSource has the source of a unit where a command compiles several files of one name.
func TestUnitSource(t *testing.T) {
	t.Parallel()
	opts := Options{Origin: Origin{Sources: []string{"/src/a/x.c", "/src/b/x.c", "/src/main.c"}}}
	for _, test := range []struct{ name, text, source, want string }{
		{"no other file has the name", "", "main.c", "/src/main.c"},
		{"not a file of the command", "", "y.c", "y.c"},
		{"a path", "", "b/x.c", "/src/b/x.c"},
		{"nothing tells which", "\t.file\t\"x.c\"\n", "x.c", "x.c"},
		{"gcc with DWARF 5", "\t.file\t\"x.c\"\n\t.file 0 \"/src\" \"b/x.c\"\n\t.file 1 \"a/x.c\"\n", "x.c", "/src/b/x.c"},
		{"in its directory", "\t.file 0 \"/src/b\" \"x.c\"\n", "x.c", "/src/b/x.c"},
		{"gcc with DWARF 4", "\t.file 1 \"b/x.c\"\n\t.file 2 \"/usr/include/stdio.h\"\n", "x.c", "/src/b/x.c"},
		{"DWARF 4 that includes the other", "\t.file 1 \"b/x.c\"\n\t.file 2 \"a/x.c\"\n", "x.c", "x.c"},
		{"clang", "\t.file\t0 \"/src\" \"b/x.c\" md5 0x00112233445566778899aabbccddeeff\n", "x.c", "/src/b/x.c"},
	} {
		if got := opts.UnitSource(&asm.Unit{Source: test.source, Src: []byte(test.text)}); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
