package diff

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/stackdiff"
	"github.com/cairnprof/cairn/internal/cli/calls"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/output/difflist"
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
	d := &difflist.Logs{Show: f.Names(), Limit: f.top}
	switch f.logs.sort {
	case "self":
		d.Key = stackdiff.Self
	case "total":
		d.Key = stackdiff.Total
	case "calls":
		d.Key = stackdiff.Calls
	default:
		return verb.Usagef("--sort %s: must be self, total or calls", f.logs.sort)
	}
	if f.check {
		return verb.Usagef("--check is only for profiles, not for logs of calls")
	}
	if err := f.logs.compare(ctx, s, d, args); err != nil {
		return err
	}
	defer d.SideA.Set.Close()
	defer d.SideB.Set.Close()
	if d.SideA.Set.Known(f.logs.sort) == "calls" || d.SideB.Set.Known(f.logs.sort) == "calls" {
		d.Key = stackdiff.Calls
	}
	if f.logs.flame != "" {
		if err := d.WriteFlame(s, f.logs.flame); err != nil {
			return err
		}
	}
	if f.Json {
		if !c.Flags().Changed("top") {
			d.Limit = 0
		}
		return d.WriteJSON(s.Out)
	}
	return d.WriteText(s.Out, style)
}

// compare opens and accounts both sides and compares them.
func (f *stackDiffFlags) compare(ctx context.Context, s *verb.Streams, d *difflist.Logs, args []string) (err error) {
	sides := [2]*difflist.Side{&d.SideA, &d.SideB}
	defer func() {
		for _, side := range sides {
			if err != nil && side.Set != nil {
				side.Set.Close()
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
		if side.Set, err = flags.Open(s, args[i:i+1], d.Show); err != nil {
			return err
		}
		results, err := side.Set.Account(ctx, flags.Options)
		if err != nil {
			return err
		}
		side.Trie, side.Label = logset.Merged(results), args[i]
	}
	both := append(append([]calllog.Log{}, d.SideA.Set.Logs...), d.SideB.Set.Logs...)
	if _, err := logset.CommonClock(both); err != nil {
		return err
	}
	d.Unit = d.SideA.Set.Clock.Unit()
	if d.SideA.Set.Maps == 0 || d.SideB.Set.Maps == 0 {
		verb.Note(s, "functions without names are matched by function id, which is valid only within one build (programs among the arguments name them)")
	}
	side := func(x *difflist.Side) stackdiff.Side {
		return stackdiff.Side{Trie: x.Trie, Name: x.Set.Symbol, Runs: len(x.Set.Logs)}
	}
	d.Result = stackdiff.Tries(side(&d.SideA), side(&d.SideB))
	return nil
}
