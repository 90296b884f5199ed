package reportset

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// AddPrograms adds the programs that ran: the command and what else has raw files, or if the command has no probes, all
// programs with probes below the current directory and below the given places. Logs name their programs.
func (in *Inputs) AddPrograms(ctx context.Context, command string, programs []string) error {
	missing := in.ran()
	if len(missing) == 0 {
		return nil
	}
	places := append([]string{"."}, programs...)
	if id, ok := probed(command); ok {
		missing[id] = true // also if only what it started has raw files
		in.addThose([]string{command}, missing)
		in.addThose(librariesOf(ctx, command), missing)
		for _, place := range places {
			if len(missing) > 0 {
				in.addThose(in.below(place), missing)
			}
		}
		return nil
	}
	for _, place := range places {
		if !verb.IsDir(place) {
			if err := in.Add(place); err != nil {
				return err
			}
			continue
		}
		err := in.directory(place, func(string) bool { return false })
		if err != nil && !errors.Is(err, errNothing) {
			return err
		}
	}
	return nil
}

// librariesOf returns the libraries that a program is loaded with.
func librariesOf(ctx context.Context, path string) []string {
	f, err := objfile.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	return verb.LibrariesOf(ctx, f.Interpreter(), path)
}

// Ran returns the programs and libraries among the inputs whose raw files are inputs as well, one path for each build.
func (in *Inputs) Ran() []string {
	var paths []string
	ids := in.ran()
	for _, path := range in.paths[binaries] {
		if len(ids) == 0 {
			break
		}
		if id, ok := probed(path); ok && ids[id] {
			delete(ids, id)
			paths = append(paths, path)
		}
	}
	return paths
}

// ran returns the builds whose raw files are inputs.
func (in *Inputs) ran() map[prof.BuildID]bool {
	ids := map[prof.BuildID]bool{}
	for _, path := range in.paths[raws] {
		head, err := verb.ReadHead(path)
		if err != nil || len(head) < wire.RawHeaderSize {
			continue // reading it reports the error
		}
		if h, err := mip.ParseRawHeader(head[:wire.RawHeaderSize]); err == nil {
			ids[h.BuildID] = true
		}
	}
	return ids
}

// HasProbes reports whether the file at path is a program with probes that write raw files.
func HasProbes(path string) bool {
	_, ok := probed(path)
	return ok
}

// probed returns the build of a file, and whether it has probes that write raw files.
func probed(path string) (id prof.BuildID, ok bool) {
	f, err := objfile.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	id, ok, err = gather.Recorded(f)
	return id, ok && err == nil
}

// addThose adds those files whose builds are missing, and removes these from missing.
func (in *Inputs) addThose(paths []string, missing map[prof.BuildID]bool) {
	for _, path := range paths {
		if len(missing) == 0 {
			return
		}
		id, ok := probed(path)
		if st, err := os.Stat(path); err == nil && ok && missing[id] {
			delete(missing, id)
			in.addNamed(path, binaries, st.Size())
		}
	}
}

// below returns the binaries at or below a place.
func (in *Inputs) below(place string) []string {
	if !verb.IsDir(place) {
		return []string{place}
	}
	return verb.Binaries(place, func(_ string, err error) { in.omit(fmt.Errorf("looking for programs: %w", err)) })
}
