package objfile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// headers has the headers of an ELF file of any word size and byte order: this is the only
// reader of such files here. The contents of sections are read through it too.
type headers struct {
	r     io.ReaderAt
	size  uint64 // of the file
	taken uint64 // bytes read so far

	order    binary.ByteOrder
	word     int // bytes of an address
	machine  elf.Machine
	kind     elf.Type
	entry    uint64
	sections []imageSection

	// Offset of the program headers, for segments.
	segmentsAt                uint64
	segmentSize, segmentCount uint16
}

// imageSection is a section header, the same for both word sizes.
type imageSection struct {
	name               string
	kind               elf.SectionType
	flags              elf.SectionFlag
	addr, offset, size uint64
	link, info         uint32
	align              uint64
}

// ErrNotELF: the file is of another kind.
var ErrNotELF = errors.New("not an ELF file")

// ErrNoContents reports a section without contents in the file.
var ErrNoContents = errors.New("the section has no contents")

// maxImageSections is enough for an object with a few sections for each function of the
// largest map.
const maxImageSections = 1 << 23

// maxReads limits the bytes read to this many times the size of the file. No part is needed
// more than a few times.
const maxReads = 16

// notELF describes the kind of a file that is not ELF, for kinds that users are likely to
// pass.
func notELF(head []byte) error {
	switch {
	case bytes.HasPrefix(head, []byte(arMagic)), bytes.HasPrefix(head, []byte(thinMagic)):
		return errors.New("an archive, not a program: take its objects out (ar x)")
	case isMachO(head):
		return errors.New("a Mach-O file where one of ELF is needed")
	case isUniversal(head):
		return errors.New("a Mach-O file for several machines: take one out (lipo -thin)")
	case isPE(head):
		return errors.New("a program for Windows where one of ELF is needed")
	}
	return ErrNotELF
}

// read reads the file's header and the section headers.
func (h *headers) read() error {
	b := make([]byte, 64)
	n, err := h.r.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return err
	}
	b = b[:n]
	switch {
	case !bytes.HasPrefix(b, []byte(elf.ELFMAG)):
		return notELF(b)
	case len(b) < 52:
		return errors.New("not an ELF file: too short")
	}
	switch h.word = 4; elf.Class(b[elf.EI_CLASS]) {
	case elf.ELFCLASS32:
	case elf.ELFCLASS64:
		h.word = 8
	default:
		return fmt.Errorf("an ELF file of class %d, which is neither 32 nor 64 bits", b[elf.EI_CLASS])
	}
	switch h.order = binary.LittleEndian; elf.Data(b[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
	case elf.ELFDATA2MSB:
		h.order = binary.BigEndian
	default:
		return fmt.Errorf("an ELF file of byte order %d, which is neither little- nor big-endian", b[elf.EI_DATA])
	}
	f := h.fields(b[16:])
	h.kind, h.machine = elf.Type(f.u16()), elf.Machine(f.u16())
	f.u32() // version
	h.entry, h.segmentsAt = f.word(), f.word()
	offset := f.word()
	f.u32() // flags
	f.u16() // size of this header
	h.segmentSize, h.segmentCount = f.u16(), f.u16()
	entry, count, names := f.u16(), uint32(f.u16()), uint32(f.u16())
	if offset == 0 {
		return nil
	}
	return h.readSections(offset, entry, count, names)
}

// sectionHeader returns the size of a section header.
func (h *headers) sectionHeader() uint64 { return 16 + 6*uint64(h.word) }

func (h *headers) readSections(offset uint64, entry uint16, count, names uint32) error {
	size := h.sectionHeader()
	if uint64(entry) != size {
		return fmt.Errorf("section headers of %d bytes, not %d", entry, size)
	}
	// If the number does not fit into the file's header, it is in the first section header.
	first, err := h.bytes("section headers", offset, size)
	if err != nil {
		return err
	}
	zero, _ := h.section(h.fields(first))
	if count == 0 {
		count = uint32(min(zero.size, maxImageSections+1))
	}
	if names == uint32(elf.SHN_XINDEX) {
		names = zero.link
	}
	if count > maxImageSections {
		return fmt.Errorf("%d sections, at most %d are allowed", count, maxImageSections)
	}
	data, err := h.bytes("section headers", offset, uint64(count)*size)
	if err != nil {
		return err
	}
	h.sections = make([]imageSection, count)
	nameAt := make([]uint32, count)
	for i := range h.sections {
		h.sections[i], nameAt[i] = h.section(h.fields(data[uint64(i)*size:]))
	}
	if names >= count {
		return nil
	}
	table, err := h.contents(&h.sections[names])
	if err != nil {
		return fmt.Errorf("section names: %w", err)
	}
	text := string(table) // names are slices of this one string
	for i := range h.sections {
		h.sections[i].name = cstring(text, uint64(nameAt[i]))
	}
	return nil
}

// section reads a section header; the name is an offset into a table.
func (h *headers) section(f *fields) (s imageSection, name uint32) {
	name, s.kind = f.u32(), elf.SectionType(f.u32())
	s.flags, s.addr, s.offset, s.size = elf.SectionFlag(f.word()), f.word(), f.word(), f.word()
	s.link, s.info, s.align = f.u32(), f.u32(), f.word()
	return s, name
}

// segments reads the program headers.
func (h *headers) segments() ([]elf.ProgHeader, error) {
	size := uint16(56) // of an Elf64_Phdr
	if h.word == 4 {
		size = 32
	}
	if h.segmentCount == 0 {
		return nil, nil
	}
	if h.segmentSize != size {
		return nil, fmt.Errorf("program headers of %d bytes, not %d", h.segmentSize, size)
	}
	data, err := h.bytes("program headers", h.segmentsAt, uint64(h.segmentCount)*uint64(size))
	if err != nil {
		return nil, err
	}
	f := h.fields(data)
	out := make([]elf.ProgHeader, h.segmentCount)
	for i := range out {
		p := &out[i]
		p.Type = elf.ProgType(f.u32())
		if h.word == 8 {
			p.Flags = elf.ProgFlag(f.u32())
		}
		p.Off, p.Vaddr, p.Paddr = f.word(), f.word(), f.word()
		p.Filesz, p.Memsz = f.word(), f.word()
		if h.word == 4 {
			p.Flags = elf.ProgFlag(f.u32())
		}
		p.Align = f.word()
	}
	return out, nil
}

// contents reads the contents of a section.
func (h *headers) contents(s *imageSection) ([]byte, error) {
	if s.flags&elf.SHF_COMPRESSED != 0 {
		return nil, errors.New("the section is compressed")
	}
	if s.kind == elf.SHT_NOBITS {
		return nil, ErrNoContents
	}
	return h.bytes("contents", s.offset, s.size)
}

// bytes reads a part of the file. The total is limited, because all sections of a damaged file
// may refer to the same part.
func (h *headers) bytes(what string, offset, size uint64) ([]byte, error) {
	switch {
	case offset > h.size || size > h.size-offset:
		return nil, fmt.Errorf("%s at offset %d lie outside the file (cut off?)", what, offset)
	case size > maxSectionSize:
		return nil, fmt.Errorf("%s at offset %d: %d bytes exceed %d", what, offset, size, uint64(maxSectionSize))
	}
	if h.taken += size; h.taken > maxReads*h.size {
		return nil, errors.New("the sections are more than the file can hold: they overlap")
	}
	data := make([]byte, size)
	_, err := io.ReadFull(io.NewSectionReader(h.r, int64(offset), int64(size)), data)
	return data, err
}

// fields decodes headers sequentially. Reading past the end returns 0: the callers pass as
// much data as they read.
type fields struct {
	data  []byte
	order binary.ByteOrder
	wide  bool
}

func (f *fields) next(n int) []byte {
	if n > len(f.data) {
		f.data = nil
		return make([]byte, n)
	}
	b := f.data[:n]
	f.data = f.data[n:]
	return b
}

func (f *fields) u8() uint8   { return f.next(1)[0] }
func (f *fields) u16() uint16 { return f.order.Uint16(f.next(2)) }
func (f *fields) u32() uint32 { return f.order.Uint32(f.next(4)) }

// word reads a number of the file's word size.
func (f *fields) word() uint64 {
	if f.wide {
		return f.order.Uint64(f.next(8))
	}
	return uint64(f.u32())
}

func (h *headers) fields(data []byte) *fields { return &fields{data, h.order, h.word == 8} }
