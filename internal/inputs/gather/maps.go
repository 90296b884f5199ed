package gather

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/profile/absent"
	"github.com/cairnprof/cairn/internal/profile/merge"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// ReadMap reads the map at path, be it a .mipmap file or in a binary.
func ReadMap(s *verb.Streams, path string) (*prof.Map, error) {
	head, err := verb.ReadHead(path)
	if err != nil {
		return nil, err
	}
	k := kind.Of(head)
	switch k {
	case kind.Map:
		data, err := verb.ReadFile(path)
		if err != nil {
			return nil, err
		}
		m, err := mip.ReadMap(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return m, nil
	case kind.Binary:
		return ReadBinaryMap(s, path)
	}
	return nil, fmt.Errorf("%s: not a binary or a map: it is %v", path, k)
}

// builtByProfile reports whether cairn build --use compiled a file of the binary.
func builtByProfile(bin *objfile.File) bool {
	comment, _, _, _, err := bin.Section(toolchain.CommentSection)
	return err == nil && bytes.Contains(comment, []byte(toolchain.ProfileIdent))
}

// ReadBinaryMap reads the map section of the binary at path. Invalid records are reported and
// skipped.
func ReadBinaryMap(s *verb.Streams, path string) (*prof.Map, error) {
	defer verb.Working(s, "reading the map of %s", path)()
	bin, err := objfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer bin.Close()
	data, err := MapSection(bin)
	if err != nil {
		return nil, err
	}
	if data == nil && builtByProfile(bin) {
		return nil, fmt.Errorf("%s: no map: it was built by a profile (cairn build --use), without probes; give the program that was built with probes, or build it again with cairn build --mode", path)
	}
	_, rawAddr, rawSize, ok, err := bin.Section(wire.RawSection)
	if err != nil {
		return nil, err
	}
	if data == nil && ok {
		return nil, fmt.Errorf("%s: %s", path, strippedMap(path))
	}
	if data == nil {
		return nil, fmt.Errorf("%s: no map (section %s): it is stripped, was not built by cairn or was built with --use, or has mode spike, stacks or trace, which write logs; use the unstripped binary, its .debug file or the .mipmap", path, wire.MapSection)
	}
	if !ok {
		return nil, fmt.Errorf("%s: has a map (%s), but no records (%s): it is an object file, or a linker script removed them", path, wire.MapSection, wire.RawSection)
	}
	id, err := bin.RecordedID()
	if errors.Is(err, objfile.ErrNoBuildID) {
		return nil, fmt.Errorf("%w: link with -Wl,--build-id", err)
	} else if err != nil {
		return nil, err
	}
	m := &prof.Map{
		BuildID: id,
		Module:  strings.TrimSuffix(filepath.Base(objfile.PlainPath(path)), ".debug"),
		RawAddr: rawAddr, RawSize: rawSize, Machine: bin.MachineName(),
	}
	funcs, _, err := mip.ReadMapSection(data, rawAddr, rawSize)
	if errors.Is(err, mip.ErrNewer) && len(funcs) == 0 {
		return nil, fmt.Errorf("%s: %s: %w", path, wire.MapSection, mip.ErrNewer)
	}
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(s.Err, "cairn: %s: function omitted: %s: %s\n", path, wire.MapSection, strings.TrimSpace(line))
		}
		if len(funcs) == 0 {
			return nil, fmt.Errorf("%s: no valid record in %s", path, wire.MapSection)
		}
	}
	m.Funcs = funcs
	return m, addAbsent(s, bin, m, data)
}

// strippedMap says of a stripped module what it lacks, and where that is: links keep it (objfile.SetKept).
func strippedMap(path string) string {
	name := filepath.Base(objfile.PlainPath(path))
	return fmt.Sprintf("its map (section %s) is stripped: use the unstripped binary, its .debug file, or the map that the machine that linked it keeps (cairn map %s -o %s%s)",
		wire.MapSection, name, name, mapSuffix)
}

// MapStripped returns an error if the file at path is a module whose map was stripped and is nowhere.
func MapStripped(s *verb.Streams, path string) error {
	if m, ok, err := identify(s, path); err != nil || !ok || !m.mapless {
		return nil
	}
	return fmt.Errorf("%s: %s", path, strippedMap(path))
}

// addAbsent sets the functions of the compilations of a binary that m lacks. Binaries of builds before these
// were recorded have none. In Mach-O the records are in the section of the map.
func addAbsent(s *verb.Streams, bin *objfile.File, m *prof.Map, section []byte) error {
	data, err := bin.StrippedSection(wire.UnitSection)
	if err != nil {
		return err
	}
	units, err := mip.ReadUnits(slices.Concat(data, mip.UnitsOfMap(section)))
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(s.Err, "cairn: %s: compilation omitted: %s: %s\n", bin.Path(), wire.UnitSection, strings.TrimSpace(line))
		}
	}
	var symbols map[string]bool
	if slices.ContainsFunc(units, func(u prof.Unit) bool {
		return slices.ContainsFunc(u.Funcs, func(a prof.Absent) bool { return a.Why == prof.Unprobed })
	}) {
		if symbols, err = bin.SymbolNames(); err != nil {
			return err
		}
	}
	absent.NameSources(units, m.Funcs)
	m.Absent = absent.Of(units, m.Funcs, symbols)
	return nil
}

// MapSection returns the map section of a binary or of its separate debug file, nil if there
// is none. Records under the section's old name, in objects that an earlier cairn built, are
// after those under the present name.
func MapSection(bin *objfile.File) ([]byte, error) {
	var all []byte
	for _, name := range []string{wire.MapSection, wire.OldMapSection} {
		data, err := bin.StrippedSection(name)
		if err != nil {
			return nil, err
		}
		if _, addr, _, ok, err := bin.Section(name); err == nil && ok {
			mip.PlaceMap(data, addr)
		}
		all = append(all, data...)
	}
	return all, nil
}

// AddMap adds a module without runs for the map or binary at path.
func AddMap(s *verb.Streams, p *prof.Profile, path string) error {
	m, err := ReadMap(s, path)
	if err != nil {
		return err
	}
	if len(m.Funcs) > 0 && m.Funcs[0].Mode.Estimated() {
		return fmt.Errorf("%s: the map of a build without probes, which records nothing: cairn profgen --format mip makes a profile of samples", path)
	}
	empty := merge.NewAccumulator(merge.NewLayout(m), 0).Module()
	err = merge.Profiles(p, &prof.Profile{Modules: []prof.Module{empty}})
	if errors.Is(err, merge.ErrMachine) {
		return fmt.Errorf("%s: %w: merge those of each into a separate profile", path, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// BuiltByProfile reports whether the binary at path was built by a profile and has no probes.
func BuiltByProfile(path string) bool {
	bin, err := objfile.Open(path)
	if err != nil {
		return false
	}
	defer bin.Close()
	data, err := MapSection(bin)
	return err == nil && data == nil && builtByProfile(bin)
}
