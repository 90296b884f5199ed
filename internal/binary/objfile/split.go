package objfile

import (
	"errors"
	"fmt"
	"path/filepath"
)

// MissingSplit counts the units whose entries are in other files (-gsplit-dwarf) that are
// missing or of another build. Their functions have only symbols and lines.
type MissingSplit struct {
	Units, Of int    // missing split units, and all of them
	File      string // of the first missing one
}

func (m MissingSplit) String() string {
	return fmt.Sprintf("split debug information is missing for %d of %d units, the first is %s", m.Units, m.Of, m.File)
}

// MissingSplit returns the split units that Scopes could not read.
func (f *File) MissingSplit() MissingSplit {
	_, _ = f.scopes()
	return f.missing
}

// SetSplitFile sets the package (.dwp) with the module's split debug information. It must be
// called before methods that read it.
func (f *File) SetSplitFile(path string) error {
	s, err := readSplitFile(path)
	if err != nil {
		return err
	}
	if len(s.rows) == 0 {
		return fmt.Errorf("%s: not a package of split debug information (.dwp): it has no .debug_cu_index", path)
	}
	f.splitFile = path
	return nil
}

// splitFiles finds the files with the split debug information of a module: the package set by
// the caller, those beside the module and its debug file, and the file that each skeleton unit
// names. They belong to the module if they have the unit's id.
type splitFiles struct {
	packages []string // paths, until they are opened
	open     []*splitFile
	beside   string // directory of the module
	done     map[uint64]bool
	tried    map[string]bool
	last     *splitFile // the .dwo that was opened last
	missing  MissingSplit
}

// newSplitFiles returns the places of the split debug information of a module whose other
// debug information is in the file from.
func newSplitFiles(named, module, from string) *splitFiles {
	s := &splitFiles{beside: filepath.Dir(module), done: map[uint64]bool{}, tried: map[string]bool{}}
	if named != "" {
		s.packages = append(s.packages, named)
	}
	s.packages = append(s.packages, module+".dwp")
	if from != module {
		s.packages = append(s.packages, from+".dwp")
	}
	return s
}

// eachUnit calls visit with each unit, and the reader of its entries. A skeleton unit is
// replaced by its split unit, if that is found.
func (r *entryReader) eachUnit(split *splitFiles, visit func(*entryReader, *entryUnit) error) error {
	for i := range r.units {
		from, u := r, &r.units[i]
		if u.dwoName != "" {
			if split.done[u.dwoID] {
				continue // otherwise a damaged file could have one unit read without end
			}
			split.done[u.dwoID] = true
			if f, s := split.unit(r, u); s != nil {
				from, u = f, s
			}
		}
		if err := visit(from, u); err != nil {
			return err
		}
	}
	return nil
}

// unit returns the split unit of a skeleton unit, or nil if it is missing.
func (s *splitFiles) unit(r *entryReader, skeleton *entryUnit) (*entryReader, *entryUnit) {
	for _, path := range s.packages {
		if f, err := readSplitFile(path); err == nil {
			s.open = append(s.open, f)
		}
	}
	s.packages = nil
	s.missing.Of++
	for _, f := range s.open {
		if from, u := f.unit(r, skeleton); u != nil {
			return from, u
		}
	}
	named := skeleton.dwoName
	if !filepath.IsAbs(named) {
		named = filepath.Join(skeleton.compDir, named)
	}
	for _, path := range []string{named, filepath.Join(s.beside, skeleton.dwoName), filepath.Join(s.beside, filepath.Base(skeleton.dwoName))} {
		if from, u := s.file(path).unit(r, skeleton); u != nil {
			return from, u
		}
	}
	if s.missing.Units++; s.missing.Units == 1 {
		s.missing.File = named
	}
	return nil, nil
}

// file returns the .dwo at a path, or nil if there is none. Units of one file are consecutive,
// so only the last file is cached.
func (s *splitFiles) file(path string) *splitFile {
	if s.last != nil && s.last.path == path {
		return s.last
	}
	if s.tried[path] {
		return nil
	}
	s.tried[path] = true
	f, err := readSplitFile(path)
	if err != nil {
		return nil
	}
	s.last = f
	return f
}

// splitFile is a .dwo, an object with the same sections, or a package of such files.
type splitFile struct {
	path     string
	sections entrySections // those of all units of a package
	rows     map[uint64]splitRow
	reader   *entryReader // for a file that is not a package
}

// splitRow has the part of each section that belongs to a unit of a package.
type splitRow struct{ info, abbrev, line, strOffsets, rnglists part }

type part struct{ at, size uint64 }

// of returns the available bytes of the part of a section.
func (p part) of(data []byte) []byte {
	at := min(p.at, uint64(len(data)))
	return data[at:min(at+p.size, uint64(len(data)))]
}

// errNoSplit reports a file without split debug information.
var errNoSplit = errors.New("no split debug information (.debug_info.dwo)")

// readSplitFile reads the sections of a file, and the index of a package.
func readSplitFile(path string) (*splitFile, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := &splitFile{path: path}
	if err := s.sections.read(func(name string) ([]byte, error) { return f.section(name + ".dwo") }); err != nil {
		return nil, err
	}
	if len(s.sections.info) == 0 {
		return nil, fmt.Errorf("%s: %w", path, errNoSplit)
	}
	index, err := f.section(".debug_cu_index")
	if err != nil {
		return nil, err
	}
	if index != nil {
		s.rows, err = readSplitIndex(index)
	} else {
		s.reader, _ = newEntryReader(&s.sections) // of a damaged file, the units before the damage
	}
	if err != nil {
		return nil, fmt.Errorf("%s: .debug_cu_index: %w", path, err)
	}
	return s, nil
}

// unit returns the unit of the file that completes a skeleton unit, or nil if there is none.
func (s *splitFile) unit(main *entryReader, skeleton *entryUnit) (*entryReader, *entryUnit) {
	if s == nil {
		return nil, nil
	}
	r := s.reader
	if r == nil {
		row, ok := s.rows[skeleton.dwoID]
		if !ok {
			return nil, nil
		}
		own := s.sections
		own.info, own.abbrev, own.lines.line = row.info.of(own.info), row.abbrev.of(own.abbrev), row.line.of(own.lines.line)
		own.strOffsets, own.rnglists = row.strOffsets.of(own.strOffsets), row.rnglists.of(own.rnglists)
		r, _ = newEntryReader(&own)
	}
	// Addresses and the ranges of DWARF 4 are in the module.
	r.addr, r.ranges = main.addr, main.ranges
	for i := range r.units {
		u := &r.units[i]
		if u.dwoID != skeleton.dwoID || u.version != skeleton.version {
			continue
		}
		u.addrBase, u.lowPC = skeleton.addrBase, skeleton.lowPC
		if u.version < 5 {
			u.rangesBase = skeleton.splitRanges
		}
		if u.compDir == "" {
			u.compDir = skeleton.compDir
		}
		if u.ownLines = u.hasLine && len(r.lines.line) > 0; !u.ownLines {
			u.line, u.hasLine = skeleton.line, skeleton.hasLine
			r.lines = main.lines
		}
		return r, u
	}
	return nil, nil
}
