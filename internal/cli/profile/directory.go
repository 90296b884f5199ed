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

// profileSuffix is what profiles in a directory are called.
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

// sum adds profiles up. Runs that several of them hold count once.
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
