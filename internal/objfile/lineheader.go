package objfile

import (
	"bytes"
	"fmt"
	"path"
)

// unit is the header of one line-number program (DWARF 5, section 6.2.4).
type unit struct {
	version     uint16
	is64        bool // offsets take 8 bytes
	minInst     uint64
	lineBase    int64
	lineRange   uint64
	opcodeBase  uint8
	opcodeArgs  []byte // number of operands of opcode 1, 2, ...
	dirs, names []entry
	fileIDs     []uint32 // parallel to names, noFile until used
	program     []byte
	programAt   int    // offset of program in .debug_line
	compDir     string // of DW_AT_comp_dir; only before version 5
}

// entry is a directory or file name and, for a file, its directory's index.
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

// parseUnit parses the header of the unit that c holds, behind its length.
// Errors carry the offset in .debug_line. A nil unit without an error is of a
// version that nobody has defined yet.
func (l *lineSections) parseUnit(c *cursor, is64 bool) (*unit, error) {
	u := &unit{is64: is64, version: uint16(c.fixed(2))}
	if c.err == nil && (u.version < 2 || u.version > 5) {
		return nil, nil
	}
	if u.version >= 5 {
		c.bytes(2) // sizes of addresses and segment selectors
	}
	size := c.fixed(u.offsetSize())
	start := c.off
	u.minInst = uint64(c.u8())
	if u.version >= 4 {
		c.u8() // operations per instruction: 1 but for VLIW machines
	}
	c.u8() // whether rows are statements by default: nobody here asks
	u.lineBase = int64(int8(c.u8()))
	u.lineRange = uint64(c.u8())
	u.opcodeBase = c.u8()
	if c.err == nil && (u.lineRange == 0 || u.opcodeBase == 0) {
		c.err = fmt.Errorf("line range %d, first special opcode %d: neither may be 0", u.lineRange, u.opcodeBase)
	}
	u.opcodeArgs = c.bytes(uint64(max(u.opcodeBase, 1) - 1))
	if u.version >= 5 {
		u.dirs = l.entriesV5(c, u)
		u.names = l.entriesV5(c, u)
	} else {
		u.entriesV2(c)
	}
	if c.err == nil && size > uint64(len(c.data)-start) {
		c.err = errShort
	}
	if c.err != nil {
		return nil, c.err
	}
	u.programAt = start + int(size)
	u.program = c.data[u.programAt:]
	u.fileIDs = make([]uint32, len(u.names))
	for i := range u.fileIDs {
		u.fileIDs[i] = noFile
	}
	return u, nil
}

func (u *unit) offsetSize() int {
	if u.is64 {
		return 8
	}
	return 4
}

// entriesV2 reads the tables of versions 2 to 4: strings up to an empty one.
// The compilation directory is directory 0 and not listed, and files count
// from 1.
func (u *unit) entriesV2(c *cursor) {
	u.dirs = make([]entry, 1)
	for s := c.str(); len(s) > 0; s = c.str() {
		u.dirs = append(u.dirs, entry{name: s})
	}
	u.names = make([]entry, 1)
	for s := c.str(); len(s) > 0; s = c.str() {
		u.names = append(u.names, entry{s, c.uleb()})
		c.uleb() // time
		c.uleb() // size
	}
}

// entriesV5 reads one self-describing table of version 5: the columns' types
// and forms, the number of rows, the rows.
func (l *lineSections) entriesV5(c *cursor, u *unit) []entry {
	columns := make([][2]uint64, c.u8())
	for i := range columns {
		columns[i] = [2]uint64{c.uleb(), c.uleb()}
	}
	n := c.uleb()
	if c.err == nil && (n > maxLineEntries || len(columns) == 0 && n > 0) {
		c.err = fmt.Errorf("table of %d names in %d columns", n, len(columns))
	}
	var entries []entry
	for i := uint64(0); i < n && c.err == nil; i++ {
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
func (l *lineSections) field(c *cursor, u *unit, form uint64) (s []byte, v uint64) {
	switch form {
	case formString:
		return c.str(), 0
	case formLineStr:
		return stringAt(c, l.lineStr, c.fixed(u.offsetSize())), 0
	case formStrp:
		return stringAt(c, l.str, c.fixed(u.offsetSize())), 0
	case formSecOff:
		c.fixed(u.offsetSize())
	case formUdata:
		return nil, c.uleb()
	case formData1:
		return nil, c.fixed(1)
	case formData2:
		return nil, c.fixed(2)
	case formData4:
		return nil, c.fixed(4)
	case formData8:
		return nil, c.fixed(8)
	case formData16:
		c.bytes(16)
	case formBlock:
		c.bytes(c.uleb())
	case formBlock1:
		c.bytes(c.fixed(1))
	case formBlock2:
		c.bytes(c.fixed(2))
	case formBlock4:
		c.bytes(c.fixed(4))
	default:
		if c.err == nil {
			c.err = fmt.Errorf("form %#x in a table of file names", form)
		}
	}
	return nil, 0
}

// stringAt returns the NUL-terminated string at off of a string section.
func stringAt(c *cursor, section []byte, off uint64) []byte {
	if c.err == nil && off >= uint64(len(section)) {
		c.err = fmt.Errorf("string at offset %d of %d", off, len(section))
	}
	if c.err != nil {
		return nil
	}
	s := section[off:min(off+maxPathLen, uint64(len(section)))]
	if i := bytes.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	return s
}

// fileID returns the number of the unit's i-th file in b's table.
func (u *unit) fileID(b *builder, i uint64) uint32 {
	if i >= uint64(len(u.names)) {
		return b.file("")
	}
	if u.fileIDs[i] == noFile {
		u.fileIDs[i] = b.file(u.path(u.names[i]))
	}
	return u.fileIDs[i]
}

// path joins a file name with its directory, and that with the compilation
// directory, as far as they are relative.
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
	switch {
	case path.IsAbs(name):
		return path.Clean(name)
	case path.IsAbs(dir):
		return path.Join(dir, name)
	}
	return path.Join(top, dir, name)
}
