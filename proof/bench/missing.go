package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/internal/samples/tailcall"
	"github.com/cairnprof/cairn/proof/tailguests"
	"github.com/cairnprof/cairn/proof/tailtest"
)

// Over what missing frames are looked for.
var (
	missingCompilers = []string{"clang-22", "gcc"}
	missingLevels    = []string{"-O1", "-O2", "-O3"}
	missingPeriods   = []int{101, 1009, 10007} // branches
	missingDepths    = []int{32, 16, 8}        // branches in a sample
)

// A missingCell is how well the frames of one build were found in samples of one kind.
type missingCell struct {
	program, compiler, level string
	period, depth            int
	llvm, full               tailtest.Tally
}

func (c *missingCell) String() string {
	return fmt.Sprintf("%s %s %s, one of %d branches, %d in a sample", c.program, c.compiler, c.level, c.period, c.depth)
}

// missing holds the frames that are put back against the true stacks of programs, over
// compilers, levels of optimization, periods and depths, and writes MISSING.md.
func (b *bench) missing(ctx context.Context) error {
	dir := filepath.Join(b.out, "missing")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	builds := b.missingBuilds()
	if len(builds) == 0 {
		return fmt.Errorf("-missing-only %q: no build's name has that, such as \"Lua gcc -O2\"", b.missingOnly)
	}
	sources := map[string]string{}
	for _, g := range builds {
		if sources[g.Name] != "" {
			continue
		}
		var err error
		if sources[g.Name], err = g.Fetch(ctx, b.root, filepath.Join(dir, g.Name)); err != nil {
			return err
		}
	}
	var mu sync.Mutex
	var cells []*missingCell
	built := 0
	err := both(len(builds), func(i int) error {
		found, err := b.missingOf(ctx, dir, sources[builds[i].Name], builds[i])
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		cells = append(cells, found...)
		built++
		fmt.Fprintf(b.log, "%s %s %s: done, %d of %d\n", builds[i].Name, builds[i].Compiler, builds[i].Level, built, len(builds))
		return nil
	})
	if err != nil {
		return err
	}
	if err := b.reportMissing(ctx, cells); err != nil || b.missingKeep {
		return err
	}
	return os.RemoveAll(dir)
}

// missingBuilds returns the builds that are asked for.
func (b *bench) missingBuilds() []*tailguests.Guest {
	var builds []*tailguests.Guest
	for _, g := range tailguests.All {
		for _, compiler := range missingCompilers {
			for _, level := range missingLevels {
				if strings.Contains(g.Name+" "+compiler+" "+level, b.missingOnly) {
					builds = append(builds, g.With(compiler, level))
				}
			}
		}
	}
	return builds
}

// missingOf builds a program, records it with each period and judges the inference.
func (b *bench) missingOf(ctx context.Context, dir, sources string, g *tailguests.Guest) ([]*missingCell, error) {
	program := filepath.Join(dir, g.Name+"-"+g.Compiler+g.Level)
	if !b.missingKeep || !exists(program) {
		argv, err := g.Command(b.root, sources, program)
		if err != nil {
			return nil, err
		}
		if _, err := output(ctx, dir, argv...); err != nil {
			return nil, err
		}
	}
	var cells []*missingCell
	for _, period := range missingPeriods {
		found, err := b.missingAt(ctx, g, program, period)
		if err != nil {
			return nil, err
		}
		cells = append(cells, found...)
	}
	return cells, nil
}

// missingAt records a program once, and judges the inference at each depth: samples of
// less depth are those of the greatest without their last branches.
func (b *bench) missingAt(ctx context.Context, g *tailguests.Guest, program string, period int) ([]*missingCell, error) {
	perf, truth, err := b.recordMissing(ctx, g, program, period)
	if err != nil {
		return nil, err
	}
	if !b.missingKeep {
		defer os.Remove(perf)
		defer os.Remove(truth)
	}
	run, err := tailguests.Open(program, perf, truth, g.Probed())
	if err != nil {
		return nil, err
	}
	defer run.Close()
	var cells []*missingCell
	for _, depth := range missingDepths {
		r := run.Recording
		r.Depth = depth
		got, err := r.Judge(ctx, func(graph *tailcall.Graph) []tailtest.Inferrer {
			return []tailtest.Inferrer{{Inferrer: tailcall.NewLLVM(graph, 0), Alone: true}, {Inferrer: tailcall.NewFull(graph, r.Place)}}
		})
		if err != nil {
			return nil, err
		}
		c := &missingCell{g.Name, g.Compiler, g.Level, period, depth, got[0], got[1]}
		for m, n := range c.full.Misses {
			if m.Got != "" {
				fmt.Fprintf(b.log, "%s: %d times wrong by rule %s: %#x .. %#x\n", c, n, m.Got, r.Code.Address(m.Call), r.Code.Address(m.Next))
			}
		}
		if c.full.Exact < c.llvm.Exact {
			fmt.Fprintf(b.log, "%s: fewer than by LLVM's algorithm: %v; %v\n", c, &c.full, &c.llvm)
		}
		cells = append(cells, c)
	}
	return cells, nil
}

// recordMissing records a program, unless that is kept from before, and returns the
// files of samples and of true stacks.
func (b *bench) recordMissing(ctx context.Context, g *tailguests.Guest, program string, period int) (perf, truth string, err error) {
	name := program + "-" + strconv.Itoa(period)
	perf, truth = name+".perf", name+".truth"
	if b.missingKeep && exists(truth) { // which is written last
		return perf, truth, nil
	}
	every, err := strconv.Atoi(g.Every)
	if err != nil {
		return "", "", err
	}
	// About as many samples as in tests, whatever the period.
	argv := []string{b.cairn, "record", "--lbr", "--event", "branches", "--every", strconv.Itoa(period), "--truth", truth, "-o", perf, "--", program}
	_, err = output(ctx, filepath.Dir(program), append(argv, g.Args(b.root, max(1, period/every))...)...)
	return perf, truth, err
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
