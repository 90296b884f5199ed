package orderfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// setup.order is the dump of a program of two files that clang 14 built, up to
// its end; setup.map is its mapping. Each file has a local function setup.
var setupOrder = []string{"main", "setup", "work", "setup", "leaf", "finish", "dump"}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestHash(t *testing.T) {
	t.Parallel()
	if got := Hash("main"); got != 0xdb956436e78dd5fa {
		t.Errorf("main is %#x", got)
	}
}

func TestDumpOfClang14(t *testing.T) {
	t.Parallel()
	whole := make([]byte, DumpSize)
	copy(whole, read(t, "setup.order"))
	d, err := ReadDump(whole)
	if err != nil {
		t.Fatal(err)
	}
	names, err := ReadMapping(read(t, "setup.map"))
	if err != nil {
		t.Fatal(err)
	}
	got, unknown := d.Resolve(names)
	if !slices.Equal(got, setupOrder) || unknown != 0 || d.Full {
		t.Errorf("%v, %d unknown, full %v", got, unknown, d.Full)
	}
	made := make(Names)
	for _, name := range []string{"main", "work", "leaf", "other"} {
		made.Add(name)
	}
	got, unknown = d.Resolve(made)
	if !slices.Equal(got, []string{"main", "work", "leaf"}) || unknown != 4 {
		t.Errorf("by symbols: %v, %d unknown", got, unknown)
	}
}

// hasProfileRuntime reports whether a clang is installed with the library that it links into programs with
// instrumentation, which is a package of its own.
func hasProfileRuntime(clang string) bool {
	out, err := exec.Command(clang, "-print-resource-dir").Output()
	if err != nil {
		return false
	}
	found, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "lib", "*", "libclang_rt.profile*"))
	return err == nil && len(found) > 0
}

// TestOrderOfInstrumentedProgram runs a compiler that still has the option.
func TestOrderOfInstrumentedProgram(t *testing.T) {
	t.Parallel()
	var cc string
	for _, name := range []string{"clang-14", "clang-15", "clang-16", "clang-17", "clang-18", "clang-19"} {
		if hasProfileRuntime(name) {
			cc = name
		}
	}
	if cc == "" {
		t.Skip("no clang from 14 to 19 with the runtime of profiles (libclang-rt-dev)")
	}
	dir := t.TempDir()
	source := "int __llvm_orderfile_dump(void);\n#define N __attribute__((noinline))\nvolatile int one = 1;\n" +
		"N int b(void) { return one; }\nN int a(void) { return b() + 0 * one; }\nN int never(void) { return -one; }\n" +
		"int main(int n, char **v) { int r = n > 1 ? never() : b() + a(); __llvm_orderfile_dump(); return r - 2; }\n"
	if err := os.WriteFile(filepath.Join(dir, "p.c"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{cc, "-O1", "-forder-file-instrumentation", "-mllvm", "-orderfile-write-mapping=p.map", "-c", "p.c"},
		{cc, "-forder-file-instrumentation", "p.o", "-o", "p"},
		{"./p"},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "LLVM_PROFILE_FILE=p.profraw")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "p.profraw.order"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := ReadDump(data)
	if err != nil {
		t.Fatal(err)
	}
	mapping, err := os.ReadFile(filepath.Join(dir, "p.map"))
	if err != nil {
		t.Fatal(err)
	}
	names, err := ReadMapping(mapping)
	if err != nil {
		t.Fatal(err)
	}
	if got, unknown := d.Resolve(names); strings.Join(got, " ") != "main b a" || unknown != 0 {
		t.Errorf("%v, %d unknown", got, unknown)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ data, want string }{
		{"1234567", "not a multiple of 8"},
		{strings.Repeat("\x00", DumpSize), "is empty"},
		{strings.Repeat("x", MaxDumpSize+8), "largest"},
	} {
		if _, err := ReadDump([]byte(test.data)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("want %q: %v", test.want, err)
		}
	}
	for _, test := range []struct{ data, want string }{
		{"MD5 db956436e78dd5fa main\nnothing\n", "line 2"},
		{"MD5 xyz main\n", "not a hash"},
		{"MD5 db956436e78dd5fb main\n", "is db956436e78dd5fa, not db956436e78dd5fb"},
		{"MD5 db956436e78dd5fa\n", "line 1"},
	} {
		if _, err := ReadMapping([]byte(test.data)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("want %q: %v", test.want, err)
		}
	}
	full, err := ReadDump([]byte(strings.Repeat("x", DumpSize)))
	if err != nil || !full.Full || len(full.Hashes) != DumpSize/8 {
		t.Errorf("a full dump: %v", err)
	}
}

func FuzzDump(f *testing.F) {
	f.Add(read(f, "setup.order"), read(f, "setup.map"))
	f.Add(make([]byte, 16), []byte("MD5 0 x"))
	f.Fuzz(func(t *testing.T, dump, mapping []byte) {
		d, err := ReadDump(dump)
		if (err == nil) != (d != nil) {
			t.Fatal(d, err)
		}
		names, err := ReadMapping(mapping)
		if (err == nil) != (names != nil) {
			t.Fatal(names, err)
		}
		if d == nil || names == nil {
			return
		}
		if symbols, unknown := d.Resolve(names); len(symbols)+unknown != len(d.Hashes) {
			t.Fatalf("%d and %d of %d", len(symbols), unknown, len(d.Hashes))
		}
	})
}
