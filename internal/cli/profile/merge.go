package profile

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

type mergeFlags struct {
	profile, output string
	strict, json    bool
	again, join     bool
	onlyRan, allow  bool
	prefixes        PrefixMaps
	traces          runFlags
}

// Merge returns the command cairn merge.
func Merge(s *verb.Streams) *cobra.Command {
	var f mergeFlags
	c := &cobra.Command{
		Use:   "merge -o FILE.mip FILE|DIR|@LIST...",
		Short: "Merge raw files and profiles into a profile",
		Long: `merge adds raw files and other profiles to a profile.

It writes a profile of the modules whose binaries or maps, or profiles with them, are
among the files. A profile that is among the files and that of -o as well is updated in
place; the old file stays valid until the new one is complete.

Files are recognised by their content: raw files, packs of raw files (.mippack),
profiles (.mip), maps of functions (.mipmap), binaries. A directory stands for all .mipraw and
.mippack files below it, and for all programs, libraries and maps with probes, those
that no test ran as well: their functions did not run. --only-ran leaves those without
runs out. Copies of a binary count once. @LIST is a file with a path on each line. A
file that is named twice counts once.

Of each run in a mode that records the order of first executions (all but cover and
block) the order is stored, with the name of its scenario, from CAIRN_SCENARIO or
--scenario. Of more than --orders runs a uniform sample is stored; the same --seed
gives the same sample.

A profile records which runs it contains. Runs merged a second time are omitted, with
a note, unless --again is given. Up to 8,192 runs of a module are recorded exactly,
more by a sketch: with a million runs in it, one in a million new runs is wrongly
omitted. Two profiles that share some runs, where neither contains all runs of the
other, cannot be merged. A mapped raw file of a process that is still running counts
as a run, too: merge it after the process has ended.

With --join, modules with the same name become one. Functions are matched by name,
file and control flow, not by build id: use it for variants built with cairn cc
--groups, or builds in which most functions did not change. For functions that did
change, the version of the first profile is kept. Counts of runs are those of all builds
together. --prefix-map gives the directories of builds in different places one name.

Raw files of other builds, damaged raw files and other files that cannot be used are
reported and omitted; if there are many, FILE.mip.refused lists all names. The profile is
written, and the exit code is 3, or 0 with --allow-omitted. With --strict nothing is
written, and the exit code is 1. If no raw file is valid, merge always fails.`,
		Example: `  cairn merge -o app.mip app raws/ more/*.mipraw
  cairn create -o new.mip app && cairn merge -o new.mip new.mip raws/
  cairn merge -o all.mip monday.mip tuesday.mip`,
		Args: verb.ExactFiles("merge", "raw files or directories", 1, -1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), s, args) },
	}
	c.Flags().StringVarP(&f.profile, "profile", "p", "", "add to this profile, a .mip `file`, in place")
	verb.Hide(c, "profile")
	c.Flags().StringVarP(&f.output, "output", "o", "", "write this profile, a .mip `file`, or - for standard output; one that is\nalso an input is added to in place")
	f.traces.register(c)
	c.Flags().BoolVar(&f.strict, "strict", false, "fail, and write nothing, if any file cannot be merged")
	c.Flags().BoolVar(&f.allow, "allow-omitted", false, "exit with 0 if files were omitted, rather than with 3")
	c.Flags().BoolVar(&f.onlyRan, "only-ran", false, "of the binaries below directories, use only those that have runs")
	c.Flags().BoolVar(&f.again, "again", false, "merge runs again that the profile already contains")
	c.Flags().BoolVar(&f.join, "join", false, "join builds of one program into one module, matching functions by their code")
	f.prefixes.Register(c)
	c.Flags().BoolVar(&f.json, "json", false, "print a summary as JSON")
	verb.Rules(c, verb.OnlyOne("strict", "allow-omitted"), verb.Needs("prefix-map", "join").Because("it matches functions by their source files"))
	return c
}

// check returns an error if outputs are missing, or exclude each other.
func (f *mergeFlags) check() error {
	switch {
	case (f.profile == "") == (f.output == ""):
		return verb.Usagef("merge: give -o FILE.mip, the profile to write; to add to a profile, give it as an input as well")
	case f.json && f.output == "-":
		return verb.Usagef("merge: --json and -o - cannot both write to standard output")
	case f.join && f.profile != "":
		return verb.Usagef("merge: --join writes a new profile: give -o FILE.mip")
	}
	return f.traces.check()
}

// addInPlace has the profile that is written added to if it is also an input.
func (f *mergeFlags) addInPlace(in *gather.Inputs) {
	if !f.join && in.HasProfile(f.output) {
		f.profile = f.output
	}
}

func (f *mergeFlags) run(ctx context.Context, s *verb.Streams, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	var in gather.Inputs
	err := in.AddAll(args)
	if err != nil {
		return err
	}
	first := slices.Concat(in.Profiles, in.Maps)
	in.Dedupe()
	f.addInPlace(&in)
	path, p := f.output, new(prof.Profile)
	if f.profile != "" {
		var unlock func()
		if path, p, unlock, err = gather.Lock(ctx, f.profile); err != nil {
			return err
		}
		defer unlock()
		in.DropProfile(path) // it is there already: -p app.mip *.mip
	}
	modules := len(p.Modules)
	sum, err := in.Merge(ctx, s, p, path, gather.Options{Traces: f.traces.Traces, Again: f.again, OnlyRan: f.onlyRan})
	if err != nil {
		return err
	}
	if err := printOmitted(s, sum); err != nil {
		return err
	}
	in.NoteUsed(s, sum.Refused)
	if err := f.verdict(sum, p, path); err != nil {
		return err
	}
	if f.join {
		if err = f.prefixes.Apply(p); err != nil {
			return err
		}
		if p, err = gather.Join(s, p, first); err != nil {
			return err
		}
		sum.Joined(p)
	}
	if f.profile == "" || sum.Raws+sum.Profiles > 0 || len(p.Modules) > modules {
		if err := verb.WriteProfile(s, path, p); err != nil {
			return err
		}
	}
	printTotal(s, sum)
	gather.NoteIdle(s, sum.Idle, f.onlyRan)
	gather.NoteUnlinked(s, sum.Unlinked)
	if f.json {
		if err := report.WriteJSON(s.Out, sum); err != nil {
			return err
		}
	}
	if n := len(sum.Refused); n > 0 && !f.allow {
		return verb.Partialf("%s omitted from %s (--allow-omitted accepts this)", report.Plural(n, "file"), path)
	}
	return nil
}

// verdict returns an error if the sum must not be written.
func (f *mergeFlags) verdict(sum *gather.Summary, p *prof.Profile, path string) error {
	state := "not written"
	if f.profile != "" {
		state = "unchanged"
	}
	files := sum.Raws + sum.Profiles + sum.Repeated + len(sum.Refused)
	switch {
	case files == 0:
		return fmt.Errorf("nothing to merge: no raw file or profile among the arguments; %s is %s", path, state)
	case sum.Raws+sum.Profiles+sum.Repeated == 0 && len(p.Modules) == 0 && gather.Foreign(sum.Refused) != "":
		return fmt.Errorf("nothing could be merged from %s, as there is no binary or map among the arguments; %s is %s", report.Plural(files, "file"), path, state)
	case sum.Raws+sum.Profiles+sum.Repeated == 0:
		return fmt.Errorf("nothing could be merged from %s; %s is %s", report.Plural(files, "file"), path, state)
	case f.strict && len(sum.Refused) > 0:
		return fmt.Errorf("%d of %s could not be merged (--strict); %s is %s", len(sum.Refused), report.Plural(files, "file"), path, state)
	case len(p.Modules) == 0:
		return fmt.Errorf("no module: give a binary or its map; %s is %s", path, state)
	}
	return nil
}

// runFlags specify how the traces of runs are stored.
type runFlags struct{ rawfiles.Traces }

func (f *runFlags) register(c *cobra.Command) {
	c.Flags().IntVar(&f.Limit, "orders", gather.DefaultTraces, "keep the recorded orders of at most this many runs, a uniform sample of all")
	c.Flags().IntVar(&f.Limit, "traces", gather.DefaultTraces, "the same as --orders")
	verb.Hide(c, "traces")
	c.Flags().Uint64Var(&f.Seed, "seed", 0, "seed for the choice of the sample")
	c.Flags().StringVar(&f.Scenario, "scenario", "", "scenario `name` of the runs, overriding CAIRN_SCENARIO")
	c.Flags().Uint64Var(&f.Weight, "weight", 1, "weight of the recorded orders of these runs")
	c.Flags().Uint64Var(&f.MaxCalls, "max-calls", 0, "scale a run with more calls down to `n`, as cairn collect does; 0 for no bound")
}

func (f *runFlags) check() error {
	switch {
	case f.Limit < 0 || f.Limit > mip.MaxTraces:
		return verb.Usagef("--orders %d: must be from 0 to %d", f.Limit, mip.MaxTraces)
	case f.Weight == 0:
		return verb.Usagef("--weight 0: must be at least 1; omit the files instead")
	}
	return nil
}
