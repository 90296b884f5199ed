package objfile

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/cairnprof/cairn/internal/bytecur"
)

// Declaration is what debug information says of a function.
type Declaration struct {
	Name string // linkage name, or else the name in the source
	File string // source file, absolute where the compiler knew its directory
	Line int    // where the function is declared, 0 if not known
}

// Declarations returns what debug information says of the functions that start
// at these addresses, from the file itself or its separate debug file. The map
// gives their symbols: where the linker made several functions one, that of the
// symbol counts. Without debug information, or in a file of another byte order
// than little-endian, the error is ErrNoScopes, with the path in front. Of
// damaged debug information there is what stands before the damage, with an
// error.
//
// This steps over all entries and reads only those of functions, several times
// as fast as Scopes, which also knows what was inlined.
func (im *Image) Declarations(symbols map[uint64]string) (map[uint64]Declaration, error) {
	r := &declReader{symbols: symbols, found: map[uint64]Declaration{}}
	from, err := im.debugSections(r)
	if err != nil {
		return nil, err
	}
	if err := r.read(); err != nil {
		return r.found, fmt.Errorf("%s: .debug_info: %w", from, err)
	}
	return r.found, nil
}

// debugSections finds the sections that r needs and says which file they are of.
func (im *Image) debugSections(r *declReader) (from string, err error) {
	from = im.path
	section := im.debugSection
	if !im.Relocatable() {
		// Through File, which decompresses.
		f, err := Open(im.path)
		if err == nil {
			defer f.Close()
			if f.elf.Section(".debug_info") == nil {
				if d := im.openDebugFile(); d != nil {
					defer d.Close()
					f, from = d, d.path
				}
			}
			section = func(name string) ([]byte, error) {
				data, _, _, _, err := f.Section(name)
				return data, err
			}
		}
	}
	for name, data := range map[string]*[]byte{
		"info": &r.info, "abbrev": &r.abbrev, "str": &r.lines.str, "line_str": &r.lines.lineStr, "str_offsets": &r.strOffsets,
		"addr": &r.addr, "ranges": &r.ranges, "rnglists": &r.rnglists, "line": &r.lines.line,
	} {
		if *data, err = section(".debug_" + name); err != nil {
			return "", err
		}
	}
	if len(r.info) == 0 {
		return "", fmt.Errorf("%s: %w", im.path, ErrNoScopes)
	}
	return from, nil
}

// debugSection returns a section of an object, or of a module that File does
// not read; nil if there is none or it is of no use here.
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

// Tags, attributes and forms of DWARF 5 (7.5) that functions have, and what GNU
// used before.
const (
	tagSubprogram = 0x2e

	attrName           = 0x03
	attrLowPC          = 0x11
	attrAbstractOrigin = 0x31
	attrDeclFile       = 0x3a
	attrDeclLine       = 0x3b
	attrSpecification  = 0x47
	attrRanges         = 0x55
	attrLinkageName    = 0x6e
	attrStrOffsetsBase = 0x72
	attrAddrBase       = 0x73
	attrRnglistsBase   = 0x74
	attrMIPSLinkage    = 0x2007
)

// declReader finds the declarations of functions.
type declReader struct {
	info, abbrev, strOffsets, addr, ranges, rnglists []byte
	lines                                            lineSections

	symbols map[uint64]string
	found   map[uint64]Declaration

	units     []declUnit // ascending by start
	abbrevs   map[abbrevKey]*abbrevTable
	files     map[uint64]*unit // by offset in .debug_line
	paths     map[fileKey]string
	steps     int // of reading abbreviations
	fileSteps int // of reading names of files
	texts     int // bytes of names
}

// declUnit is a unit of .debug_info.
type declUnit struct {
	unitInfo
	start, first, end uint64 // offsets of the unit, of its first entry, of its end
	abbrevs           *abbrevTable
	compDir           string
	line              uint64 // offset of its line table
	hasLine           bool
	lowPC             uint64
	// Where what has an index begins, in .debug_str_offsets, .debug_addr and
	// .debug_rnglists.
	strBase, addrBase, rangesBase uint64
}

// declEntry is an entry of a function; texts and addresses are read when asked
// for.
type declEntry struct {
	name, linkage, lowPC, ranges declValue
	file, line                   uint64
	hasFile                      bool
	origin, specification        declValue
}

// declValue is the value of an attribute: its form and where it is.
type declValue struct {
	form uint64 // 0: not there
	at   uint64 // offset in .debug_info
}

const (
	maxDeclSteps = 8       // references from an entry to what has its name
	maxDeclTexts = 1 << 29 // bytes of names
)

// read finds the units, then goes over the entries of each.
func (r *declReader) read() error {
	r.abbrevs, r.files, r.paths = map[abbrevKey]*abbrevTable{}, map[uint64]*unit{}, map[fileKey]string{}
	c := bytecur.New(r.info, 0)
	for c.Len() > 0 {
		start := uint64(c.Off())
		body, is64 := nextUnit(c)
		if c.Err() != nil {
			break
		}
		if u, ok := r.unit(start, body, is64); ok {
			r.units = append(r.units, u)
		}
	}
	for i := range r.units {
		r.scan(&r.units[i])
	}
	return c.Err()
}

// unit reads the header of a unit and its first entry. Damage costs the unit.
func (r *declReader) unit(start uint64, c *bytecur.Cursor, is64 bool) (u declUnit, ok bool) {
	u.start, u.end, u.is64 = start, uint64(c.Off())+uint64(c.Len()), is64
	u.version = c.U16()
	var abbrev uint64
	switch {
	case u.version < 2 || u.version > 5:
		return u, false
	case u.version == 5:
		kind := c.U8()
		u.addrSize = int(c.U8())
		abbrev = offset(c, is64)
		switch kind {
		case 4, 5: // skeleton and split units carry an id
			c.Bytes(8)
		case 2, 6: // and type units that of a type, and where it is
			c.Bytes(8)
			offset(c, is64)
		}
	default:
		abbrev = offset(c, is64)
		u.addrSize = int(c.U8())
	}
	if c.Err() != nil || u.addrSize != 4 && u.addrSize != 8 {
		return u, false
	}
	u.first = uint64(c.Off())
	u.abbrevs = r.abbrevTable(abbrev, u.unitInfo)
	return u, r.root(&u)
}

// root reads the attributes of the unit itself.
func (r *declReader) root(u *declUnit) bool {
	a, at := u.abbrevAt(r.info, u.first)
	if a == nil {
		return false
	}
	var low, dir declValue
	for _, s := range a.specs {
		v := declValue{s.form, at}
		if at = skipForm(r.info, at, u.end, s.form, u.unitInfo); at > u.end {
			return false
		}
		switch s.attr {
		case attrStmtList:
			u.line, u.hasLine = r.number(u, v, s), true
		case attrCompDir:
			dir = v
		case attrLowPC:
			low = v
		case attrStrOffsetsBase:
			u.strBase = r.number(u, v, s)
		case attrAddrBase:
			u.addrBase = r.number(u, v, s)
		case attrRnglistsBase:
			u.rangesBase = r.number(u, v, s)
		}
	}
	// These may be behind a base that follows them.
	u.compDir = r.text(u, dir)
	u.lowPC, _ = r.address(u, low)
	return true
}

// scan goes over the entries of a unit. It ends at the first that makes no
// sense.
func (r *declReader) scan(u *declUnit) {
	for at := u.first; at < u.end; {
		if r.info[at] == 0 { // the end of a list of children
			at++
			continue
		}
		a, next := u.abbrevAt(r.info, at)
		if a == nil {
			return
		}
		if a.places {
			r.function(u, a, next)
		}
		if at = a.skip(r.info, next, u); at > u.end {
			return
		}
	}
}

// function notes the declaration of the function whose attributes are at an
// offset, if it is asked for.
func (r *declReader) function(u *declUnit, a *abbrev, at uint64) {
	e, ok := r.entry(u, a, at)
	if !ok {
		return
	}
	addr, ok := r.address(u, e.lowPC)
	if !ok {
		addr, ok = r.firstRange(u, e.ranges)
	}
	symbol, wanted := r.symbols[addr]
	if !ok || !wanted {
		return
	}
	old, seen := r.found[addr]
	if seen && (symbol == "" || old.Name == symbol) {
		return
	}
	if d := r.declaration(u, &e, maxDeclSteps); !seen || d.Name == symbol {
		r.found[addr] = d
	}
}

// entry reads the attributes of a function.
func (r *declReader) entry(u *declUnit, a *abbrev, at uint64) (e declEntry, ok bool) {
	for _, s := range a.specs {
		v := declValue{s.form, at}
		if at = skipForm(r.info, at, u.end, s.form, u.unitInfo); at > u.end {
			return e, false
		}
		switch s.attr {
		case attrName:
			e.name = v
		case attrLinkageName, attrMIPSLinkage:
			e.linkage = v
		case attrLowPC:
			e.lowPC = v
		case attrRanges:
			e.ranges = v
		case attrDeclFile:
			e.file, e.hasFile = r.number(u, v, s), true
		case attrDeclLine:
			e.line = r.number(u, v, s)
		case attrAbstractOrigin:
			e.origin = v
		case attrSpecification:
			e.specification = v
		}
	}
	return e, true
}

// declaration joins an entry with those that it refers to. The definition of a
// function says only what its declaration does not: a line of its own may be in
// the file of the declaration.
func (r *declReader) declaration(u *declUnit, e *declEntry, steps int) (d Declaration) {
	d.Name = r.text(u, e.linkage)
	if e.line < 1<<31 {
		d.Line = int(e.line)
	}
	if e.hasFile {
		d.File = r.file(u, e.file)
	}
	plain := r.text(u, e.name)
	for _, ref := range []declValue{e.origin, e.specification} {
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

// fileKey is a file by the offset of a line table and its number there.
type fileKey struct{ line, number uint64 }

// file returns the name of the file that a unit has under a number.
func (r *declReader) file(u *declUnit, number uint64) string {
	key := fileKey{u.line, number}
	if name, ok := r.paths[key]; ok || !u.hasLine {
		return name
	}
	name := ""
	if table := r.lineTable(u.line); table != nil && number < uint64(len(table.names)) {
		table.compDir = u.compDir
		name = r.bounded(table.path(table.names[number]))
	}
	r.paths[key] = name
	return name
}

// lineTable returns the header of the line table at an offset, or nil.
func (r *declReader) lineTable(at uint64) *unit {
	table, ok := r.files[at]
	if ok || at >= uint64(len(r.lines.line)) || r.fileSteps >= maxAbbrevSteps {
		return table
	}
	body, is64 := nextUnit(bytecur.New(r.lines.line[at:], int64(at)))
	table, err := r.lines.parseUnit(body, is64)
	if err != nil {
		table = nil
	}
	if table != nil {
		r.fileSteps += len(table.names) + len(table.dirs)
	}
	r.files[at] = table
	return table
}

// bounded returns a text, or "" if all of them take more memory than any
// program's: damaged tables may give each function a name of many kilobytes.
func (r *declReader) bounded(text string) string {
	if r.texts += len(text); r.texts > maxDeclTexts {
		return ""
	}
	return text
}
