//go:build linux && amd64

package oracle

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/proof/tailguests"
)

// killedGuest is a real program with a library, and how its users build it with link-time optimisation.
type killedGuest struct {
	source    string // of Debian
	configure string // commands, for the directory out
	program   string // what they build
	library   string
	args      []string
	tools     []string
}

var killedGuests = []killedGuest{
	{
		source: "cmark", tools: []string{"cmake"},
		configure: `cmake -B out -DCMAKE_BUILD_TYPE=Release -DCMARK_TESTS=OFF -DCMARK_STATIC=OFF -DCMAKE_POLICY_DEFAULT_CMP0069=NEW -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON \
			-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=$LINKER -DCMAKE_SHARED_LINKER_FLAGS=-fuse-ld=$LINKER && cmake --build out -j2`,
		program: "out/src/cmark", library: "out/src/libcmark.so.*.*.*", args: []string{"--smart", "README.md"},
	},
	{
		source:    "xz-utils",
		configure: `export CFLAGS="-O2 $LTO" LDFLAGS=-fuse-ld=$LINKER; ./configure -q --disable-nls --disable-static --disable-doc && make -s -j2`,
		program:   "src/xz/.libs/xz", library: "src/liblzma/.libs/liblzma.so.*.*.*", args: []string{"-2", "-c", "ChangeLog"},
	},
}

// killedLinks are the linkers that put the code that they make behind all objects.
var killedLinks = map[string]struct {
	env   []string
	tools []string
}{
	"thin": {[]string{"CC=clang-22", "CXX=clang++-22", "AR=llvm-ar-22", "RANLIB=llvm-ranlib-22", "NM=llvm-nm-22", "LINKER=lld", "LTO=-flto=thin"}, []string{"clang-22", "ld.lld-22", "llvm-ar-22"}},
	"mold": {[]string{"CC=gcc", "CXX=g++", "AR=gcc-ar", "RANLIB=gcc-ranlib", "NM=gcc-nm", "LINKER=mold", "LTO=-flto=auto"}, []string{"mold"}},
}

// TestLTOKilled kills real programs that were linked so: counts and blocks are those that callgrind saw up to there, of the
// program and of its library.
func TestLTOKilled(t *testing.T) {
	t.Parallel()
	skipLong(t)
	for i := range killedGuests {
		for link := range killedLinks {
			t.Run(killedGuests[i].source+" "+link, func(t *testing.T) {
				t.Parallel()
				killedGuests[i].compare(t, link)
			})
		}
	}
}

func (g *killedGuest) compare(t *testing.T, link string) {
	l := killedLinks[link]
	for _, tool := range append(l.tools, g.tools...) {
		mustHave(t, tool)
	}
	_, _, sources := fetchGuest(t, &tailguests.Guest{Name: g.source, Debian: g.source})
	make := command(t, cairn, "build", "--mode", "full", "--", "sh", "-ec", g.configure)
	make.Dir, make.Env = sources, append(make.Env, l.env...)
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	killer := build(t, "", "gcc", "-shared", "-fPIC", filepath.Join("testdata", "killed.c"), "-ldl")
	library := found(t, filepath.Join(sources, g.library))
	program, raws := filepath.Join(sources, g.program), filepath.Join(sources, "raws")
	env := []string{"LD_PRELOAD=" + killer, "LD_LIBRARY_PATH=" + filepath.Dir(library)}

	dump := filepath.Join(t.TempDir(), "callgrind.out")
	argv := underCallgrind(dump, "--dump-instr=yes", program, g.args...)
	seen := command(t, argv[0], argv[1:]...)
	seen.Dir, seen.Env = sources, append(seen.Env, env...)
	want := output(t, seen)

	var answer strings.Builder
	killed := command(t, program, g.args...)
	killed.Dir, killed.Stdout, killed.Env = sources, &answer, append(append(killed.Env, env...), "KILLED=1", "CAIRN_DIR="+raws)
	var status *exec.ExitError
	if err := killed.Run(); !errors.As(err, &status) || status.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the program was not killed: %v", err)
	}
	checkAnswer(t, answer.String(), want)
	for module, files := range map[string]string{program: filepath.Base(program) + ".*", library: "lib*"} {
		m, ran := profile(t, module, found(t, filepath.Join(raws, files))), executed(t, dump, module)
		for i := range m.Counts {
			m.Counts[i].Inexact = false // which a killed program cannot say of itself
		}
		checkCalls(t, m, ran)
		checkCovered(t, m, ran)
	}
}

// found returns the file that matches a pattern.
func found(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no such file (%v)", pattern, err)
	}
	return files[0]
}
