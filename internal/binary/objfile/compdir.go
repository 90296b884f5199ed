package objfile

import "github.com/cairnprof/cairn/internal/bytecur"

// Attributes, and the forms that line tables do not use (DWARF 5, 7.5).
const (
	attrStmtList = 0x10
	attrCompDir  = 0x1b

	formAddr          = 0x01
	formFlag          = 0x0c
	formSdata         = 0x0d
	formRefAddr       = 0x10
	formRef1          = 0x11
	formRef2          = 0x12
	formRef4          = 0x13
	formRef8          = 0x14
	formRefUdata      = 0x15
	formIndirect      = 0x16
	formExprloc       = 0x18
	formFlagPresent   = 0x19
	formStrx          = 0x1a
	formAddrx         = 0x1b
	formRefSup4       = 0x1c
	formStrpSup       = 0x1d
	formRefSig8       = 0x20
	formImplicitConst = 0x21
	formLoclistx      = 0x22
	formRnglistx      = 0x23
	formRefSup8       = 0x24
	formStrx1         = 0x25
	formStrx2         = 0x26
	formStrx3         = 0x27
	formStrx4         = 0x28
	formAddrx1        = 0x29
	formAddrx2        = 0x2a
	formAddrx3        = 0x2b
	formAddrx4        = 0x2c
	formGNUAddrIndex  = 0x1f01
	formGNUStrIndex   = 0x1f02
	formGNURefAlt     = 0x1f20
	formGNUStrpAlt    = 0x1f21
)

// maxAbbrevSteps limits the abbreviations read for the root entries of all units: every unit
// of a damaged file may refer to the start of one long table.
const maxAbbrevSteps = 1 << 26

// dirReader finds the compilation directory of every unit. Line tables before version 5 do not
// contain it, and file names are relative to it.
type dirReader struct {
	info, abbrev, str, lineStr []byte
	steps                      int
}

// compDirs returns the compilation directories by the offset of the unit's line table. Damage
// costs directories, but no lines: the data before it is used.
func (d *dirReader) compDirs() map[uint64]string {
	dirs := map[uint64]string{}
	for c := bytecur.New(d.info, 0); c.Len() > 0; {
		unit, is64 := nextUnit(c)
		if line, dir, ok := d.root(unit, is64); ok {
			dirs[line] = dir
		}
	}
	return dirs
}

// unitInfo has the properties of a unit that determine the sizes of its fields.
type unitInfo struct {
	version  uint16
	addrSize int
	is64     bool
}

// root reads the unit header at c, after the length, and the unit's first entry.
func (d *dirReader) root(c *bytecur.Cursor, is64 bool) (line uint64, dir string, ok bool) {
	u := unitInfo{version: c.U16(), is64: is64}
	var abbrev uint64
	if u.version >= 5 {
		kind := c.U8()
		u.addrSize = int(c.U8())
		abbrev = offset(c, is64)
		switch kind {
		case 4, 5: // skeleton and split units have an id
			c.Bytes(8)
		case 2, 6: // type units have no line table of their own
			return 0, "", false
		}
	} else {
		abbrev = offset(c, is64)
		u.addrSize = int(c.U8())
	}
	code := c.Uvarint()
	if c.Err() != nil || abbrev >= uint64(len(d.abbrev)) || code == 0 {
		return 0, "", false
	}
	specs := bytecur.New(d.abbrev[abbrev:], int64(abbrev))
	if !d.find(specs, code) {
		return 0, "", false
	}
	return d.attributes(c, specs, u)
}

// find moves c, which is at an abbreviation table, to the attributes of an abbreviation code.
func (d *dirReader) find(c *bytecur.Cursor, code uint64) bool {
	for c.Err() == nil {
		got := c.Uvarint()
		c.Uvarint() // tag
		c.U8()      // whether it has children
		if got == code || got == 0 {
			return got != 0 && c.Err() == nil
		}
		for c.Err() == nil {
			if d.steps++; d.steps > maxAbbrevSteps {
				return false
			}
			attr, form := c.Uvarint(), c.Uvarint()
			if form == formImplicitConst {
				c.Sleb()
			}
			if attr == 0 && form == 0 {
				break
			}
		}
	}
	return false
}

// attributes reads from the entry at c, whose abbreviation is at specs, the two attributes of
// interest.
func (d *dirReader) attributes(c, specs *bytecur.Cursor, u unitInfo) (line uint64, dir string, ok bool) {
	var hasLine, hasDir bool
	for c.Err() == nil && specs.Err() == nil && !(hasLine && hasDir) {
		attr, form := specs.Uvarint(), specs.Uvarint()
		if attr == 0 && form == 0 {
			break
		}
		if form == formImplicitConst {
			specs.Sleb()
			continue
		}
		s, v := d.value(c, u, form)
		switch {
		case c.Err() != nil:
		case attr == attrStmtList:
			line, hasLine = v, true
		case attr == attrCompDir:
			dir, hasDir = string(s), true
		}
	}
	return line, dir, hasLine && hasDir
}

// value reads one attribute. Strings with an index, which only DWARF 5 has, are skipped.
func (d *dirReader) value(c *bytecur.Cursor, u unitInfo, form uint64) (s []byte, v uint64) {
	if form == formIndirect {
		form = c.Uvarint()
	}
	switch form {
	case formString:
		return cstr(c), 0
	case formStrp:
		return stringAt(c, d.str, offset(c, u.is64)), 0
	case formLineStr:
		return stringAt(c, d.lineStr, offset(c, u.is64)), 0
	case formAddr:
		c.Bytes(uint64(u.addrSize))
	case formData1, formRef1, formFlag, formStrx1, formAddrx1:
		return nil, fixed(c, 1)
	case formData2, formRef2, formStrx2, formAddrx2:
		return nil, fixed(c, 2)
	case formStrx3, formAddrx3:
		return nil, fixed(c, 3)
	case formData4, formRef4, formRefSup4, formStrx4, formAddrx4:
		return nil, fixed(c, 4)
	case formData8, formRef8, formRefSup8, formRefSig8:
		return nil, fixed(c, 8)
	case formData16:
		c.Bytes(16)
	case formSecOff, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return nil, offset(c, u.is64)
	case formRefAddr:
		if u.version <= 2 {
			return nil, fixed(c, min(u.addrSize, 8))
		}
		return nil, offset(c, u.is64)
	case formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex:
		return nil, c.Uvarint()
	case formSdata:
		return nil, uint64(c.Sleb())
	case formBlock, formExprloc:
		c.Bytes(c.Uvarint())
	case formBlock1:
		c.Bytes(fixed(c, 1))
	case formBlock2:
		c.Bytes(fixed(c, 2))
	case formBlock4:
		c.Bytes(fixed(c, 4))
	case formFlagPresent:
	default:
		c.Failf("form %#x is unknown", form)
	}
	return nil, 0
}
