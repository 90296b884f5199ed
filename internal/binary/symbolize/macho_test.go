package symbolize

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/xraymap"
)

// machOTargets are those of Mach-O that clang has sleds for.
var machOTargets = []string{"x86_64-apple-macos11", "arm64-apple-macos11"}

// TestMachO reads objects for macOS, and the libraries that they become, and holds them
// against the source, llvm-nm and llvm-xray.
func TestMachO(t *testing.T) {
	t.Parallel()
	for _, target := range machOTargets {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			tool(t, "clang-22")
			dir := t.TempDir()
			write(t, dir, "p.c", plain)
			run(t, dir, "clang-22 --target="+target+" -O2 -g -fxray-instrument -fxray-instruction-threshold=1 -c p.c -o p.o")
			o := load(t, filepath.Join(dir, "p.o"), 0)
			comparePlain(t, o, true)
			compareMachO(t, o)
			if len(o.Notes) != 1 || !strings.Contains(o.Notes[0], "unlinked object") {
				t.Errorf("notes: %v", o.Notes)
			}
			tool(t, "ld64.lld-22")
			arch, _, _ := strings.Cut(target, "-")
			run(t, dir, "ld64.lld-22 -dylib -arch "+arch+" -platform_version macos 11 11 p.o -o p.dylib")
			o = load(t, filepath.Join(dir, "p.dylib"), 0)
			comparePlain(t, o, false) // debug information stays in the object
			compareMachO(t, o)
		})
	}
}

var addresses = regexp.MustCompile(`(address|function): 0x[0-9A-F]+`)

// compareMachO compares addresses with llvm-nm, and all sleds with llvm-xray.
func compareMachO(t *testing.T, o *Object) {
	t.Helper()
	names, _ := symbols(t, "llvm-nm-22", o.Path)
	for id, fn := range o.Funcs {
		if !slices.Contains(names[fn.Addr], "_"+fn.Name) {
			t.Errorf("function %v is %s at %#x, llvm-nm says %v", id, fn.Name, fn.Addr, names[fn.Addr])
		}
	}
	got, want := yaml(t, o, false), run(t, filepath.Dir(o.Path), "llvm-xray-22 extract "+o.Path)
	if strings.HasSuffix(o.Path, ".o") { // it does not apply the relocations of objects
		got, want = addresses.ReplaceAllString(got, ""), addresses.ReplaceAllString(want, "")
	}
	if got != want {
		t.Errorf("%s: got\n%s\nllvm-xray:\n%s", o.Path, got, want)
	}
}

// TestDamagedMap changes the map of a program in ways in which no compiler writes it.
func TestDamagedMap(t *testing.T) {
	t.Parallel()
	tool(t, "clang-22")
	dir := t.TempDir()
	write(t, dir, "p.c", plain)
	run(t, dir, "clang-22 -fPIC -O2 -shared -fxray-instrument -fxray-instruction-threshold=1 p.c -o p.so")
	good, err := os.ReadFile(filepath.Join(dir, "p.so"))
	if err != nil {
		t.Fatal(err)
	}
	from := mapOffset(t, filepath.Join(dir, "p.so"))
	for name, test := range map[string]struct {
		change func([]byte) []byte
		want   string
	}{
		"version":  {func(b []byte) []byte { b[from+18] = 9; return b }, "an entry of version 9"},
		"kind":     {func(b []byte) []byte { b[from+16] = 200; return b }, "a sled of kind 200"},
		"address":  {func(b []byte) []byte { b[from+5] ^= 1; return b }, "where there is no code"},
		"function": {func(b []byte) []byte { b[from+14] ^= 1; return b }, "where there is no code"},
		"cut":      {func(b []byte) []byte { return b[:from+40] }, "lie outside the file (cut off?)"},
	} {
		bad := filepath.Join(dir, name)
		if err := os.WriteFile(bad, test.change(slices.Clone(good)), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(bad, 0); err == nil || !strings.Contains(err.Error(), test.want) || !oneLine(err, bad) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

// oneLine reports whether an error has one line, with the path and an offset.
func oneLine(err error, path string) bool {
	text := err.Error()
	return strings.HasPrefix(text, path+": ") && strings.Contains(text, "offset ") && !strings.Contains(text, "\n")
}

// FuzzLoad reads damaged programs and objects of both formats. There is an error of
// one line with the path, or a map whose sleds can be written and read again.
func FuzzLoad(f *testing.F) {
	dir := f.TempDir()
	write(f, dir, "p.c", plain)
	for _, target := range append([]string{"x86_64-linux-gnu", "arm-linux-gnueabihf", "s390x-linux-gnu"}, machOTargets...) {
		run(f, dir, "clang-22 --target="+target+" -O2 -fxray-instrument -fxray-instruction-threshold=1 -c p.c -o p.o")
		data, err := os.ReadFile(filepath.Join(dir, "p.o"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "p")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		o, err := Load(path, 0)
		if err != nil {
			if text := err.Error(); !strings.HasPrefix(text, path+": ") || strings.Contains(text, "\n") {
				t.Fatalf("%q", text)
			}
			return
		}
		again, err := xraymap.ReadYAML([]byte(yaml(t, o, false)))
		if err != nil || !slices.Equal(again.Sleds, o.Map.Sleds) {
			t.Fatalf("read back: %v", err)
		}
	})
}
