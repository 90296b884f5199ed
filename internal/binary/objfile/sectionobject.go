package objfile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// SectionOf returns the contents of a section of an ELF object, nil if r has none of that name or is no
// object.
func SectionOf(r io.ReaderAt, name string) ([]byte, error) {
	if data, sure := peekSection(r, name); sure {
		return data, nil
	}
	f, err := openObject(r)
	if f == nil || err != nil {
		return nil, err
	}
	s := f.Section(name)
	if s == nil {
		return nil, nil
	}
	data, err := s.Data()
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", name, err)
	}
	return data, nil
}

// openObject returns the ELF object that r has, nil if it has none: the linker will report what is wrong.
func openObject(r io.ReaderAt) (f *elf.File, err error) {
	defer func() {
		if recover() != nil { // debug/elf does not promise that it accepts any file
			f, err = nil, nil
		}
	}()
	var magic [4]byte
	if n, _ := r.ReadAt(magic[:], 0); n < len(magic) || string(magic[:]) != elf.ELFMAG {
		return nil, nil
	}
	f, err = elf.NewFile(r)
	if err != nil || f.Type != elf.ET_REL {
		return nil, nil
	}
	return f, nil
}

// ObjectNames returns the names with a prefix that an ELF object defines, and those that it needs to be defined by
// others; ok is false if r is no object with symbols.
func ObjectNames(r io.ReaderAt, prefix string) (defined, needed []string, ok bool) {
	f, err := openObject(r)
	if f == nil || err != nil {
		return nil, nil, false
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, nil, false
	}
	for _, sym := range symbols {
		switch {
		case !strings.HasPrefix(sym.Name, prefix):
		case sym.Section != elf.SHN_UNDEF:
			defined = append(defined, sym.Name)
		case elf.ST_BIND(sym.Info) != elf.STB_WEAK:
			needed = append(needed, sym.Name)
		}
	}
	return defined, needed, true
}

// ObjectSource returns the name of the first source that an ELF object's symbols name (STT_FILE), "" if r is no object or has
// none.
func ObjectSource(r io.ReaderAt) string {
	f, err := openObject(r)
	if f == nil || err != nil {
		return ""
	}
	symbols, err := f.Symbols()
	if err != nil {
		return ""
	}
	for _, sym := range symbols {
		if elf.ST_TYPE(sym.Info) == elf.STT_FILE {
			return sym.Name
		}
	}
	return ""
}

// Exports returns the names of the global symbols that an ELF object defines, none if r is no object.
func Exports(r io.ReaderAt) []string {
	f, err := openObject(r)
	if f == nil || err != nil {
		return nil
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil
	}
	var names []string
	for _, sym := range symbols {
		if elf.ST_BIND(sym.Info) != elf.STB_LOCAL && sym.Section != elf.SHN_UNDEF {
			names = append(names, sym.Name)
		}
	}
	return names
}

// noteSections are those whose absence from one object changes what linkers make of all: whether the stack is
// executable, and which features of the processor the program supports. An object without the former, which has no
// flags, makes the stack executable, whatever others have, and linkers name the first that has none.
var noteSections = []string{".note.gnu.property", stackNote}

const stackNote = ".note.GNU-stack"

// byteOrder is that of an ELF file.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// sectionHeader has the fields of a section header in the order of both classes of ELF, less the name.
type sectionHeader struct {
	name               string
	kind               elf.SectionType
	flags, align       uint64
	data               []byte
	nameOffset, offset uint64
}

// keptSection is a section that linker scripts have linkers keep (KEEP). With --gc-sections GNU ld drops all of an
// object of which it keeps no loaded section, so that one without contents keeps the others.
const keptSection = ".fini_array"

// OneSection returns an ELF object for the machine of another object, with one section that is not loaded, and
// the notes that all objects of a link must have in common.
func OneSection(like io.ReaderAt, name string, data []byte) ([]byte, error) {
	f, err := openObject(like)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, ErrNotELF
	}
	sections := []sectionHeader{
		{},
		{name: name, kind: elf.SHT_PROGBITS, align: 1, data: data},
		{name: keptSection, kind: elf.SHT_FINI_ARRAY, flags: uint64(elf.SHF_ALLOC | elf.SHF_WRITE), align: 4},
	}
	for _, note := range noteSections {
		s := f.Section(note)
		if s == nil && note == stackNote {
			sections = append(sections, sectionHeader{name: note, kind: elf.SHT_PROGBITS, align: 1})
		}
		if s == nil {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return nil, fmt.Errorf("section %s: %w", note, err)
		}
		sections = append(sections, sectionHeader{name: note, kind: s.Type, flags: uint64(s.Flags), align: max(1, s.Addralign), data: data})
	}
	sections = append(sections, sectionHeader{name: ".shstrtab", kind: elf.SHT_STRTAB, align: 1})
	head := make([]byte, 64) // objects are larger, whatever their class
	if _, err := like.ReadAt(head, 0); err != nil {
		return nil, err
	}
	var order byteOrder = binary.LittleEndian
	if f.ByteOrder == binary.BigEndian {
		order = binary.BigEndian
	}
	return layOut(head, f.Class == elf.ELFCLASS64, order, sections), nil
}

// layOut writes an object with these sections, the last of which is that of their names. Its header is like
// head, the first bytes of another object.
func layOut(head []byte, wide bool, order byteOrder, sections []sectionHeader) []byte {
	size := 52 // of the header
	if wide {
		size = 64
	}
	var names []byte
	for i := range sections {
		s := &sections[i]
		s.nameOffset = uint64(len(names))
		names = append(append(names, s.name...), 0)
	}
	sections[len(sections)-1].data = names
	b := bytes.NewBuffer(bytes.Clone(head[:size]))
	pad := func(align uint64) {
		for uint64(b.Len())%align != 0 {
			b.WriteByte(0)
		}
	}
	for i := range sections[1:] {
		s := &sections[i+1]
		pad(s.align)
		s.offset = uint64(b.Len())
		b.Write(s.data)
	}
	pad(8)
	table := uint64(b.Len())
	word := func(v uint64) {
		if wide {
			b.Write(order.AppendUint64(nil, v))
		} else {
			b.Write(order.AppendUint32(nil, uint32(v)))
		}
	}
	half := func(v uint64) { b.Write(order.AppendUint32(nil, uint32(v))) }
	for i := range sections {
		s := &sections[i]
		half(s.nameOffset)
		half(uint64(s.kind))
		word(s.flags)
		word(0) // address
		word(s.offset)
		word(uint64(len(s.data)))
		half(0) // link
		half(0) // information
		word(s.align)
		word(0) // size of entries
	}
	out := b.Bytes()
	finishHeader(out, order, table, len(sections))
	return out
}

// finishHeader sets the fields of an ELF header that depend on the sections.
func finishHeader(out []byte, order byteOrder, table uint64, sections int) {
	counts, entry := out[46:52], 40
	if elf.Class(out[elf.EI_CLASS]) == elf.ELFCLASS64 {
		order.PutUint64(out[40:], table) // e_shoff
		counts, entry = out[58:64], 64
	} else {
		order.PutUint32(out[32:], uint32(table))
	}
	order.PutUint16(counts, uint16(entry))          // e_shentsize
	order.PutUint16(counts[2:], uint16(sections))   // e_shnum
	order.PutUint16(counts[4:], uint16(sections-1)) // e_shstrndx
}
