package profile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/profile/merge"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

type mergeFlags struct {
	profile, output string
	strict, json    bool
	again, join     bool
	traces          runFlags
}

// Merge returns the command cairn merge.
func Merge(s *verb.Streams) *cobra.Command {
	var f mergeFlags
	c := &cobra.Command{
		Use:   "merge (-p FILE.mip | -o FILE.mip BINARY|MAP...) FILE|DIR|@LIST...",
		Short: "Sum raw files and profiles into a profile",
		Long: `merge adds what runs of a program left behind.

With -p it adds to a profile that is there, in place: the old one stays whole
until the new one is. With -o it writes a new profile of the modules whose
binaries or maps are among the files.

Files are told apart by what is in them: raw files, packs of them (.mippack),
profiles (.mip), maps (.mipmap), binaries. Of a directory all .mipraw files are
taken, below it too. @LIST is a file with a path on each line. A file that is
named twice counts once.

Each run of a mode that records the order of first executions (all but cover and
block) is kept as a trace under the name of its scenario, which is what
CAIRN_SCENARIO was, or --scenario. Of more than --traces runs a uniform sample
is kept; equal --seed, equal sample.

A profile remembers which runs it holds: what is merged a second time is left out,
with a note, unless --again forces it. It remembers 8,192 runs of a module exactly
and of more a sketch, which takes one in a million of new runs for one of a million
that it holds. Profiles with runs in common, of which neither holds all of the
other's, cannot be joined. A live file of a process that goes on is a run, too: merge
it when the process has ended.

With --join, modules of one name become one, by what their functions are (name, file,
shape of the code) and not by build ids: variants that cairn cc --groups made, or builds
of which most functions did not change. The profile whose file is named first has the
last word on functions that did. Runs are of all builds together.

Raw files of other builds and damaged ones are named and left out; where there are
many, all names are in FILE.mip.refused. With --strict they make merge fail and
nothing is written. If no raw file was good, merge fails in any case.`,
		Example: `  cairn create -p app.mip app && cairn merge -p app.mip raws/
  cairn merge -o app.mip app.mipmap raws/ more/*.mipraw
  cairn merge -o all.mip monday.mip tuesday.mip`,
		Args: verb.ExactFiles("merge", "raw files or directories", 1, -1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), s, args) },
	}
	c.Flags().StringVarP(&f.profile, "profile", "p", "", "add to this profile, a .mip `file`, in place")
	c.Flags().StringVarP(&f.output, "output", "o", "", "write this profile, a .mip `file`, or - for standard output")
	f.traces.register(c)
	c.Flags().BoolVar(&f.strict, "strict", false, "fail, and write nothing, if any file cannot be merged")
	c.Flags().BoolVar(&f.again, "again", false, "merge runs that the profile holds already once more")
	c.Flags().BoolVar(&f.join, "join", false, "join builds of one program into one, by what functions are")
	c.Flags().BoolVar(&f.json, "json", false, "print a summary as JSON")
	return c
}

func (f *mergeFlags) run(ctx context.Context, s *verb.Streams, args []string) error {
	switch {
	case (f.profile == "") == (f.output == ""):
		return verb.Usagef("merge: give either -p FILE.mip, to add to a profile, or -o FILE.mip, to write a new one")
	case f.json && f.output == "-":
		return verb.Usagef("merge: --json and -o - both want standard output")
	case f.join && f.profile != "":
		return verb.Usagef("merge: --join makes a new profile: give -o FILE.mip")
	}
	var in inputs
	for _, arg := range args {
		if err := in.add(arg); err != nil {
			return err
		}
	}
	first := slices.Concat(in.profiles, in.maps)
	in.dedupe()
	path, p := f.output, new(prof.Profile)
	if f.profile != "" {
		var unlock func()
		var err error
		if path, p, unlock, err = OpenForMerge(ctx, f.profile); err != nil {
			return err
		}
		defer unlock()
		in.dropProfile(path) // it is there already: -p app.mip *.mip
	}
	if err := f.traces.check(); err != nil {
		return err
	}
	modules := len(p.Modules)
	sum, err := f.mergeInputs(ctx, s, p, &in, path)
	if err != nil {
		return err
	}
	if err := sum.print(s); err != nil {
		return err
	}
	if err := f.verdict(sum, p, path); err != nil {
		return err
	}
	if f.join {
		if p, err = joinBuilds(s, p, first); err != nil {
			return err
		}
		sum.joined(p)
	}
	if f.profile == "" || sum.Raws+sum.Profiles > 0 || len(p.Modules) > modules {
		if err := verb.WriteProfile(s, path, p); err != nil {
			return err
		}
	}
	sum.printTotal(s)
	if !f.json {
		return nil
	}
	e := json.NewEncoder(s.Out)
	e.SetIndent("", "  ")
	return e.Encode(sum)
}

// verdict says whether the sum may be written.
func (f *mergeFlags) verdict(sum *MergeSummary, p *prof.Profile, path string) error {
	state := "not written"
	if f.profile != "" {
		state = "unchanged"
	}
	files := sum.Raws + sum.Profiles + sum.Repeated + len(sum.Refused)
	switch {
	case files == 0:
		return fmt.Errorf("nothing to merge: no raw file and no profile among the arguments; %s is %s", path, state)
	case sum.Raws+sum.Profiles+sum.Repeated == 0:
		return fmt.Errorf("nothing could be merged of %s; %s is %s", verb.Plural(files, "file"), path, state)
	case f.strict && len(sum.Refused) > 0:
		return fmt.Errorf("%d of %s could not be merged (--strict); %s is %s", len(sum.Refused), verb.Plural(files, "file"), path, state)
	case len(p.Modules) == 0:
		return fmt.Errorf("no module: give the binary or its map; %s is %s", path, state)
	}
	return nil
}

// OpenForMerge reads the profile at path and locks it until unlock is called.
// It returns the path of the file that is to be replaced, behind all links.
func OpenForMerge(ctx context.Context, path string) (file string, p *prof.Profile, unlock func(), err error) {
	file, err = filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil, fmt.Errorf("%s: no such profile: create it first (cairn create -p %s BINARY), or use -o", path, path)
	} else if err != nil {
		return "", nil, nil, err
	}
	if unlock, err = verb.LockProfile(ctx, file); err != nil {
		return "", nil, nil, err
	}
	if p, err = verb.ReadProfile(file); err != nil {
		unlock()
		return "", nil, nil, err
	}
	return file, p, unlock, nil
}

// mergeInputs adds the inputs to p: maps first, as raw files need them, then
// profiles, which may bring more maps, then raw files.
func (f *mergeFlags) mergeInputs(ctx context.Context, s *verb.Streams, p *prof.Profile, in *inputs, name string) (*MergeSummary, error) {
	sum := &MergeSummary{Profile: name}
	for _, path := range in.maps {
		if err := addMap(s, p, path); err != nil {
			return nil, err
		}
	}
	for _, path := range in.profiles {
		other, err := verb.ReadProfile(path)
		if err != nil {
			in.complain(path, rawfiles.Damaged, verb.TrimPath(err, path))
			continue
		}
		add := merge.Join
		if f.again {
			add = merge.Profiles
		}
		switch err := add(p, other); {
		case errors.Is(err, merge.ErrHeld):
			sum.Repeated++
		case errors.Is(err, merge.ErrPartly):
			in.complain(path, rawfiles.Repeated, err.Error()+": merge raw files, or give --again to count these runs twice")
		case err != nil:
			in.complain(path, rawfiles.Conflict, err.Error())
		default:
			sum.Profiles++
		}
	}
	raws := rawfiles.New(in.raws, in.packed, p, name, f.traces.Traces)
	raws.Again = f.again
	stop := verb.StartProgress(s.Err, "raw files", &raws.Done, len(in.raws))
	added, bad := raws.Run(ctx)
	stop()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("interrupted; %s is as it was", name)
	}
	if err := merge.Profiles(p, added); err != nil {
		return nil, err
	}
	for i := range p.Modules {
		merge.Sample(&p.Modules[i], f.traces.Limit)
	}
	sum.Raws = len(in.raws) - len(bad) - raws.Repeated
	sum.Repeated += raws.Repeated
	sum.Running = raws.Running
	sum.Refused = append(in.bad, bad...)
	sum.modules(p, added)
	return sum, nil
}
