package gather

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// Choice is the profile that a command reads, and its parts.
type Choice struct {
	Path     string
	Binaries []string // among the arguments
	records  []string // what is merged, if it is not one profile; the first is Path
	mixed    []string // directories with profiles and with what these are merged from
	Module   string   // the only one wanted, "" for all
	Debug    []string // binaries and debug files with source lines, and directories of such
}

// Take takes the inputs of a verb in any order: a profile, or several, or what one is merged from; and binaries, whose
// debug information is used where the verb uses it.
func (f *Choice) Take(args []string) {
	whole := f.Path != "" // is one profile
	var records []string
	args, f.Binaries = verb.SplitBinaries(args)
	for _, arg := range args {
		switch {
		case verb.IsDir(arg) && HoldsBoth(arg):
			f.mixed = append(f.mixed, arg)
			records = append(append(records, arg), ProfilesBelow(arg)...)
		case f.Path == "" && !isRecord(arg):
			f.Path, whole = arg, true
		default:
			records = append(records, arg)
		}
	}
	f.Debug = append(f.Debug, f.Binaries...)
	if len(records) == 0 {
		return
	}
	for _, path := range records {
		if verb.IsDir(path) {
			f.Debug = append(f.Debug, path)
		}
	}
	if whole {
		records = append([]string{f.Path}, records...)
	}
	f.Path, f.records = records[0], records
}

// isRecord reports whether path is a raw file, a pack or a map, or a directory without profiles.
func isRecord(path string) bool {
	switch {
	case verb.IsURL(path):
		return false
	case verb.IsDir(path):
		return !HasProfiles(path)
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
func (f *Choice) Open(ctx context.Context, s *verb.Streams) (p *prof.Profile, err error) {
	switch {
	case f.records != nil:
		p, err = f.merge(ctx, s)
	case f.Path == "" && len(f.Binaries) > 0:
		return nil, verb.Usagef("no profile given, nor raw files: %s alone has no runs", f.Binaries[0])
	case f.Path == "":
		return nil, verb.Usagef("no profile given; use FILE.mip, a program and its raw files, or the directory of a cairn run")
	default:
		p, err = Read(f.Path)
	}
	if err != nil || f.Module == "" {
		return p, err
	}
	var kept []prof.Module
	var have []string
	for _, m := range p.Modules {
		have = append(have, m.Module)
		if m.Module == f.Module || strings.HasPrefix(m.BuildID.String(), f.Module) {
			kept = append(kept, m)
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("%s: no module %s; it has %s", f.Path, f.Module, strings.Join(have, ", "))
	}
	return &prof.Profile{Modules: kept}, nil
}

// merge merges the files that were given. One that cannot be used is an error: the output has no place for what is left
// out of it.
func (f *Choice) merge(ctx context.Context, s *verb.Streams) (*prof.Profile, error) {
	paths := slices.Clone(f.records)
	for _, bin := range f.Binaries {
		if HasMap(bin) {
			paths = append(paths, bin)
		}
	}
	p, refused, err := Profile(ctx, s, Files{Paths: paths})
	switch {
	case err != nil:
		return nil, err
	case len(refused) > 0 && len(p.Modules) == 0 && refused[0].Kind == rawfiles.OtherBuild:
		for _, bin := range f.Binaries {
			if err := MapStripped(s, bin); err != nil {
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
	DropEarlier(s, p, f.mixed)
	return p, nil
}

// OpenModules is Open with the line lookups that the arguments name.
func (f *Choice) OpenModules(ctx context.Context, s *verb.Streams) ([]coverage.Module, error) {
	p, err := f.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	modules := make([]coverage.Module, len(p.Modules))
	for i := range modules {
		modules[i].Module = &p.Modules[i]
	}
	for _, path := range f.Debug {
		done := verb.Working(s, "reading the debug information of %s", path)
		err := f.addLines(s, modules, path)
		done()
		if err != nil {
			return nil, err
		}
	}
	asked := func(path string) bool { return !slices.Contains(f.records, path) } // for lines, not just for what it records
	if HasLines(modules) || slices.ContainsFunc(f.Debug, asked) {
		NoteNoLines(s, modules)
	}
	return modules, nil
}

// addLinesBelow sets the lines of modules from the binaries below a directory. Binaries of
// other builds are skipped.
func (f *Choice) addLinesBelow(s *verb.Streams, modules []coverage.Module, dir string) error {
	any := false
	failed := func(path string, err error) { verb.Note(s, "%s: %s", path, Reason(err)) }
	binaries := verb.Binaries(dir, failed)
	for _, path := range binaries {
		_, matched, err := AddLines(modules, path)
		if matched && err != nil && !errors.Is(err, objfile.ErrNoDebug) {
			return err
		}
		any = any || matched
	}
	if any || slices.Contains(f.records, dir) {
		return nil
	}
	for _, path := range binaries {
		if BuiltByProfile(path) {
			return fmt.Errorf("%s: contains no binary of a module of %s: cairn build --use replaced %s by a build without probes; give the binary that ran, or build again with cairn build --mode", dir, f.Path, path)
		}
	}
	return fmt.Errorf("%s: contains no binary of a module of %s: give the binary that ran", dir, f.Path)
}

// addLines sets the lines of the module whose binary is at path. A binary of another build is
// an error, one without lines is not.
func (f *Choice) addLines(s *verb.Streams, modules []coverage.Module, path string) error {
	if verb.IsDir(path) {
		return f.addLinesBelow(s, modules, path)
	}
	id, matched, err := AddLines(modules, path)
	switch {
	case errors.Is(err, objfile.ErrNoDebug):
		verb.Note(s, "%v", err)
		return nil
	case err != nil || matched:
		return err
	}
	return fmt.Errorf("%s: no module of %s has its build id %s: give the binary that ran", path, f.Path, id)
}

// HasLines reports whether any module has a line lookup.
func HasLines(modules []coverage.Module) bool {
	for i := range modules {
		if modules[i].Lines != nil {
			return true
		}
	}
	return false
}

// OnlyModule returns the one module of p: an order file is for one link.
func (f *Choice) OnlyModule(p *prof.Profile) (*prof.Module, error) {
	if len(p.Modules) == 1 {
		return &p.Modules[0], nil
	}
	if len(p.Modules) == 0 {
		return nil, fmt.Errorf("%s: the profile is empty", f.Path)
	}
	names := make([]string, len(p.Modules))
	for i := range p.Modules {
		names[i] = p.Modules[i].Module
	}
	return nil, verb.Usagef("%s has several modules: select one with --module (%s)", f.Path, strings.Join(names, ", "))
}

// ModuleOf returns the module of p that a binary is of: by its build id, or else, as for the same
// program in another layout, by its name. If there is only one module it is that.
func (f *Choice) ModuleOf(p *prof.Profile, binary string) (*prof.Module, error) {
	if len(p.Modules) > 1 && binary != "" {
		bin, err := objfile.Open(binary)
		if err != nil {
			return nil, err
		}
		id, _ := bin.RecordedID() // without one it is chosen by its name
		bin.Close()
		named := -1
		for i := range p.Modules {
			switch m := &p.Modules[i]; {
			case id != "" && m.BuildID == id:
				return m, nil
			case m.Module != filepath.Base(binary):
			case named >= 0:
				return f.OnlyModule(p)
			default:
				named = i
			}
		}
		if named >= 0 {
			return &p.Modules[named], nil
		}
	}
	return f.OnlyModule(p)
}
