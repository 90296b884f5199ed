package gather

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
	RawSuffix  = ".mipraw"
	packSuffix = ".mippack"
	mapSuffix  = ".mipmap"
)

// maxListLine limits the length of a line of an @list file.
const maxListLine = 1 << 16

// Inputs are the files on the command line by kind. Files in a directory are recognised as raw
// files by their name; all others are recognised by their first bytes.
type Inputs struct {
	Raws, Maps, Profiles []string
	parts                []string // of universal files
	found                []string // files below directories that may have the map of a module
	objects              []string // objects and archives below directories
	Bad                  []rawfiles.Complaint
	// packed are raw files in packs, by a path that begins with the pack's.
	packed map[string][]byte
	// ran has the builds in the names of raw files, once all were added.
	ran map[string]bool
	// NoPacks passes by packs below directories.
	NoPacks bool
}

// AddAll adds what is on the command line.
func (in *Inputs) AddAll(args []string) error {
	for _, arg := range args {
		if err := in.Add(arg); err != nil {
			return err
		}
	}
	in.chooseParts()
	return nil
}

// Add adds a file, the raw files below a directory, or the files and
// directories that @list names, one on each line.
func (in *Inputs) Add(arg string) error {
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
func (in *Inputs) chooseParts() {
	in.Maps, in.parts = append(in.Maps, in.partsWithRuns(in.parts)...), nil
}

// partsWithRuns returns those of the parts of universal files whose builds raw files have, all
// if there is none.
func (in *Inputs) partsWithRuns(parts []string) (chosen []string) {
	ran := in.buildsWithRuns()
	for _, part := range parts {
		bin, err := objfile.Open(part)
		if err != nil {
			in.addError(part, rawfiles.Unreadable, verb.TrimPath(err, part))
			continue
		}
		id, err := bin.RecordedID()
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
func (in *Inputs) buildsWithRuns() map[string]bool {
	if in.ran == nil {
		in.ran = make(map[string]bool)
		for _, raw := range in.Raws {
			for part := range strings.SplitSeq(filepath.Base(raw), ".") {
				in.ran[part] = true
			}
		}
	}
	return in.ran
}

// nameModules names modules whose map comes from a debug file below .build-id, which is named
// after the build id, as raw files of their runs are.
func (in *Inputs) nameModules(p *prof.Profile) {
	for i := range p.Modules {
		m := &p.Modules[i]
		id := m.BuildID.String()
		if m.Module == "" || !strings.HasSuffix(id, m.Module) {
			continue
		}
		for _, raw := range in.Raws {
			if name, _, ok := strings.Cut(filepath.Base(raw), "."+id+"."); ok {
				m.Module = name
				break
			}
		}
	}
}

// Dedupe removes duplicates of files that were named more than once, such as directly and by a
// directory: their runs must count once.
func (in *Inputs) Dedupe() {
	for _, list := range []*[]string{&in.Raws, &in.Maps, &in.Profiles, &in.found, &in.objects} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

// DropProfile leaves the profile at path out.
func (in *Inputs) DropProfile(path string) {
	in.Profiles = slices.DeleteFunc(in.Profiles, func(other string) bool { return verb.SameFile(path, other) })
}

// HasProfile reports whether the profile at path is among the inputs.
func (in *Inputs) HasProfile(path string) bool {
	return slices.ContainsFunc(in.Profiles, func(other string) bool { return verb.SameFile(path, other) })
}

func (in *Inputs) addPath(path string) {
	if verb.IsURL(path) { // a profile that a collector has
		in.Profiles = append(in.Profiles, path)
		return
	}
	path = filepath.Clean(path)
	if objfile.PlainPath(path) != path { // a part of a universal file
		in.Maps = append(in.Maps, path)
		return
	}
	st, err := os.Stat(path)
	if err != nil {
		in.addError(path, rawfiles.Unreadable, Reason(err))
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
		in.addError(path, rawfiles.Unreadable, Reason(err))
		return
	}
	switch k := kind.Of(head); k {
	case kind.Raw:
		in.Raws = append(in.Raws, path)
	case kind.Profile:
		in.Profiles = append(in.Profiles, path)
	case kind.Pack:
		in.addPack(path)
	case kind.Map:
		in.Maps = append(in.Maps, path)
	case kind.Binary:
		in.addBinary(path)
	default:
		in.addError(path, rawfiles.Unknown, fmt.Sprintf("not a raw file, map, profile or binary: it is %v", k))
	}
}

// addBinary adds the map of a binary, or remembers the parts of a universal file.
func (in *Inputs) addBinary(path string) {
	parts, err := objfile.Parts(path)
	switch {
	case err != nil:
		in.addError(path, rawfiles.Unreadable, verb.TrimPath(err, path))
	case len(parts) == 0:
		in.Maps = append(in.Maps, path)
	default:
		in.parts = append(in.parts, parts...)
	}
}

// addPack adds the raw files in a pack.
func (in *Inputs) addPack(path string) {
	files, err := ReadPack(path)
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
		in.Raws = append(in.Raws, name)
	}
}

// addDir adds the raw files and packs below dir, and remembers the files that may have maps.
func (in *Inputs) addDir(dir string) {
	failed := func(path string, err error) { in.addError(path, rawfiles.Unreadable, Reason(err)) }
	verb.WalkFiles(dir, failed, func(path string, d fs.DirEntry) error {
		switch {
		case strings.HasSuffix(path, RawSuffix):
			if !d.Type().IsRegular() && !linksToRegular(path, d) {
				in.addError(path, rawfiles.Unreadable, "not a regular file")
				break
			}
			in.Raws = append(in.Raws, path)
		case strings.HasSuffix(path, packSuffix):
			if !in.NoPacks {
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

func (in *Inputs) addError(path, kind, reason string) {
	in.Bad = append(in.Bad, rawfiles.Complaint{File: path, Kind: kind, Reason: reason})
}

// Reason is err without the path, which messages have in front already.
func Reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
