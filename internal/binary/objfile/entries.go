package objfile

import "github.com/cairnprof/cairn/internal/bytecur"

// Kinds of units, and the tags and attributes of functions, of DWARF 5 (7.5) and of GNU's
// earlier extensions.
const (
	unitType      = 2
	unitSkeleton  = 4
	unitSplit     = 5
	unitSplitType = 6

	tagSubprogram        = 0x2e
	tagInlinedSubroutine = 0x1d

	attrName             = 0x03
	attrLowPC            = 0x11
	attrHighPC           = 0x12
	attrProducer         = 0x25
	attrInline           = 0x20
	attrAbstractOrigin   = 0x31
	attrDeclFile         = 0x3a
	attrDeclLine         = 0x3b
	attrSpecification    = 0x47
	attrRanges           = 0x55
	attrCallFile         = 0x58
	attrCallLine         = 0x59
	attrLinkageName      = 0x6e
	attrStrOffsetsBase   = 0x72
	attrAddrBase         = 0x73
	attrRnglistsBase     = 0x74
	attrDwoName          = 0x76
	attrMIPSLinkage      = 0x2007
	attrGNUDwoName       = 0x2130
	attrGNUDwoID         = 0x2131
	attrGNURangesBase    = 0x2132
	attrGNUAddrBase      = 0x2133
	attrGNUDiscriminator = 0x2136
)

// entrySections are the sections of debugging information entries, and those that they refer
// to.
type entrySections struct {
	info, abbrev, str, lineStr, strOffsets, addr, ranges, rnglists []byte

	lines lineSections // of the line tables that name files
}

// byName returns the sections by name without the prefix .debug_.
func (s *entrySections) byName() map[string]*[]byte {
	return map[string]*[]byte{
		"info": &s.info, "abbrev": &s.abbrev, "str": &s.str, "line_str": &s.lineStr, "str_offsets": &s.strOffsets,
		"addr": &s.addr, "ranges": &s.ranges, "rnglists": &s.rnglists, "line": &s.lines.line,
	}
}

// read reads the sections by calling section, which returns nil for a missing one.
func (s *entrySections) read(section func(name string) ([]byte, error)) (err error) {
	for name, data := range s.byName() {
		if *data, err = section(".debug_" + name); err != nil {
			return err
		}
	}
	s.lines.str, s.lines.lineStr = s.str, s.lineStr
	return nil
}

// entryReader reads debugging information entries of functions.
type entryReader struct {
	entrySections

	units      []entryUnit // ascending by start
	abbrevs    map[abbrevKey]*abbrevTable
	files      map[uint64]*unit // by offset in .debug_line
	paths      map[fileKey]string
	steps      int // spent on abbreviations
	fileSteps  int // spent on names of files
	rangeSteps int // spent on ranges
	texts      int // bytes of names
}

// entryUnit is a unit of .debug_info.
type entryUnit struct {
	unitInfo
	kind              uint8  // of DWARF 5
	start, first, end uint64 // offsets of the unit, of its first entry, of its end
	abbrevs           *abbrevTable
	compDir           string
	name, producer    string
	line              uint64 // offset of its line table
	hasLine           bool
	ownLines          bool // for a split unit: the line table is in its own file
	lowPC             uint64
	// Offsets to which indexes refer, in .debug_str_offsets, .debug_addr and .debug_rnglists,
	// and the base of the offsets in .debug_ranges.
	strBase, addrBase, rangesBase uint64
	// For a skeleton unit: the file with the split unit, and the base of ranges there. The id
	// identifies both.
	dwoName     string
	dwoID       uint64
	splitRanges uint64
}

// funcEntry is an entry of a function; texts and addresses are read on demand.
type funcEntry struct {
	name, linkage, lowPC, highPC, ranges attrValue
	file, line                           uint64
	hasFile                              bool
	origin, specification                attrValue
	inline                               uint64 // DW_AT_inline: 1 and 3 mean that it was inlined
	// For an inlined function: the call.
	callFile, callLine, discriminator uint64
}

// attrValue is the value of an attribute: its form and its location.
type attrValue struct {
	form     uint64 // 0: missing
	at       uint64 // offset in .debug_info
	implicit int64  // value of the form that is stored in the abbreviation
}

const (
	maxOriginSteps = 8       // references from an entry to the one with its name
	maxEntryTexts  = 1 << 29 // bytes of names
)

// newEntryReader finds the units. If there is an error, the units before it are usable.
func newEntryReader(sections *entrySections) (*entryReader, error) {
	r := &entryReader{
		entrySections: *sections,
		abbrevs:       map[abbrevKey]*abbrevTable{}, files: map[uint64]*unit{}, paths: map[fileKey]string{},
	}
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
	return r, c.Err()
}

// unit reads the header of a unit and its first entry. Damage costs the unit.
func (r *entryReader) unit(start uint64, c *bytecur.Cursor, is64 bool) (u entryUnit, ok bool) {
	u.start, u.end, u.is64 = start, uint64(c.Off())+uint64(c.Len()), is64
	u.version = c.U16()
	var abbrev uint64
	switch {
	case u.version < 2 || u.version > 5:
		return u, false
	case u.version == 5:
		u.kind = c.U8()
		u.addrSize = int(c.U8())
		abbrev = offset(c, is64)
		switch u.kind {
		case unitSkeleton, unitSplit:
			u.dwoID = c.U64()
		case unitType, unitSplitType: // the id of a type, and its offset
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
	if u.kind == unitSplit {
		// The base of its tables is no attribute: they begin after the headers of their
		// sections.
		u.strBase, u.rangesBase = 8, 12
		if is64 {
			u.strBase, u.rangesBase = 16, 20
		}
	}
	u.first = uint64(c.Off())
	u.abbrevs = r.abbrevTable(abbrev, u.unitInfo)
	return u, r.root(&u)
}

// root reads the attributes of the unit's root entry.
func (r *entryReader) root(u *entryUnit) bool {
	a, at := u.abbrevAt(r.info, u.first)
	if a == nil {
		return false
	}
	var low, dir, name, producer, dwo attrValue
	for _, s := range a.specs {
		v := attrValue{s.form, at, s.implicit}
		if at = skipForm(r.info, at, u.end, s.form, u.unitInfo); at > u.end {
			return false
		}
		switch s.attr {
		case attrStmtList:
			u.line, u.hasLine = r.number(u, v), true
		case attrCompDir:
			dir = v
		case attrName:
			name = v
		case attrProducer:
			producer = v
		case attrLowPC:
			low = v
		case attrStrOffsetsBase:
			u.strBase = r.number(u, v)
		case attrAddrBase, attrGNUAddrBase:
			u.addrBase = r.number(u, v)
		case attrRnglistsBase:
			u.rangesBase = r.number(u, v)
		case attrDwoName, attrGNUDwoName:
			dwo = v
		case attrGNUDwoID:
			u.dwoID = r.number(u, v)
		case attrGNURangesBase:
			u.splitRanges = r.number(u, v)
		}
	}
	// These may depend on bases that are after them.
	u.compDir, u.name, u.producer, u.dwoName = r.text(u, dir), r.text(u, name), r.text(u, producer), r.text(u, dwo)
	u.lowPC, _ = r.address(u, low)
	return true
}

// entry reads the attributes of a function.
func (r *entryReader) entry(u *entryUnit, a *abbrev, at uint64) (e funcEntry, ok bool) {
	for _, s := range a.specs {
		v := attrValue{s.form, at, s.implicit}
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
		case attrHighPC:
			e.highPC = v
		case attrRanges:
			e.ranges = v
		case attrDeclFile:
			e.file, e.hasFile = r.number(u, v), true
		case attrDeclLine:
			e.line = r.number(u, v)
		case attrInline:
			e.inline = r.number(u, v)
		case attrAbstractOrigin:
			e.origin = v
		case attrSpecification:
			e.specification = v
		case attrCallFile:
			e.callFile = r.number(u, v)
		case attrCallLine:
			e.callLine = r.number(u, v)
		case attrGNUDiscriminator:
			e.discriminator = r.number(u, v)
		}
	}
	return e, true
}

// fileKey identifies a file by the offset of a line table and its number there.
type fileKey struct{ line, number uint64 }

// file returns the name of a file of a unit by its number.
func (r *entryReader) file(u *entryUnit, number uint64) string {
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

// ownFiles returns the line table of a split unit, which its own file contains; nil for other units.
func (r *entryReader) ownFiles(u *entryUnit) *unit {
	if !u.ownLines {
		return nil
	}
	return r.lineTable(u.line)
}

// lineTable returns the header of the line table at an offset, or nil.
func (r *entryReader) lineTable(at uint64) *unit {
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

// bounded returns a text, or "" if all texts together exceed the memory that any real program
// needs: damaged tables may give each function a name of many kilobytes.
func (r *entryReader) bounded(text string) string {
	if r.texts += len(text); r.texts > maxEntryTexts {
		return ""
	}
	return text
}
