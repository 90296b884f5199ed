package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairnprof/cairn/internal/profile/merge"
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
			case rawSuffix:
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

// withMaps returns paths, with the maps and the binaries that have one in place of each
// directory, of each build one.
func withMaps(s *verb.Streams, paths []string) (list []string, err error) {
	for _, path := range paths {
		if !verb.IsDir(path) {
			list = append(list, path)
			continue
		}
		var in inputs
		in.addDir(path)
		found := in.foundModules(s)
		if len(in.bad) > 0 {
			return nil, fmt.Errorf("%s: %s", in.bad[0].File, in.bad[0].Reason)
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
