package gather

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairnprof/cairn/internal/profile/merge"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// profileSuffix is the suffix of profiles in a directory.
const profileSuffix = ".mip"

// Read reads a profile, or the sum of all .mip files below a directory.
func Read(path string) (*prof.Profile, error) {
	if st, err := os.Stat(path); verb.IsURL(path) || err != nil || !st.IsDir() {
		return verb.ReadProfile(path)
	}
	var files []string
	raws := false
	err := filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			switch filepath.Ext(file) {
			case profileSuffix:
				files = append(files, file)
			case RawSuffix:
				raws = true
			}
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case len(files) == 0 && raws:
		return nil, fmt.Errorf("%s contains raw files and no profile (*%s): merge them first (cairn merge -h)", path, profileSuffix)
	case len(files) == 0:
		return nil, fmt.Errorf("%s: the directory contains no profile (*%s)", path, profileSuffix)
	}
	return sum(files)
}

// HasProfiles reports whether there is a .mip file below a directory.
func HasProfiles(dir string) bool {
	has := false
	_ = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error { // reading it reports errors
		if err == nil && d.Type().IsRegular() && filepath.Ext(file) == profileSuffix {
			has = true
			return fs.SkipAll
		}
		return nil
	})
	return has
}

// ProfilesBelow returns the .mip files below a directory.
func ProfilesBelow(dir string) (files []string) {
	verb.WalkFiles(dir, func(string, error) {}, func(path string, d fs.DirEntry) error { // reading it reports errors
		if d.Type().IsRegular() && filepath.Ext(path) == profileSuffix {
			files = append(files, path)
		}
		return nil
	})
	return files
}

// HoldsBoth reports whether there are profiles below a directory, and raw files, maps or programs with probes, as in the
// directory of a build in which someone has merged: the profiles need not have all of these.
func HoldsBoth(dir string) bool {
	if !HasProfiles(dir) {
		return false
	}
	has := false
	verb.WalkFiles(dir, func(string, error) {}, func(path string, d fs.DirEntry) error {
		switch filepath.Ext(path) {
		case RawSuffix, packSuffix, mapSuffix:
			has = true
		default:
			if verb.MayBeBinary(path, d) {
				_, has, _ = identify(nil, path)
			}
		}
		if has {
			return fs.SkipAll
		}
		return nil
	})
	return has
}

// DropEarlier leaves out the modules of profiles in directories where there is another build of a program of their name:
// they are of earlier builds.
func DropEarlier(s *verb.Streams, p *prof.Profile, dirs []string) {
	if len(dirs) == 0 {
		return
	}
	var in Inputs
	for _, dir := range dirs {
		in.addDir(dir)
	}
	found, names := map[prof.BuildID]bool{}, map[string]bool{}
	for _, m := range in.foundModules(s) {
		found[m.id] = true
		for i := range p.Modules {
			if p.Modules[i].BuildID == m.id {
				names[p.Modules[i].Module] = true
			}
		}
	}
	var dropped []string
	p.Modules = slices.DeleteFunc(p.Modules, func(m prof.Module) bool {
		if found[m.BuildID] || !names[m.Module] {
			return false
		}
		dropped = append(dropped, fmt.Sprintf("%s (%s)", m.Module, m.BuildID.Short()))
		return true
	})
	if len(dropped) > 0 {
		verb.Note(s, "%s of a profile omitted, of which the directory has another build: %s", report.Plural(len(dropped), "module"), report.First(dropped, MostNames))
	}
}

// WithMaps returns paths, with the maps and the binaries that have one in place of each
// directory, of each build one.
func WithMaps(s *verb.Streams, paths []string) (list []string, err error) {
	for _, path := range paths {
		if !verb.IsDir(path) {
			list = append(list, path)
			continue
		}
		var in Inputs
		in.addDir(path)
		found := in.foundModules(s)
		if len(in.Bad) > 0 {
			return nil, fmt.Errorf("%s: %s", in.Bad[0].File, in.Bad[0].Reason)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: contains no map (*%s) and no binary that was built with cairn cc", path, mapSuffix)
		}
		for _, m := range found {
			list = append(list, m.path)
		}
	}
	return list, nil
}

// sum sums profiles. Runs that are in several of them count once.
func sum(files []string) (*prof.Profile, error) {
	total := new(prof.Profile)
	for _, file := range files {
		p, err := verb.ReadProfile(file)
		if err != nil {
			return nil, err
		}
		if err := merge.Join(total, p); err != nil && !errors.Is(err, merge.ErrHeld) {
			return nil, fmt.Errorf("%s cannot be added to the other profiles in the directory: %w", file, err)
		}
	}
	return total, nil
}
