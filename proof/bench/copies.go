package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cairnprof/cairn/proof/tailguests"
)

const (
	copiesRounds  = 3
	copiesSamples = 40000 // that a recording has about
	copiesRate    = 4000  // samples a second
)

// A copiedRun is a recording of a program without frame pointers, with copies of its stacks, and what
// it costs to unwind it, in seconds of processors.
type copiedRun struct {
	name         string
	size         int64
	perf, plain  float64 // perf script, with inlined functions as by default, and without
	program, all float64 // cairn flame, with the names of the program, and of all files
}

// copies measures how fast copies of stacks are unwound, next to perf script, and writes COPIES.md.
// Without a perf that can record it says so, and measures nothing.
func (b *bench) copies(ctx context.Context) error {
	if why := cannotCopy(ctx, b.out); why != "" {
		fmt.Fprintf(b.log, "not measured: %s\n", why)
		return nil
	}
	dir := filepath.Join(b.out, "copies")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var runs []*copiedRun
	for _, g := range tailguests.All {
		r, err := b.copiesOf(ctx, dir, g.With("gcc", "-O2"))
		if err != nil {
			return err
		}
		fmt.Fprintf(b.log, "%s: %.1f times as fast, %.1f with all files\n", r.name, r.perf/r.program, r.perf/r.all)
		runs = append(runs, r)
	}
	if err := b.reportCopies(ctx, runs); err != nil {
		return err
	}
	return nil
}

// cannotCopy says why perf cannot record copies of stacks here, "" if it can.
func cannotCopy(ctx context.Context, dir string) string {
	if _, err := exec.LookPath("perf"); err != nil {
		return "there is no perf"
	}
	file := filepath.Join(dir, "copies.try")
	defer os.Remove(file)
	if _, err := output(ctx, dir, "perf", "record", "-q", "--call-graph", "dwarf", "-o", file, "true"); err != nil {
		return "perf cannot record here: " + err.Error()
	}
	return ""
}

// copiesOf measures a program.
func (b *bench) copiesOf(ctx context.Context, dir string, g *tailguests.Guest) (*copiedRun, error) {
	sources, err := g.Fetch(ctx, b.root, filepath.Join(dir, g.Name))
	if err != nil {
		return nil, err
	}
	program, file := filepath.Join(dir, g.Name+".program"), filepath.Join(dir, g.Name+".data")
	compile, err := g.Command(b.root, sources, program)
	if err != nil {
		return nil, err
	}
	if _, err := output(ctx, dir, append(compile, "-g", "-fomit-frame-pointer")...); err != nil {
		return nil, err
	}
	again, args, err := b.longRun(ctx, dir, g, program)
	if err != nil {
		return nil, err
	}
	record := []string{
		"perf", "record", "-q", "-F", strconv.Itoa(copiesRate), "-e", "cpu-clock:u", "--call-graph", "dwarf", "-o", file,
		"sh", "-c", `n=$0; while [ "$n" -gt 0 ]; do "$@" >/dev/null || exit 1; n=$((n-1)); done`, strconv.Itoa(again), program,
	}
	if _, err := output(ctx, dir, append(record, args...)...); err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	r := &copiedRun{name: g.Name, size: info.Size()}
	page := filepath.Join(dir, "page.html")
	for _, c := range []struct {
		to   *float64
		argv []string
	}{
		{&r.perf, []string{"perf", "script", "-i", file}},
		{&r.plain, []string{"perf", "script", "--no-inline", "-i", file}},
		{&r.program, []string{b.cairn, "flame", "--binary", program, "-o", page, file}},
		{&r.all, []string{b.cairn, "flame", "-o", page, file}},
	} {
		var times []float64
		for range copiesRounds {
			took, err := timeOfAll(ctx, dir, c.argv)
			if err != nil {
				return nil, err
			}
			times = append(times, took)
		}
		*c.to = median(times)
	}
	return r, nil
}

// longRun returns how often a program is to run, and with which arguments, for copiesSamples.
func (b *bench) longRun(ctx context.Context, dir string, g *tailguests.Guest, program string) (again int, args []string, err error) {
	const long = copiesSamples * time.Second / copiesRate
	took := func(longer int) (time.Duration, error) {
		return cpuTime(command(ctx, dir, nil, append([]string{program}, g.Args(b.root, longer)...)...))
	}
	once, err := took(1)
	if err != nil {
		return 0, nil, err
	}
	if slices.Equal(g.Args(b.root, 1), g.Args(b.root, 2)) {
		return int(long/max(once, time.Millisecond)) + 1, g.Args(b.root, 1), nil // it has no number of repetitions
	}
	for more := 10; ; more *= 4 {
		longer, err := took(1 + more)
		if err != nil {
			return 0, nil, err
		}
		if much := longer - once; much >= long/20 { // the clock of processor time is coarse
			return 1, g.Args(b.root, int(long*time.Duration(more)/much)+1), nil
		}
	}
}

// timeOfAll returns the processor time of a command whose output is thrown away, in seconds, with that of the programs that
// it starts, also of those that it does not wait for: perf script starts addr2line. perf stat counts all of them.
func timeOfAll(ctx context.Context, dir string, argv []string) (float64, error) {
	report := filepath.Join(dir, "time")
	cmd := command(ctx, dir, nil, append([]string{"perf", "stat", "-x", ",", "-e", "task-clock", "-o", report}, argv...)...)
	var talk bytes.Buffer
	cmd.Stderr = &talk
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", argv[0], err, talk.String())
	}
	text, err := os.ReadFile(report)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Split(line, ","); len(fields) > 2 && fields[2] == "task-clock" {
			ms, err := strconv.ParseFloat(fields[0], 64)
			return ms / 1000, err
		}
	}
	return 0, fmt.Errorf("no task-clock in %q", text)
}

func (b *bench) reportCopies(ctx context.Context, runs []*copiedRun) error {
	var text bytes.Buffer
	b.writeHead(ctx, &text, "Copies of stacks",
		"Programs that gcc -O2 -g compiled without frame pointers, recorded with `perf record\n--call-graph dwarf`; processor time, median of "+strconv.Itoa(copiesRounds)+" runs, with that of the programs that are started: for\ninlined functions perf starts addr2line. The file is in the kernel's cache. `perf script`\nprints text, which no flame graph is made of yet; `cairn flame` writes the page.",
		[][]string{{"gcc", "gcc", "--version"}, {"perf", "perf", "--version"}})
	var ratios, all []float64
	rows := [][]string{{"program", "MB", "perf script", "`--no-inline`", "cairn flame --binary", "cairn flame", "times as fast", "with all files"}}
	for _, r := range runs {
		ratios, all = append(ratios, r.perf/r.program), append(all, r.perf/r.all)
		rows = append(rows, []string{
			r.name, thousands(r.size / 1e6), fmt.Sprintf("%.2f s", r.perf), fmt.Sprintf("%.2f s", r.plain),
			fmt.Sprintf("%.2f s", r.program), fmt.Sprintf("%.2f s", r.all), fmt.Sprintf("%.1f", r.perf/r.program), fmt.Sprintf("%.1f", r.perf/r.all),
		})
	}
	writeTargets(&text, []target{
		{"times as fast as perf script, median", ">= 10.0", fmt.Sprintf("%.1f", median(ratios)), median(ratios) >= 10},
		{"the same, with the names of all files", ">= 10.0", fmt.Sprintf("%.1f", median(all)), median(all) >= 10},
	})
	table(&text, rows)
	if _, err := os.Stdout.Write(text.Bytes()); err != nil {
		return err
	}
	return writeWithNotes(filepath.Join(b.root, "bench", "COPIES.md"), text.Bytes())
}

// notesBegin is the first line of notes that are written by hand, at the end of a report.
const notesBegin = "## Notes\n"

// writeWithNotes writes a report, and after it the notes of the one that it replaces.
func writeWithNotes(path string, text []byte) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if at := bytes.Index(old, []byte("\n"+notesBegin)); at >= 0 {
		text = append(bytes.TrimRight(text, "\n"), '\n')
		text = append(text, old[at:]...)
	}
	return os.WriteFile(path, text, 0o644)
}
