package lbr

import (
	"bytes"
	"encoding/binary"
)

// header is struct plan in c/lbr.h.
type header struct {
	Magic                     [8]byte
	Version, _                uint32
	Lo, Hi                    uint64
	Distance                  int64
	CodeAt, CodeSize          uint64
	ReturnsAt, Returns        uint64
	EntryAt                   uint64
	FunctionsAt, Functions    uint64
	DeviceOfFile, InodeOfFile uint64
}

// Encode returns the image as the runtime maps it, for the program that is the
// file with that device and inode.
func (m *Image) Encode(device, inode uint64) []byte {
	align := func(n int) int { return (n + page - 1) &^ (page - 1) }
	h := header{
		Magic: [8]byte([]byte("cairnlbr")), Version: 1, Lo: m.Lo, Hi: m.Hi, Distance: m.Distance,
		CodeAt: page, CodeSize: uint64(len(m.Code)), Returns: uint64(len(m.Returns)), Functions: uint64(len(m.Functions)),
		DeviceOfFile: device, InodeOfFile: inode,
	}
	h.ReturnsAt = uint64(page + len(m.Code))
	h.EntryAt = uint64(align(int(h.ReturnsAt) + 8*len(m.Returns)))
	h.FunctionsAt = h.EntryAt + uint64(4*len(m.Entry))
	var b bytes.Buffer
	b.Grow(int(h.FunctionsAt) + 4*len(m.Functions))
	pad := func(to uint64) { b.Write(make([]byte, int(to)-b.Len())) }
	put := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) } // to memory
	put(h)
	pad(h.CodeAt)
	b.Write(m.Code)
	put(m.Returns)
	pad(h.EntryAt)
	put(m.Entry)
	put(m.Functions)
	return b.Bytes()
}
