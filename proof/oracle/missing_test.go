//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/cairnprof/cairn/internal/samples/tailcall"
	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/proof/tailguests"
	"github.com/cairnprof/cairn/proof/tailtest"
)

// TestMissingFrames compares the frames that are put back with the true stacks of real
// programs, at several depths of the branch records: without any, too, as in samples of frame
// pointers alone.
func TestMissingFrames(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	sums := map[int]*[2]tailtest.Tally{}
	t.Run("programs", func(t *testing.T) {
		for _, g := range tailguests.All {
			t.Run(g.Name, func(t *testing.T) {
				if g.Name != "Lua" {
					skipLong(t)
				}
				t.Parallel()
				mustHave(t, g.Compiler)
				r, program, perf := recordGuest(t, g)
				likeLLVM(t, program, perf, g.Probed())
				if g.Name == "Lua" {
					wholeStacks(t, r)
				}
				for _, depth := range shorttest.Rows(2, 16, -1, 32, 8) {
					got := judgeMissing(t, r, depth)
					mu.Lock()
					if sums[depth] == nil {
						sums[depth] = &[2]tailtest.Tally{}
					}
					for i := range got {
						sums[depth][i].Add(&got[i])
					}
					mu.Unlock()
				}
			})
		}
	})
	for depth, sum := range sums {
		llvm, full := &sum[0], &sum[1]
		t.Logf("all, %d branches: llvm: %v", depth, llvm)
		t.Logf("all, %d branches: full: %v", depth, full)
		if depth > 0 && full.Exact*100 < full.Missing*95 {
			t.Errorf("%d branches: of %d pairs with missing frames %d were found, less than 95%%", depth, full.Missing, full.Exact)
		}
		if bad := full.Wrong + full.False; bad*2000 > full.Missing {
			t.Errorf("%d branches: %d of %d pairs are wrong, more than 0.05%%", depth, bad, full.Missing)
		}
	}
}

// judgeMissing compares both inferrers with the truth.
func judgeMissing(t *testing.T, r *tailtest.Recording, depth int) []tailtest.Tally {
	t.Helper()
	cut := *r
	cut.Depth = depth
	got, err := cut.Judge(t.Context(), func(g *tailcall.Graph) []tailtest.Inferrer {
		return []tailtest.Inferrer{{Inferrer: tailcall.NewLLVM(g, 0), Alone: true}, {Inferrer: tailcall.NewFull(g, r.Place)}}
	})
	if err != nil {
		t.Fatal(err)
	}
	llvm, full := &got[0], &got[1]
	t.Logf("%d branches: llvm: %v", depth, llvm)
	t.Logf("%d branches: full: %v", depth, full)
	for m, n := range full.Misses {
		if m.Got != "" {
			t.Logf("%d times wrong, by rule %s: %#x .. %#x", n, m.Got, r.Code.Address(m.Call), r.Code.Address(m.Next))
		}
	}
	if full.Missing == 0 {
		t.Error("no frames are missing")
	}
	if full.Exact < llvm.Exact {
		t.Errorf("%d branches: %d chains were found, by LLVM's algorithm %d", depth, full.Exact, llvm.Exact)
	}
	_, ours := full.Distinct()
	if _, theirs := llvm.Distinct(); ours < theirs {
		t.Errorf("%d branches: %d different chains were found, by LLVM's algorithm %d", depth, ours, theirs)
	}
	return got
}

// fetchGuest gets the sources of a guest. Where they cannot be had, as a server does
// not answer, the test is skipped.
func fetchGuest(t *testing.T, g *tailguests.Guest) (root, dir, sources string) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if sources, err = g.Fetch(t.Context(), root, dir); err != nil {
		t.Skip(err)
	}
	return root, dir, sources
}

// recordGuest compiles and runs a guest. Besides, it returns the files of the program
// and of its samples.
func recordGuest(t *testing.T, g *tailguests.Guest) (r *tailtest.Recording, program, perf string) {
	t.Helper()
	root, dir, sources := fetchGuest(t, g)
	program, perf = filepath.Join(dir, "program"), filepath.Join(dir, "perf")
	truth := filepath.Join(dir, "truth")
	compile, err := g.Command(root, sources, program)
	if err != nil {
		t.Fatal(err)
	}
	output(t, command(t, compile[0], compile[1:]...))
	record := []string{"record", "--lbr", "-o", perf, "--truth", truth, "--event", "branches", "--every", g.Every, "--", program}
	output(t, command(t, cairn, append(record, g.Args(root, 1)...)...))
	run, err := tailguests.Open(program, perf, truth, g.Probed())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { run.Close() })
	return &run.Recording, program, perf
}
