package objfile

import (
	"bytes"
	"encoding/binary"
	"errors"
)

var errShort = errors.New("ends within a field")

// cursor reads DWARF fields. The first error sticks, and after it every read
// returns zero, so that decoders read straight through and check once. A loop
// must check err, because nothing is consumed any more.
type cursor struct {
	data []byte
	off  int // of the next byte, in data
	err  error
}

func (c *cursor) bytes(n uint64) []byte {
	if c.err != nil {
		return nil
	}
	if n > uint64(len(c.data)-c.off) {
		c.err = errShort
		return nil
	}
	b := c.data[c.off : c.off+int(n)]
	c.off += int(n)
	return b
}

func (c *cursor) u8() uint8 {
	if b := c.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// fixed reads an n-byte little-endian integer, n at most 8.
func (c *cursor) fixed(n int) uint64 {
	var v [8]byte
	copy(v[:], c.bytes(uint64(n)))
	return binary.LittleEndian.Uint64(v[:])
}

func (c *cursor) uleb() uint64 {
	if c.err != nil {
		return 0
	}
	v, n := binary.Uvarint(c.data[c.off:])
	if n <= 0 {
		c.err = errors.New("number is cut off or longer than 64 bits")
		return 0
	}
	c.off += n
	return v
}

func (c *cursor) sleb() int64 {
	var v int64
	for shift := 0; shift < 70; shift += 7 {
		b := c.u8()
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
	c.err = errors.New("number is longer than 64 bits")
	return 0
}

// str reads a NUL-terminated string.
func (c *cursor) str() []byte {
	if c.err != nil {
		return nil
	}
	n := bytes.IndexByte(c.data[c.off:], 0)
	if n < 0 {
		c.err = errors.New("string is not terminated")
		return nil
	}
	s := c.data[c.off : c.off+n]
	c.off += n + 1
	return s
}
