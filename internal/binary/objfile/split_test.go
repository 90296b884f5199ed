package objfile

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// splitSources are two units, each with its own header, that inline code of both.
var splitSources = map[string]string{
	"one.cc": `#include "inc/one.h"
#include "inc/two.h"
namespace shapes { long area(long n); }
__attribute__((noinline)) long sum(long n) { return one(n) + two(n) + one(n + 3); }
int main(int argc, char **) { long s = 0; for (int i = 0; i < argc * 9; i++) s += sum(i) + shapes::area(i); return s == 7; }
`,
	"two.cc": `#include "inc/two.h"
#include "inc/one.h"
struct Shape { long w, h; long area() const { return two(w) * h + one(h); } };
namespace shapes {
__attribute__((cold, noinline)) void rare(long n) { cell -= n; }
__attribute__((noinline)) long area(long n) {
  Shape s = {n, n + 1};
  if (__builtin_expect(n == 77777, 0)) rare(n);
  return s.area() + two(n);
}
}
`,
	"inc/one.h": `static volatile long cell;

static inline long one(long n) { if (n & 1) cell += n; else cell -= 2; return cell; }
`,
	"inc/two.h": `#include "one.h"


static inline long two(long n) {
  for (int i = 0; i < 3; i++) cell += one(n + i);
  return cell;
}
`,
}

// buildSplit builds the sources with split debug information. A packer takes its files into
// a package.
func buildSplit(t testing.TB, command, packer string) (dir, bin string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range splitSources {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("#pragma once\n"+text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	words := strings.Fields(command)
	if strings.HasPrefix(words[0], "clang") {
		words = append(words, "-fdebug-info-for-profiling") // for lines of functions
	}
	for _, name := range []string{"one", "two"} {
		run(t, dir, words[0], append(words[1:], "-Wno-pragma-once-outside-header", "-O2", "-g", "-c", name+".cc")...)
	}
	run(t, dir, words[0], "-Wl,--build-id", "-o", "app", "one.o", "two.o")
	bin = filepath.Join(dir, "app")
	if packer != "" {
		pack(t, dir, packer)
		run(t, dir, "rm", "one.dwo", "two.dwo")
	}
	return dir, bin
}

// pack writes the package app.dwp. rustc packs all files that a program refers to, those of
// other compilers too.
func pack(t testing.TB, dir, packer string) {
	t.Helper()
	if packer != "rustc" {
		run(t, dir, packer, "-e", "app", "-o", "app.dwp")
		return
	}
	if err := os.WriteFile(filepath.Join(dir, "app.rs"), []byte("#![no_main]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, dir, packer, "-g", "-O", "-Cdwarf-version=5", "-Csplit-debuginfo=packed", "-Clink-args=one.o two.o -lstdc++", "-o", "packed", "app.rs")
	run(t, dir, "mv", "packed.dwp", "app.dwp")
}

// TestSplit compares functions, inlined functions, and lines and files of calls with
// llvm-symbolizer, for modules whose debug information is in other files.
func TestSplit(t *testing.T) {
	t.Parallel()
	symbolizer, err := exec.LookPath("llvm-symbolizer-22")
	if err != nil {
		t.Skip(err)
	}
	type row struct{ command, packer string }
	for _, kind := range shorttest.Rows(
		2,
		row{"g++ -gsplit-dwarf", ""},
		row{"clang++-22 -gsplit-dwarf -fdebug-types-section", "llvm-dwp-22"},
		row{"clang++-22 -gsplit-dwarf=single", ""},
		// llvm-dwp 22 does not end on C++ of g++ with DWARF 5, and dwp 2.40 writes an empty index.
		row{"g++ -gsplit-dwarf", "rustc"},
		row{"g++ -gsplit-dwarf -gdwarf-4", ""},
		row{"g++ -gsplit-dwarf -gdwarf-4 -fdebug-types-section", "dwp"},
		row{"g++ -gsplit-dwarf -gdwarf-4", "llvm-dwp-22"},
		row{"clang++-22 -gsplit-dwarf", ""},
		row{"clang++-22 -gsplit-dwarf -gdwarf-4 -fsplit-dwarf-inlining", ""},
		row{"clang++-22 -gsplit-dwarf -gz -fdebug-types-section", ""},
		row{"clang++-22 -gsplit-dwarf -gdwarf-4", "llvm-dwp-22"},
	) {
		t.Run(kind.command+" "+kind.packer, func(t *testing.T) {
			t.Parallel()
			for _, tool := range []string{strings.Fields(kind.command)[0], kind.packer} {
				if _, err := exec.LookPath(tool); err != nil && tool != "" {
					t.Skip(err)
				}
			}
			_, bin := buildSplit(t, kind.command, kind.packer)
			agreesOnSplit(t, symbolizer, bin)
		})
	}
}

// agreesOnSplit compares all addresses of the functions with code of both units.
func agreesOnSplit(t *testing.T, symbolizer, bin string) {
	t.Helper()
	if m := open(t, bin).MissingSplit(); m.Of != 2 || m.Units != 0 {
		t.Errorf("%s", m)
	}
	compared, _, depth := compareFrames(t, symbolizer, bin, "main", "_Z3suml", "_ZN6shapes4areaEl", "_ZN6shapes4rareEl")
	if compared < 20 || depth < 3 {
		t.Errorf("%d addresses compared, at most %d deep", compared, depth)
	}
}

// TestSplitMissing checks that files that are missing or of another build are counted, that
// their functions are absent, and that a named package replaces them.
func TestSplitMissing(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"clang++-22", "llvm-dwp-22"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	dir, bin := buildSplit(t, "clang++-22 -gsplit-dwarf", "")
	run(t, dir, "llvm-dwp-22", "-e", "app", "-o", "elsewhere.dwp")
	has := func(t *testing.T, f *File, missing int, names ...string) {
		t.Helper()
		scopes, err := f.Scopes()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, r := range scopes.functions {
			got[r.Name] = true
		}
		for _, name := range names {
			if !got[name] {
				t.Errorf("no %s in %v", name, got)
			}
		}
		if m := f.MissingSplit(); m.Of != 2 || m.Units != missing || missing > 0 && filepath.Base(m.File) != "two.dwo" {
			t.Errorf("%s", m)
		}
	}
	has(t, open(t, bin), 0, "main", "_ZN6shapes4areaEl")
	run(t, dir, "cp", "one.dwo", "two.dwo")
	has(t, open(t, bin), 1, "main")
	run(t, dir, "rm", "two.dwo")
	has(t, open(t, bin), 1, "main")
	f := open(t, bin)
	if err := f.SetSplitFile(filepath.Join(dir, "elsewhere.dwp")); err != nil {
		t.Fatal(err)
	}
	has(t, f, 0, "main", "_ZN6shapes4areaEl")
	run(t, dir, "rm", "one.dwo")
	if _, err := open(t, bin).Scopes(); !errors.Is(err, ErrNoScopes) || !strings.Contains(err.Error(), "missing for 2 of 2 units, the first is "+dir+"/one.dwo") {
		t.Errorf("%v", err)
	}
	for path, want := range map[string]string{"app": "no split debug information", "one.o": "no split debug information", "none": "no such file"} {
		if err := open(t, bin).SetSplitFile(filepath.Join(dir, path)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func lacks(tool string) bool {
	_, err := exec.LookPath(tool)
	return err != nil
}

// FuzzSplit reads a module beside which there is a damaged package or .dwo.
func FuzzSplit(f *testing.F) {
	for _, kind := range [][2]string{{"g++ -gsplit-dwarf -gdwarf-4", "llvm-dwp-22"}, {"clang++-22 -gsplit-dwarf", "llvm-dwp-22"}, {"g++ -gsplit-dwarf", ""}} {
		if kind[1] != "" && (lacks("clang++-22") || lacks(kind[1])) {
			continue
		}
		dir, bin := buildSplit(f, kind[0], kind[1])
		file := "one.dwo"
		if kind[1] != "" {
			file = "app.dwp"
		}
		good, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			f.Fatal(err)
		}
		module, err := os.ReadFile(bin)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(module, good)
	}
	f.Fuzz(func(t *testing.T, module, split []byte) {
		bin := filepath.Join(t.TempDir(), "app")
		if err := errors.Join(os.WriteFile(bin, module, 0o644), os.WriteFile(bin+".dwp", split, 0o644), os.WriteFile(filepath.Join(filepath.Dir(bin), "one.dwo"), split, 0o644)); err != nil {
			t.Fatal(err)
		}
		if file, err := Open(bin); err == nil {
			file.SetDebugRoot("/nonexistent")
			_, _ = file.Scopes()
			_ = file.SetSplitFile(bin + ".dwp")
			file.Close()
		}
	})
}
