package objfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

func openImage(t testing.TB, path string) *Image {
	t.Helper()
	im, err := OpenImage(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { im.Close() })
	return im
}

// functionAddrs returns the addresses of all functions of a module.
func functionAddrs(t *testing.T, path string) map[uint64]string {
	t.Helper()
	m, _, err := open(t, path).IdentifiedMap()
	if err != nil {
		t.Fatal(err)
	}
	names := map[uint64]string{}
	for _, fn := range m.Funcs {
		names[fn.Addr()] = fn.Name
	}
	return names
}

// TestFunctionNames compares the names with those of FunctionMap, which reads symbols in
// another way.
func TestFunctionNames(t *testing.T) {
	t.Parallel()
	_, bin := build(t, "gcc", "-g", "-O2")
	stripped := bin + ".stripped"
	run(t, filepath.Dir(bin), "objcopy", "--only-keep-debug", bin, bin+".debug")
	run(t, filepath.Dir(bin), "strip", "-o", stripped, bin)
	run(t, filepath.Dir(bin), "objcopy", "--add-gnu-debuglink="+bin+".debug", stripped)
	for _, path := range []string{bin, stripped} {
		want := functionAddrs(t, path)
		if want[symbolOf(t, bin, "main").Addr] != "main" {
			t.Fatalf("%s: FunctionMap has no main", path)
		}
		var addrs []uint64
		for a := range want {
			addrs = append(addrs, a)
		}
		got, err := openImage(t, path).FunctionNames(append(addrs, 1, 2))
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range addrs {
			if got[a] != want[a] {
				t.Errorf("%s: function at %#x is %q, want %q", path, a, got[a], want[a])
			}
		}
		if got[1] != "" {
			t.Errorf("a function at address 1: %q", got[1])
		}
	}
}

// declared is C++ whose functions are declared in all the ways there are: before
// they are defined, in a class, in a header, as copies of a template, as clones
// that a compiler makes, and in two pieces.
const declared = `#include "d.h"
#include <stdlib.h>
namespace n { class C { public: C(int x); virtual ~C(); int inside(int a) { return a * v; } int outside(int a); int v; }; }
int n::C::outside(int a)
{
	return v + a;
}
n::C::C(int x) : v(x) { if (x == 77) abort(); }
n::C::~C() { v = 0; }
template <class T> __attribute__((noinline)) T twice(T t)
{ return t + t; }
static __attribute__((noinline)) int hidden(int x) { return x * 3; }
extern "C" int plain(int x) { n::C c(x); return c.inside(x) + c.outside(x) + hidden(x) + twice(x) + (int)twice(1.5 * x) + in_header(x); }
__attribute__((noinline, cold)) void unlikely(int *p) { for (int i = 0; i < *p; i++) p[i] += rand(); }
int pieces(int x, int *p) { if (__builtin_expect(x == 12345, 0)) { unlikely(p); abort(); } return x + *p; }
int main(int argc, char **argv) { int i = argc; return plain(argc) + pieces(argc, &i); }
`

// TestDeclarations compares names and lines of declarations with llvm-symbolizer, which finds
// them through the code.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	symbolizer, err := exec.LookPath("llvm-symbolizer-22")
	if err != nil {
		t.Skip(err)
	}
	for _, cc := range shorttest.Rows(
		3,
		[]string{"g++", "-g", "-O0", "-gdwarf-3"},
		[]string{"g++", "-g", "-O2", "-fdebug-types-section", "-gdwarf64", "-gdwarf-5"},
		[]string{"clang++-22", "-g", "-O2", "-fbasic-block-sections=all", "-fuse-ld=lld"},
		[]string{"g++", "-g", "-O2", "-flto"},
		[]string{"g++", "-g", "-O2"},
		[]string{"g++", "-g", "-O2", "-gdwarf-4", "-gz"},
		[]string{"clang++-22", "-g", "-O2"},
		[]string{"clang++-22", "-g", "-O2", "-gdwarf-4", "-no-pie", "-fuse-ld=lld"},
		[]string{"clang++-22", "-g", "-O2", "-fbasic-block-sections=all", "-gdwarf-4", "-fuse-ld=lld"},
		[]string{"clang++-22", "-g", "-O1", "-gz=zstd", "-fdebug-types-section", "-gdwarf-5"},
	) {
		t.Run(strings.Join(cc, " "), func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(cc[0]); err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			write(t, dir, "d.cc", declared)
			write(t, dir, "d.h", "int in_header(int);\n\ninline __attribute__((noinline)) int in_header(int x)\n{ return x - 1; }\n")
			run(t, dir, cc[0], append(cc[1:], "d.cc", "-o", "d")...)
			bin := filepath.Join(dir, "d")
			symbols := functionAddrs(t, bin)
			got, err := openImage(t, bin).Declarations(symbols)
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]bool{}
			for addr, symbol := range symbols {
				d := got[addr]
				want := declarationBy(t, symbolizer, bin, addr)
				if want.Line == 0 {
					continue // of the C library, or a piece of a function
				}
				if strings.Contains(symbol, ".") {
					continue // a clone, which is declared like what it is of
				}
				// It does not follow every reference to a file.
				if d.Line != want.Line || d.File != filepath.Clean(want.File) && want.File != "" || !strings.HasPrefix(d.File, dir) {
					t.Errorf("%s at %#x: %+v\nllvm-symbolizer: %+v", symbol, addr, d, want)
				}
				// Constructors have two symbols and one declaration.
				if d.Name != symbol && symbol != "_ZL6hiddeni" && !strings.HasPrefix(symbol, "_ZN1n1CC") && !strings.HasPrefix(symbol, "_ZN1n1CD") {
					t.Errorf("%s at %#x: declared as %s", symbol, addr, d.Name)
				}
				found[symbol] = true
			}
			for _, name := range []string{"main", "_ZL6hiddeni", "_Z5twiceIiET_S0_"} { // the others may be inlined
				if !found[name] {
					t.Errorf("%s was not compared", name)
				}
			}
		})
	}
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// declarationBy asks llvm-symbolizer for the declaration of the function that
// an address is in.
func declarationBy(t *testing.T, tool, bin string, addr uint64) Declaration {
	t.Helper()
	out, err := exec.Command(tool, "--output-style=JSON", "--no-demangle", "-e", bin, fmt.Sprintf("%#x", addr)).Output()
	if err != nil {
		t.Fatal(err)
	}
	var answer []struct {
		Symbol []struct {
			FunctionName, StartFileName, StartAddress string
			StartLine                                 int
		}
	}
	if err := json.Unmarshal(out, &answer); err != nil || len(answer) != 1 || len(answer[0].Symbol) == 0 {
		t.Fatalf("%v: %s", err, out)
	}
	s := answer[0].Symbol[len(answer[0].Symbol)-1] // what the others are inlined into
	return Declaration{File: s.StartFileName, Line: s.StartLine}
}

// TestDeclarationsElsewhere reads a debug file found by build id, and has a
// clear error where there is none.
func TestDeclarationsElsewhere(t *testing.T) {
	t.Parallel()
	dir, bin := build(t, "gcc", "-g", "-O1", "-Wl,--build-id")
	symbols := map[uint64]string{symbolOf(t, bin, "main").Addr: "main"}
	id, err := open(t, bin).BuildID()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "root")
	debug := filepath.Join(root, ".build-id", id.String()[:2], id.String()[2:]+".debug")
	if err := os.MkdirAll(filepath.Dir(debug), 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "objcopy", "--only-keep-debug", bin, debug)
	run(t, dir, "strip", bin)
	if _, err := openImage(t, bin).Declarations(symbols); !errors.Is(err, ErrNoScopes) {
		t.Errorf("a stripped file: %v", err)
	}
	im := openImage(t, bin)
	im.SetDebugRoot(root)
	got, err := im.Declarations(symbols)
	if err != nil {
		t.Fatal(err)
	}
	for addr, d := range got {
		if d.Name != "main" || d.Line != 4 || filepath.Base(d.File) != "main.c" || addr == 0 {
			t.Errorf("%#x: %+v", addr, d)
		}
	}
	if names, err := im.FunctionNames([]uint64{symbolKey(symbols)}); err != nil || names[symbolKey(symbols)] != "main" {
		t.Errorf("%v, %v", names, err)
	}
}

func symbolKey(m map[uint64]string) uint64 {
	for k := range m {
		return k
	}
	return 0
}

func TestOpenImageErrors(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]string{
		"":           "not an ELF file",
		"\x7fELF":    "too short",
		"!<arch>\nx": "take its objects out",
		"\xcf\xfa\xed\xfe" + strings.Repeat("\x00", 60): "a Mach-O file for machine 0x0",
		"\xca\xfe\xba\xbe\x00\x00\x00\x02":              "lipo -thin",
		"\xfe\xed\xfa\xce" + strings.Repeat("\x00", 60): "Mach-O",
		"#!/bin/sh\n" + strings.Repeat("x", 60):         "not an ELF file",
		"\x7fELF\x03\x01" + strings.Repeat("\x00", 60):  "class 3",
		"\x7fELF\x02\x07" + strings.Repeat("\x00", 60):  "byte order 7",
		"\x7fELF\x02\x01" + strings.Repeat("\x01", 60):  "section headers of 257 bytes, not 64",
	} {
		dir := t.TempDir()
		write(t, dir, "f", head)
		if _, err := OpenImage(filepath.Join(dir, "f")); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%q: %v, want %s", head, err, want)
		}
	}
	if _, err := OpenImage(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
}

// FuzzImage reads damaged objects of several machines, as they are and with
// their debug information.
func FuzzImage(f *testing.F) {
	dir := f.TempDir()
	write(f, dir, "f.c", "static __attribute__((noinline)) int g(int x) { return x * x; }\nint f(int x) { return g(x) + 1; }\n")
	for _, flags := range []string{
		"--target=x86_64-linux-gnu -g", "--target=x86_64-linux-gnu -g -gdwarf-4 -ffunction-sections -fbasic-block-sections=all", "--target=armeb-linux-gnu",
		"--target=s390x-linux-gnu", "--target=riscv64-linux-gnu -g", "--target=i386-linux-gnu -gdwarf-3",
		"--target=x86_64-linux-gnu -g -shared -nostdlib -fuse-ld=lld",
	} {
		args := append(strings.Fields(flags), "-O1", "-fxray-instrument", "-fxray-instruction-threshold=1", "f.c", "-o", "f.o")
		if !strings.Contains(flags, "-shared") {
			args = append(args, "-c")
		}
		if strings.Contains(flags, "i386") { // has no sleds
			args = append(args, "-fno-xray-instrument")
		}
		cmd := exec.Command("clang-22", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			f.Logf("clang-22 %v: %v\n%s", args, err, out)
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, "f.o"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		im, err := readImage("", bytes.NewReader(data), uint64(len(data)), func() error { return nil })
		if err != nil {
			return
		}
		if im.Has("xray_instr_map") {
			im.Tables("xray_instr_map")
		}
		addrs := make([]uint64, 256)
		for i := range addrs {
			addrs[i] = uint64(i)
		}
		names, err := im.FunctionNames(addrs)
		if err != nil {
			return
		}
		im.Declarations(names)
	})
}
