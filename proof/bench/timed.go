package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// Rows of the workload: the tracers write a hundred times as much as cairn, and
// are an order of magnitude slower.
const (
	timedRows = 30000
	heavyRows = 2000

	tinyCalls  = 100_000_000
	heavyCalls = 2_000_000
)

// timedVariant is a way of watching the calls of a program.
type timedVariant struct {
	variant
	heavy bool     // too slow for the whole workload
	env   []string // of runs
	run   []string // in front of the program
	own   bool     // for the calls of tiny functions alone
	files []string // compiled along, of bench/c or the repository
	limit float64  // of the ratio, 0 for none
}

// timedVariants are ours and those of others, plain ones first.
var timedVariants = []timedVariant{
	{variant: variant{"plain", "gcc", []string{"gcc"}, ""}},
	{variant: variant{"spike", "cairn spike, every function", []string{"cairn", "cc", "--mode=spike", "--small=0", "gcc"}, "plain"}, limit: 1.12},
	{variant: variant{"spike-default", "cairn spike, as it is by default", []string{"cairn", "cc", "--mode=spike", "gcc"}, "plain"}, limit: 1.05},
	{variant: variant{"spike-flight", "cairn spike, every function, calls recorded", []string{"cairn", "cc", "--mode=spike", "--small=0", "--flight", "gcc"}, "plain"}, limit: 1.3},
	{variant: variant{"spike-exact", "cairn spike, every function, exact clock", []string{"cairn", "cc", "--mode=spike", "--small=0", "--clock=exact", "gcc"}, "plain"}, limit: 7},
	{variant: variant{"stacks", "cairn stacks, with times", []string{"cairn", "cc", "--mode=stacks", "gcc"}, "plain"}, limit: 1.5},
	{variant: variant{"stacks-counts", "cairn stacks, calls alone", []string{"cairn", "cc", "--mode=stacks", "--counts", "gcc"}, "plain"}, limit: 1.4},
	{variant: variant{"stacks-max", "cairn stacks, with the longest calls", []string{"cairn", "cc", "--mode=stacks", "--max", "gcc"}, "plain"}},
	{variant: variant{"trace", "cairn trace, the last 16 MB", []string{"cairn", "cc", "--mode=trace", "gcc"}, "plain"}, limit: 1.8},
	{variant: variant{"trace-64", "cairn trace, the last 64 MB", []string{"cairn", "cc", "--mode=trace", "gcc"}, "plain"}, env: []string{"CAIRN_TRACE=size=64MB"}},
	{variant: variant{"hook", "-finstrument-functions, empty hooks", []string{"gcc", "-finstrument-functions"}, "plain"}, files: []string{"hook.c"}},
	{variant: variant{"trace-all", "cairn trace, all of it", []string{"cairn", "cc", "--mode=trace", "gcc"}, "plain"}, heavy: true, env: []string{"CAIRN_TRACE=file"}, own: true},
	{variant: variant{"mark", "marks by hand that read the TSC", []string{"gcc", "-DMARK"}, "plain"}, own: true},
	{variant: variant{"gprof", "gprof", []string{"gcc", "-pg"}, "plain"}, heavy: true},
	{variant: variant{"uftrace", "uftrace", []string{"gcc", "-pg"}, "plain"}, heavy: true, run: []string{"uftrace", "record", "-d", "uftrace.data"}},
	{variant: variant{"clang", "clang", []string{"clang-22"}, ""}},
	{
		variant: variant{"xray", "XRay FDR, every function", []string{"clang-22", "-fxray-instrument", "-fxray-instruction-threshold=1"}, "clang"},
		heavy:   true, env: xrayEnv, files: []string{xrayStart},
	},
	{
		variant: variant{"xray-default", "XRay FDR, as it is by default", []string{"clang-22", "-fxray-instrument"}, "clang"},
		heavy:   true, env: xrayEnv, files: []string{xrayStart},
	},
}

// xrayStart turns XRay's FDR mode on.
const xrayStart = "../oracle/testdata/xray/fdr.c"

var xrayEnv = []string{"XRAY_OPTIONS=xray_logfile_base=xray.", "XRAY_FDR=func_duration_threshold_us=0 buffer_size=16384 buffer_max=4000"}

// A watched is a variant's program and what its runs cost.
type watched struct {
	*timedVariant
	dir    string
	text   int64
	tiny   bool      // runs the calls of a tiny function, not SQLite
	costs  []float64 // of those: nanoseconds that a call takes more than the plain one
	ratios []float64 // of the processor time of the program's thread to the plain one's
	others []float64 // processor time of other threads and processes, as a share of one core
	log    int64     // bytes that a run left behind
}

// timed measures what it costs to watch every call of SQLite, and writes TIMED.md.
func (b *bench) timed(ctx context.Context) error {
	all := make([]*watched, 0, 2*len(timedVariants))
	for i := range timedVariants {
		v := &timedVariants[i]
		if len(v.run) > 0 {
			if _, err := output(ctx, "", v.run[0], "--version"); err != nil {
				fmt.Fprintln(b.log, "without", v.label)
				continue
			}
		}
		if !v.own {
			all = append(all, &watched{timedVariant: v, dir: filepath.Join(b.out, "timed", v.name)})
		}
		all = append(all, &watched{timedVariant: v, tiny: true, dir: filepath.Join(b.out, "timed", "tiny-"+v.name)})
	}
	if err := both(len(all), func(i int) error {
		fmt.Fprintln(b.log, "building", all[i].name)
		return b.makeTimed(ctx, all[i])
	}); err != nil {
		return err
	}
	for round := range b.rounds {
		fmt.Fprintf(b.log, "round %d of %d\n", round+1, b.rounds)
		for _, w := range all {
			if err := w.pair(ctx, all); err != nil {
				return err
			}
		}
	}
	return b.reportTimed(ctx, all)
}

func (b *bench) makeTimed(ctx context.Context, w *watched) error {
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return err
	}
	argv := append([]string{}, w.cc...)
	if argv[0] == "cairn" {
		argv[0] = b.cairn
	}
	argv = append(argv, optimize, "-w", "-DREPORT_CPU", "-o", filepath.Join(w.dir, "speed"))
	if w.tiny {
		argv = append(argv, filepath.Join(b.root, "proof", "bench", "c", "tiny.c"))
	} else {
		argv = append(argv, filepath.Join(b.out, "speed.c"), filepath.Join(b.out, "sqlite3.c"))
	}
	for _, name := range w.files {
		argv = append(argv, filepath.Join(b.root, "proof", "bench", "c", name))
	}
	if slices.Contains(w.files, xrayStart) {
		argv[len(argv)-1] = filepath.Join(b.root, "proof", "bench", xrayStart)
	}
	if _, err := output(ctx, w.dir, append(argv, "-lm", "-lpthread")...); err != nil {
		return err
	}
	r := &built{variant: &w.variant, path: filepath.Join(w.dir, "speed")}
	if err := r.measureSizes(ctx); err != nil {
		return err
	}
	w.text = r.text
	return nil
}

// pair runs a variant next to its plain program.
func (w *watched) pair(ctx context.Context, all []*watched) error {
	i := w.plainOf(all)
	if i < 0 {
		return nil
	}
	rows := timedRows
	switch {
	case w.tiny && w.heavy:
		rows = heavyCalls
	case w.tiny:
		rows = tinyCalls
	case w.heavy:
		rows = heavyRows
	}
	plain, _, _, err := all[i].once(ctx, rows)
	if err != nil {
		return err
	}
	own, others, wall, err := w.once(ctx, rows)
	if err != nil {
		return err
	}
	w.ratios = append(w.ratios, own/plain)
	w.costs = append(w.costs, (own-plain)/float64(rows)*1e9)
	w.others = append(w.others, others/wall)
	w.log, err = sweep(w.dir)
	return err
}

// plainOf returns which of all is the program that w is measured against, or -1.
func (w *watched) plainOf(all []*watched) int {
	return slices.IndexFunc(all, func(p *watched) bool { return p.name == w.plain && p.tiny == w.tiny })
}

var reportedCPU = regexp.MustCompile(`(?m)^cpu (\d+)$`)

// once runs the program and returns, in seconds, the processor time of its own
// thread, that of all others, and the time that passed.
func (w *watched) once(ctx context.Context, rows int) (own, others, wall float64, err error) {
	argv := append(append([]string{}, w.run...), "./speed", strconv.Itoa(rows), "speed.db")
	cmd := command(ctx, w.dir, append([]string{"CAIRN_DIR=raws"}, w.env...), argv...)
	var talk bytes.Buffer
	cmd.Stderr = &talk
	begin := now()
	if err := cmd.Run(); err != nil {
		return 0, 0, 0, fmt.Errorf("%s: %w: %s", w.name, err, talk.Bytes()[max(0, talk.Len()-1000):])
	}
	wall = now() - begin
	m := reportedCPU.FindSubmatch(talk.Bytes())
	if m == nil {
		return 0, 0, 0, fmt.Errorf("%s did not tell its processor time: %s", w.name, talk.Bytes())
	}
	nanoseconds, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		return 0, 0, 0, err
	}
	own = nanoseconds / 1e9
	state := cmd.ProcessState
	return own, max(0, (state.UserTime()+state.SystemTime()).Seconds()-own), wall, nil
}

// sweep removes what a run left in dir, but for the program, and returns how many
// bytes that took on the disk.
func sweep(dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "speed" || d.Name() == "speed.stripped" {
			return err
		}
		size, err := onDisk(path)
		total += size
		if err != nil {
			return err
		}
		return os.Remove(path)
	})
	return total, err
}

// reportTiny tells what a call costs of itself.
func reportTiny(text *bytes.Buffer, all []*watched) {
	fmt.Fprintf(text, "## Tiny functions\n\n`proof/bench/c/tiny.c`: %s calls of a function of two instructions, %s for those marked *.\n"+
		"Cost: processor time of the program's thread over that of the plain program, for each call, in nanoseconds.\n"+
		"Log: bytes for each call; cairn's logs are of a fixed size but for that of the trace of everything.\n\n",
		thousands(tinyCalls), thousands(heavyCalls))
	rows := [][]string{{"build", "cost of a call, ns", "log, bytes a call"}}
	for _, w := range all {
		if !w.tiny || w.plainOf(all) < 0 {
			continue
		}
		label, calls := w.label, tinyCalls
		if w.heavy {
			label, calls = label+" *", heavyCalls
		}
		rows = append(rows, []string{label, spread(w.costs), fmt.Sprintf("%.1f", float64(w.log)/float64(calls))})
	}
	table(text, rows)
}

func (b *bench) reportTimed(ctx context.Context, all []*watched) error {
	var text bytes.Buffer
	b.writeHead(ctx, &text, "What it costs to watch every call",
		"Processor time as ratios of interleaved pairs of runs, each with the plain\nprogram of the same compiler.", [][]string{
			{"gcc", "gcc", "--version"}, {"clang", "clang-22", "--version"}, {"uftrace", "uftrace", "--version"},
		})
	var targets []target
	for _, w := range all {
		if w.tiny {
			continue
		}
		if w.limit > 0 {
			m := median(w.ratios)
			targets = append(targets, target{w.label, fmt.Sprintf("<= %.2f", w.limit), fmt.Sprintf("%.3f", m), m <= w.limit})
			m = median(w.others)
			targets = append(targets, target{w.label + ": other threads, of one core", "<= 3 %", fmt.Sprintf("%.1f %%", 100*m), m <= 0.03})
		}
	}
	writeTargets(&text, targets)
	fmt.Fprintf(&text, "## SQLite\n\nThe amalgamation and `proof/bench/c/speed.c` at %s, %s rows, %s for those marked *, which are\n"+
		"too slow for more. Time: of the program's own thread, median and range of %d pairs. Others: what\n"+
		"other threads and processes took, as a share of one core. Log: what a run leaves on the disk.\n\n",
		optimize, thousands(timedRows), thousands(heavyRows), b.rounds)
	rows := [][]string{{"build", "text", "growth", "time ratio", "others", "log, KB"}}
	for _, w := range all {
		if w.tiny {
			continue
		}
		i := w.plainOf(all)
		if i < 0 {
			rows = append(rows, []string{w.label, thousands(w.text), "", "", "", ""})
			continue
		}
		label := w.label
		if w.heavy {
			label += " *"
		}
		rows = append(rows, []string{
			label, thousands(w.text), percent(growth(w.text, all[i].text)), spread(w.ratios),
			fmt.Sprintf("%.1f %%", 100*median(w.others)), thousands(w.log / 1024),
		})
	}
	table(&text, rows)
	reportTiny(&text, all)
	if _, err := os.Stdout.Write(text.Bytes()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.root, "bench", "TIMED.md"), text.Bytes(), 0o644)
}
