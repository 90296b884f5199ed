package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/watch/ptrace"
)

const (
	startupCC     = "clang-22"
	startupCFlags = "-O2 -ffunction-sections"
	startupLink   = "-fuse-ld=lld"
)

// startupRow is one way of laying a program out, measured.
type startupRow struct {
	Name string
	// Mean pages of .text that were really touched: by the scenarios that the
	// layout was computed from, and by each scenario with a layout that was
	// computed from the others.
	In, Out float64
	Cold    float64 // mean major faults from a cold cache, in-sample; < 0: not measured
	Text    int64   // bytes of .text
	// Starts are of held-out scenarios from a device that waits, means by coldReadAheads; nil: not measured.
	Starts []coldStart `json:",omitempty"`
}

// startupResult is what was measured of one program. It is kept in a file, so
// that the programs can be measured one at a time.
type startupResult struct {
	Name, Revision string
	Text           int64 // bytes of .text, linker's default
	Scenarios      int
	Rows           []startupRow
	Instrumented   [][]string // name, growth of the code, growth of the stripped file
}

// costResult is what recording costs.
type costResult struct {
	Revision string
	Rows     [][]string
	Targets  []target
}

// startup lays the guests out by each tool and counts the pages they touch. It
// writes STARTUP.md of what was measured, now or before.
func (b *bench) startup(ctx context.Context) error {
	for i := range guests {
		g := &guests[i]
		if !slices.Contains(b.guests, g.name) {
			continue
		}
		fmt.Fprintf(b.log, "-- %s\n", g.name)
		s := &startupGuest{b: b, g: g}
		if err := s.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		if err := b.keep(g.name, s.result()); err != nil {
			return err
		}
	}
	if slices.Contains(b.guests, "cost") {
		cost, err := b.orderCost(ctx)
		if err != nil {
			return err
		}
		if err := b.keep("cost", cost); err != nil {
			return err
		}
	}
	return b.reportStartup(ctx)
}

// kept is the file that keeps a result.
func (b *bench) kept(name string) string { return filepath.Join(b.out, "guests", name+".json") }

func (b *bench) keep(name string, result any) error {
	text, err := json.MarshalIndent(result, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(b.kept(name), text, 0o644)
}

// recall reads a result and reports whether there is one.
func (b *bench) recall(name string, result any) (bool, error) {
	text, err := os.ReadFile(b.kept(name))
	if errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(b.log, "%s was not measured: STARTUP.md is not written\n", name)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, json.Unmarshal(text, result)
}

// reportStartup writes STARTUP.md if everything has been measured.
func (b *bench) reportStartup(ctx context.Context) error {
	var tables bytes.Buffer
	var order, splitIn, splitOut []float64 // pages saved against LLVM's best, by guest
	var results []startupResult
	for i := range guests {
		var r startupResult
		if ok, err := b.recall(guests[i].name, &r); !ok {
			return err
		}
		in := min(r.row("llvm-profdata order").In, r.row("lld --bp-startup-sort").In)
		out := min(r.row("llvm-profdata order").Out, r.row("lld --bp-startup-sort").Out)
		order = append(order, 1-r.row("cairn order").Out/out)
		splitIn = append(splitIn, 1-r.row("cairn --use").In/in)
		splitOut = append(splitOut, 1-r.row("cairn --use").Out/out)
		r.report(&tables)
		results = append(results, r)
	}
	var cost costResult
	if ok, err := b.recall("cost", &cost); !ok {
		return err
	}
	fmt.Fprintf(&tables, "## What recording costs\n\nThe amalgamation and `proof/bench/c/speed.c` at %s, as in RESULTS.md; cairn %s.\n\n", optimize, cost.Revision)
	table(&tables, cost.Rows)
	var text bytes.Buffer
	b.writeHead(ctx, &text, "Starting programs", headNotes, headTools)
	writeTargets(&text, slices.Concat([]target{
		atLeast("held-out pages saved against LLVM's best, order alone, the worst program", slices.Min(order), 0),
		atLeast("the same, mean", mean(order), 0.08),
		atLeast("held-out pages saved against LLVM's best, with splitting, mean", mean(splitOut), 0.25),
		atLeast("in-sample pages saved against LLVM's best, with splitting, mean", mean(splitIn), 0.35),
	}, startTargets(results), cost.Targets))
	text.WriteString(startupNotes)
	text.Write(tables.Bytes())
	if _, err := os.Stdout.Write(text.Bytes()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.root, "bench", "STARTUP.md"), text.Bytes(), 0o644)
}

// startupNotes says how to read the tables.
const startupNotes = `## How to read this

Pages are those of 4 KiB in .text that a run really touched, counted by taking the
pages away and giving each back when it is missed; means over the scenarios. In
the first column the layout was computed from all scenarios, in the column "held
out" each ran in a layout that was computed from four fifths of the scenarios, to
which it does not belong. The rows of LLVM use its temporal profile
(-pgo-temporal-instrumentation), the rows of cairn the mode block+order. All
layouts are links of the same objects, but that of cairn --use, which also moves
blocks that never ran. Major faults are those of the whole process with the
program dropped from the page cache; the device's read-ahead decides how many there are.

Starts from a device: the program, and nothing else, is on a file system that answers one read at a time,
each after 0.714 ms, as flash of phones does, and has nothing in memory when it starts. Wall time with that of the
shell that starts it, and reads, of scenarios that the layout was not computed from: medians of 5 runs,
means over the scenarios. Read-ahead is how much is read around a page that is missed.

`

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// startupGuest is the work on one program.
type startupGuest struct {
	b    *bench
	g    *guest
	work string // scenario data, to be copied
	tree string // prepared sources

	plain *guestTree
	base  *layout
	llvm  *layout // instrumented
	ours  *layout // instrumented
	rows  []startupRow
}

func (s *startupGuest) run(ctx context.Context) error {
	if err := s.build(ctx); err != nil {
		return err
	}
	if err := s.record(ctx); err != nil {
		return err
	}
	for _, m := range []struct {
		name string
		make func(ctx context.Context, t training) (*layout, error)
	}{
		{"linker's default", func(context.Context, training) (*layout, error) { return s.base, nil }},
		{"first execution", s.orderBy("first")},
		{"llvm-profdata order", s.llvmOrder},
		{"lld --bp-startup-sort", s.lldSort},
		{"cairn order", s.orderBy("startup")},
		{"cairn --use", s.use},
	} {
		r, err := s.measure(ctx, m.name, m.make)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Fprintf(s.b.log, "   %-22s %6.1f in sample, %6.1f held out\n", r.Name, r.In, r.Out)
		s.rows = append(s.rows, *r)
	}
	return nil
}

// build builds the plain program and the two instrumented ones.
func (s *startupGuest) build(ctx context.Context) (err error) {
	if s.tree, err = s.g.fetch(ctx, s.b); err != nil {
		return err
	}
	if s.plain, err = s.copied(ctx, "plain", startupCC, startupCFlags, startupLink); err != nil {
		return err
	}
	if s.base, err = s.plain.keep(ctx, "default"); err != nil {
		return err
	}
	temporal := startupCFlags + " -fprofile-generate -mllvm -pgo-temporal-instrumentation"
	llvm, err := s.copied(ctx, "llvm", startupCC, temporal, startupLink+" -fprofile-generate")
	if err != nil {
		return err
	}
	if s.llvm, err = llvm.keep(ctx, "llvm"); err != nil {
		return err
	}
	ours, err := s.copied(ctx, "cairn", s.b.cairn+" cc --mode block+order --default-dir none "+startupCC, startupCFlags, startupLink)
	if err != nil {
		return err
	}
	s.ours, err = ours.keep(ctx, "cairn")
	return err
}

// fresh returns a fresh directory of the guest's data.
func (s *startupGuest) fresh(ctx context.Context) (string, error) {
	dir := filepath.Join(s.b.out, "guests", "work")
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	_, err := output(ctx, "", "cp", "-a", s.work, dir)
	return dir, err
}

// exec runs a scenario and returns what it printed.
func (s *startupGuest) exec(ctx context.Context, l *layout, sc *scenario, env ...string) (string, error) {
	dir, err := s.fresh(ctx)
	if err != nil {
		return "", err
	}
	cmd := command(ctx, dir, append(s.g.env, env...), append([]string{l.path}, sc.args...)...)
	cmd.Stdin = strings.NewReader(sc.stdin)
	return finish(cmd)
}

// record runs the instrumented programs through all scenarios.
func (s *startupGuest) record(ctx context.Context) error {
	s.work = filepath.Join(s.b.out, "guests", s.g.name+".data")
	if err := os.RemoveAll(s.work); err != nil {
		return err
	}
	if err := os.MkdirAll(s.work, 0o755); err != nil {
		return err
	}
	env := append([]string{"GUEST=" + s.base.path}, s.g.env...)
	if _, err := finish(command(ctx, s.work, env, "bash", "-ec", s.g.data)); err != nil {
		return err
	}
	for i := range s.g.scenarios {
		sc := &s.g.scenarios[i]
		want, err := s.exec(ctx, s.base, sc)
		if err != nil {
			return err
		}
		if err := os.RemoveAll(s.raws(i)); err != nil {
			return err
		}
		if err := os.MkdirAll(s.raws(i), 0o755); err != nil {
			return err
		}
		got, err := s.exec(ctx, s.ours, sc, "CAIRN_SCENARIO="+sc.name, "CAIRN_DIR="+s.raws(i))
		if err != nil {
			return err
		}
		if _, err := s.exec(ctx, s.llvm, sc, "LLVM_PROFILE_FILE="+s.profraw(i)); err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("scenario %s prints something else when instrumented", sc.name)
		}
	}
	return nil
}

func (s *startupGuest) file(name string) string {
	return filepath.Join(s.b.out, "guests", s.g.name+"."+name)
}

func (s *startupGuest) raws(i int) string { return s.file("raws/" + s.g.scenarios[i].name) }

func (s *startupGuest) profraw(i int) string {
	return s.file("profraw/" + s.g.scenarios[i].name + ".profraw")
}

// folds is how many parts the scenarios are cut into, of which one is held out.
const folds = 5

// training is the scenarios that a layout is computed from: all, or those of
// four parts of five.
type training struct {
	without int // the part held out; -1: none
	n       int
}

func (t training) String() string {
	if t.without < 0 {
		return "all"
	}
	return fmt.Sprintf("without%d", t.without)
}

func (t training) has(i int) bool { return t.without < 0 || i%folds != t.without }

// measure lays the program out by all scenarios, then by four parts of five
// each time, and counts the pages that it touches.
func (s *startupGuest) measure(ctx context.Context, name string, make func(context.Context, training) (*layout, error)) (*startupRow, error) {
	r := &startupRow{Name: name, Cold: -1}
	n := len(s.g.scenarios)
	for without := -1; without < folds; without++ {
		t := training{without, n}
		l, err := make(ctx, t)
		if err != nil {
			return nil, err
		}
		for i := range s.g.scenarios {
			if without >= 0 && t.has(i) {
				continue
			}
			pages, err := s.touched(ctx, l, &s.g.scenarios[i])
			if err != nil {
				return nil, err
			}
			if without < 0 {
				r.In += float64(pages) / float64(n)
				continue
			}
			r.Out += float64(pages) / float64(n)
			if err := s.addStarts(ctx, r, l, &s.g.scenarios[i]); err != nil {
				return nil, err
			}
		}
		if without < 0 {
			r.Text = l.text
			if r.Cold, err = s.coldFaults(ctx, l); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// options says how a scenario is run under the tracer.
func (s *startupGuest) options(ctx context.Context, sc *scenario) (*ptrace.Options, error) {
	dir, err := s.fresh(ctx)
	if err != nil {
		return nil, err
	}
	return &ptrace.Options{Dir: dir, Env: append(os.Environ(), s.g.env...), Stdin: strings.NewReader(sc.stdin)}, nil
}

// touched returns how many pages of .text a scenario really touches.
func (s *startupGuest) touched(ctx context.Context, l *layout, sc *scenario) (int, error) {
	opts, err := s.options(ctx, sc)
	if err != nil {
		return 0, err
	}
	t, err := ptrace.TouchedPages(ctx, append([]string{l.path}, sc.args...), opts)
	if err != nil {
		return 0, err
	}
	if t.Status.Code != 0 {
		return 0, fmt.Errorf("%s, scenario %s: %s", l.path, sc.name, t.Status)
	}
	return len(t.Pages), nil
}

// coldFaults returns the mean number of major faults of a run with the program
// out of the page cache, or -1 if this machine does not allow that.
func (s *startupGuest) coldFaults(ctx context.Context, l *layout) (float64, error) {
	sum := 0.0
	for i := range s.g.scenarios {
		sc := &s.g.scenarios[i]
		opts, err := s.options(ctx, sc)
		if err != nil {
			return 0, err
		}
		f, err := ptrace.ColdFaults(ctx, append([]string{l.path}, sc.args...), opts)
		if err != nil {
			return -1, nil // the reason is the machine's
		}
		sum += float64(f.Major)
	}
	return sum / float64(len(s.g.scenarios)), nil
}
