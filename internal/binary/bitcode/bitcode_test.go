package bitcode

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const source = `
int other(int n);
int data = 3;
static int twice(int n) { return n * 2; }
static int (*volatile pointer)(int) = twice;
int work(int n) { return other(n) + pointer(n); }
`

// compile returns the bitcode that clang makes of source with some options.
func compile(tb testing.TB, options ...string) []byte {
	tb.Helper()
	return compileText(tb, source, options...)
}

func compileText(tb testing.TB, source string, options ...string) []byte {
	tb.Helper()
	clang, err := exec.LookPath("clang-22")
	if err != nil {
		tb.Skip("needs clang-22")
	}
	dir := tb.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "work.c"), []byte(source), 0o644); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(clang, append([]string{"-O1", "-c", "work.c", "-o", "work.o"}, options...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(filepath.Join(dir, "work.o"))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// TestRead compares with llvm-nm, which reads the same table by LLVM's own code.
func TestRead(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		options string
		want    Kind
	}{{"-flto", Full}, {"-flto=thin", Thin}, {"-flto=thin -g", Thin}, {"-flto -g", Full}, {"-emit-llvm", Full}} {
		data := compile(t, strings.Fields(test.options)...)
		m, err := Read(data)
		if err != nil {
			t.Fatalf("%s: %v", test.options, err)
		}
		if m.Kind != test.want || m.Source != "work.c" || !strings.Contains(m.Target, "-linux-gnu") {
			t.Errorf("%s: kind %d of %q for %q, want %d of work.c", test.options, m.Kind, m.Source, m.Target, test.want)
		}
		var got []string
		for _, s := range m.Symbols {
			letter := "D"
			switch {
			case !s.Defined:
				letter = "U"
			case s.Function:
				letter = "T"
			}
			if s.Local {
				letter = strings.ToLower(letter)
			}
			got = append(got, fmt.Sprintf("%s %s", s.Name, letter))
		}
		if want := nm(t, data); !slices.Equal(got, want) {
			t.Errorf("%s: symbols %q, llvm-nm has %q", test.options, got, want)
		}
	}
}

func nm(t *testing.T, data []byte) []string {
	tool, err := exec.LookPath("llvm-nm-22")
	if err != nil {
		t.Skip("needs llvm-nm-22")
	}
	path := filepath.Join(t.TempDir(), "a.o")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "-P", "-p", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		names = append(names, f[0]+" "+f[1])
	}
	return names
}

// TestDamaged: what is cut off or not bitcode is an error.
func TestDamaged(t *testing.T) {
	t.Parallel()
	data := compile(t, "-flto=thin")
	for n := 0; n < len(data)-64; n += 7 {
		if m, err := Read(data[:n]); err == nil && len(m.Symbols) > 0 {
			t.Fatalf("the first %d of %d bytes are read with %d symbols", n, len(data), len(m.Symbols))
		}
	}
	if _, err := Read([]byte("\x7fELF and more")); err == nil {
		t.Error("ELF is bitcode")
	}
	wrapped := bytes.Join([][]byte{[]byte(wrapperMagic), {0, 0, 0, 0}, {20, 0, 0, 0}, {byte(len(data)), byte(len(data) >> 8), 0, 0}, {0, 0, 0, 0}, data}, nil)
	if m, err := Read(wrapped); err != nil || m.Kind != Thin {
		t.Errorf("in a wrapper: %v", err)
	}
	wrapped[15] = 0x7f
	if _, err := Read(wrapped); err == nil {
		t.Error("a wrapper around more than there is")
	}
}

func FuzzRead(f *testing.F) {
	if _, err := exec.LookPath("clang-22"); err == nil {
		f.Add(compile(f, "-flto=thin"))
		f.Add(compile(f, "-flto", "-g"))
	}
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := ReadCode(data); err == nil && len(c.Funcs) > len(data) {
			t.Errorf("%d functions in %d bytes", len(c.Funcs), len(data))
		}
		m, err := Read(data)
		if err == nil && len(m.Symbols)*symbolSize > len(data) {
			t.Errorf("%d symbols in %d bytes", len(m.Symbols), len(data))
		}
	})
}

const code = `
int other(int n);
extern int shared;
int shared;
static int twice(int n) {
  return n * 2;
}
static int (*const table[])(int) = {twice};
inline int copy(int n) { return n - 1; }
int pick(int n) { return table[n & 1 & n](n); }
__attribute__((noinline)) int store(int n) {
  for (int i = 0; i < n; i++)
    shared += other(i);
  return shared;
}
int work(int n) { return store(n) + copy(n); }
`

// TestReadCode reads functions with their places, lines and references, as clang writes them at several levels.
func TestReadCode(t *testing.T) {
	t.Parallel()
	for _, options := range []string{"-flto -g -O0", "-flto=thin -g -O2", "-flto -O1", "-flto=thin -g -gsplit-dwarf -O1", "-emit-llvm -g -O1"} {
		c, err := ReadCode(compileText(t, code, strings.Fields(options)...))
		if err != nil {
			t.Fatalf("%s: %v", options, err)
		}
		i := slices.IndexFunc(c.Funcs, func(f Func) bool { return f.Name == "store" })
		if i < 0 || !slices.ContainsFunc(c.Funcs, func(f Func) bool { return f.Name == "work" }) {
			t.Errorf("%s: functions %+v", options, c.Funcs)
			continue
		}
		f := &c.Funcs[i]
		debug := strings.Contains(options, "-g")
		if debug != (f.Line == 11) || debug != strings.HasSuffix(f.File, "/work.c") || debug != slices.Contains(f.Lines, Line{f.File, 13}) {
			t.Errorf("%s: store is at %s:%d, with lines %v", options, f.File, f.Line, f.Lines)
		}
		if strings.Contains(options, "lto") && (!f.Effects || f.Insts == 0 || !slices.Equal(f.Refs, []string{"other", "shared"})) {
			t.Errorf("%s: store refers to %q, with %d instructions, effects: %v", options, f.Refs, f.Insts, f.Effects)
		}
		if strings.Contains(options, "-O0") && !slices.ContainsFunc(c.Data, func(d Data) bool { return d.Name == "table" && slices.Equal(d.Refs, []string{"twice"}) }) {
			t.Errorf("%s: data refers to %v", options, c.Data)
		}
	}
}
