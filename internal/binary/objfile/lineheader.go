package objfile

import (
	"github.com/cairnprof/cairn/internal/binary/sourcename"
	"github.com/cairnprof/cairn/internal/bytecur"
)

// unit is the header of one line-number program (DWARF 5, section 6.2.4).
type unit struct {
	version     uint16
	is64        bool // offsets take 8 bytes
	minInst     uint64
	statement   bool // rows begin statements by default
	lineBase    int64
	lineRange   uint64
	opcodeBase  uint8
	opcodeArgs  []byte // number of operands of opcode 1, 2, ...
	dirs, names []entry
	fileIDs     []uint32 // parallel to names, noFile until used
	compDir     string   // of DW_AT_comp_dir; only before version 5
}

// entry is the name of a directory or file and, for a file, the index of its directory.
type entry struct {
	name []byte
	dir  uint64
}

const noFile = ^uint32(0)

// Content types and forms of version 5 entries.
const (
	lnctPath = 1
	lnctDir  = 2

	formBlock2  = 0x03
	formBlock4  = 0x04
	formData2   = 0x05
	formData4   = 0x06
	formData8   = 0x07
	formString  = 0x08
	formBlock   = 0x09
	formBlock1  = 0x0a
	formData1   = 0x0b
	formStrp    = 0x0e
	formUdata   = 0x0f
	formSecOff  = 0x17
	formData16  = 0x1e
	formLineStr = 0x1f
)

// parseUnit parses the header of the unit in c and leaves c at the line program. Errors have
// the offset in .debug_line. A nil unit without an error is of a version that is not defined
// yet.
func (l *lineSections) parseUnit(c *bytecur.Cursor, is64 bool) (*unit, error) {
	u := &unit{is64: is64, version: c.U16()}
	if c.Err() == nil && (u.version < 2 || u.version > 5) {
		return nil, nil
	}
	if u.version >= 5 {
		c.Bytes(2) // sizes of addresses and segment selectors
	}
	h := c.Sub(offset(c, is64))
	u.minInst = uint64(h.U8())
	if u.version >= 4 {
		h.U8() // operations per instruction: 1 but for VLIW machines
	}
	u.statement = h.U8() != 0
	u.lineBase = int64(int8(h.U8()))
	u.lineRange = uint64(h.U8())
	u.opcodeBase = h.U8()
	if u.lineRange == 0 || u.opcodeBase == 0 {
		h.Failf("line range %d, first special opcode %d: neither may be 0", u.lineRange, u.opcodeBase)
		return nil, h.Err()
	}
	u.opcodeArgs = h.Bytes(uint64(u.opcodeBase) - 1)
	if u.version >= 5 {
		u.dirs = l.entriesV5(h, u)
		u.names = l.entriesV5(h, u)
	} else {
		u.entriesV2(h)
	}
	u.fileIDs = make([]uint32, len(u.names))
	for i := range u.fileIDs {
		u.fileIDs[i] = noFile
	}
	return u, h.Err()
}

// entriesV2 reads the tables of versions 2 to 4: strings up to an empty one. The compilation
// directory is directory 0 and not listed, and files are numbered from 1.
func (u *unit) entriesV2(c *bytecur.Cursor) {
	u.dirs = make([]entry, 1)
	for s := cstr(c); len(s) > 0; s = cstr(c) {
		u.dirs = append(u.dirs, entry{name: s})
	}
	u.names = make([]entry, 1)
	for s := cstr(c); len(s) > 0; s = cstr(c) {
		u.names = append(u.names, entry{s, c.Uvarint()})
		c.Uvarint() // time
		c.Uvarint() // size
	}
}

// entriesV5 reads one self-describing table of version 5: the columns' types
// and forms, the number of rows, the rows.
func (l *lineSections) entriesV5(c *bytecur.Cursor, u *unit) []entry {
	columns := make([][2]uint64, c.U8())
	for i := range columns {
		columns[i] = [2]uint64{c.Uvarint(), c.Uvarint()}
	}
	n := c.Uvarint()
	if n > maxLineEntries || len(columns) == 0 && n > 0 {
		c.Failf("table of %d names in %d columns", n, len(columns))
	}
	var entries []entry
	for i := uint64(0); i < n && c.Err() == nil; i++ {
		var e entry
		for _, col := range columns {
			s, v := l.field(c, u, col[1])
			switch col[0] {
			case lnctPath:
				e.name = s
			case lnctDir:
				e.dir = v
			}
		}
		entries = append(entries, e)
	}
	return entries
}

// field reads a value in one of the forms that DWARF 5 allows in line tables.
func (l *lineSections) field(c *bytecur.Cursor, u *unit, form uint64) (s []byte, v uint64) {
	switch form {
	case formString:
		return cstr(c), 0
	case formLineStr:
		return stringAt(c, l.lineStr, offset(c, u.is64)), 0
	case formStrp:
		return stringAt(c, l.str, offset(c, u.is64)), 0
	case formSecOff:
		offset(c, u.is64)
	case formUdata:
		return nil, c.Uvarint()
	case formData1:
		return nil, uint64(c.U8())
	case formData2:
		return nil, uint64(c.U16())
	case formData4:
		return nil, uint64(c.U32())
	case formData8:
		return nil, c.U64()
	case formData16:
		c.Bytes(16)
	case formBlock:
		c.Bytes(c.Uvarint())
	case formBlock1:
		c.Bytes(uint64(c.U8()))
	case formBlock2:
		c.Bytes(uint64(c.U16()))
	case formBlock4:
		c.Bytes(uint64(c.U32()))
	default:
		c.Failf("form %#x in a table of file names", form)
	}
	return nil, 0
}

// fileID returns the number in b's table of the unit's i-th file.
func (u *unit) fileID(b *builder, i uint64) uint32 {
	if i >= uint64(len(u.names)) {
		return b.file("")
	}
	if u.fileIDs[i] == noFile {
		u.fileIDs[i] = b.file(u.path(u.names[i]))
	}
	return u.fileIDs[i]
}

// path joins a file name with its directory and the compilation directory, if they are
// relative.
func (u *unit) path(e entry) string {
	name := string(e.name)
	if name == "" {
		return ""
	}
	dir, top := "", u.compDir
	if e.dir < uint64(len(u.dirs)) {
		dir = string(u.dirs[e.dir].name)
	}
	if u.version >= 5 && len(u.dirs) > 0 {
		top = string(u.dirs[0].name)
		if e.dir == 0 {
			dir = ""
		}
	}
	return sourcename.Join(top, dir, name)
}
