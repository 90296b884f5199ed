// Package gocmd has the command that builds Go programs with probes.
package gocmd

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/gobuild"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// flags are the flags of cairn go itself.
type flags struct {
	mode      string
	only      []string
	atomic    bool
	threshold time.Duration
	small     int // -1: the mode's default
	quiet     bool
	all       bool
	flight    bool // refused
}

const goHelp = `go runs the go command with its own arguments and adds probes to the functions of the
program. It edits no file of the module: it runs cairn in place of the compiler and the
linker (go build -toolexec). Go's build cache keeps instrumented packages under separate
keys, so builds without cairn are not affected. The first build compiles the standard
library again.

The modes:
  cover  which functions ran
  count  how often each function was called, and the order of first calls
  order  which functions ran, and the order in which they were first executed
  block  which blocks of the source ran
  spike  single calls that took longer than a threshold, with their stacks
  stacks how often and how long functions were called, by stack and goroutine
  trace  each call, its beginning and its end, and each wait, by goroutine

Probes do not change which functions the compiler inlines. Function literals in functions have
no record of their own; in mode block their blocks belong to the enclosing function. A function
that was inlined everywhere has no code, but it has a record and is listed. Functions that the
linker dropped, and those of packages that no test program contains, count as not run. Packages of the
main module that go build leaves out are named, and count with --all-packages. In modes spike, stacks
and trace function literals have probes of their own, and functions that the compiler can
inline have none: their time is part of their caller's.

--only selects the packages that get probes, by import path patterns of the go command: ...
matches any string, std is the standard library, all is everything. The default is the main
module, or all modules of the workspace. Tests, assembly, C, package runtime and the packages
that runtime imports get no probes.

The program writes one raw file per process, as programs of cairn cc do. The file is mapped
into memory and so is valid at any time, however the program ends:
  CAIRN_DIR=DIR           the directory for raw files; created if missing
  CAIRN_SCENARIO=NAME     a name for what is run; stored with the run's order
Merge the files with the program, which contains the map. The go command removes the
programs that it builds for run and test: for these, the map is written to CAIRN_DIR as
NAME.BUILDID.debug.

In modes spike, stacks and trace the program writes a log instead, for cairn spikes, or for
cairn stacks and the other commands for logs. Of programs that the go command removes,
NAME.BUILDID.debug is then a complete copy, which names functions. Environment variables of the program:
  CAIRN_SPIKE=threshold=5ms   the threshold of this run; off records nothing
  CAIRN_TRACE=size=64MB       mode trace keeps the last 64 MB of events (default: 16MB, a
                              million calls)
  CAIRN_TRACE=file            mode trace keeps all events
  CAIRN_TRACE=keep=20ms       mode trace also keeps the events during calls of 20 ms or more

Mode count is exact on Linux 5.9 or later on x86-64, where each processor has its own counters.
Elsewhere it loses counts without --atomic if goroutines call a function at the same time on
several processors. In builds with -race all counts are atomic. Builds with -cover are not
instrumented, because Go's own counters are at the same places.

To instrument builds that other tools start, put this into GOFLAGS, with the path of cairn:
  '-toolexec=/usr/bin/cairn go-toolexec --mode=cover --only=example.com/app/...'

Go 1.25 and 1.26 are supported, for Linux, macOS and Windows on amd64 and arm64. Plugins and
C archives are built without probes, and C libraries (-buildmode=c-shared) in modes spike,
stacks and trace.`

// Go returns the command cairn go.
func Go(s *verb.Streams) *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "go [flags] build|install|run|test [ARGS...]",
		Short: "Run the go command and instrument the program that it builds",
		Long:  goHelp,
		Example: `  cairn go build -o app ./cmd/app
  CAIRN_DIR=raws ./app
  cairn merge -o app.mip app raws
  cairn go --mode block test ./...
  cairn go --mode spike --threshold 5ms run ./cmd/app && cairn spikes .
  cairn go --mode count --only example.com/app/...,golang.org/x/text/... build .`,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), s, args)
		},
	}
	c.Flags().SetInterspersed(false)
	c.Flags().StringVar(&f.mode, "mode", "cover", "what to record: cover, count, order, block, spike, stacks or trace")
	c.Flags().StringSliceVar(&f.only, "only", nil, "instrument only packages that match these `patterns`; default: the main module")
	c.Flags().BoolVar(&f.atomic, "atomic", false, "count calls by atomic instructions, in mode count")
	c.Flags().DurationVar(&f.threshold, "threshold", 0, "minimum duration of a spike, in mode spike; default: 10ms")
	c.Flags().IntVar(&f.small, "small", -1, "omit functions with fewer than `n` syntax nodes and no loop that call nothing that can block,\nin modes spike (default: 200), stacks and trace (default: 0)")
	c.Flags().Lookup("small").DefValue = "0" // the usage states the default of each mode
	c.Flags().BoolVar(&f.flight, "flight", false, "")
	_ = c.Flags().MarkHidden("flight")
	c.Flags().BoolVar(&f.all, "all-packages", false, "with build and install: write the map of the packages of the main module that no program contains, so that\nthey count as not run")
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print no summary")
	return c
}

// config returns what the flags say; without --only it has no patterns.
func (f *flags) config() (gobuild.Config, error) {
	mode, ok := prof.ParseMode(f.mode)
	if !ok || !gobuild.Supported(mode) {
		return gobuild.Config{}, verb.Usagef("go: --mode %s: the modes for Go programs are %s", f.mode, gobuild.Modes)
	}
	if f.flight {
		return gobuild.Config{}, verb.Usagef("go: --flight is for native programs; mode trace records the last calls, and those during calls that took long with CAIRN_TRACE=keep=20ms")
	}
	if f.atomic && mode != prof.ModeCount {
		return gobuild.Config{}, verb.Usagef("go: --atomic is for mode count")
	}
	if f.threshold != 0 && mode != prof.ModeSpike {
		return gobuild.Config{}, verb.Usagef("go: --threshold is for mode spike")
	}
	if f.threshold < 0 {
		return gobuild.Config{}, verb.Usagef("go: --threshold %s: a duration above 0 is expected", f.threshold)
	}
	for _, p := range f.only {
		if p == "" || strings.ContainsAny(p, " \t\"'") || strings.HasPrefix(p, ".") {
			return gobuild.Config{}, verb.Usagef("go: --only %q: a pattern of import paths is expected, such as example.com/app/...", p)
		}
	}
	small := f.small
	switch {
	case small < -1 || small >= 0 && !mode.Timed():
		return gobuild.Config{}, verb.Usagef("go: --small %d: a number is expected, in mode spike, stacks or trace", small)
	case small < 0:
		small = gobuild.DefaultSmall(mode)
	}
	return gobuild.Config{Mode: mode, Atomic: f.atomic, Only: f.only, Threshold: f.threshold, Small: small}, nil
}

// command is a command line of the go command: NAME [-C DIR] ARGS.
type command struct {
	name string
	dir  []string // -C and its value, or nothing
	args []string
}

// parse splits the arguments after the flags of cairn go.
func parse(args []string) (command, error) {
	if len(args) == 0 {
		return command{}, verb.Usagef("go: no command given; use: cairn go build ./...")
	}
	c := command{name: args[0], args: args[1:]}
	switch c.name {
	case "build", "install", "run", "test":
	default:
		return c, verb.Usagef("go: %s: the commands are build, install, run and test; for others use go itself", c.name)
	}
	if len(c.args) > 0 {
		first := strings.Replace(c.args[0], "--", "-", 1)
		switch {
		case first == "-C" && len(c.args) > 1:
			c.dir, c.args = c.args[:2], c.args[2:]
		case strings.HasPrefix(first, "-C="):
			c.dir, c.args = c.args[:1], c.args[1:]
		}
	}
	return c, nil
}

// hasFlag reports whether a flag of the go command is set, in its arguments before those of a
// program, or in GOFLAGS.
func (c *command) hasFlag(goflags string, names ...string) bool {
	for _, arg := range append(strings.Fields(goflags), c.args...) {
		arg = strings.Trim(arg, `'"`)
		if arg == "--" || arg == "-args" || arg == "--args" || c.name == "run" && isPackage(arg) {
			return false // the rest is for the program
		}
		if !strings.HasPrefix(arg, "-") {
			continue
		}
		name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if slices.Contains(names, name) && value != "false" && value != "0" {
			return true
		}
	}
	return false
}

// ownFlag returns a flag of cairn that was given among those of go build or install, and that the go command does not know.
// Those of test may be for the test, and those of run for the program.
func (c *command) ownFlag() string {
	if c.name != "build" && c.name != "install" {
		return ""
	}
	for _, name := range []string{"mode", "only", "threshold", "small", "atomic", "all-packages", "quiet"} {
		if c.hasFlag("", name) {
			return name
		}
	}
	return ""
}

// isPackage reports whether an argument of go run is a package or a file.
func isPackage(arg string) bool {
	return !strings.HasPrefix(arg, "-") && (strings.HasSuffix(arg, ".go") || strings.HasPrefix(arg, ".") || strings.Contains(arg, "/"))
}

// line returns the arguments of the go command with the flag -toolexec.
func (c *command) line(self string, cfg gobuild.Config) []string {
	args := append([]string{c.name}, c.dir...)
	return append(append(args, "-toolexec="+toolexec(self, cfg)), c.args...)
}

// toolexec returns the value of the flag -toolexec.
func toolexec(self string, cfg gobuild.Config) string {
	words := quote(self)
	for _, a := range cfg.Args() {
		words += " " + quote(a)
	}
	return words
}

// quote quotes a word for the go command, which splits the value of -toolexec at blanks.
func quote(word string) string {
	if !strings.ContainsAny(word, " \t\n'\"") {
		return word
	}
	if strings.Contains(word, "'") {
		return `"` + word + `"`
	}
	return "'" + word + "'"
}

// patternsOf returns the patterns of packages for modules.
func patternsOf(modules string) (patterns []string) {
	for _, m := range strings.Fields(modules) {
		patterns = append(patterns, m+"/...")
	}
	return patterns
}

// remote returns the package of a command that builds path@version, "" for others.
func (c *command) remote() string {
	for _, a := range c.args {
		if path, _, ok := strings.Cut(a, "@"); ok && !strings.HasPrefix(a, "-") && path != "" {
			return path
		}
	}
	return ""
}
