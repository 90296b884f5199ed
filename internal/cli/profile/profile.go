// Package profile has the commands that build profiles from raw files, and show them.
package profile

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// maxCompleted limits the number of function names offered by shell completion.
const maxCompleted = 1000

// ProfileFlags select the profile that a verb reads and its parts.
type ProfileFlags struct {
	Path     string
	Binaries []string // among the arguments
	records  []string // what is merged, if it is not one profile; the first is Path
	mixed    []string // directories with profiles and with what these are merged from
	module   string
	debug    []string
}

// Register adds the flags to a command.
func (f *ProfileFlags) Register(c *cobra.Command) {
	f.registerIn(c.Flags())
	verb.FilesOf(c, "profile", "mip")
	verb.Hide(c, "profile")
}

func (f *ProfileFlags) registerIn(flags *pflag.FlagSet) {
	flags.StringVarP(&f.Path, "profile", "p", "", "the profile, a .mip `file` or a directory of them, if it is not the argument")
	flags.StringVar(&f.module, "module", "", "only the module of this `name`, as cairn info prints it")
}

// complete has shells complete the profile as the argument, and the names of its functions
// after --regexp.
func (f *ProfileFlags) complete(c *cobra.Command) {
	verb.Files(c, "mip")
	verb.Complete(c, "regexp", func(args []string, typed string) []string {
		if len(args) > 0 {
			f.Path = args[0]
		}
		p, err := gather.Read(f.Path)
		if err != nil {
			return nil
		}
		names := report.Names{Short: true}
		var found []string
		for i := range p.Modules {
			for j := range p.Modules[i].Funcs {
				name := regexp.QuoteMeta(names.Show(p.Modules[i].Funcs[j].Name))
				if strings.HasPrefix(name, typed) && len(found) < maxCompleted {
					found = append(found, name)
				}
			}
		}
		slices.Sort(found)
		return slices.Compact(found)
	})
}

func (f *ProfileFlags) registerDebug(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.debug, "debug", nil, "take source lines from this `binary`, its .debug file, or those below a directory, without counting what else is there; repeatable")
	verb.Hide(c, "debug")
}

// Args takes the inputs of a verb in any order: a profile, or several, or what one is merged from; and binaries, whose
// debug information is used where the verb uses it.
func (f *ProfileFlags) Args(_ *cobra.Command, args []string) error {
	whole := f.Path != "" // is one profile
	var records []string
	args, f.Binaries = verb.SplitBinaries(args)
	for _, arg := range args {
		switch {
		case verb.IsDir(arg) && gather.HoldsBoth(arg):
			f.mixed = append(f.mixed, arg)
			records = append(append(records, arg), gather.ProfilesBelow(arg)...)
		case f.Path == "" && !isRecord(arg):
			f.Path, whole = arg, true
		default:
			records = append(records, arg)
		}
	}
	f.debug = append(f.debug, f.Binaries...)
	if len(records) == 0 {
		return nil
	}
	for _, path := range records {
		if verb.IsDir(path) {
			f.debug = append(f.debug, path)
		}
	}
	if whole {
		records = append([]string{f.Path}, records...)
	}
	f.Path, f.records = records[0], records
	return nil
}

// isRecord reports whether path is a raw file, a pack or a map, or a directory without profiles.
func isRecord(path string) bool {
	switch {
	case verb.IsURL(path):
		return false
	case verb.IsDir(path):
		return !gather.HasProfiles(path)
	case verb.IsStream(path):
		return false
	}
	head, err := verb.ReadHead(path)
	if err != nil {
		return false
	}
	switch kind.Of(head) {
	case kind.Raw, kind.Pack, kind.Map:
		return true
	}
	return false
}

// Open reads the profile, or merges the files that were given in place of one, and keeps the selected module.
func (f *ProfileFlags) Open(ctx context.Context, s *verb.Streams) (p *prof.Profile, err error) {
	switch {
	case f.records != nil:
		p, err = f.merge(ctx, s)
	case f.Path == "" && len(f.Binaries) > 0:
		return nil, verb.Usagef("no profile given, nor raw files: %s alone has no runs", f.Binaries[0])
	case f.Path == "":
		return nil, verb.Usagef("no profile given; use FILE.mip, or a program and its raw files")
	default:
		p, err = gather.Read(f.Path)
	}
	if err != nil || f.module == "" {
		return p, err
	}
	var kept []prof.Module
	var have []string
	for _, m := range p.Modules {
		have = append(have, m.Module)
		if m.Module == f.module || strings.HasPrefix(m.BuildID.String(), f.module) {
			kept = append(kept, m)
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("%s: no module %s; it has %s", f.Path, f.module, strings.Join(have, ", "))
	}
	return &prof.Profile{Modules: kept}, nil
}

// merge merges the files that were given. One that cannot be used is an error: the output has no place for what is left
// out of it.
func (f *ProfileFlags) merge(ctx context.Context, s *verb.Streams) (*prof.Profile, error) {
	paths := slices.Clone(f.records)
	for _, bin := range f.Binaries {
		if gather.HasMap(bin) {
			paths = append(paths, bin)
		}
	}
	p, refused, err := gather.Profile(ctx, s, gather.Files{Paths: paths})
	switch {
	case err != nil:
		return nil, err
	case len(refused) > 0 && len(p.Modules) == 0 && refused[0].Kind == rawfiles.OtherBuild:
		for _, bin := range f.Binaries {
			if err := gather.MapStripped(s, bin); err != nil {
				return nil, err
			}
		}
		return nil, fmt.Errorf("%s: name the program that wrote it as well, or a directory with the program", refused[0].File)
	case len(refused) > 0:
		more := ""
		if n := len(refused) - 1; n > 0 {
			more = fmt.Sprintf(", and %s like it", report.Plural(n, "file"))
		}
		return nil, fmt.Errorf("%s: %s%s; cairn merge writes a profile of the others", refused[0].File, refused[0].Reason, more)
	case len(p.Modules) == 0:
		return nil, fmt.Errorf("%s: contains no profile (*.mip), no raw file and no binary that was built with cairn cc", f.Path)
	}
	gather.DropEarlier(s, p, f.mixed)
	return p, nil
}

// openModules is open with the line lookups that the arguments name.
func (f *ProfileFlags) openModules(ctx context.Context, s *verb.Streams) ([]coverage.Module, error) {
	p, err := f.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	modules := make([]coverage.Module, len(p.Modules))
	for i := range modules {
		modules[i].Module = &p.Modules[i]
	}
	for _, path := range f.debug {
		done := verb.Working(s, "reading the debug information of %s", path)
		err := f.addLines(s, modules, path)
		done()
		if err != nil {
			return nil, err
		}
	}
	if len(f.debug) > 0 {
		gather.NoteNoLines(s, modules)
	}
	return modules, nil
}

// addLinesBelow sets the lines of modules from the binaries below a directory. Binaries of
// other builds are skipped.
func (f *ProfileFlags) addLinesBelow(s *verb.Streams, modules []coverage.Module, dir string) error {
	any := false
	failed := func(path string, err error) { verb.Note(s, "%s: %s", path, gather.Reason(err)) }
	binaries := verb.Binaries(dir, failed)
	for _, path := range binaries {
		_, matched, err := gather.AddLines(modules, path)
		if matched && err != nil && !errors.Is(err, objfile.ErrNoDebug) {
			return err
		}
		any = any || matched
	}
	if any || slices.Contains(f.records, dir) {
		return nil
	}
	for _, path := range binaries {
		if gather.BuiltByProfile(path) {
			return fmt.Errorf("%s: contains no binary of a module of %s: cairn build --use replaced %s by a build without probes; give the binary that ran, or build again with cairn build --mode", dir, f.Path, path)
		}
	}
	return fmt.Errorf("%s: contains no binary of a module of %s: give the binary that ran", dir, f.Path)
}

// addLines sets the lines of the module whose binary is at path. A binary of another build is
// an error, one without lines is not.
func (f *ProfileFlags) addLines(s *verb.Streams, modules []coverage.Module, path string) error {
	if verb.IsDir(path) {
		return f.addLinesBelow(s, modules, path)
	}
	id, matched, err := gather.AddLines(modules, path)
	switch {
	case errors.Is(err, objfile.ErrNoDebug):
		verb.Note(s, "%v", err)
		return nil
	case err != nil || matched:
		return err
	}
	return fmt.Errorf("%s: no module of %s has its build id %s: give the binary that ran", path, f.Path, id)
}

// hasLines reports whether any module has a line lookup.
func hasLines(modules []coverage.Module) bool {
	for i := range modules {
		if modules[i].Lines != nil {
			return true
		}
	}
	return false
}
