//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"testing"

	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/proof/tailguests"
	"github.com/cairnprof/cairn/proof/tailtest"
)

// TestPhysicalCallers compares stacks that were walked by frame pointers with the calls that
// were open, at every kind of instruction: a program is stepped through, with prologues,
// epilogues, and code that does without a frame. LLVM's rules leave out many of those, and
// believe others that lack the caller.
func TestPhysicalCallers(t *testing.T) {
	skipLong(t)
	t.Parallel()
	mustHave(t, "gcc")
	steps := filepath.Join(t.TempDir(), "steps")
	output(t, command(t, "gcc", "-O2", "-w", "-D_GNU_SOURCE", "-o", steps, filepath.Join("testdata", "steps.c")))
	for _, g := range tailguests.All {
		t.Run(g.Name, func(t *testing.T) {
			t.Parallel()
			mustHave(t, g.Compiler)
			r := stepGuest(t, g, steps)
			llvm, err := r.JudgeStacks(t.Context(), unwind.Options{TrustDepartures: true})
			if err != nil {
				t.Fatal(err)
			}
			ours, err := r.JudgeStacks(t.Context(), unwind.Options{Frameless: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("llvm: %v", &llvm)
			t.Logf("full: %v", &ours)
			if sum := ours.Sum(); sum.Exact*100 < ours.Stacks*96 || sum.Untrue*1000 > ours.Stacks || ours.Lacking*100 < ours.Stacks {
				t.Errorf("%v", &ours)
			}
			// Without branches, the code shows the caller.
			r.Depth = -1
			bare, err := r.JudgeStacks(t.Context(), unwind.Options{Frameless: true, Moments: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("no branches: %v", &bare)
			if sum := bare.Sum(); sum.Exact*100 < bare.Stacks*94 || sum.Untrue*200 > bare.Stacks || sum.Dropped > 0 {
				t.Errorf("no branches: %v", &bare)
			}
		})
	}
}

// wholeStacks does so with what cairn record --lbr writes, whose stacks have the caller
// everywhere: no frame is to be added.
func wholeStacks(t *testing.T, r *tailtest.Recording) {
	t.Helper()
	got, err := r.JudgeStacks(t.Context(), unwind.Options{Frameless: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v", &got)
	if sum := got.Sum(); sum.Exact*10_000 < got.Stacks*9995 {
		t.Errorf("%v", &got)
	}
}

// stepGuest compiles a guest and steps through the beginning of a run.
func stepGuest(t *testing.T, g *tailguests.Guest, steps string) *tailguests.Run {
	t.Helper()
	root, dir, sources := fetchGuest(t, g)
	program, perf, truth := filepath.Join(dir, "program"), filepath.Join(dir, "perf"), filepath.Join(dir, "truth")
	compile, err := g.Command(root, sources, program)
	if err != nil {
		t.Fatal(err)
	}
	compile = append(compile, "-Wl,--wrap=main", filepath.Join("testdata", "stopfirst.c"))
	output(t, command(t, compile[0], compile[1:]...))
	const every, most = "23", "3000"
	output(t, command(t, steps, append([]string{every, most, perf, truth, program}, g.Args(root, 1)...)...))
	run, err := tailguests.Open(program, perf, truth, g.Probed())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { run.Close() })
	return run
}
