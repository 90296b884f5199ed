// Command bench measures the cost of cairn and the speed of merging, next to the tools of
// gcc and LLVM, and reports which of the project's targets are met. Run it with make
// bench, from the root of the repository: it works in proof/bench/out and writes
// bench/RESULTS.md, and of some parts reports of their own beside it.
package main

import (
	"bytes"
	"context"
	"embed"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cairnprof/cairn/internal/shorttest"
)

//go:embed c/speed.c c/small.c c/calls.c c/stall.c c/stalled.go.txt c/goroutines.go.txt
var sources embed.FS

// bench is one run of the benchmark: where it works and what it has found.
type bench struct {
	root, out string   // absolute
	cairn     string   // the program under test
	revision  string   // that it was built from
	guests    []string // programs of startup
	rounds    int      // interleaved pairs for each ratio
	traceRows int      // of trace
	log       io.Writer
	// The builds of missing whose name has this, and whether what was recorded of
	// them stays.
	missingOnly string
	missingKeep bool
	stallsOnly  string // the server of stalls; "": all
	goBuild     bool   // of go, programs are built, and not measured
	goKeep      bool   // of go, programs of an earlier run are measured
	goTimes     bool   // of go, builds are measured
	goGuests    string // of go, the programs to build and measure now, separated by commas; "": all
	goOnly      string // of go, the builds, separated by commas; "": all
	fleets      fleetFlags
	clocked     clockFlags
	report      bytes.Buffer // Markdown
	targets     []target
}

// parts are the measurements in the order of the report.
var parts = []struct {
	name string
	run  func(*bench, context.Context) error
	own  bool // it writes a report of its own
}{
	{"sqlite", (*bench).sqlite, false},
	{"build", (*bench).buildTime, false},
	{"small", (*bench).small, false},
	{"merge", (*bench).merge, false},
	{"startup", (*bench).startup, true},
	{"trace", (*bench).trace, true},
	{"logs", (*bench).logs, true},
	{"timed", (*bench).timed, true},
	{"profgen", (*bench).profgen, true},
	{"copies", (*bench).copies, true},
	{"missing", (*bench).missing, true},
	{"recorder", (*bench).recorder, true},
	{"addresses", (*bench).addresses, true},
	{"download", (*bench).download, true},
	{"fleet", (*bench).fleet, true},
	{"go", (*bench).goPrograms, true},
	{"stalls", (*bench).stalls, true},
	{"clock", (*bench).clockPart, true},
}

func main() {
	b := &bench{log: os.Stderr}
	only := flag.String("parts", "sqlite,build,small,merge,startup,trace,logs,timed,profgen,copies,missing,recorder,addresses,download,fleet,go,stalls", "what to measure; startup writes STARTUP.md, trace TRACE.md, logs LOGS.md, timed TIMED.md, profgen PROFGEN.md, copies COPIES.md, missing MISSING.md, recorder RECORDER.md, addresses ADDRESSES.md, download DOWNLOAD.md, fleet FLEET.md, go GO.md, stalls STALLS.md, clock (only if it is named) CLOCK.md, all others together RESULTS.md")
	flag.IntVar(&b.traceRows, "trace-rows", defaultTraceRows, "rows of the workload whose trace is the largest but one; the report is kept only of the default")
	flag.IntVar(&b.rounds, "rounds", 7, "interleaved pairs of runs behind each time ratio")
	flag.StringVar(&b.missingOnly, "missing-only", "", "of missing, the builds whose name has this, as \"Lua gcc -O2\"; the report is kept only of all")
	flag.BoolVar(&b.missingKeep, "missing-keep", false, "of missing, keep the recordings and judge those that are there, for work on the rules")
	flag.StringVar(&b.stallsOnly, "stalls-only", "", "of stalls, the `server`; the report is kept only of all")
	flag.StringVar(&b.fleets.builds, "fleet-builds", defaultFleetBuilds, "of fleet, the numbers of builds that are sent, separated by commas")
	flag.StringVar(&b.fleets.sizes, "fleet-sizes", defaultFleetSizes, "of fleet, the numbers of runs that are sent, separated by commas; the report is kept only of the default")
	flag.BoolVar(&b.goBuild, "go-build", false, "of go, build the programs and measure no runs")
	flag.BoolVar(&b.goKeep, "go-keep", false, "of go, measure the programs that an earlier run built, if there are any")
	flag.StringVar(&b.goGuests, "go-guests", "", "of go, the programs to build and measure now, separated by commas; of the others what was measured last is reported; default: all")
	flag.BoolVar(&b.goTimes, "go-times", true, "of go, measure how long builds take")
	flag.StringVar(&b.goOnly, "go-only", "", "of go, the builds to measure, separated by commas, with plain; default: all")
	flag.StringVar(&b.clocked.steps, "clock-steps", "build,model,series", "of clock, what to do before the report of all that was measured so far: build, model or series, separated by commas")
	flag.StringVar(&b.clocked.dir, "clock-dir", "", "of clock, the `directory` of builds and of what was measured, where those that are there are kept; default: proof/bench/out/clock")
	flag.StringVar(&b.clocked.guests, "clock-guests", "", "of clock, the programs, separated by commas; default: all")
	flag.StringVar(&b.clocked.compilers, "clock-compilers", "gcc,clang", "of clock, the compilers, separated by commas")
	flag.DurationVar(&b.clocked.series, "clock-series", 12*time.Minute, "of clock, how long the series takes, which is to run alone on the machine")
	flag.IntVar(&b.clocked.cpu, "clock-cpu", 1, "of clock, the `number` of the processor that the programs of a series run on")
	programs := flag.String("guests", "sqlite3,git,python,cost", "what startup measures now; of the rest it takes what it measured last")
	flag.Parse()
	b.guests = strings.Split(*programs, ",")
	if err := b.run(context.Background(), strings.Split(*only, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context, only []string) error {
	if err := b.setUp(ctx); err != nil {
		return err
	}
	done, reported, all := 0, 0, 0
	for _, p := range parts {
		if !p.own {
			all++
		}
		if !slices.Contains(only, p.name) {
			continue
		}
		fmt.Fprintf(b.log, "== %s\n", p.name)
		if err := p.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		done++
		if !p.own {
			reported++
		}
	}
	if done < len(only) || done == 0 {
		return fmt.Errorf("-parts=%s: there is sqlite, build, small, merge, startup, trace, logs, timed, profgen, copies, missing, recorder, addresses, download, fleet, go, stalls and clock", strings.Join(only, ","))
	}
	if reported == 0 {
		return nil
	}
	var text bytes.Buffer
	b.writeHead(ctx, &text, "What cairn costs", headNotes, headTools)
	writeTargets(&text, b.targets)
	text.Write(b.report.Bytes())
	if _, err := os.Stdout.Write(text.Bytes()); err != nil || reported < all {
		return err
	}
	return os.WriteFile(filepath.Join(b.root, "bench", "RESULTS.md"), text.Bytes(), 0o644)
}

// setUp makes proof/bench/out with the C sources and the program under test.
func (b *bench) setUp(ctx context.Context) error {
	var err error
	if b.root, err = shorttest.Source(ctx); err != nil {
		return err
	}
	b.out = filepath.Join(b.root, "proof", "bench", "out")
	b.cairn = filepath.Join(b.out, "cairn")
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	if b.revision, err = output(ctx, b.root, "git", "describe", "--always", "--dirty"); err != nil {
		b.revision = "unknown"
	}
	// Nothing of the machine's own settings or caches has a say.
	for name, value := range map[string]string{"CAIRN_CACHE": filepath.Join(b.out, "cache"), "CGO_ENABLED": "0", "LC_ALL": "C"} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	if _, err := output(ctx, b.root, "go", "build", "-trimpath", "-o", b.cairn, "./cmd/cairn"); err != nil {
		return err
	}
	if _, err := output(ctx, b.root, "scripts/sqlite.sh", b.out); err != nil {
		return err
	}
	// The programs that are unpacked here are no packages of ours.
	if err := os.WriteFile(filepath.Join(b.out, "go.mod"), []byte("module out\n"), 0o644); err != nil {
		return err
	}
	for _, name := range []string{"speed.c", "small.c", "calls.c"} {
		text, err := sources.ReadFile("c/" + name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(b.out, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
