package toolchain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSourceNames checks functions of merged modules, which the linker may have numbered.
func TestSourceNames(t *testing.T) {
	t.Parallel()
	n := sourceNames{
		"main": {"a.c"}, "two": {"a.c", "b.c"}, "three": {"a.c", "b.c", "c.c"}, "dotted.name": {"d.c"}, "x": {"e.c"},
	}
	for function, want := range map[string]string{
		"main": "a.c", "main.cold": "a.c", "main.llvm.123": "a.c", "main.part.0.cold": "a.c",
		"two": "a.c", "two.7": "b.c", "two.7.cold": "b.c", "two.cold": "",
		"three": "a.c", "three.7": "", "dotted.name": "d.c", "dotted.name.1": "d.c", "dotted.other": "",
		"none": "", "none.1": "", ".x": "", "": "",
	} {
		if got := n.of(function); got != want {
			t.Errorf("%s is of %q, want %q", function, got, want)
		}
	}
}

// TestWithoutUnique checks that the number is removed where clang could not read it, and that
// nothing is lost.
func TestWithoutUnique(t *testing.T) {
	t.Parallel()
	const (
		group = "\t.section\tasan_globals,\"awoG\",@progbits,one,one.1"
		other = "\t.section\tasan_globals,\"awoG\",@progbits,two,two.1"
		plain = "\t.section\t.text.f,\"ax\",@progbits,unique,3\n"
		known = "\t.section\t.text.f,\"axG\",@progbits,f,comdat,unique,4\n"
	)
	for in, want := range map[string]string{
		group + ",unique,1\n" + other + ",unique,2\n" + group + ",unique,1\n": group + "\n" + other + "\n" + group + "\n",
		group + ",unique,1\n" + group + ",unique,2\n":                         group + ",unique,1\n" + group + ",unique,2\n",
		plain + known: plain + known,
		"\tret\n":     "\tret\n",
	} {
		if got := string(withoutUnique([]byte(in))); got != want {
			t.Errorf("%q becomes %q", in, got)
		}
	}
}

// TestResponse writes arguments as lld-link and lld for ELF read them, and reads files in the encodings of Microsoft's tools.
func TestResponse(t *testing.T) {
	t.Parallel()
	args := []string{`/pdbaltpath:c:\a b\c.pdb`, `/libpath:d\`, `/x:\"y`}
	for msvc, want := range map[bool]string{
		true:  `"/pdbaltpath:c:\a b\c.pdb"` + "\n" + `"/libpath:d\\"` + "\n" + `"/x:\\\"y"` + "\n",
		false: `"/pdbaltpath:c:\\a b\\c.pdb"` + "\n" + `"/libpath:d\\"` + "\n" + `"/x:\\\"y"` + "\n",
	} {
		named, err := inFile(args, t.TempDir(), msvc)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ReadResponse(strings.TrimPrefix(named[0], "@")); err != nil || got != want {
			t.Errorf("msvc %v: %q, want %q: %v", msvc, got, want, err)
		}
	}
	for text, want := range map[string]string{"\xff\xfea\x00\xe9\x00 \x00": "aé ", "\xff\xfea": "", "\xff\xfe": "", "\xef\xbb\xbfa": "a", "": ""} {
		path := filepath.Join(t.TempDir(), "rsp")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadResponse(path); err != nil || got != want {
			t.Errorf("%q is read as %q, want %q: %v", text, got, want, err)
		}
	}
}
