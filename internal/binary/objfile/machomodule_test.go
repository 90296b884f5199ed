package objfile

import (
	"bytes"
	"compress/zlib"
	"debug/macho"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

const machOProgram = `
int table[64];
static __attribute__((noinline)) int square(int x) { return x * x; }
__attribute__((noinline)) int sum(int n) { int s = 0; for (int i = 0; i < n; i++) s += square(i) + table[i]; return s; }
__attribute__((weak)) int weak(int n) { return n + 1; }
int main(int argc, char **argv) { return sum(argc) + weak(argc); }
`

// machOPrograms compiles and links a program for a machine, and returns its path; nil without
// the tools.
func machOProgramFor(t testing.TB, dir, target string, flags ...string) string {
	t.Helper()
	for _, tool := range []string{"clang-22", "ld64.lld-22", "dsymutil-22"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed; make test installs it", tool)
		}
	}
	write(t, dir, "m.c", machOProgram)
	tbd := "--- !tapi-tbd\ntbd-version: 4\ntargets: [ x86_64-macos, arm64-macos, arm64-ios ]\ninstall-name: /usr/lib/libSystem.B.dylib\n" +
		"exports:\n  - targets: [ x86_64-macos, arm64-macos, arm64-ios ]\n    symbols: [ dyld_stub_binder ]\n...\n"
	write(t, dir, "libSystem.tbd", tbd)
	object, program := "m."+target+".o", filepath.Join(dir, "m."+target)
	for _, args := range [][]string{
		append([]string{"-target", target, "-g", "-O1", "-c", "-o", object, "m.c"}, flags...),
		append([]string{"-target", target, "-fuse-ld=lld", "-nostdlib", "-o", program, object, "libSystem.tbd"}, flags...),
	} {
		cmd := exec.Command("clang-22", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("clang-22 %v: %v\n%s", args, err, out)
		}
	}
	return program
}

var machOTargets = []string{"x86_64-apple-macos11", "arm64-apple-ios15"}

// TestMachOModule compares what is read of a program with the standard library and llvm-nm.
func TestMachOModule(t *testing.T) {
	t.Parallel()
	for _, target := range machOTargets {
		program := machOProgramFor(t, t.TempDir(), target)
		want, err := macho.Open(program)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Open(program)
		if err != nil {
			t.Fatal(err)
		}
		text := want.Section("__text")
		data, addr, size, ok, err := f.Section(".text")
		wantData, _ := text.Data()
		if err != nil || !ok || addr != text.Addr || size != text.Size || !bytes.Equal(data, wantData) {
			t.Errorf("%s: .text %#x of %d bytes, %t, %v; want %#x of %d", target, addr, size, ok, err, text.Addr, text.Size)
		}
		if id, err := f.BuildID(); err != nil || len(id) != 16 {
			t.Errorf("%s: build id %v, %v", target, id, err)
		}
		if f.Entry() < text.Addr || f.Entry() >= text.Addr+text.Size {
			t.Errorf("%s: entry %#x", target, f.Entry())
		}
		syms, err := f.FuncSymbols()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		end := text.Addr
		for _, s := range syms {
			got = append(got, "_"+s.Name+" "+strconv.FormatUint(s.Addr, 16))
			if s.Addr < end || s.Size == 0 {
				t.Errorf("%s: %s at %#x of %d bytes overlaps what ends at %#x", target, s.Name, s.Addr, s.Size, end)
			}
			end = s.Addr + s.Size
		}
		if end != text.Addr+text.Size {
			t.Errorf("%s: functions end at %#x, the section at %#x", target, end, text.Addr+text.Size)
		}
		var wantSyms []string
		for _, s := range want.Symtab.Syms {
			if s.Type&0xe0 == 0 && s.Sect == 1 && s.Value >= text.Addr {
				wantSyms = append(wantSyms, s.Name+" "+strconv.FormatUint(s.Value, 16))
			}
		}
		slices.Sort(got)
		slices.Sort(wantSyms)
		if !slices.Equal(got, wantSyms) || len(got) != 4 {
			t.Errorf("%s: symbols %q, want %q", target, got, wantSyms)
		}
		m, err := f.FunctionMap()
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(m.Funcs, func(fn prof.Func) bool { return fn.Name == "square" })
		if i < 0 || m.Funcs[i].File != "m.c" {
			t.Errorf("%s: square is of the file %+v", target, m.Funcs)
		}
		f.Close()
		want.Close()
	}
}

// TestMachOLines compares lines, which are in the bundle beside the program, with
// llvm-dwarfdump.
func TestMachOLines(t *testing.T) {
	t.Parallel()
	for _, target := range machOTargets {
		program := machOProgramFor(t, t.TempDir(), target)
		f, err := Open(program)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Lines(); !errors.Is(err, ErrNoDebug) || !strings.Contains(err.Error(), "dsymutil") {
			t.Errorf("%s: without a bundle: %v", target, err)
		}
		f.Close()
		if out, err := exec.Command("dsymutil-22", program).CombinedOutput(); err != nil {
			t.Fatalf("dsymutil-22: %v\n%s", err, out)
		}
		if f, err = Open(program); err != nil {
			t.Fatal(err)
		}
		lines, err := f.Lines()
		if err != nil {
			t.Fatal(err)
		}
		syms, _ := f.FuncSymbols()
		for _, s := range syms {
			out, err := exec.Command("llvm-dwarfdump-22", "--lookup="+strconv.FormatUint(s.Addr, 10), program+".dSYM").Output()
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(string(out), "Line info: file 'm.c', line ")
			number, _, _ := strings.Cut(rest, ",")
			if file, line, ok := lines.Lookup(s.Addr); !ok || strconv.Itoa(line) != number || filepath.Base(file) != "m.c" {
				t.Errorf("%s: %s is %s:%d (%t), llvm-dwarfdump has line %s", target, s.Name, file, line, ok, number)
			}
		}
		f.Close()
	}
}

// TestUniversal reads each part of a universal file, and refuses to guess.
func TestUniversal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var programs []string
	for _, target := range machOTargets {
		programs = append(programs, machOProgramFor(t, dir, target))
	}
	both := filepath.Join(dir, "both")
	runTool(t, "llvm-lipo-22", append([]string{"-create", "-output", both}, programs...)...)
	if _, err := Open(both); !errors.Is(err, ErrUniversal) || !strings.Contains(err.Error(), "x86_64 and arm64") {
		t.Errorf("no machine is named: %v", err)
	}
	parts, err := Parts(both)
	if want := []string{both + ":x86_64", both + ":arm64"}; err != nil || !slices.Equal(parts, want) {
		t.Fatalf("parts %q, %v; want %q", parts, err, want)
	}
	for i, part := range parts {
		got, err := Open(part)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Open(programs[i])
		if err != nil {
			t.Fatal(err)
		}
		gotID, _ := got.BuildID()
		wantID, _ := want.BuildID()
		gotText, _, _, _, err := got.Section(".text")
		wantText, _, _, _, _ := want.Section(".text")
		if err != nil || gotID != wantID || !bytes.Equal(gotText, wantText) || len(gotText) == 0 {
			t.Errorf("%s: build %v, %d bytes of code, %v; want %v, %d", part, gotID, len(gotText), err, wantID, len(wantText))
		}
		objects, err := ReadObjects(part)
		if err != nil || len(objects) != 1 || len(objects[0].Funcs) != 4 {
			t.Errorf("%s: %+v, %v", part, objects, err)
		}
		got.Close()
		want.Close()
	}
	if got := PlainPath(parts[0]); got != both {
		t.Errorf("the path of %s is %s", parts[0], got)
	}
}

// FuzzMachO reads damaged Mach-O files: neither a panic nor memory that the file does not account for.
func FuzzMachO(f *testing.F) {
	for _, target := range machOTargets {
		dir := f.TempDir()
		program := machOProgramFor(f, dir, target)
		for _, path := range []string{program, filepath.Join(dir, "m."+target+".o")} {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
			f.Add(data[:len(data)/2])
			for i := 0; i < min(len(data), 4096); i += 61 {
				bad := bytes.Clone(data)
				bad[i] = 0xff
				f.Add(bad)
			}
		}
	}
	f.Add([]byte("\xca\xfe\xba\xbe\x00\x00\x00\x02"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := readAnyModule(bytes.NewReader(data), uint64(len(data)), "")
		if err == nil && m == nil {
			t.Error("neither a module nor an error")
		}
		if err != nil {
			return
		}
		path := filepath.Join(t.TempDir(), "m")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := Open(path)
		if err != nil {
			return
		}
		defer file.Close()
		syms, _ := file.FuncSymbols()
		for _, s := range syms {
			if s.Addr+s.Size < s.Addr {
				t.Errorf("%s at %#x has %d bytes", s.Name, s.Addr, s.Size)
			}
		}
		_, _ = file.FunctionMap()
		_, _ = readObject(io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))))
	})
}

// TestMachOPacked reads a section of debug information that is compressed as the Go linker does.
func TestMachOPacked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "m.c", machOProgram)
	want := bytes.Repeat([]byte("lines"), 1000)
	packed := bytes.NewBuffer(binary.BigEndian.AppendUint64([]byte("ZLIB"), uint64(len(want))))
	z := zlib.NewWriter(packed)
	if _, err := z.Write(want); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "packed", packed.String())
	object := filepath.Join(dir, "m.o")
	for _, args := range [][]string{
		{"clang-22", "-target", machOTargets[1], "-c", "-o", object, "m.c"},
		{"llvm-objcopy-22", "--add-section", "__DWARF,__zdebug_line=packed", object},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		if cmd.Err != nil {
			t.Skip(cmd.Err)
		}
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	f, err := Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if data, _, _, ok, err := f.Section(".debug_line"); err != nil || !ok || !bytes.Equal(data, want) {
		t.Errorf("%d bytes, want %d: %t, %v", len(data), len(want), ok, err)
	}
}
