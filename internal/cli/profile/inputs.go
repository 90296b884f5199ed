package profile

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mippack"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// Suffixes of raw files, packs of them and maps in a directory.
const (
	rawSuffix  = ".mipraw"
	packSuffix = ".mippack"
	mapSuffix  = ".mipmap"
)

// maxListLine limits the length of a line of an @list file.
const maxListLine = 1 << 16

// inputs are the files on the command line by kind. Files in a directory are recognised as raw
// files by their name; all others are recognised by their first bytes.
type inputs struct {
	raws, maps, profiles []string
	parts                []string // of universal files
	found                []string // binaries below directories
	bad                  []rawfiles.Complaint
	// packed are raw files in packs, by a path that begins with the pack's.
	packed map[string][]byte
	// noPacks passes by packs below directories.
	noPacks bool
}

// add adds a file, the raw files below a directory, or the files and
// directories that @list names, one on each line.
func (in *inputs) add(arg string) error {
	list, ok := strings.CutPrefix(arg, "@")
	if !ok {
		in.addPath(arg)
		return nil
	}
	f, err := os.Open(list)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxListLine)
	n := 0
	for lines.Scan() {
		n++
		if path := strings.TrimSuffix(lines.Text(), "\r"); path != "" {
			in.addPath(path)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w", list, n+1, err)
	}
	return nil
}

// chooseParts adds the maps of those parts of universal files whose builds raw files have, by
// their names; of all parts, if they have none. Of binaries below directories it adds only the
// maps of those whose builds raw files have.
func (in *inputs) chooseParts() {
	var chosen []string
	for _, part := range in.parts {
		bin, err := objfile.Open(part)
		if err != nil {
			in.addError(part, rawfiles.Unreadable, verb.TrimPath(err, part))
			continue
		}
		id, err := bin.BuildID()
		bin.Close()
		if err == nil && in.hasRuns(id) {
			chosen = append(chosen, part)
		}
	}
	if chosen == nil {
		chosen = in.parts
	}
	in.maps, in.parts = append(in.maps, chosen...), nil
	for _, path := range in.found {
		if bin, err := objfile.Open(path); err == nil {
			id, err := bin.BuildID()
			bin.Close()
			if err == nil && in.hasRuns(id) && HasMap(path) {
				in.maps = append(in.maps, path)
			}
		}
	}
	in.found = nil
}

// hasRuns reports whether a raw file is named like one of a build.
func (in *inputs) hasRuns(id prof.BuildID) bool {
	return slices.ContainsFunc(in.raws, func(raw string) bool { return strings.Contains(filepath.Base(raw), "."+id.String()+".") })
}

// nameModules names modules whose map comes from a debug file below .build-id, which is named
// after the build id, as raw files of their runs are.
func (in *inputs) nameModules(p *prof.Profile) {
	for i := range p.Modules {
		m := &p.Modules[i]
		id := m.BuildID.String()
		if m.Module == "" || !strings.HasSuffix(id, m.Module) {
			continue
		}
		for _, raw := range in.raws {
			if name, _, ok := strings.Cut(filepath.Base(raw), "."+id+"."); ok {
				m.Module = name
				break
			}
		}
	}
}

// dedupe removes duplicates of files that were named more than once, such as directly and by a
// directory: their runs must count once.
func (in *inputs) dedupe() {
	for _, list := range []*[]string{&in.raws, &in.maps, &in.profiles} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

// dropProfile leaves the profile at path out.
func (in *inputs) dropProfile(path string) {
	self, err := os.Stat(path)
	if err != nil {
		return
	}
	in.profiles = slices.DeleteFunc(in.profiles, func(other string) bool {
		st, err := os.Stat(other)
		return err == nil && os.SameFile(self, st)
	})
}

func (in *inputs) addPath(path string) {
	if verb.IsURL(path) { // a profile that a collector has
		in.profiles = append(in.profiles, path)
		return
	}
	path = filepath.Clean(path)
	if objfile.PlainPath(path) != path { // a part of a universal file
		in.maps = append(in.maps, path)
		return
	}
	st, err := os.Stat(path)
	if err != nil {
		in.addError(path, rawfiles.Unreadable, reason(err))
		return
	}
	if st.IsDir() {
		in.addDir(path)
		return
	}
	if !st.Mode().IsRegular() {
		in.addError(path, rawfiles.Unreadable, "not a regular file")
		return
	}
	head, err := verb.ReadHead(path)
	if err != nil {
		in.addError(path, rawfiles.Unreadable, reason(err))
		return
	}
	switch kind := mip.Detect(head); {
	case kind == mip.KindRaw:
		in.raws = append(in.raws, path)
	case kind == mip.KindProfile:
		in.profiles = append(in.profiles, path)
	case mippack.Detect(head):
		in.addPack(path)
	case kind == mip.KindMap:
		in.maps = append(in.maps, path)
	case verb.IsBinary(head):
		in.addBinary(path)
	default:
		in.addError(path, rawfiles.Unknown, "not a raw file, map, profile or binary: it is "+verb.KindName(head))
	}
}

// addBinary adds the map of a binary, or remembers the parts of a universal file.
func (in *inputs) addBinary(path string) {
	parts, err := objfile.Parts(path)
	switch {
	case err != nil:
		in.addError(path, rawfiles.Unreadable, verb.TrimPath(err, path))
	case len(parts) == 0:
		in.maps = append(in.maps, path)
	default:
		in.parts = append(in.parts, parts...)
	}
}

// addPack adds the raw files in a pack.
func (in *inputs) addPack(path string) {
	files, err := readPack(path)
	if err != nil {
		in.addError(path, rawfiles.Damaged, verb.TrimPath(err, path))
		return
	}
	if in.packed == nil {
		in.packed = make(map[string][]byte)
	}
	for _, f := range files {
		name := filepath.Join(path, f.Name)
		in.packed[name] = f.Data
		in.raws = append(in.raws, name)
	}
}

// addDir adds the raw files and packs below dir, and remembers the binaries.
func (in *inputs) addDir(dir string) {
	in.found = append(in.found, verb.Binaries(dir)...)
	// The function never returns an error: if a directory cannot be read, only its own files
	// are missing.
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			in.addError(path, rawfiles.Unreadable, reason(err))
		case !d.IsDir() && strings.HasSuffix(path, rawSuffix):
			if !d.Type().IsRegular() && !linksToRegular(path, d) {
				in.addError(path, rawfiles.Unreadable, "not a regular file")
				break
			}
			in.raws = append(in.raws, path)
		case !d.IsDir() && strings.HasSuffix(path, packSuffix) && !in.noPacks:
			in.addPack(path)
		}
		return nil
	})
}

func linksToRegular(path string, d fs.DirEntry) bool {
	if d.Type() != fs.ModeSymlink {
		return false
	}
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

func (in *inputs) addError(path, kind, reason string) {
	in.bad = append(in.bad, rawfiles.Complaint{File: path, Kind: kind, Reason: reason})
}

// reason is err without the path, which messages have in front already.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
