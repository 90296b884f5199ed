//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// variant is a compiler and its flags.
type variant struct{ compiler, flags string }

func (v variant) args(source string) []string {
	return append(strings.Fields(v.flags), "-w", source)
}

// TestFlow compares everything on what is hard to follow in C, as different
// levels of optimisation shape it.
func TestFlow(t *testing.T) {
	t.Parallel()
	source := filepath.Join("testdata", "flow.c")
	want := answerOf(t, build(t, "", "gcc", "-O0", "-w", source))
	for _, v := range shorttest.Rows(
		3,
		variant{"gcc", "-O0"},
		variant{"gcc", "-O3 -fcf-protection -no-pie"},
		variant{"clang-22", "-O2"},
		variant{"gcc", "-O2"},
		variant{"gcc", "-Os -static"},
		variant{"clang-22", "-O0"},
		variant{"clang-22", "-Os -no-pie"},
	) {
		t.Run(v.compiler+v.flags, func(t *testing.T) {
			t.Parallel()
			everything(t, want, v.compiler, fromAssembly(t, v.compiler, v.args(source))...)
		})
	}
}

// TestLighterModes compares what the modes without both counts and blocks say.
func TestLighterModes(t *testing.T) {
	t.Parallel()
	source := filepath.Join("testdata", "flow.c")
	for _, compiler := range []string{"gcc", "clang-22"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			count := build(t, "count", compiler, "-O2", "-w", source)
			_, ran, m := callgrind(t, count)
			checkCalls(t, m, ran)
			_, seen, m := trace(t, count)
			checkOrder(t, m, seen)
			_, ran, m = callgrind(t, build(t, "cover", compiler, "-O2", "-w", source))
			checkCovered(t, m, ran)
		})
	}
}

// TestShapes compares everything on C++.
func TestShapes(t *testing.T) {
	t.Parallel()
	source := filepath.Join("testdata", "shapes.cc")
	want := answerOf(t, build(t, "", "g++", "-O0", "-std=c++17", "-w", source))
	for _, v := range shorttest.Rows(
		1,
		variant{"g++", "-O2 -std=c++17"},
		variant{"g++", "-O0 -std=c++17"},
		variant{"clang++-22", "-O2 -std=c++17"},
	) {
		t.Run(v.compiler+v.flags, func(t *testing.T) {
			t.Parallel()
			everything(t, want, v.compiler, fromAssembly(t, v.compiler, v.args(source))...)
		})
	}
}

// TestBlst compares everything on a library that has assembly by hand, which
// gets no probes, between its compiled functions.
func TestBlst(t *testing.T) {
	skipLong(t)
	t.Parallel()
	dir := goModule(t, "github.com/supranational/blst@v0.3.17")
	files := []string{
		"-w", "-I" + filepath.Join(dir, "bindings"), filepath.Join("testdata", "blst.c"),
		filepath.Join(dir, "src", "server.c"), filepath.Join(dir, "build", "assembly.S"),
	}
	want := answerOf(t, build(t, "", "gcc", append(files, "-O0")...))
	for _, compiler := range []string{"gcc", "clang-22"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			everything(t, want, compiler, append(files[:len(files):len(files)], "-O2")...)
		})
	}
}

// TestThreads checks that locked counts are exact when first calls collide. In valgrind one
// thread runs at a time, so the effects of threads on each other need a run of their own, whose
// counts must be the same.
func TestThreads(t *testing.T) {
	t.Parallel()
	source := filepath.Join("testdata", "threads.c")
	want := answerOf(t, build(t, "", "gcc", "-O0", "-pthread", source), "race")
	runs := 20
	if testing.Short() {
		runs = 5
	}
	for _, v := range []variant{{"gcc", "-O2 -pthread"}, {"clang-22", "-O1 -pthread"}} {
		t.Run(v.compiler, func(t *testing.T) {
			t.Parallel()
			program := build(t, "full --atomic", v.compiler, v.args(source)...)
			answer, ran, m := callgrind(t, program, "race")
			checkAnswer(t, answer, want)
			checkCalls(t, m, ran)
			checkCovered(t, m, ran)
			for range runs {
				answer, m := run(t, program, "race")
				checkAnswer(t, answer, want)
				checkCalls(t, m, ran)
				checkCovered(t, m, ran)
			}
			answer, seen, m := trace(t, program, "relay")
			checkAnswer(t, answer, want)
			checkOrder(t, m, seen)
		})
	}
}

// everything builds a program with and without call counts and compares what
// the profiles say with all that the other tools know.
func everything(t *testing.T, want, compiler string, args ...string) {
	t.Helper()
	full := build(t, "full", compiler, args...)
	answer, ran, m := callgrind(t, full)
	checkAnswer(t, answer, want)
	checkCalls(t, m, ran)
	checkCovered(t, m, ran)
	answer, seen, m := trace(t, full)
	checkAnswer(t, answer, want)
	checkOrder(t, m, seen)

	answer, ran, m = callgrind(t, build(t, "block", compiler, args...))
	checkAnswer(t, answer, want)
	checkCovered(t, m, ran)
}

func checkAnswer(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("the program answers %.200q, without probes %.200q", got, want)
	}
}
