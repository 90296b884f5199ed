package objfile

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const program = `#include <stdio.h>
#include "twice.h"

int main(int argc, char **argv)
{
	int sum = 0;
	for (int i = 0; i < argc; i++)
		sum += twice(i);
	printf("%d\n", sum);
	return sum > 100;
}
`

const header = `static int twice(int x)
{
	if (x > 3)
		return x * 2;
	return x + 1;
}

__attribute__((noinline)) int unused(int x)
{
	return twice(x) * 3;
}
`

// run runs a tool in dir.
func run(t testing.TB, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// build compiles the program above in a directory of its own.
func build(t testing.TB, cc string, flags ...string) (dir, bin string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"main.c": program, "inc/twice.h": header} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(t, dir, cc, append([]string{"-Iinc", "-Wl,--build-id", "-o", "app", "main.c"}, flags...)...)
	return dir, filepath.Join(dir, "app")
}

func open(t testing.TB, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	f.SetDebugRoot("/nonexistent")
	return f
}

func lines(t testing.TB, path string) *LineTable {
	t.Helper()
	table, err := open(t, path).Lines()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// symbolOf returns the address of a function.
func symbolOf(t testing.TB, path, name string) Symbol {
	t.Helper()
	syms, err := open(t, path).FuncSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range syms {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("%s has no symbol %s", path, name)
	return Symbol{}
}

// compilers returns the C compilers to test with: gcc always, clang if there.
func compilers(t *testing.T) []string {
	ccs := []string{"gcc"}
	for _, clang := range []string{"clang", "clang-22"} {
		if _, err := exec.LookPath(clang); err == nil {
			return append(ccs, clang)
		}
	}
	return ccs
}

func TestLinesOfEveryKindOfBuild(t *testing.T) {
	t.Parallel()
	kinds := map[string][]string{
		"dwarf5":      {"-gdwarf-5", "-O1"},
		"dwarf4":      {"-gdwarf-4", "-O1"},
		"dwarf3":      {"-gdwarf-3", "-O0"},
		"dwarf2":      {"-gdwarf-2", "-gstrict-dwarf", "-O0"},
		"O2 sections": {"-g", "-O2", "-ffunction-sections", "-Wl,--gc-sections"},
		"split":       {"-g", "-gsplit-dwarf", "-O1"},
		"split4":      {"-gdwarf-4", "-gsplit-dwarf", "-O1"},
		"compressed":  {"-g", "-gz=zlib", "-O1"},
		"no pie":      {"-g", "-no-pie", "-O1"},
		"lines only":  {"-g1", "-O1"},
	}
	for _, cc := range compilers(t) {
		for kind, flags := range kinds {
			t.Run(cc+" "+kind, func(t *testing.T) {
				t.Parallel()
				dir, bin := build(t, cc, flags...)
				table := lines(t, bin)
				entry := symbolOf(t, bin, "main").Addr
				file, line, ok := table.Entry(entry)
				if want := filepath.Join(dir, "main.c"); !ok || file != want || line < 4 || line > 5 {
					t.Errorf("Entry(main) = %s:%d %v, want %s:4 or 5", file, line, ok, want)
				}
				sameAsDebugDWARF(t, bin, table)
			})
		}
	}
}

// sameAsDebugDWARF looks up every address of .text in both readers. The addresses of the C
// runtime's own objects are in neither.
func sameAsDebugDWARF(t *testing.T, bin string, table *LineTable) {
	t.Helper()
	f, err := elf.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := map[uint64]dwarf.LineEntry{}
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	for r := d.Reader(); ; r.SkipChildren() {
		cu, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if cu == nil {
			break
		}
		lr, err := d.LineReader(cu)
		if err != nil || lr == nil {
			continue
		}
		var last dwarf.LineEntry
		for open := false; ; {
			var e dwarf.LineEntry
			if err := lr.Next(&e); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			for a := last.Address; open && a < e.Address; a++ {
				want[a] = last
			}
			open, last = !e.EndSequence, e
		}
	}
	text := f.Section(".text")
	compared := 0
	for a := text.Addr; a < text.Addr+text.Size; a++ {
		file, line, ok := table.Lookup(a)
		w, wantOK := want[a]
		if ok != (wantOK && w.Line != 0) {
			t.Fatalf("%#x: found %v, want %v", a, ok, wantOK)
		}
		if ok {
			compared++
			if line != w.Line || filepath.Base(file) != filepath.Base(w.File.Name) || !filepath.IsAbs(file) {
				t.Fatalf("%#x: %s:%d, want %s:%d", a, file, line, w.File.Name, w.Line)
			}
		}
	}
	if compared < 50 {
		t.Fatalf("compared only %d addresses", compared)
	}
}

func TestRowsCoverTheFunction(t *testing.T) {
	t.Parallel()
	_, bin := build(t, "gcc", "-g", "-O0")
	table := lines(t, bin)
	sym := symbolOf(t, bin, "twice")
	var got []int
	at := sym.Addr
	for r := range table.Rows(sym.Addr, sym.Addr+sym.Size) {
		if r.Addr != at || r.End < r.Addr || filepath.Base(r.File) != "twice.h" {
			t.Errorf("row %+v, want one at %#x", r, at)
		}
		at = r.End
		got = append(got, r.Line)
	}
	if at != sym.Addr+sym.Size {
		t.Errorf("rows end at %#x, want %#x", at, sym.Addr+sym.Size)
	}
	want := map[int]bool{2: true, 3: true, 4: true, 5: true, 6: true}
	for _, line := range got {
		delete(want, line)
	}
	if len(want) > 0 {
		t.Errorf("lines %v: missing %v", got, want)
	}
	// A range inside an instruction is clipped, one between functions is empty.
	for r := range table.Rows(sym.Addr+1, sym.Addr+2) {
		if r.Addr != sym.Addr+1 || r.End != sym.Addr+2 || r.Line != 2 {
			t.Errorf("clipped row %+v", r)
		}
	}
	for r := range table.Rows(1, 2) {
		t.Errorf("row %+v where there is no code", r)
	}
}

func TestSeparateDebugFile(t *testing.T) {
	t.Parallel()
	strip := func(t *testing.T, ccFlags ...string) (dir, bin string) {
		dir, bin = build(t, "gcc", append(ccFlags, "-g")...)
		run(t, dir, "objcopy", "--only-keep-debug", "app", "app.debug")
		run(t, dir, "objcopy", "--strip-debug", "--add-gnu-debuglink=app.debug", "app")
		return dir, bin
	}
	move := func(t *testing.T, from, to string) {
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name  string
		flags []string
		place func(t *testing.T, dir, root, id string)
	}{
		{"beside", nil, func(t *testing.T, dir, root, id string) {}},
		{"subdirectory", nil, func(t *testing.T, dir, root, id string) {
			move(t, dir+"/app.debug", dir+"/.debug/app.debug")
		}},
		{"root", nil, func(t *testing.T, dir, root, id string) {
			move(t, dir+"/app.debug", filepath.Join(root, dir, "app.debug"))
		}},
		{"build id", nil, func(t *testing.T, dir, root, id string) {
			move(t, dir+"/app.debug", filepath.Join(root, ".build-id", id[:2], id[2:]+".debug"))
		}},
		{"checksum only", []string{"-Wl,--build-id=none"}, func(t *testing.T, dir, root, id string) {}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir, bin := strip(t, test.flags...)
			f := open(t, bin)
			root := t.TempDir()
			f.SetDebugRoot(root)
			id, _ := f.BuildID()
			test.place(t, dir, root, id.String())
			table, err := f.Lines()
			if err != nil {
				t.Fatal(err)
			}
			if file, line, ok := table.Entry(symbolOf(t, bin, "main").Addr); !ok || line != 5 || file != filepath.Join(dir, "main.c") {
				t.Errorf("Entry(main) = %s:%d %v", file, line, ok)
			}
		})
	}
	t.Run("given by the user", func(t *testing.T) {
		t.Parallel()
		dir, bin := strip(t)
		debug := filepath.Join(dir, "app.debug")
		want, err1 := open(t, bin).BuildID()
		got, err2 := open(t, debug).BuildID()
		if err1 != nil || err2 != nil || got != want || len(got) == 0 {
			t.Errorf("build ids %s %v, %s %v", want, err1, got, err2)
		}
		if lines(t, debug).Len() == 0 {
			t.Error("no rows")
		}
	})
	t.Run("of another build", func(t *testing.T) {
		t.Parallel()
		_, bin := strip(t)
		otherDir, _ := strip(t, "-O2")
		move(t, otherDir+"/app.debug", filepath.Dir(bin)+"/app.debug")
		if _, err := open(t, bin).Lines(); !errors.Is(err, ErrNoDebug) {
			t.Errorf("error %v, want ErrNoDebug", err)
		}
	})
}

func TestWhatIsMissingHasAName(t *testing.T) {
	t.Parallel()
	_, bin := build(t, "gcc", "-Wl,--build-id=none", "-s")
	f := open(t, bin)
	if _, err := f.BuildID(); !errors.Is(err, ErrNoBuildID) || !strings.HasPrefix(err.Error(), bin) {
		t.Errorf("BuildID: %v", err)
	}
	if _, err := f.Lines(); !errors.Is(err, ErrNoDebug) || !strings.HasPrefix(err.Error(), bin) {
		t.Errorf("Lines: %v", err)
	}
	if _, _, _, ok, err := f.Section(".nonesuch"); ok || err != nil {
		t.Errorf("Section: %v %v", ok, err)
	}
}

func TestSection(t *testing.T) {
	t.Parallel()
	_, bin := build(t, "gcc", "-g", "-gz=zlib")
	f := open(t, bin)
	if data, addr, size, ok, err := f.Section(".bss"); data != nil || addr == 0 || size == 0 || !ok || err != nil {
		t.Errorf(".bss: %v %#x %d %v %v", data, addr, size, ok, err)
	}
	data, _, size, ok, err := f.Section(".debug_str")
	if !ok || err != nil || uint64(len(data)) != size || !bytes.Contains(data, []byte("main")) {
		t.Errorf(".debug_str: %d of %d bytes, %v %v", len(data), size, ok, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	_, bin := build(t, "gcc")
	good, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	lost := bytes.Clone(good)
	lost[0x24] = 7 // the program headers begin 28 GiB on
	tests := []struct {
		name, want string
		data       []byte
	}{
		{"lost", "cut off?", lost},
		{"empty", "not an ELF file", nil},
		{"text", "not an ELF file", []byte(strings.Repeat("no such thing\n", 10))},
		{"32 bit", "not a 64-bit", append([]byte("\x7fELF\x01"), good[5:]...)},
		{"cut", "cut off?", good[:len(good)/2]},
	}
	for _, test := range tests {
		path := filepath.Join(t.TempDir(), test.name)
		if err := os.WriteFile(path, test.data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("opened a directory")
	}
}

// use calls every method of an open file.
func use(f *File) {
	f.BuildID()
	f.FuncSymbols()
	f.FunctionMap()
	f.LinkSymbols()
	if p, err := f.Program(); err == nil {
		f.AddStubs(p)
	}
	f.Pointers()
	f.SourceFiles()
	f.Section(".text")
	f.Section(".debug_info")
	if c, err := f.Code(); err == nil {
		for _, s := range c.sections {
			c.Bytes(s.addr, s.addr+1)
		}
	}
	if scopes, err := f.Scopes(); err == nil {
		for _, p := range scopes.pieces {
			scopes.At(p.addr)
		}
	}
	table, err := f.Lines()
	if err != nil {
		return
	}
	for _, s := range table.seqs {
		table.Lookup(s.lo)
		table.Entry(s.hi - 1)
	}
	for r := range table.Rows(0, ^uint64(0)) {
		if r.End < r.Addr || r.Line <= 0 {
			panic("bad row")
		}
	}
}

// seeds compiles small programs, since random bytes are rarely ELF files.
func seeds(f testing.TB) [][]byte {
	var all [][]byte
	for _, flags := range [][]string{
		{"-gdwarf-5", "-O1"}, {"-gdwarf-4", "-O1"}, {"-g", "-gz=zlib"}, {"-gdwarf-2", "-gstrict-dwarf"},
	} {
		_, bin := build(f, "gcc", append(flags, "-nostartfiles", "-nostdlib", "-Wl,-emain", "-Wl,-zmax-page-size=16", "-Wl,--unresolved-symbols=ignore-all", "-static")...)
		data, err := os.ReadFile(bin)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) > 20<<10 {
			f.Fatalf("seed of %d bytes", len(data))
		}
		all = append(all, data)
	}
	return all
}

func FuzzFile(f *testing.F) {
	for _, data := range seeds(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "app")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		file, err := Open(path)
		if (err == nil) != (file != nil) {
			t.Fatalf("Open: %v, %v", file, err)
		}
		if err == nil {
			file.SetDebugRoot("/nonexistent")
			use(file)
			file.Close()
		}
		if d := time.Since(start); d > 10*time.Minute {
			t.Fatalf("took %v", d)
		}
	})
}

// TestDamage flips bytes of real modules and truncates them. It is the part of FuzzFile that
// every run of the tests repeats.
func TestDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app")
	for _, good := range seeds(t) {
		for i := 0; i < len(good); i += 7 {
			bad := bytes.Clone(good)
			bad[i] ^= byte(1 + i*31%255)
			if i%3 == 0 {
				bad = bad[:i]
			}
			if err := os.WriteFile(path, bad, 0o644); err != nil {
				t.Fatal(err)
			}
			if f, err := Open(path); err == nil {
				f.SetDebugRoot("/nonexistent")
				use(f)
				f.Close()
			}
		}
	}
}
