package gather

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/profile/absent"
	"github.com/cairnprof/cairn/internal/profile/merge"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// noProgram is the module of functions in objects below directories that no program has. It has no code.
const noProgram = "(no program)"

// MayHaveUnits reports whether a file is named like an object or an archive.
func MayHaveUnits(path string) bool {
	return slices.Contains([]string{".o", ".obj", ".a", ".lib"}, filepath.Ext(path))
}

// addObjects adds to p a module of the functions that objects and archives below directories have and that no
// module of p was linked from, in place of the one that p has. It returns their source files.
func (in *Inputs) addObjects(s *verb.Streams, p *prof.Profile) (files []string, err error) {
	if len(in.objects) == 0 {
		return nil, nil
	}
	defer verb.Working(s, "reading the objects in directories")()
	var units []prof.Unit
	for _, path := range in.objects {
		found, err := unitsIn(path)
		if err != nil {
			in.addError(path, rawfiles.Damaged, verb.TrimPath(err, path))
		}
		units = append(units, found...)
	}
	if len(units) == 0 {
		return nil, nil
	}
	p.Modules = slices.DeleteFunc(p.Modules, func(m prof.Module) bool { return m.Module == noProgram && len(m.Funcs) == 0 })
	maps := make([]*prof.Map, len(p.Modules))
	for i := range maps {
		maps[i] = &p.Modules[i].Map
	}
	m := prof.Map{Module: noProgram, Absent: absent.Unlinked(units, maps)}
	if len(m.Absent) == 0 {
		return nil, nil
	}
	for i := range m.Absent {
		if m.Absent[i].Why != prof.Unprobed {
			files = append(files, m.Absent[i].File) // in order
		}
	}
	files = slices.Compact(files)
	if m.BuildID, err = contentID(&m); err != nil {
		return nil, err
	}
	return files, merge.Profiles(p, &prof.Profile{Modules: []prof.Module{{Map: m, Counts: []prof.Counts{}}}})
}

// contentID returns an identity of what is absent: there is no file with a build id.
func contentID(m *prof.Map) (prof.BuildID, error) {
	named := *m
	named.BuildID = "\x00"
	var b bytes.Buffer
	if err := mip.WriteMap(&b, &named); err != nil {
		return "", err
	}
	sum := sha256.Sum256(b.Bytes())
	return prof.BuildID(sum[:wire.MaxBuildID]), nil
}

// unitsIn returns the units of an object, or of the members of an archive, also of those without probes.
func unitsIn(path string) (units []prof.Unit, err error) {
	err = objfile.EachLinkInput(path, func(archive bool, member string, body *io.SectionReader) error {
		found, err := absent.UnitsOf(body, cmp.Or(member, path))
		units = append(units, found...)
		if len(found) > 0 || err != nil {
			return err
		}
		u, err := toolchain.UnprobedUnit(path, archive, member, body)
		if u != nil {
			units = append(units, *u)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) { // a member of a thin archive, or the file was just removed
		err = nil
	}
	return units, err
}

// NoteUnlinked reports the source files whose code is in no program.
func NoteUnlinked(s *verb.Streams, files []string) {
	if len(files) == 0 {
		return
	}
	verb.Note(s, "code of %s is in no program, and counts as not run (--only-ran omits it): %s", report.Plural(len(files), "source file"), report.First(files, MostNames))
}
