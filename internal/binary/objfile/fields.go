package objfile

import (
	"bytes"

	"github.com/cairnprof/cairn/internal/bytecur"
)

// nextUnit reads a DWARF initial length, which also gives the size of offsets in the unit, and
// returns a cursor over the unit after it.
func nextUnit(c *bytecur.Cursor) (unit *bytecur.Cursor, is64 bool) {
	off := c.Off()
	n := uint64(c.U32())
	switch {
	case n == 0xffffffff:
		n, is64 = c.U64(), true
	case n >= 0xfffffff0:
		c.FailAt(off, "unit has the reserved length %#x", n)
	}
	return c.Sub(n), is64
}

// offset reads an offset into another section.
func offset(c *bytecur.Cursor, is64 bool) uint64 {
	if is64 {
		return c.U64()
	}
	return uint64(c.U32())
}

// fixed reads an n-byte little-endian integer, n at most 8.
func fixed(c *bytecur.Cursor, n int) (v uint64) {
	for i, b := range c.Bytes(uint64(n)) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

func cstr(c *bytecur.Cursor) []byte { return c.CString("a file name", maxPathLen) }

// stringAt returns the NUL-terminated string at off of a string section.
func stringAt(c *bytecur.Cursor, section []byte, off uint64) []byte {
	if c.Err() == nil && off >= uint64(len(section)) {
		c.Failf("string at offset %#x of a section of %#x bytes", off, len(section))
	}
	if c.Err() != nil {
		return nil
	}
	s := section[off:min(off+maxPathLen, uint64(len(section)))]
	if i := bytes.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	return s
}
