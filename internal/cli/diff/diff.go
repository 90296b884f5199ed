// Package diff has the command that compares two profiles, or two logs of calls.
package diff

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/cli/profile"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/output/difflist"
	"github.com/cairnprof/cairn/internal/profile/profdiff"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

type diffFlags struct {
	verb.DisplayFlags
	prefixes profile.PrefixMaps
	check    bool
	top      int
	logs     stackDiffFlags
}

// Diff returns the command cairn diff.
func Diff(s *verb.Streams) *cobra.Command {
	var f diffFlags
	c := &cobra.Command{
		Use:   "diff A [PROGRAM...] B [PROGRAM...]",
		Short: "Compare two profiles or two logs of calls",
		Long: `diff compares two profiles. It lists the functions that only one of them covered, the
functions that ran through other blocks, and the functions whose number of calls per
run changed. Functions of different builds are matched by name and source file, of
which --prefix-map replaces the beginning for builds in different directories;
"changed" marks functions with a different control flow, whose blocks cannot be
compared. With --check the exit code is 1 if B misses a function or a block that A
covered and that B's build still has.

Given two logs of calls, diff lists the functions and stacks whose time changed, and
the stacks that only one log has. Functions are matched by name along the whole
stack, so the logs may be of different builds. A program among the arguments names the
functions of both; with one after each log, that is the program of the log. A quoted pattern stands for several logs, whose mean is used.`,
		Example: `  cairn diff --check before.mip after.mip
  cairn diff old.log old/app new.log new/app --flame diff.html`,
		Args: func(c *cobra.Command, args []string) error {
			return verb.ExactFiles("diff", "two profiles, or two logs of calls", 2, 2)(c, f.logs.take(args))
		},
		RunE: func(c *cobra.Command, _ []string) error {
			args := f.logs.inputs
			logs, err := areLogs(s, args)
			switch {
			case err != nil:
				return err
			case logs:
				return f.runLogs(c.Context(), c, s, args)
			}
			return f.run(s, args[0], args[1])
		},
	}
	f.Register(c)
	c.Flags().BoolVar(&f.check, "check", false, "exit with 1 if B misses functions or blocks that A covered")
	c.Flags().IntVar(&f.top, "top", 20, "list `n` functions whose calls changed, or for logs n entries of each list; 0 for all")
	f.prefixes.Register(c)
	f.logs.register(c)
	f.RegisterShort(c)
	verb.OtherWord(c, "top", "limit")
	return c
}

func (f *diffFlags) run(s *verb.Streams, pathA, pathB string) error {
	if err := f.logs.forProfiles(); err != nil {
		return err
	}
	style, err := f.Style(s)
	if err != nil {
		return err
	}
	r, err := compareProfiles(s, pathA, pathB, &f.prefixes)
	if err != nil {
		return err
	}
	d := &difflist.Profiles{Result: r, Show: f.Names(), Top: f.top}
	if f.Json {
		err = d.WriteJSON(s.Out)
	} else {
		err = d.WriteText(s.Out, style)
	}
	if err == nil && f.check && r.Missing() {
		return fmt.Errorf("%s misses what %s covered: %d functions, and blocks of %d", pathB, pathA, len(r.OnlyA), d.LostBlocks())
	}
	return err
}

// compareProfiles reads two profiles and compares them.
func compareProfiles(s *verb.Streams, pathA, pathB string, prefixes *profile.PrefixMaps) (*profdiff.Result, error) {
	defer verb.Working(s, "comparing %s and %s", pathA, pathB)()
	a, err := gather.Read(pathA)
	if err != nil {
		return nil, err
	}
	b, err := gather.Read(pathB)
	if err != nil {
		return nil, err
	}
	for i, p := range []*prof.Profile{a, b} {
		for k := range p.Modules {
			if err := gather.NoEstimates([]string{pathA, pathB}[i], &p.Modules[k]); err != nil {
				return nil, err
			}
		}
		if err := prefixes.Apply(p); err != nil {
			return nil, err
		}
	}
	return profdiff.Profiles(a, b), nil
}
