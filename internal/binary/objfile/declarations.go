package objfile

import (
	"cmp"
	"errors"
	"fmt"
)

// Declaration is the description of a function in debug information.
type Declaration struct {
	Name string // linkage name, or else the name in the source
	File string // source file, absolute where the compiler knew its directory
	Line int    // where the function is declared, 0 if not known
}

// Declarations returns the declarations of the functions that start at the addresses of the
// map, from the file itself or its separate debug file. The map has the symbols: if the linker
// folded several functions into one, the declaration is that of the function with this symbol.
// Without debug information, or in a big-endian file, the error is ErrNoScopes, prefixed with
// the path. If debug information is damaged, the declarations before the damage are returned,
// with an error.
//
// This steps over all entries and reads only those of functions, several times as fast as
// Scopes, which also reads inlined calls.
func (im *Image) Declarations(symbols map[uint64]string) (map[uint64]Declaration, error) {
	var sections entrySections
	from, err := im.debugSections(&sections)
	if err != nil {
		return nil, err
	}
	d := &declReader{symbols: symbols, found: map[uint64]Declaration{}}
	r, err := newEntryReader(&sections)
	_ = r.eachUnit(newSplitFiles("", im.path, from), d.scan)
	if err != nil {
		return d.found, fmt.Errorf("%s: .debug_info: %w", from, err)
	}
	return d.found, nil
}

// debugSections reads the sections of entries and returns the path of their file.
func (im *Image) debugSections(s *entrySections) (from string, err error) {
	from = im.path
	section := im.debugSection
	if !im.Relocatable() {
		// By File, which decompresses sections.
		f, err := Open(im.path)
		if err == nil {
			defer f.Close()
			if f.elf.Section(".debug_info") == nil {
				if d := im.openDebugFile(); d != nil {
					defer d.Close()
					f, from = d, d.path
				}
			}
			section = f.section
		}
	}
	if err := s.read(section); err != nil {
		return "", err
	}
	if len(s.info) == 0 {
		return "", fmt.Errorf("%s: %w", im.path, ErrNoScopes)
	}
	return from, nil
}

// debugSection returns a section of an object, or of a module that File does not support; nil
// if it is missing or not usable here.
func (im *Image) debugSection(name string) ([]byte, error) {
	if im.order.String() != "LittleEndian" {
		return nil, nil
	}
	tables, err := im.Tables(name)
	if errors.Is(err, ErrNoContents) || err == nil && len(tables) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return tables[0].Data, nil
}

// declReader finds the declarations of functions.
type declReader struct {
	symbols map[uint64]string
	found   map[uint64]Declaration
}

// scan reads the entries of a unit. It ends at the first invalid one.
func (d *declReader) scan(r *entryReader, u *entryUnit) error {
	r.subprograms(u, func(a *abbrev, at uint64) {
		if a.places {
			d.function(r, u, a, at)
		}
	})
	return nil
}

// subprograms visits the entries of functions of a unit, with the offsets of their attributes. It ends at the first
// invalid entry.
func (r *entryReader) subprograms(u *entryUnit, visit func(a *abbrev, at uint64)) {
	for at := u.first; at < u.end; {
		if r.info[at] == 0 { // the end of a list of children
			at++
			continue
		}
		a, next := u.abbrevAt(r.info, at)
		if a == nil {
			return
		}
		if a.tag == tagSubprogram {
			visit(a, next)
		}
		if at = a.skip(r.info, next, u); at > u.end {
			return
		}
	}
}

// function stores the declaration of the function whose attributes are at an offset, if it was
// requested.
func (d *declReader) function(r *entryReader, u *entryUnit, a *abbrev, at uint64) {
	e, ok := r.entry(u, a, at)
	if !ok {
		return
	}
	addr, ok := r.address(u, e.lowPC)
	if !ok {
		addr, ok = r.firstRange(u, e.ranges)
	}
	symbol, wanted := d.symbols[addr]
	if !ok || !wanted {
		return
	}
	old, seen := d.found[addr]
	if seen && (symbol == "" || old.Name == symbol) {
		return
	}
	if of := r.declaration(u, &e, maxOriginSteps); !seen || of.Name == symbol {
		d.found[addr] = of
	}
}

// declaration joins an entry with those that it refers to. The attributes of a definition
// override those of its declaration; a line of the definition may be in the file of the
// declaration.
func (r *entryReader) declaration(u *entryUnit, e *funcEntry, steps int) (d Declaration) {
	d.Name = r.text(u, e.linkage)
	if e.line < 1<<31 {
		d.Line = int(e.line)
	}
	if e.hasFile {
		d.File = r.file(u, e.file)
	}
	plain := r.text(u, e.name)
	for _, ref := range []attrValue{e.origin, e.specification} {
		if ref.form == 0 || steps == 0 || d.Name != "" && d.Line != 0 && d.File != "" {
			continue
		}
		to, target, ok := r.follow(u, ref)
		if !ok {
			continue
		}
		from := r.declaration(to, target, steps-1)
		d = Declaration{cmp.Or(d.Name, from.Name), cmp.Or(d.File, from.File), cmp.Or(d.Line, from.Line)}
	}
	d.Name = cmp.Or(d.Name, plain)
	return d
}
