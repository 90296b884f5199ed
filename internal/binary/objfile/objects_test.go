package objfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const objectSource = `
static int __attribute__((noinline)) helper(int x) { return x * 3; }
int __attribute__((cold)) rare(int x) { return helper(x) + 1; }
int main(int argc, char **argv) { (void)argv; return helper(argc); }
`

// compileObject makes an object of C source with a section for each function.
func compileObject(t testing.TB, dir, name, source string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	cmd := exec.Command("gcc", "-O1", "-ffunction-sections", "-xc", "-c", "-o", path, "-")
	cmd.Stdin = strings.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return path
}

func runTool(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// describe prints functions as objdump -t does: name, offset, size, section.
func describe(objects []Object) []string {
	var lines []string
	for _, o := range objects {
		for _, f := range o.Funcs {
			lines = append(lines, fmt.Sprintf("%s %#x %d %s", f.Name, f.Addr, f.Size, f.Section))
		}
	}
	slices.Sort(lines)
	return lines
}

var objdumpLine = regexp.MustCompile(`(?m)^([0-9a-f]{16}) .{6}F (\S+)\s+([0-9a-f]{16}) +(?:\.hidden )?(\S+)$`)

// objdumpFuncs is the independent reader.
func objdumpFuncs(t testing.TB, path string) []string {
	t.Helper()
	var lines []string
	out, _ := exec.Command("objdump", "-t", path).Output() // it fails at members that are no objects
	for _, m := range objdumpLine.FindAllStringSubmatch(string(out), -1) {
		if m[2] == "*UND*" {
			continue
		}
		var addr, size uint64
		fmt.Sscanf(m[1], "%x", &addr)
		fmt.Sscanf(m[3], "%x", &size)
		lines = append(lines, fmt.Sprintf("%s %#x %d %s", m[4], addr, size, m[2]))
	}
	slices.Sort(lines)
	return lines
}

func TestReadObjects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one := compileObject(t, dir, "one.o", objectSource)
	two := compileObject(t, dir, "a_second_file_of_a_long_name.o", "int second(void) { return 2; }")
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("hello"), 0o666); err != nil {
		t.Fatal(err)
	}
	fat, thin, linked := filepath.Join(dir, "fat.a"), filepath.Join(dir, "thin.a"), filepath.Join(dir, "app")
	runTool(t, "ar", "rcs", fat, one, two, text)
	runTool(t, "ar", "rcsT", thin, one, two)
	runTool(t, "gcc", "-o", linked, one, two)
	for _, path := range []string{one, fat, thin, linked} {
		objects, err := ReadObjects(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := describe(objects), objdumpFuncs(t, path); !slices.Equal(got, want) || len(got) == 0 {
			t.Errorf("%s:\n%s\nwant\n%s", path, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	objects, _ := ReadObjects(fat)
	if len(objects) != 2 || objects[1].Member != filepath.Base(two) || objects[1].Path != fat {
		t.Errorf("%+v: want two members of %s", objects, fat)
	}
	if objects, _ = ReadObjects(thin); objects[1].Member != "" || objects[1].Path != two {
		t.Errorf("%+v: want the files of a thin archive", objects)
	}
	if _, err := ReadObjects(text); err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%v: want an error with the path", err)
	}
}

// TestReadObjectsManySections has more sections than the header of an ELF file can count.
func TestReadObjectsManySections(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("assembles 66,000 sections: not with -short")
	}
	var source strings.Builder
	const n = 66000
	for i := range n {
		fmt.Fprintf(&source, ".section .text.f%d,\"ax\",@progbits\n.type f%d,@function\nf%d: ret\n.size f%d,1\n", i, i, i, i)
	}
	path := filepath.Join(t.TempDir(), "many.o")
	cmd := exec.Command("as", "-o", path)
	cmd.Stdin = strings.NewReader(source.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("as: %v\n%s", err, out)
	}
	objects, err := ReadObjects(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(objects[0].Funcs); got != n {
		t.Fatalf("%d functions, want %d", got, n)
	}
	for _, f := range objects[0].Funcs {
		if f.Section != ".text."+f.Name {
			t.Fatalf("%s is in %s", f.Name, f.Section)
		}
	}
}

// FuzzReadObjects checks that an object that is truncated anywhere, or in whose tables any byte
// is ff, quickly gives an error or functions.
func FuzzReadObjects(f *testing.F) {
	dir := f.TempDir()
	one := compileObject(f, dir, "one.o", objectSource)
	fat := filepath.Join(dir, "fat.a")
	runTool(f, "ar", "rcs", fat, one)
	for _, path := range []string{one, fat} {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
		for i := 0; i < len(data); i += 97 {
			bad := bytes.Clone(data)
			bad[i] = 0xff
			f.Add(bad)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))
		objects, err := readArchive("x.a", r, false)
		if err != nil && objects != nil {
			t.Error("both objects and an error")
		}
		o, err := readObject(r)
		if err == nil && o == nil {
			t.Error("neither object nor error")
		}
	})
}

// FuzzLinkCode checks that any object is read or rejected, in time and memory that its size bounds.
func FuzzLinkCode(f *testing.F) {
	dir := f.TempDir()
	write(f, dir, "a.c", "static int g(int x) { return x * x; }\n__attribute__((weak)) int f(int x) { return g(x) + 1; }\n")
	write(f, dir, "b.s", "\t.globl f\nf:\tret\n")
	for _, args := range []string{"-c -g a.c", "-c -O1 -gdwarf-4 -ffunction-sections a.c", "-c -flto a.c", "-c -g b.s", "-r -g -nostdlib a.c b.s"} {
		cmd := exec.Command("gcc", append(strings.Fields(args), "-o", "f.o")...)
		cmd.Dir = dir
		if cmd.Run() != nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, "f.o"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ReadLinkCode(io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))))
		if err != nil {
			return
		}
		for i := range c.Funcs {
			if c.Funcs[i].Name == "" {
				t.Error("a function without a name")
			}
		}
	})
}

// TestLinkCode checks the functions of an object that has several compilations and assembly.
func TestLinkCode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a.c", "static __attribute__((noinline)) int g(int x) { return x * x; }\n\nint f(int x) { return g(x) + 1; }\n")
	write(t, dir, "b.c", "__attribute__((weak)) int w(void) {\n  return 1;\n}\nint data = 1;\n")
	write(t, dir, "c.s", "\t.globl h, v\nh:\tret\n\t.set v, h\nlocal:\tret\n")
	write(t, dir, "lto.c", "int f(void) { return 1; }\n")
	gcc := func(args string) {
		cmd := exec.Command("gcc", strings.Fields(args)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("needs gcc: %v\n%s", err, out)
		}
	}
	gcc("-c -g -O1 a.c b.c")
	gcc("-c c.s")
	gcc("-r -nostdlib a.o b.o c.o -o all.o")
	gcc("-c -flto lto.c")
	read := func(name string) (*LinkCode, error) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return ReadLinkCode(io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))))
	}
	c, err := read("all.o")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, fn := range c.Funcs {
		lines := ""
		for _, r := range fn.Rows {
			lines += fmt.Sprintf(" %s:%d", filepath.Base(r.File), r.Line)
		}
		got = append(got, fmt.Sprintf("%s %s %t%s", fn.Name, filepath.Base(fn.File), fn.Shared, lines))
	}
	want := regexp.MustCompile(`^g a.c false( a.c:1)+
f a.c false( a.c:3)+
w b.c true( b.c:[123])+
h \. false$`)
	if text := strings.Join(got, "\n"); !want.MatchString(text) {
		t.Errorf("got\n%s\nwant\n%v", text, want)
	}
	if len(c.Made) != 1 || !strings.HasPrefix(c.Made[0], "GCC: ") || c.Bytes == 0 {
		t.Errorf("made by %q, %d bytes", c.Made, c.Bytes)
	}
	if _, err := read("lto.o"); !errors.Is(err, ErrNoCode) {
		t.Errorf("bitcode: %v", err)
	}
	if _, err := read("a.c"); !errors.Is(err, ErrNotELF) {
		t.Errorf("a source: %v", err)
	}
}
