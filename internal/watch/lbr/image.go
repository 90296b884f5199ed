package lbr

import (
	"bytes"
	"encoding/binary"
)

// header is struct plan in c/lbr.h.
type header struct {
	Magic                     [8]byte
	Version, Number           uint32
	Lo, Hi                    uint64
	Distance                  int64
	CodeAt, CodeSize          uint64
	WordsAt, Words            uint64
	EntryAt                   uint64
	FunctionsAt, Functions    uint64
	FarAt, Far                uint64
	MappedAt, Mapped          uint64
	StartsAt, Starts          uint64
	RanksAt                   uint64
	Nearest, Farthest         int64
	DeviceOfFile, InodeOfFile uint64
	Relocated                 uint64
}

// Encode returns the image as the runtime maps it, for the module that is the file
// with that device and inode. The runtime looks for images in the directory that
// CAIRN_LBR names: they are files there, whose names are the numbers of modules.
func (m *Image) Encode(device, inode uint64) []byte {
	align := func(n int) int { return (n + page - 1) &^ (page - 1) }
	h := header{
		Magic: [8]byte([]byte("cairnlbr")), Version: 5, Number: uint32(m.Number), Lo: m.Lo, Hi: m.Hi, Distance: m.Distance,
		CodeAt: page, CodeSize: uint64(len(m.Code)), Words: uint64(len(m.Words)), Functions: uint64(len(m.Functions)),
		Far: uint64(len(m.Far)), Nearest: m.Nearest, Farthest: m.Farthest,
		DeviceOfFile: device, InodeOfFile: inode,
	}
	if m.Relocated {
		h.Relocated = 1
	}
	h.WordsAt = uint64(page + len(m.Code))
	h.EntryAt = uint64(align(int(h.WordsAt) + 8*len(m.Words)))
	h.RanksAt = h.EntryAt + uint64(4*len(m.Entry))
	h.FunctionsAt = h.RanksAt + uint64(16*len(m.Ranks))
	h.FarAt = h.FunctionsAt + uint64(4*len(m.Functions))
	h.MappedAt, h.Mapped = h.FarAt+uint64(4*len(m.Far)), uint64(len(m.Mapped)/2)
	h.StartsAt, h.Starts = h.MappedAt+uint64(4*len(m.Mapped)), uint64(len(m.Starts))
	var b bytes.Buffer
	b.Grow(int(h.StartsAt) + 4*len(m.Starts))
	pad := func(to uint64) { b.Write(make([]byte, int(to)-b.Len())) }
	put := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) } // to memory
	put(h)
	pad(h.CodeAt)
	b.Write(m.Code)
	put(m.Words)
	pad(h.EntryAt)
	put(m.Entry)
	put(m.Ranks)
	put(m.Functions)
	put(m.Far)
	put(m.Mapped)
	put(m.Starts)
	return b.Bytes()
}
