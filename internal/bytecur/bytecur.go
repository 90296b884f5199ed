// Package bytecur reads bytes of unknown origin through a cursor with checked bounds. Every
// read is checked against the end of the data; the first failure is kept with its offset, and
// all later reads return zeros, so that a decoder can read sequentially and check Err once.
//
// Zero is a valid value: a loop whose length is read from the data must stop when Err is set.
// Count and Bytes reject lengths that exceed the rest of the data, so no allocation is larger
// than its input.
package bytecur

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Error is the first failure of a cursor.
type Error struct {
	Off  int64 // where the value that could not be read starts
	What string
}

func (e *Error) Error() string { return fmt.Sprintf("at offset %#x: %s", e.Off, e.What) }

// Cursor reads data sequentially. The zero value is at the end of empty data.
type Cursor struct {
	data []byte
	pos  int
	base int64 // offset of data[0] in the file, for errors
	err  error
}

// New returns a cursor at the start of data, whose first byte is at offset base of its file.
func New(data []byte, base int64) *Cursor { return &Cursor{data: data, base: base} }

// Err returns the first failure, a *Error, or nil.
func (c *Cursor) Err() error { return c.err }

// Off returns the offset of the next byte in the file.
func (c *Cursor) Off() int64 { return c.base + int64(c.pos) }

// Len returns the number of remaining bytes. It is 0 after a failure, which ends loops over
// the rest.
func (c *Cursor) Len() int {
	if c.err != nil {
		return 0
	}
	return len(c.data) - c.pos
}

// Failf records a failure at the next byte, unless one is recorded already.
func (c *Cursor) Failf(format string, args ...any) { c.FailAt(c.Off(), format, args...) }

// FailAt is Failf for a value that started at offset off.
func (c *Cursor) FailAt(off int64, format string, args ...any) {
	if c.err == nil {
		c.err = &Error{Off: off, What: fmt.Sprintf(format, args...)}
	}
}

// Bytes returns the next n bytes without copying them.
func (c *Cursor) Bytes(n uint64) []byte {
	if c.err != nil {
		return nil
	}
	if left := len(c.data) - c.pos; n > uint64(left) {
		c.Failf("truncated: %d bytes are needed, %d are left", n, left)
		return nil
	}
	b := c.data[c.pos : c.pos+int(n) : c.pos+int(n)]
	c.pos += int(n)
	return b
}

// Sub returns a cursor over the next n bytes and moves past them. On failure
// the result carries the same error.
func (c *Cursor) Sub(n uint64) *Cursor {
	off := c.Off()
	return &Cursor{data: c.Bytes(n), base: off, err: c.err}
}

// Cut is Sub with a cursor that was made before.
func (c *Cursor) Cut(n uint64, into *Cursor) {
	off := c.Off()
	*into = Cursor{data: c.Bytes(n), base: off, err: c.err}
}

// U8 reads one byte.
func (c *Cursor) U8() uint8 {
	if b := c.Bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// U16 reads two bytes, little-endian.
func (c *Cursor) U16() uint16 {
	if b := c.Bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// U32 reads four bytes, little-endian.
func (c *Cursor) U32() uint32 {
	if b := c.Bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// U64 reads eight bytes, little-endian.
func (c *Cursor) U64() uint64 {
	if b := c.Bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Uvarint reads an unsigned LEB128 number of at most 64 bits.
func (c *Cursor) Uvarint() uint64 {
	if c.err != nil {
		return 0
	}
	if c.pos < len(c.data) && c.data[c.pos] < 0x80 { // most numbers are small
		c.pos++
		return uint64(c.data[c.pos-1])
	}
	v, n := binary.Uvarint(c.data[c.pos:])
	switch {
	case n == 0:
		c.Failf("truncated variable-length number")
		return 0
	case n < 0:
		c.Failf("a variable-length number has more than 64 bits")
		return 0
	}
	c.pos += n
	return v
}

// Varint reads a signed number in zigzag order, as encoding/binary writes it.
func (c *Cursor) Varint() int64 {
	u := c.Uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// Sleb reads a signed LEB128 number of at most 64 bits, as in DWARF.
func (c *Cursor) Sleb() int64 {
	var v int64
	for shift := 0; shift < 70; shift += 7 {
		b := c.U8()
		if c.err != nil {
			return 0
		}
		v |= int64(b&0x7f) << shift
		if b&0x80 == 0 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	c.Failf("a variable-length number has more than 64 bits")
	return 0
}

// Count reads a variable-length number of items that take at least size bytes each. It fails
// if there are more than limit, or more than the rest of the data can contain: the caller may
// allocate this number.
func (c *Cursor) Count(what string, limit uint64, size int) int {
	off := c.Off()
	return c.CheckCount(off, c.Uvarint(), what, limit, size)
}

// CheckCount is Count for a number that was read at off by other means.
func (c *Cursor) CheckCount(off int64, n uint64, what string, limit uint64, size int) int {
	left := uint64(c.Len())
	switch {
	case c.err != nil:
		return 0
	case n > limit:
		c.FailAt(off, "%d %s, at most %d are allowed", n, what, limit)
		return 0
	case n > left/uint64(size):
		c.FailAt(off, "%d %s do not fit into the %d bytes that are left", n, what, left)
		return 0
	}
	return int(n)
}

// String reads a length-prefixed string of at most limit bytes without copying
// it.
func (c *Cursor) String(what string, limit uint64) []byte {
	off := c.Off()
	n := c.Uvarint()
	if c.err == nil && n > limit {
		c.FailAt(off, "%s of %d bytes, at most %d are allowed", what, n, limit)
	}
	return c.Bytes(n)
}

// CString reads a NUL-terminated string of at most limit bytes without copying
// it; the NUL is not part of the result.
func (c *Cursor) CString(what string, limit uint64) []byte {
	if c.err != nil {
		return nil
	}
	rest := c.data[c.pos:]
	n := bytes.IndexByte(rest[:min(uint64(len(rest)), limit+1)], 0)
	if n < 0 {
		c.Failf("%s has no end within %d bytes", what, min(uint64(len(rest)), limit))
		return nil
	}
	c.pos += n + 1
	return rest[:n:n]
}
