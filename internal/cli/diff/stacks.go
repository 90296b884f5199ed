package diff

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/calls/stackdiff"
	"github.com/cairnprof/cairn/internal/cli/calls"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/page/single"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// stackDiffFlags are the flags of cairn diff that apply to logs of calls only.
type stackDiffFlags struct {
	logset.Choice
	mapsA, mapsB []string
	inputs       []string // A and B, of the arguments
	sort         string
	flame        string
	all          *pflag.FlagSet // these flags
}

func (f *stackDiffFlags) register(c *cobra.Command) {
	own := &cobra.Command{}
	calls.RegisterLogs(own, &f.Choice)
	f.all = own.Flags()
	f.all.StringArrayVar(&f.mapsA, "map-a", nil, "name functions of A only by this `file`, as --map does")
	f.all.StringArrayVar(&f.mapsB, "map-b", nil, "name functions of B only by this `file`, as --map does")
	f.all.StringVar(&f.sort, "sort", "self", "order by the change of this `key`: self, total or calls")
	f.all.StringVar(&f.flame, "flame", "", "draw the change as a flame graph to this `file`, .html or .svg")
	f.all.VisitAll(func(flag *pflag.Flag) {
		flag.Usage = "for logs: " + flag.Usage
		c.Flags().AddFlag(flag)
		verb.Group(c, "For logs of calls", flag.Name)
	})
	verb.Seldom(c, "thread", "process", "depth", "longer")
	verb.Hide(c, "map-a", "map-b")
}

// take returns the two inputs among the arguments, and keeps what names the functions of logs: of one, if it comes
// directly after that log and the other has such names as well, otherwise of both.
func (f *stackDiffFlags) take(args []string) (inputs []string) {
	if inputs, _ = logset.SplitNames(args); len(inputs) < 2 {
		inputs, _ = verb.SplitBinaries(args) // of profiles, which may be in directories and in YAML
	}
	f.inputs = inputs
	var after [3][]string // by the number of inputs before them
	seen := 0
	for _, arg := range args {
		if seen < len(inputs) && arg == inputs[seen] {
			seen++
			continue
		}
		at := min(seen, len(after)-1)
		after[at] = append(after[at], arg)
	}
	if len(after[1]) > 0 && len(after[2]) > 0 {
		f.mapsA = append(append(f.mapsA, after[0]...), after[1]...)
		f.mapsB = append(append(f.mapsB, after[0]...), after[2]...)
	} else {
		f.Maps = append(f.Maps, slices.Concat(after[:]...)...)
	}
	return inputs
}

// forProfiles returns an error if a flag for logs was given.
func (f *stackDiffFlags) forProfiles() (err error) {
	f.all.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed && err == nil {
			err = verb.Usagef("--%s is only for logs of calls, not for profiles", flag.Name)
		}
	})
	for _, path := range slices.Concat(f.Maps, f.mapsA, f.mapsB) {
		if err == nil {
			err = verb.Usagef("diff: %s names functions of logs of calls, and these are profiles", path)
		}
	}
	return err
}

// A diffSide is the logs of one side of a comparison.
type diffSide struct {
	label string
	trie  *calltrie.Trie
	set   *logset.Set
}

// logDiff is a comparison of logs on its way to the output.
type logDiff struct {
	*stackdiff.Result
	a, b  diffSide
	key   stackdiff.Key
	unit  string
	names *report.Names
	limit int // of each list; 0 for none
}

// areLogs reports whether the arguments of cairn diff, files or patterns, are logs of calls.
// It is an error if only one of them is.
func areLogs(s *verb.Streams, args []string) (bool, error) {
	var logs, others []string
	for _, arg := range args {
		if logset.HoldsLogs(arg) {
			logs = append(logs, arg)
			continue
		}
		paths, err := logfile.Expand([]string{arg})
		if err != nil {
			return false, err
		}
		if len(paths) > 0 && (verb.IsStream(paths[0]) || logset.IsLog(paths[0], s)) {
			logs = append(logs, arg)
		} else {
			others = append(others, arg)
		}
	}
	if len(logs) > 0 && len(others) > 0 {
		return false, fmt.Errorf("%s is a log of calls and %s is not: they cannot be compared", logs[0], others[0])
	}
	return len(logs) > 0, nil
}

func (f *diffFlags) runLogs(ctx context.Context, c *cobra.Command, s *verb.Streams, args []string) error {
	style, err := f.Style(s)
	if err != nil {
		return err
	}
	if f.prefixes.Given() {
		return verb.Usagef("--prefix-map is for profiles: functions of logs are matched by name")
	}
	d := &logDiff{names: f.Names(), limit: f.top}
	switch f.logs.sort {
	case "self":
		d.key = stackdiff.Self
	case "total":
		d.key = stackdiff.Total
	case "calls":
		d.key = stackdiff.Calls
	default:
		return verb.Usagef("--sort %s: must be self, total or calls", f.logs.sort)
	}
	if f.check {
		return verb.Usagef("--check is only for profiles, not for logs of calls")
	}
	if err := f.logs.compare(ctx, s, d, args); err != nil {
		return err
	}
	defer d.a.set.Close()
	defer d.b.set.Close()
	if d.a.set.Known(f.logs.sort) == "calls" || d.b.set.Known(f.logs.sort) == "calls" {
		d.key = stackdiff.Calls
	}
	if f.logs.flame != "" {
		if err := d.writeFlame(s, f.logs.flame); err != nil {
			return err
		}
	}
	if f.Json {
		if !c.Flags().Changed("top") {
			d.limit = 0
		}
		return d.writeJSON(s.Out)
	}
	return d.writeText(s.Out, style)
}

// compare opens and accounts both sides and compares them.
func (f *stackDiffFlags) compare(ctx context.Context, s *verb.Streams, d *logDiff, args []string) (err error) {
	sides := [2]*diffSide{&d.a, &d.b}
	defer func() {
		for _, side := range sides {
			if err != nil && side.set != nil {
				side.set.Close()
			}
		}
	}()
	for i, maps := range [2][]string{f.mapsA, f.mapsB} {
		flags := f.Choice
		flags.Sums = true
		if len(maps) > 0 {
			flags.Maps = maps
		}
		side := sides[i]
		if side.set, err = flags.Open(s, args[i:i+1], d.names); err != nil {
			return err
		}
		results, err := side.set.Account(ctx, flags.Options)
		if err != nil {
			return err
		}
		side.trie, side.label = logset.Merged(results), args[i]
	}
	both := append(append([]calllog.Log{}, d.a.set.Logs...), d.b.set.Logs...)
	if _, err := logset.CommonClock(both); err != nil {
		return err
	}
	d.unit = d.a.set.Clock.Unit()
	if d.a.set.Maps == 0 || d.b.set.Maps == 0 {
		verb.Note(s, "functions without names are matched by function id, which is valid only within one build (programs among the arguments name them)")
	}
	side := func(x *diffSide) stackdiff.Side {
		return stackdiff.Side{Trie: x.trie, Name: x.set.Symbol, Runs: len(x.set.Logs)}
	}
	d.Result = stackdiff.Tries(side(&d.a), side(&d.b))
	return nil
}

// writeFlame draws both sides as one flame graph.
func (d *logDiff) writeFlame(s *verb.Streams, path string) error {
	doc := &flamegraph.Diff{
		Title: fmt.Sprintf("%s and %s", filepath.Base(d.a.label), filepath.Base(d.b.label)),
		Unit:  d.unit, Before: d.a.label, After: d.b.label,
	}
	if a, b := len(d.a.set.Logs), len(d.b.set.Logs); a > 1 || b > 1 {
		doc.Notes = append(doc.Notes, fmt.Sprintf("Calls and times are means of %s and of %s.", report.Plural(a, "log"), report.Plural(b, "log")))
	}
	for _, name := range d.Names {
		doc.Names = append(doc.Names, d.names.Show(name))
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		doc.Nodes = append(doc.Nodes, flamegraph.DiffNode{
			Func: n.Func, Parent: n.Parent,
			A: meanStats(n.StatsA, &n.A), B: meanStats(n.StatsB, &n.B),
		})
	}
	draw := single.Flame
	if strings.HasSuffix(path, ".svg") {
		draw = flamegraph.WriteSVG
	}
	err := verb.WriteFile(s, path, func(w io.Writer) error {
		_, err := draw(w, doc, flamegraph.Options{})
		return err
	})
	if err == nil && path != "-" {
		verb.Note(s, "wrote the flame graph to %s", path)
	}
	return err
}

// meanStats returns the statistics of a stack, nil if a side has none, with the mean over the
// runs.
func meanStats(s *calltrie.Stats, mean *stackdiff.Values) calltrie.Stats {
	if s == nil {
		return calltrie.Stats{}
	}
	out := *s
	out.Calls, out.Total, out.Self = roundedUp(mean.Calls), roundedUp(mean.Total), roundedUp(mean.Self)
	return out
}

func roundedUp(x float64) uint64 { return uint64(math.Ceil(x)) }
