package objfile

import "fmt"

// Attributes and the forms that line tables do not share (DWARF 5, 7.5).
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

// maxAbbrevSteps bounds the abbreviations looked at for the roots of all units:
// every unit may point at the start of one long table.
const maxAbbrevSteps = 1 << 26

// dirReader finds the compilation directory of every unit. Line tables before
// version 5 do not say it, and file names are relative to it.
type dirReader struct {
	info, abbrev, str, lineStr []byte
	steps                      int
}

// compDirs returns the compilation directories by the offset of the unit's line
// table. Damage here costs directories, not lines: what stands before it counts.
func (d *dirReader) compDirs() map[uint64]string {
	dirs := map[uint64]string{}
	for off := 0; off < len(d.info); {
		c := cursor{data: d.info, off: off}
		length, is64 := c.unitLength()
		if c.err != nil || length > uint64(len(d.info)-c.off) {
			break
		}
		off = c.off + int(length)
		c.data = d.info[:off]
		if line, dir, ok := d.root(&c, is64); ok {
			dirs[line] = dir
		}
	}
	return dirs
}

// unitInfo is what the sizes of a unit's fields depend on.
type unitInfo struct {
	version  uint64
	addrSize int
	offSize  int
}

// root reads the unit header that c stands in, behind the length, and the
// unit's first entry.
func (d *dirReader) root(c *cursor, is64 bool) (line uint64, dir string, ok bool) {
	u := unitInfo{version: c.fixed(2), addrSize: 8, offSize: 4}
	if is64 {
		u.offSize = 8
	}
	var abbrev uint64
	if u.version >= 5 {
		kind := c.u8()
		u.addrSize = int(c.u8())
		abbrev = c.fixed(u.offSize)
		switch kind {
		case 4, 5: // skeleton and split units carry an id
			c.bytes(8)
		case 2, 6: // type units have no line table of their own
			return 0, "", false
		}
	} else {
		abbrev = c.fixed(u.offSize)
		u.addrSize = int(c.u8())
	}
	code := c.uleb()
	if c.err != nil || abbrev >= uint64(len(d.abbrev)) || code == 0 {
		return 0, "", false
	}
	specs := cursor{data: d.abbrev, off: int(abbrev)}
	if !d.find(&specs, code) {
		return 0, "", false
	}
	return d.attributes(c, &specs, u)
}

// find moves c, which stands at an abbreviation table, to the attributes of the
// abbreviation called code.
func (d *dirReader) find(c *cursor, code uint64) bool {
	for c.err == nil {
		got := c.uleb()
		c.uleb() // tag
		c.u8()   // whether it has children
		if got == code || got == 0 {
			return got != 0 && c.err == nil
		}
		for c.err == nil {
			if d.steps++; d.steps > maxAbbrevSteps {
				return false
			}
			attr, form := c.uleb(), c.uleb()
			if form == formImplicitConst {
				c.sleb()
			}
			if attr == 0 && form == 0 {
				break
			}
		}
	}
	return false
}

// attributes reads the entry at c, whose abbreviation is at specs, as far as
// the two attributes asked for.
func (d *dirReader) attributes(c, specs *cursor, u unitInfo) (line uint64, dir string, ok bool) {
	var hasLine, hasDir bool
	for c.err == nil && specs.err == nil && !(hasLine && hasDir) {
		attr, form := specs.uleb(), specs.uleb()
		if attr == 0 && form == 0 {
			break
		}
		if form == formImplicitConst {
			specs.sleb()
			continue
		}
		s, v := d.value(c, u, form)
		switch {
		case c.err != nil:
		case attr == attrStmtList:
			line, hasLine = v, true
		case attr == attrCompDir:
			dir, hasDir = string(s), true
		}
	}
	return line, dir, hasLine && hasDir
}

// value reads one attribute. Strings behind an index, which only DWARF 5 has,
// are read over.
func (d *dirReader) value(c *cursor, u unitInfo, form uint64) (s []byte, v uint64) {
	if form == formIndirect {
		form = c.uleb()
	}
	switch form {
	case formString:
		return c.str(), 0
	case formStrp:
		return stringAt(c, d.str, c.fixed(u.offSize)), 0
	case formLineStr:
		return stringAt(c, d.lineStr, c.fixed(u.offSize)), 0
	case formAddr:
		c.bytes(uint64(u.addrSize))
	case formData1, formRef1, formFlag, formStrx1, formAddrx1:
		return nil, c.fixed(1)
	case formData2, formRef2, formStrx2, formAddrx2:
		return nil, c.fixed(2)
	case formStrx3, formAddrx3:
		return nil, c.fixed(3)
	case formData4, formRef4, formRefSup4, formStrx4, formAddrx4:
		return nil, c.fixed(4)
	case formData8, formRef8, formRefSup8, formRefSig8:
		return nil, c.fixed(8)
	case formData16:
		c.bytes(16)
	case formSecOff, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return nil, c.fixed(u.offSize)
	case formRefAddr:
		if u.version <= 2 {
			return nil, c.fixed(min(u.addrSize, 8))
		}
		return nil, c.fixed(u.offSize)
	case formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex:
		return nil, c.uleb()
	case formSdata:
		return nil, uint64(c.sleb())
	case formBlock, formExprloc:
		c.bytes(c.uleb())
	case formBlock1:
		c.bytes(c.fixed(1))
	case formBlock2:
		c.bytes(c.fixed(2))
	case formBlock4:
		c.bytes(c.fixed(4))
	case formFlagPresent:
	default:
		if c.err == nil {
			c.err = fmt.Errorf("form %#x is unknown", form)
		}
	}
	return nil, 0
}
