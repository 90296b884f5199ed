//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFlow compares everything on what is hard to follow in C, as different
// levels of optimisation shape it.
func TestFlow(t *testing.T) {
	t.Parallel()
	src := filepath.Join("testdata", "flow.c")
	want := answerOf(t, build(t, "", "gcc", "-O0", "-w", src))
	for _, test := range []struct{ compiler, flags string }{
		{"gcc", "-O0"},
		{"gcc", "-O2"},
		{"gcc", "-O3 -fcf-protection -no-pie"},
		{"gcc", "-Os"},
		{"clang-22", "-O0"},
		{"clang-22", "-O2"},
		{"clang-22", "-Os -no-pie"},
	} {
		t.Run(test.compiler+test.flags, func(t *testing.T) {
			t.Parallel()
			everything(t, want, test.compiler, append(strings.Fields(test.flags), "-w", src)...)
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
