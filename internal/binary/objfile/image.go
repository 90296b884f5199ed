package objfile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// Image is an ELF file of any word size and byte order, or a Mach-O file, linked or
// not, as far as instrumentation maps need it: tables with their relocations
// applied, names of functions and where they are declared. File, which everything
// else is read through, is for linked 64-bit little-endian modules of ELF.
//
// The sections of a relocatable ELF object have no addresses. Here they get some, as
// a linker might give them: code first, from 0 on in the order of the file. Those of
// a Mach-O object have some already.
type Image struct {
	path      string
	r         io.ReaderAt
	close     func() error
	size      uint64
	debugRoot string

	order    binary.ByteOrder
	word     int // bytes of an address
	machine  elf.Machine
	kind     elf.Type
	sections []imageSection
	symbols  map[uint32][]imageSymbol   // by symbol table, those that were needed
	relocs   map[uint32][]*imageSection // by the section they are for, in an object; 0 in a module
	code     []span                     // sections with code, ascending
	macho    *machO                     // nil in an ELF file
	taken    uint64                     // bytes read so far
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

// Table is the contents of a section with relocations applied.
type Table struct {
	Data      []byte
	Addr      uint64 // link-time address
	Offset    uint64 // in the file
	Word      int    // bytes of an address, 4 or 8
	BigEndian bool
}

// ErrNotELF: the file is of another kind.
var ErrNotELF = errors.New("not an ELF file")

// ErrNoContents: the section is there, but takes no room in the file.
var ErrNoContents = errors.New("the section has no contents")

// maxImageSections is as many as an object file of a section for each of the
// most functions of a map may have, and some for each.
const maxImageSections = 1 << 23

// maxReads is how many times the size of a file is read of it. Nothing is needed
// more than a few times.
const maxReads = 16

// OpenImage opens the ELF or Mach-O file at path.
func OpenImage(path string) (*Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	im, err := newImage(path, f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return im, nil
}

func newImage(path string, f *os.File) (*Image, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	return readAnyImage(path, f, uint64(st.Size()), f.Close)
}

// readAnyImage reads a file that is ELF or Mach-O.
func readAnyImage(path string, r io.ReaderAt, size uint64, closer func() error) (*Image, error) {
	var magic [4]byte
	if n, _ := r.ReadAt(magic[:], 0); isMachO(magic[:n]) {
		im := emptyImage(path, r, size, closer)
		return im, im.readMachO()
	}
	return readImage(path, r, size, closer)
}

func emptyImage(path string, r io.ReaderAt, size uint64, closer func() error) *Image {
	return &Image{path: path, r: r, close: closer, size: size, debugRoot: DefaultDebugRoot, symbols: map[uint32][]imageSymbol{}}
}

// readImage reads an ELF file.
func readImage(path string, r io.ReaderAt, size uint64, closer func() error) (*Image, error) {
	im := emptyImage(path, r, size, closer)
	return im, im.readHeaders()
}

// Close closes the file.
func (im *Image) Close() error { return im.close() }

// SetDebugRoot replaces DefaultDebugRoot as the directory in which separate
// debug files are looked for.
func (im *Image) SetDebugRoot(dir string) { im.debugRoot = dir }

// Relocatable reports whether the file is an object that is not linked yet.
func (im *Image) Relocatable() bool { return im.kind == elf.ET_REL }

// Has reports whether there is a section called name that has contents.
func (im *Image) Has(name string) bool {
	for i := range im.sections {
		if s := &im.sections[i]; s.name == name && s.kind != elf.SHT_NULL && s.kind != elf.SHT_NOBITS {
			return true
		}
	}
	return false
}

// Tables returns the contents of all sections called name, with relocations
// applied: those of the object file, or the dynamic ones of a module that can be
// loaded anywhere. A linked module has one at most. Sections without contents
// are ErrNoContents, with the path in front.
func (im *Image) Tables(name string) ([]Table, error) {
	var tables []Table
	for i := range im.sections {
		s := &im.sections[i]
		if s.name != name || s.kind == elf.SHT_NULL {
			continue
		}
		if s.kind == elf.SHT_NOBITS {
			return nil, fmt.Errorf("%s: %s: %w", im.path, name, ErrNoContents)
		}
		data, err := im.contents(s)
		if err == nil {
			err = im.relocate(uint32(i), data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: section %s: %w", im.path, name, err)
		}
		tables = append(tables, Table{data, s.addr, s.offset, im.word, im.order == binary.BigEndian})
	}
	return tables, nil
}

// HasCode reports whether a section with code is at a link-time address.
func (im *Image) HasCode(addr uint64) bool {
	if im.code == nil {
		im.code = []span{}
		for i := range im.sections {
			if s := &im.sections[i]; s.flags&elf.SHF_EXECINSTR != 0 && s.flags&elf.SHF_ALLOC != 0 && s.size > 0 && s.addr+s.size > s.addr {
				im.code = append(im.code, span{s.addr, s.addr + s.size})
			}
		}
		slices.SortFunc(im.code, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	}
	i, _ := slices.BinarySearchFunc(im.code, addr, func(s span, a uint64) int {
		if s.hi <= a {
			return -1
		}
		return 1
	})
	return i < len(im.code) && im.code[i].lo <= addr
}

// fields reads what headers are made of, front to back. What lies behind the
// end is 0: the callers ask for as much data as they read.
type fields struct {
	data  []byte
	order binary.ByteOrder
	wide  bool
}

func (f *fields) take(n int) []byte {
	if n > len(f.data) {
		f.data = nil
		return make([]byte, n)
	}
	b := f.data[:n]
	f.data = f.data[n:]
	return b
}

func (f *fields) u8() uint8   { return f.take(1)[0] }
func (f *fields) u16() uint16 { return f.order.Uint16(f.take(2)) }
func (f *fields) u32() uint32 { return f.order.Uint32(f.take(4)) }

// word reads a number of the file's word size.
func (f *fields) word() uint64 {
	if f.wide {
		return f.order.Uint64(f.take(8))
	}
	return uint64(f.u32())
}

func (im *Image) fields(data []byte) *fields { return &fields{data, im.order, im.word == 8} }

// notELF says what a file is that is no ELF file, as far as people are likely
// to give it.
func notELF(head []byte) error {
	switch {
	case bytes.HasPrefix(head, []byte(arMagic)), bytes.HasPrefix(head, []byte(thinMagic)):
		return errors.New("an archive, not a program: take its objects out (ar x)")
	case isMachO(head):
		return errors.New("a Mach-O file, not ELF: of those only instrumentation maps are read (cairn map --xray)")
	case isUniversal(head):
		return errors.New("a Mach-O file for several machines: take one out (lipo -thin)")
	}
	return ErrNotELF
}

// readHeaders reads the file's header and those of its sections.
func (im *Image) readHeaders() error {
	h := make([]byte, 64)
	n, err := im.r.ReadAt(h, 0)
	if err != nil && err != io.EOF {
		return err
	}
	h = h[:n]
	switch {
	case !bytes.HasPrefix(h, []byte(elf.ELFMAG)):
		return notELF(h)
	case len(h) < 52:
		return errors.New("not an ELF file: too short")
	}
	switch im.word = 4; elf.Class(h[elf.EI_CLASS]) {
	case elf.ELFCLASS32:
	case elf.ELFCLASS64:
		im.word = 8
	default:
		return fmt.Errorf("an ELF file of class %d, which is neither 32 nor 64 bits", h[elf.EI_CLASS])
	}
	switch im.order = binary.LittleEndian; elf.Data(h[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
	case elf.ELFDATA2MSB:
		im.order = binary.BigEndian
	default:
		return fmt.Errorf("an ELF file of byte order %d, which is neither little- nor big-endian", h[elf.EI_DATA])
	}
	f := im.fields(h[16:])
	im.kind, im.machine = elf.Type(f.u16()), elf.Machine(f.u16())
	f.u32()  // version
	f.word() // entry
	f.word() // program headers
	offset := f.word()
	f.take(4 + 3*2) // flags, sizes
	entry, count, names := f.u16(), uint32(f.u16()), uint32(f.u16())
	if offset == 0 {
		return nil
	}
	return im.readSections(offset, entry, count, names)
}

// sectionHeader returns the size of a section header.
func (im *Image) sectionHeader() uint64 { return 16 + 6*uint64(im.word) }

func (im *Image) readSections(offset uint64, entry uint16, count, names uint32) error {
	size := im.sectionHeader()
	if uint64(entry) != size {
		return fmt.Errorf("section headers of %d bytes, not %d", entry, size)
	}
	// Where there are too many for the file's header, the first section's
	// header says how many.
	first, err := im.bytes("section headers", offset, size)
	if err != nil {
		return err
	}
	zero, _ := im.section(im.fields(first))
	if count == 0 {
		count = uint32(min(zero.size, maxImageSections+1))
	}
	if names == uint32(elf.SHN_XINDEX) {
		names = zero.link
	}
	if count > maxImageSections {
		return fmt.Errorf("%d sections, at most %d are allowed", count, maxImageSections)
	}
	data, err := im.bytes("section headers", offset, uint64(count)*size)
	if err != nil {
		return err
	}
	im.sections = make([]imageSection, count)
	nameAt := make([]uint32, count)
	for i := range im.sections {
		im.sections[i], nameAt[i] = im.section(im.fields(data[uint64(i)*size:]))
	}
	if names >= count {
		return nil
	}
	table, err := im.contents(&im.sections[names])
	if err != nil {
		return fmt.Errorf("section names: %w", err)
	}
	text := string(table) // names are slices of this one string
	for i := range im.sections {
		im.sections[i].name = cstring(text, uint64(nameAt[i]))
	}
	if im.Relocatable() {
		im.layOut()
	}
	return nil
}

// section reads a section header; the name is an offset into a table.
func (im *Image) section(f *fields) (s imageSection, name uint32) {
	name, s.kind = f.u32(), elf.SectionType(f.u32())
	s.flags, s.addr, s.offset, s.size = elf.SectionFlag(f.word()), f.word(), f.word(), f.word()
	s.link, s.info, s.align = f.u32(), f.u32(), f.word()
	return s, name
}

// layOut gives the sections of an object addresses, code first.
func (im *Image) layOut() {
	const most = 1 << 40 // so that sums do not overflow
	addr := uint64(0)
	for _, code := range []bool{true, false} {
		for i := range im.sections {
			s := &im.sections[i]
			if s.flags&elf.SHF_ALLOC == 0 || (s.flags&elf.SHF_EXECINSTR != 0) != code || s.size > most || addr > most {
				continue
			}
			if a := s.align; a > 1 && a <= 1<<20 {
				addr = (addr + a - 1) / a * a
			}
			s.addr = addr
			addr += s.size
		}
	}
}

// contents reads a section.
func (im *Image) contents(s *imageSection) ([]byte, error) {
	if s.flags&elf.SHF_COMPRESSED != 0 {
		return nil, errors.New("the section is compressed")
	}
	if s.kind == elf.SHT_NOBITS {
		return nil, ErrNoContents
	}
	return im.bytes("contents", s.offset, s.size)
}

// bytes reads a piece of the file. What is read all together is bounded, for the
// sections of a damaged file may all be the same piece.
func (im *Image) bytes(what string, offset, size uint64) ([]byte, error) {
	switch {
	case offset > im.size || size > im.size-offset:
		return nil, fmt.Errorf("%s at offset %d lie outside the file (cut off?)", what, offset)
	case size > maxSectionSize:
		return nil, fmt.Errorf("%s at offset %d: %d bytes exceed %d", what, offset, size, uint64(maxSectionSize))
	}
	if im.taken += size; im.taken > maxReads*im.size {
		return nil, errors.New("the sections are more than the file can hold: they overlap")
	}
	data := make([]byte, size)
	_, err := io.ReadFull(io.NewSectionReader(im.r, int64(offset), int64(size)), data)
	return data, err
}
