package gather

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/profile/merge"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// A directory stands for all programs and libraries with probes below it, so that those that
// no test ran are in the profile, with functions that did not run.

// foundModule is a module with probes below a directory.
type foundModule struct {
	path    string
	id      prof.BuildID
	mapless bool // it was stripped, and no debug file has its map
}

// identify returns the module in the file at path, and whether there is one that was built
// with probes that write raw files.
func identify(s *verb.Streams, path string) (m foundModule, ok bool, err error) {
	m.path = path
	if strings.HasSuffix(path, mapSuffix) {
		read, err := ReadMap(s, path)
		if err != nil {
			return m, true, err
		}
		m.id = read.BuildID
		return m, true, nil
	}
	bin, err := objfile.Open(path)
	if err != nil { // it cannot be told whether it has probes
		return m, false, nil
	}
	defer bin.Close()
	if m.id, ok, err = Recorded(bin); !ok || err != nil {
		return m, ok, err
	}
	data, err := MapSection(bin)
	m.mapless = data == nil
	return m, true, err
}

// Recorded returns the build of a program or library, as raw files have it, and whether it has probes that write raw
// files.
func Recorded(bin *objfile.File) (id prof.BuildID, ok bool, err error) {
	if _, _, _, ok, err := bin.Section(wire.RawSection); !ok || err != nil || bin.Relocatable() {
		return "", false, nil
	}
	id, err = bin.RecordedID()
	return id, true, err
}

// foundModules returns the modules of the files below directories: of each build one, with the
// path whose name is best. Files that cannot be used are added to the complaints.
func (in *Inputs) foundModules(s *verb.Streams) []foundModule {
	best := make(map[prof.BuildID]foundModule)
	for _, path := range in.foundParts() {
		m, ok, err := identify(s, path)
		switch {
		case !ok:
		case errors.Is(err, objfile.ErrNoBuildID):
			in.addError(path, rawfiles.Unreadable, "has no build id: link with -Wl,--build-id")
		case err != nil:
			in.addError(path, rawfiles.Unreadable, verb.TrimPath(err, path))
		default:
			if was, ok := best[m.id]; !ok || compareFound(&m, &was) < 0 {
				best[m.id] = m
			}
		}
	}
	list := make([]foundModule, 0, len(best))
	for _, m := range best {
		list = append(list, m)
	}
	stablesort.Func(list, func(a, b foundModule) int { return strings.Compare(a.path, b.path) })
	return list
}

// compareFound orders the files of one build: first those with a map, then programs before the
// files in .build-id that debuggers use, then by name, as merge.Modules chooses a name.
func compareFound(a, b *foundModule) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), strings.Compare(filepath.Base(a.path), filepath.Base(b.path)), strings.Compare(a.path, b.path))
}

func (m *foundModule) rank() int {
	switch {
	case m.mapless:
		return 2
	case namedByID(m):
		return 1
	}
	return 0
}

// namedByID reports whether a file is below .build-id.
func namedByID(m *foundModule) bool {
	name := strings.TrimSuffix(filepath.Base(m.path), ".debug")
	return name != "" && strings.HasSuffix(m.id.String(), name)
}

// foundParts returns the found files, and in place of universal files those parts whose builds
// raw files have, all of them if there is none.
func (in *Inputs) foundParts() (paths []string) {
	for _, path := range in.found {
		parts, err := objfile.Parts(path)
		if err != nil || len(parts) == 0 {
			paths = append(paths, path)
			continue
		}
		paths = append(paths, in.partsWithRuns(parts)...)
	}
	return paths
}

// addFound adds to p the modules of the files below directories that it does not have yet, and
// returns their builds. Those with runs are first, as a profile holds modules of one machine.
func (in *Inputs) addFound(s *verb.Streams, p *prof.Profile) map[prof.BuildID]bool {
	defer verb.Working(s, "reading the maps of programs in directories")()
	added := make(map[prof.BuildID]bool)
	ran := in.buildsWithRuns()
	var withRuns, others []foundModule
	for _, m := range in.foundModules(s) {
		switch {
		case slices.ContainsFunc(p.Modules, func(have prof.Module) bool { return have.BuildID == m.id }):
		case m.mapless:
			in.addError(m.path, rawfiles.Unreadable, strippedMap(m.path))
		case ran[m.id.String()]:
			withRuns = append(withRuns, m)
		default:
			others = append(others, m)
		}
	}
	for _, m := range slices.Concat(withRuns, others) {
		switch err := AddMap(s, p, m.path); {
		case errors.Is(err, merge.ErrMachine):
			in.addError(m.path, rawfiles.Conflict, verb.TrimPath(err, m.path))
		case err != nil:
			in.addError(m.path, rawfiles.Unreadable, verb.TrimPath(err, m.path))
		default:
			added[m.id] = true
		}
	}
	return added
}

// idle returns the modules of p that were added from directories and have no runs. With drop
// it removes them.
func idle(p *prof.Profile, added map[prof.BuildID]bool, drop bool) (names []string) {
	isIdle := func(m prof.Module) bool { return added[m.BuildID] && m.Raws == 0 }
	for i := range p.Modules {
		if isIdle(p.Modules[i]) {
			names = append(names, p.Modules[i].Module)
		}
	}
	if drop {
		p.Modules = slices.DeleteFunc(p.Modules, isIdle)
	}
	return names
}

// MostNames is how many names a note has.
const MostNames = 5

// NoteIdle reports the modules without runs.
func NoteIdle(s *verb.Streams, names []string, dropped bool) {
	switch {
	case len(names) == 0:
	case dropped:
		verb.Note(s, "%s without runs omitted (--only-ran): %s", report.Plural(len(names), "module"), report.First(names, MostNames))
	case len(names) == 1:
		verb.Note(s, "1 module has no runs: all its functions count as not run (--only-ran omits it): %s", report.First(names, MostNames))
	default:
		verb.Note(s, "%d modules have no runs: all their functions count as not run (--only-ran omits them): %s", len(names), report.First(names, MostNames))
	}
}

// NoteUsed names the programs in directories that were built by a profile, if raw files are of other builds: these may be those
// that the programs replaced.
func (in *Inputs) NoteUsed(s *verb.Streams, refused []rawfiles.Complaint) {
	if !slices.ContainsFunc(refused, func(c rawfiles.Complaint) bool { return c.Kind == rawfiles.OtherBuild }) {
		return
	}
	var used []string
	for _, path := range in.found {
		if BuiltByProfile(path) {
			used = append(used, path)
		}
	}
	if len(used) > 0 {
		verb.Note(s, "no map in %s: built by a profile (cairn build --use), without probes; give the program that was built with probes, or build it again with cairn build --mode", report.First(used, MostNames))
	}
}
