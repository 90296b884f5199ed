//go:build linux && amd64

package oracle

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/proof/tailguests"
)

// TestMachOExceptions throws through functions with probes. The loader unwinds by the compact entries of
// __unwind_info, as macOS does: that of a large frame without a frame pointer has the offset of an instruction.
func TestMachOExceptions(t *testing.T) {
	t.Parallel()
	type row struct {
		system apple
		flags  string
	}
	for _, v := range shorttest.Rows(
		1,
		row{macOS, "-O2 -fomit-frame-pointer"},
		row{macOS, "-O1"},
		row{macOS, "-O0"},
		row{iOS, "-O2"},
		row{iOS, "-Os -fomit-frame-pointer"},
	) {
		t.Run(v.system.target+v.flags, func(t *testing.T) {
			t.Parallel()
			args := v.system.args(t, v.flags+" -std=c++17 -Wl,-undefined,dynamic_lookup", filepath.Join("testdata", "macho", "frames.cc"))
			want := output(t, v.system.load(t, v.system.emulator, build(t, "", "clang++-22", args...)))
			for _, mode := range shorttest.Rows(1, "full", "cover", "block+order") {
				answer, m := v.system.run(t, build(t, mode, "clang++-22", args...))
				checkAnswer(t, answer, want)
				if mode != "full" {
					continue
				}
				calls := machOCalls(m)
				for name, n := range map[string]uint64{"main": 1, "_Z5smalli": 5, "_Z7throweri": 5} {
					if calls[name] != n {
						t.Errorf("%s: %d calls, want %d of %v", name, calls[name], n, calls)
					}
				}
			}
		})
	}
}

// machOGuest is a real program that is compiled for Mach-O with the headers of Linux: the loader binds it to
// the libraries of Linux.
type machOGuest struct {
	debian   string
	compiler string // of its language, of LLVM
	files    []string
	flags    string // {sources} is the directory of its sources
	args     []string
	watched  func(apple) bool // whether a processor in software counts what it does, which is slow
}

var machOGuests = []machOGuest{
	{
		debian: "libdeflate", compiler: "clang-22",
		files:   []string{"lib/*.c", "lib/x86/*.c", "lib/arm/*.c", "programs/gzip.c", "programs/prog_util.c", "programs/tgetopt.c"},
		flags:   "-O2 -D_GNU_SOURCE -DHAVE_POSIX_FADVISE -I{sources} -include {sources}/common_defs.h",
		args:    []string{"-9", "-c", "{sources}/programs/tgetopt.c"},
		watched: func(apple) bool { return true },
	},
	{
		debian: "muparser", compiler: "clang++-22",
		files:   []string{"src/muParser.cpp", "src/muParser[BCEIT]*.cpp"},
		flags:   "-O2 -fomit-frame-pointer -std=c++17 -D_GNU_SOURCE -I{sources}/include testdata/macho/expressions.cc",
		watched: func(a apple) bool { return a.emulator == nil },
	},
}

// TestMachOGuests compares what probes record in real programs with the counts of processors in software.
func TestMachOGuests(t *testing.T) {
	t.Parallel()
	skipLong(t)
	for _, g := range machOGuests {
		t.Run(g.debian, func(t *testing.T) {
			t.Parallel()
			_, _, sources := fetchGuest(t, &tailguests.Guest{Name: g.debian, Debian: g.debian})
			for _, system := range []apple{macOS, iOS} {
				t.Run(system.target, func(t *testing.T) { g.compare(t, system, sources) })
			}
		})
	}
}

// compare builds and runs a guest without probes and with those of two modes.
func (g *machOGuest) compare(t *testing.T, system apple, sources string) {
	t.Helper()
	in := func(s string) string { return strings.ReplaceAll(s, "{sources}", sources) }
	headers := system.headers(t, g.compiler == "clang++-22")
	args := system.argsWith(t, headers, "-U__APPLE__ -U__nonnull -D__linux__ -D_FILE_OFFSET_BITS=64 -nostdinc++ -Wl,-undefined,dynamic_lookup "+in(g.flags))
	for _, glob := range g.files {
		files, err := filepath.Glob(filepath.Join(sources, glob))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", glob, err)
		}
		args = append(args, files...)
	}
	var with []string
	for _, a := range g.args {
		with = append(with, in(a))
	}
	want := output(t, system.load(t, system.emulator, build(t, "", g.compiler, args...), with...))
	for _, mode := range []string{"full", "block+order"} {
		program := build(t, mode, g.compiler, args...)
		if !g.watched(system) {
			answer, m := system.run(t, program, with...)
			checkAnswer(t, answer, want)
			if calls := machOCalls(m); mode == "full" && calls["main"] != 1 {
				t.Errorf("main was called %d times", calls["main"])
			}
			continue
		}
		answer, ran, seen, m := system.observed(t, program, with...)
		checkAnswer(t, answer, want)
		checkCovered(t, m, ran)
		if mode == "full" {
			checkCalls(t, m, ran)
		}
		if system.emulator != nil {
			checkOrder(t, m, seen)
		}
	}
}

// headers returns the directories in which the system's compiler on Linux finds headers, but for its own.
func (a apple) headers(t *testing.T, cxx bool) (dirs []string) {
	t.Helper()
	language := "c"
	if cxx {
		language = "c++"
	}
	said, err := exec.Command(a.compiler, "-x", language, "-E", "-v", "/dev/null").CombinedOutput()
	if err != nil {
		t.Skipf("%s: %v", a.compiler, err)
	}
	_, text, _ := strings.Cut(string(said), "search starts here:\n")
	text, _, _ = strings.Cut(text, "End of search list")
	for dir := range strings.FieldsSeq(text) {
		if dir = filepath.Clean(dir); filepath.IsAbs(dir) && !strings.Contains(dir, "/lib/gcc") {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
