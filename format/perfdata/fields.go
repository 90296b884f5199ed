package perfdata

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// fields reads the fields of a record one after the other. Missing fields read as zero, and set short.
type fields struct {
	data  []byte
	big   bool // the other byte order
	short bool
}

func (f *fields) next(n uint64) []byte {
	if n > uint64(len(f.data)) {
		f.short, f.data = true, nil
		return nil
	}
	b := f.data[:n]
	f.data = f.data[n:]
	return b
}

func (f *fields) u32() uint32 {
	b := f.next(4)
	if b == nil {
		return 0
	}
	return number32(b, f.big)
}

func (f *fields) u64() uint64 {
	b := f.next(8)
	if b == nil {
		return 0
	}
	return number64(b, f.big)
}

// text reads a zero-terminated string, or the rest of the data.
func (f *fields) text() string {
	s, _, _ := bytes.Cut(f.data, []byte{0})
	f.data = nil
	return string(s)
}

// sized reads a string with its length, which counts NULs at its end.
func (f *fields) sized() string {
	s, _, _ := bytes.Cut(f.next(uint64(f.u32())), []byte{0})
	return string(s)
}

func number64(b []byte, big bool) uint64 {
	v := binary.LittleEndian.Uint64(b)
	if big {
		return bits.ReverseBytes64(v)
	}
	return v
}

func number32(b []byte, big bool) uint32 {
	v := binary.LittleEndian.Uint32(b)
	if big {
		return bits.ReverseBytes32(v)
	}
	return v
}

func number16(b []byte, big bool) uint16 {
	v := binary.LittleEndian.Uint16(b)
	if big {
		return bits.ReverseBytes16(v)
	}
	return v
}
