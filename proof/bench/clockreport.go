package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// clockPart builds programs, counts and measures them, and writes CLOCK.md.
func (b *bench) clockPart(ctx context.Context) error {
	if b.clocked.dir == "" {
		b.clocked.dir = filepath.Join(b.out, "clock")
	}
	var err error
	if b.clocked.dir, err = filepath.Abs(b.clocked.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(b.clocked.dir, "source"), 0o755); err != nil {
		return err
	}
	programs, err := b.clockPrograms()
	if err != nil {
		return err
	}
	steps := map[string]func(*bench, context.Context, []*clockProgram) error{
		"build": (*bench).clockBuilds, "model": (*bench).clockModel, "series": (*bench).clockSeries,
	}
	for name := range strings.SplitSeq(b.clocked.steps, ",") {
		step := steps[name]
		if step == nil && name != "report" {
			return fmt.Errorf("-clock-steps=%s: there is build, model, series and report", b.clocked.steps)
		}
		if step == nil {
			continue
		}
		if err := step(b, ctx, programs); err != nil {
			return err
		}
	}
	return b.clockReport(ctx)
}

// clockResults are all that was measured, by program, compiler and variant.
type clockResults struct {
	times  map[[3]string]*clockTimes
	counts map[[3]string]*clockCount
}

func (b *bench) clockResults() (*clockResults, error) {
	var times []*clockTimes
	var counts []*clockCount
	if err := b.keptClock("series.json", &times); err != nil {
		return nil, err
	}
	if err := b.keptClock("model.json", &counts); err != nil {
		return nil, err
	}
	r := &clockResults{map[[3]string]*clockTimes{}, map[[3]string]*clockCount{}}
	for _, t := range times {
		r.times[[3]string{t.Program, t.Compiler, t.Variant}] = t
	}
	for _, c := range counts {
		r.counts[[3]string{c.Program, c.Compiler, c.Variant}] = c
	}
	return r, nil
}

// ratios are those of a build's user time to that of another in the same round.
func (r *clockResults) ratios(program, compiler, variant, to string) []float64 {
	a, b := r.times[[3]string{program, compiler, variant}], r.times[[3]string{program, compiler, to}]
	if a == nil || b == nil {
		return nil
	}
	var ratios []float64
	for i := range min(len(a.User), len(b.User)) {
		ratios = append(ratios, a.User[i]/b.User[i])
	}
	return ratios
}

// clockQuartiles returns the first quartile, the median and the third one.
func clockQuartiles(values []float64) (first, middle, third float64) {
	s := slices.Sorted(slices.Values(values))
	return s[len(s)/4], median(s), s[len(s)-1-len(s)/4]
}

// clockReport writes CLOCK.md of what was measured so far.
func (b *bench) clockReport(ctx context.Context) error {
	r, err := b.clockResults()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	b.writeHead(ctx, &text, "Layouts of hot code, on a clock and on a model", clockNotes, [][]string{
		{"gcc", "gcc", "--version"}, {"clang", "clang-22", "--version"}, {"BOLT", "llvm-bolt-22", "--version"}, {"valgrind", "valgrind", "--version"},
	})
	if targets := r.targets(); len(targets) > 0 {
		writeTargets(&text, targets)
	}
	for i := range clockGuests {
		for _, c := range clockCompilers {
			r.table(&text, clockGuests[i].name, c.name)
		}
	}
	r.writeHow(&text)
	if _, err := os.Stdout.Write(text.Bytes()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.root, "bench", "CLOCK.md"), text.Bytes(), 0o644)
}

const clockNotes = `What a build by a profile does to code that runs long: ` + "`--use`" + ` with a profile of mode edge
orders functions, the blocks of each, and splits off cold ones; BOLT (instrumented) does so in the linked program; PGO is the
compiler's own use of a profile. Each is trained with other inputs than it is measured with, and all builds of a program print the same.`

// table writes what was measured of a program by one compiler.
func (r *clockResults) table(w io.Writer, program, compiler string) {
	rows := [][]string{{"build", "user time", "quartiles", "instructions", "taken", "I1 misses", "mispredicted"}}
	measured := false
	for _, v := range clockVariants {
		row, known := []string{v.label, "", "", "", "", "", ""}, false
		if ratios := r.ratios(program, compiler, v.name, "plain"); ratios != nil {
			known = true
			first, middle, third := clockQuartiles(ratios)
			row[1], row[2] = fmt.Sprintf("%.3f", middle), fmt.Sprintf("%.3f-%.3f", first, third)
		}
		if c := r.counts[[3]string{program, compiler, v.name}]; c != nil {
			known = true
			plain := r.counts[[3]string{program, compiler, "plain"}]
			row[3], row[4] = thousands(c.Instructions), thousands(c.Taken)
			if v.name != "plain" && plain != nil {
				row[3], row[4] = percent(growth(c.Instructions, plain.Instructions)), percent(growth(c.Taken, plain.Taken))
			}
			row[5], row[6] = thousands(c.Misses), thousands(c.Mispredicted)
		}
		if known {
			rows, measured = append(rows, row), true
		}
	}
	if !measured {
		return
	}
	fmt.Fprintf(w, "## %s, %s\n\n", program, compiler)
	if t := r.times[[3]string{program, compiler, "plain"}]; t != nil {
		fmt.Fprintf(w, "%d pairs; plain takes %.3f s of user time.\n\n", len(t.User), median(t.User))
	}
	table(w, rows)
}

// measured reports whether there is something of a program.
func (r *clockResults) measured(program string) bool {
	return slices.ContainsFunc(clockCompilers, func(c clockCompiler) bool {
		key := [3]string{program, c.name, "plain"}
		return r.times[key] != nil || r.counts[key] != nil
	})
}

// targets judges the medians of all programs.
func (r *clockResults) targets() []target {
	var ours, bolts, pgos []float64
	for i := range clockGuests {
		for _, c := range clockCompilers {
			name := clockGuests[i].name
			if r.ratios(name, c.name, "use", "plain") == nil {
				continue
			}
			ours = append(ours, median(r.ratios(name, c.name, "use", "plain")))
			if of := r.ratios(name, c.name, "use", "bolt"); of != nil {
				bolts = append(bolts, median(of))
			}
			if of := r.ratios(name, c.name, "pgo-use", "pgo-bolt"); of != nil {
				pgos = append(pgos, median(of))
			}
		}
	}
	if bolts == nil || pgos == nil {
		return nil
	}
	most := func(what string, found, limit float64) target {
		return target{what, fmt.Sprintf("<= %.3f", limit), fmt.Sprintf("%.3f", found), found <= limit}
	}
	return []target{
		most("`--use` to BOLT, median program", median(bolts), 0.98),
		most("`--use` to BOLT, worst program", slices.Max(bolts), 1),
		most("`--use` to plain, worst program", slices.Max(ours), 1.005),
		most("PGO with `--use` to PGO with BOLT, median program", median(pgos), 1),
		most("PGO with `--use` to PGO with BOLT, worst program", slices.Max(pgos), 1),
	}
}

// writeHow says how all was measured.
func (r *clockResults) writeHow(w io.Writer) {
	fmt.Fprint(w, `## How it was measured

- *User time* is the median of the ratios to the plain build in the same round. In each round every build runs once, beginning with
  another one, on one processor that has nothing else to do, ahead of all else there (chrt) if that is permitted; quartiles are of the ratios. A series on a busy machine says nothing.
- *Instructions*, misses of the first-level cache of instructions (32 KiB, 8 ways, lines of 64 bytes), and mispredicted
  branches: callgrind, libraries included. *Taken*: jumps (also to other functions and cold parts) and taken conditional branches in the program itself, without calls
  and returns. Percentages are relative to plain. These runs are shorter than those of the series.
- Builds: -O2; gcc links by GNU ld, clang by lld. PGO: -fprofile-generate, then -fprofile-use. BOLT: linked with
  --emit-relocs, by gcc with -fno-reorder-blocks-and-partition as well; then -reorder-blocks=ext-tsp
  -reorder-functions=cdsort -split-functions -split-all-cold.
- The model's predictor finds its counters by some bits of addresses, and dense code shares more of them: its
  mispredictions rise with density in all layouts, unevenly.

The programs, and what each does in training and when it is measured:

`)
	for i := range clockGuests {
		g := &clockGuests[i]
		if !r.measured(g.name) {
			continue
		}
		fmt.Fprintf(w, "- %s: trained by `%s`; measured by `%s`, with sizes of %s for the clock and %s for the model.\n",
			g.name, oneLine(g.train), oneLine(g.work), g.sizes.clock, g.sizes.model)
	}
	fmt.Fprintln(w)
}

func oneLine(script string) string { return strings.ReplaceAll(script, "\n", "; ") }
