package objfile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
)

// A link looks into each of its inputs, of which those of C++ have thousands of sections. Package elf makes
// a value of each; peekSection looks for one name in the headers.

const (
	header64, entry64 = 64, 64 // bytes of a header of ELF, and of a section header
	maxPeek           = 64 << 20
)

// peekSection returns the contents of a section of a 64-bit little-endian object, nil if there is none of that
// name. It is not sure of other objects, of compressed sections, and of files that are damaged.
func peekSection(r io.ReaderAt, name string) (data []byte, sure bool) {
	le := binary.LittleEndian
	head, ok := peek(r, 0, header64)
	if !ok || string(head[:4]) != elf.ELFMAG || head[elf.EI_CLASS] != byte(elf.ELFCLASS64) || head[elf.EI_DATA] != byte(elf.ELFDATA2LSB) {
		return nil, false
	}
	if elf.Type(le.Uint16(head[16:])) != elf.ET_REL {
		return nil, true
	}
	entry, count, names := le.Uint16(head[58:]), uint64(le.Uint16(head[60:])), uint64(le.Uint16(head[62:]))
	if entry != entry64 || count == 0 || names >= count {
		return nil, false // so many that their number is elsewhere
	}
	table, ok := peek(r, le.Uint64(head[40:]), count*entry64)
	if !ok {
		return nil, false
	}
	section := func(i uint64) []byte { return table[i*entry64:][:entry64] }
	contents := func(s []byte) ([]byte, bool) { return peek(r, le.Uint64(s[24:]), le.Uint64(s[32:])) }
	text, ok := contents(section(names))
	if !ok {
		return nil, false
	}
	want := append([]byte(name), 0)
	for i := range count {
		s := section(i)
		at := uint64(le.Uint32(s))
		if at >= uint64(len(text)) || !bytes.HasPrefix(text[at:], want) {
			continue
		}
		if elf.SectionFlag(le.Uint64(s[8:]))&elf.SHF_COMPRESSED != 0 || elf.SectionType(le.Uint32(s[4:])) == elf.SHT_NOBITS {
			return nil, false
		}
		return contents(s)
	}
	return nil, true
}

// peek reads size bytes at an offset, unless these are too many or not there.
func peek(r io.ReaderAt, off, size uint64) (data []byte, ok bool) {
	if size > maxPeek || off > 1<<62 {
		return nil, false
	}
	if size > 0 { // no memory for what is not there
		var last [1]byte
		if n, _ := r.ReadAt(last[:], int64(off+size-1)); n == 0 {
			return nil, false
		}
	}
	data = make([]byte, size)
	n, _ := r.ReadAt(data, int64(off))
	return data, uint64(n) == size
}
