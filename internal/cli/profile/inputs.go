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
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/kind"
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
	found                []string // files below directories that may have the map of a module
	objects              []string // objects and archives below directories
	bad                  []rawfiles.Complaint
	// packed are raw files in packs, by a path that begins with the pack's.
	packed map[string][]byte
	// ran has the builds in the names of raw files, once all were added.
	ran map[string]bool
	// noPacks passes by packs below directories.
	noPacks bool
}

// addAll adds what is on the command line.
func (in *inputs) addAll(args []string) error {
	for _, arg := range args {
		if err := in.add(arg); err != nil {
			return err
		}
	}
	in.chooseParts()
	return nil
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
// their names; of all parts, if they have none.
func (in *inputs) chooseParts() {
	in.maps, in.parts = append(in.maps, in.partsWithRuns(in.parts)...), nil
}

// partsWithRuns returns those of the parts of universal files whose builds raw files have, all
// if there is none.
func (in *inputs) partsWithRuns(parts []string) (chosen []string) {
	ran := in.buildsWithRuns()
	for _, part := range parts {
		bin, err := objfile.Open(part)
		if err != nil {
			in.addError(part, rawfiles.Unreadable, verb.TrimPath(err, part))
			continue
		}
		id, err := bin.BuildID()
		bin.Close()
		if err == nil && ran[id.String()] {
			chosen = append(chosen, part)
		}
	}
	if chosen == nil {
		return parts
	}
	return chosen
}

// buildsWithRuns returns the builds in the names of raw files, and other parts of these names.
func (in *inputs) buildsWithRuns() map[string]bool {
	if in.ran == nil {
		in.ran = make(map[string]bool)
		for _, raw := range in.raws {
			for part := range strings.SplitSeq(filepath.Base(raw), ".") {
				in.ran[part] = true
			}
		}
	}
	return in.ran
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
	for _, list := range []*[]string{&in.raws, &in.maps, &in.profiles, &in.found, &in.objects} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

// dropProfile leaves the profile at path out.
func (in *inputs) dropProfile(path string) {
	in.profiles = slices.DeleteFunc(in.profiles, func(other string) bool { return verb.SameFile(path, other) })
}

// hasProfile reports whether the profile at path is among the inputs.
func (in *inputs) hasProfile(path string) bool {
	return slices.ContainsFunc(in.profiles, func(other string) bool { return verb.SameFile(path, other) })
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
	switch k := kind.Of(head); k {
	case kind.Raw:
		in.raws = append(in.raws, path)
	case kind.Profile:
		in.profiles = append(in.profiles, path)
	case kind.Pack:
		in.addPack(path)
	case kind.Map:
		in.maps = append(in.maps, path)
	case kind.Binary:
		in.addBinary(path)
	default:
		in.addError(path, rawfiles.Unknown, fmt.Sprintf("not a raw file, map, profile or binary: it is %v", k))
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

// addDir adds the raw files and packs below dir, and remembers the files that may have maps.
func (in *inputs) addDir(dir string) {
	failed := func(path string, err error) { in.addError(path, rawfiles.Unreadable, reason(err)) }
	verb.WalkFiles(dir, failed, func(path string, d fs.DirEntry) error {
		switch {
		case strings.HasSuffix(path, rawSuffix):
			if !d.Type().IsRegular() && !linksToRegular(path, d) {
				in.addError(path, rawfiles.Unreadable, "not a regular file")
				break
			}
			in.raws = append(in.raws, path)
		case strings.HasSuffix(path, packSuffix):
			if !in.noPacks {
				in.addPack(path)
			}
		case MayHaveUnits(path):
			in.objects = append(in.objects, path)
		case strings.HasSuffix(path, mapSuffix) && ofPlainBuild(path):
			// It is of what records nothing.
		case strings.HasSuffix(path, mapSuffix) || verb.MayBeBinary(path, d):
			in.found = append(in.found, path)
		}
		return nil
	})
}

// ofPlainBuild reports whether a file is the map of a build without probes (cairn build --map).
func ofPlainBuild(path string) bool {
	data, err := verb.ReadFile(path)
	if err != nil {
		return false
	}
	m, err := mip.ReadMap(data)
	return err == nil && len(m.Funcs) > 0 && m.Funcs[0].Mode.Estimated()
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
