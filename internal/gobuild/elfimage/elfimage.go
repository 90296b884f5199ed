// Package elfimage reads symbols and sections of a 64-bit, little-endian ELF file that is
// in memory, and adds sections to it. It is for files that the Go linker just wrote; use
// internal/binary/objfile for files of unknown origin.
package elfimage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cairnprof/cairn/internal/gobuild/image"
)

// Constants of the ELF format.
const (
	headerSize  = 64
	sectionSize = 64
	symbolSize  = 24

	typeSymtab = 2
	typeStrtab = 3
	typeNobits = 8

	flagAlloc = 2
	flagWrite = 1
)

// ErrFormat is returned for files that are not 64-bit, little-endian ELF files.
var ErrFormat = errors.New("not a 64-bit little-endian ELF file")

// Section is a section of a file.
type Section struct {
	Name             string
	Type             uint32
	Flags            uint64
	Addr, Off, Size  uint64
	Link, Info       uint32
	Align, EntrySize uint64
	nameOff          uint32
}

// File is an ELF file in memory.
type File struct {
	Data     []byte
	Sections []Section // the first is empty
	names    int       // index of the section with the names of sections
}

var le = binary.LittleEndian

// Parse reads the section headers of a file.
func Parse(data []byte) (*File, error) {
	if len(data) < headerSize || !bytes.HasPrefix(data, []byte("\x7fELF\x02\x01")) {
		return nil, ErrFormat
	}
	off, n := le.Uint64(data[40:]), uint64(le.Uint16(data[60:]))
	f := &File{Data: data, names: int(le.Uint16(data[62:]))}
	if le.Uint16(data[58:]) != sectionSize || n == 0 || off > uint64(len(data)) || n*sectionSize > uint64(len(data))-off || uint64(f.names) >= n {
		return nil, fmt.Errorf("section headers at %#x: out of the file", off)
	}
	for i := range n {
		h := data[off+i*sectionSize:]
		f.Sections = append(f.Sections, Section{
			nameOff: le.Uint32(h), Type: le.Uint32(h[4:]), Flags: le.Uint64(h[8:]),
			Addr: le.Uint64(h[16:]), Off: le.Uint64(h[24:]), Size: le.Uint64(h[32:]),
			Link: le.Uint32(h[40:]), Info: le.Uint32(h[44:]), Align: le.Uint64(h[48:]), EntrySize: le.Uint64(h[56:]),
		})
	}
	names, err := f.bytes(&f.Sections[f.names])
	if err != nil {
		return nil, err
	}
	for i := range f.Sections {
		s := &f.Sections[i]
		if uint64(s.nameOff) < uint64(len(names)) {
			s.Name = cstring(names[s.nameOff:])
		}
	}
	return f, nil
}

func cstring(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// bytes returns the content of a section.
func (f *File) bytes(s *Section) ([]byte, error) {
	if s.Type == typeNobits {
		return nil, nil
	}
	if s.Off > uint64(len(f.Data)) || s.Size > uint64(len(f.Data))-s.Off {
		return nil, fmt.Errorf("section %q: %d bytes at %#x: out of the file", s.Name, s.Size, s.Off)
	}
	return f.Data[s.Off : s.Off+s.Size], nil
}

// AMD64 reports whether the program is for x86-64.
func (f *File) AMD64() bool {
	const machine = 62
	return le.Uint16(f.Data[18:]) == machine
}

// Bytes returns the file.
func (f *File) Bytes() ([]byte, error) { return f.Data, nil }

// buildIDSection is the section that has the build id.
const buildIDSection = ".note.gnu.build-id"

// BuildID returns the GNU build id, nil if there is none.
func (f *File) BuildID() []byte {
	note := f.Content(buildIDSection)
	const header = 16 // sizes, type and the name GNU
	if len(note) <= header || int64(le.Uint32(note[4:])) > int64(len(note)-header) {
		return nil
	}
	return note[header:][:le.Uint32(note[4:])]
}

// Pointer returns the word at addr.
func (f *File) Pointer(addr uint64) (uint64, bool) {
	data := f.At(addr)
	if len(data) < 8 {
		return 0, false
	}
	return le.Uint64(data), true
}

// At returns the part of the file that is loaded at addr, up to the end of its section;
// nil if there is none.
func (f *File) At(addr uint64) []byte {
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Flags&flagAlloc == 0 || s.Type == typeNobits || addr < s.Addr || addr-s.Addr >= s.Size {
			continue
		}
		if data, err := f.bytes(s); err == nil {
			return data[addr-s.Addr:]
		}
	}
	return nil
}

// Content returns the content of the section of that name, nil if there is none.
func (f *File) Content(name string) []byte {
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Name == name && i > 0 {
			data, err := f.bytes(s)
			if err == nil {
				return data
			}
		}
	}
	return nil
}

// Symbols returns the symbols in the symbol table.
func (f *File) Symbols() ([]image.Symbol, error) {
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Type != typeSymtab {
			continue
		}
		table, err := f.bytes(s)
		if err != nil {
			return nil, err
		}
		if int64(s.Link) >= int64(len(f.Sections)) {
			return nil, fmt.Errorf("section %q has no names", s.Name)
		}
		names, err := f.bytes(&f.Sections[s.Link])
		if err != nil {
			return nil, err
		}
		return symbols(table, names), nil
	}
	return nil, errors.New("no symbol table")
}

func symbols(table, names []byte) []image.Symbol {
	const undefined, function = 0, 2
	list := make([]image.Symbol, 0, len(table)/symbolSize)
	for ; len(table) >= symbolSize; table = table[symbolSize:] {
		name := le.Uint32(table)
		if le.Uint16(table[6:]) == undefined || uint64(name) >= uint64(len(names)) {
			continue
		}
		list = append(list, image.Symbol{
			Name: cstring(names[name:]), Addr: le.Uint64(table[8:]), Size: le.Uint64(table[16:]), Func: table[4]&15 == function,
		})
	}
	return list
}

// Extend returns the file with more sections, and, if strip is set, without its symbol
// table and debug information.
func (f *File) Extend(add []image.Addition, strip bool) ([]byte, error) {
	sections, end, err := f.kept(strip)
	if err != nil {
		return nil, err
	}
	out := bytes.Clone(f.Data[:end])
	names := []byte{0}
	rename := func(name string) uint32 {
		off := uint32(len(names))
		names = append(append(names, name...), 0)
		return off
	}
	namesAt := 0
	for i := range sections {
		sections[i].nameOff = rename(sections[i].Name)
		if i > 0 && sections[i].Name == f.Sections[f.names].Name {
			namesAt = i
		}
	}
	for _, a := range add {
		s := Section{Name: a.Name, nameOff: rename(a.Name), Type: 1, Align: 1, Off: uint64(len(out)), Size: uint64(len(a.Data))}
		if a.Data == nil {
			s.Type, s.Flags, s.Addr, s.Size, s.Align = typeNobits, flagAlloc|flagWrite, a.Addr, a.Size, 1
			if rest, ok := divide(sections, s); ok {
				rest.nameOff = rename(rest.Name)
				sections = append(sections, s, rest)
				continue
			}
		}
		out = append(out, a.Data...)
		sections = append(sections, s)
	}
	sections[namesAt].Off, sections[namesAt].Size = uint64(len(out)), uint64(len(names))
	out = append(out, names...)
	for len(out)%8 != 0 {
		out = append(out, 0)
	}
	le.PutUint64(out[40:], uint64(len(out)))
	le.PutUint16(out[60:], uint16(len(sections)))
	le.PutUint16(out[62:], uint16(namesAt))
	for i := range sections {
		out = sections[i].append(out)
	}
	return out, nil
}

// divide shortens the section without content that contains the memory of s, so that it ends
// where s begins, and returns the rest after s as a separate section: strip moves sections that
// overlap.
func divide(sections []Section, s Section) (rest Section, ok bool) {
	for i := range sections {
		whole := &sections[i]
		if whole.Type != typeNobits || s.Addr < whole.Addr || s.Addr+s.Size > whole.Addr+whole.Size {
			continue
		}
		rest = *whole
		rest.Name, rest.Align = whole.Name+".end", 1
		rest.Addr = s.Addr + s.Size
		rest.Size = whole.Addr + whole.Size - rest.Addr
		whole.Size = s.Addr - whole.Addr
		return rest, true
	}
	return rest, false
}

func (s *Section) append(b []byte) []byte {
	b = le.AppendUint32(b, s.nameOff)
	b = le.AppendUint32(b, s.Type)
	for _, v := range []uint64{s.Flags, s.Addr, s.Off, s.Size} {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint32(b, s.Link)
	b = le.AppendUint32(b, s.Info)
	b = le.AppendUint64(b, s.Align)
	return le.AppendUint64(b, s.EntrySize)
}

// kept returns the sections that are kept, and the file offset at which the last of them ends.
func (f *File) kept(strip bool) (sections []Section, end uint64, err error) {
	if !strip {
		return append(sections, f.Sections...), uint64(len(f.Data)), nil
	}
	index := make([]uint32, len(f.Sections)) // new numbers
	for i := range f.Sections {
		s := f.Sections[i]
		gone := s.Type == typeSymtab || i > 0 && i != f.names && s.Flags&flagAlloc == 0
		if gone {
			continue
		}
		index[i] = uint32(len(sections))
		sections = append(sections, s)
		if s.Type != typeNobits && i != f.names && i > 0 {
			end = max(end, s.Off+s.Size)
		}
	}
	for i := range sections {
		s := &sections[i]
		if int64(s.Link) < int64(len(index)) {
			s.Link = index[s.Link]
		}
	}
	// Program headers may describe more than sections do.
	off, n := le.Uint64(f.Data[32:]), uint64(le.Uint16(f.Data[56:]))
	const programSize = 56
	if off > uint64(len(f.Data)) || n*programSize > uint64(len(f.Data))-off {
		return nil, 0, fmt.Errorf("program headers at %#x: out of the file", off)
	}
	for i := range n {
		p := f.Data[off+i*programSize:]
		end = max(end, le.Uint64(p[8:])+le.Uint64(p[32:]))
	}
	if end > uint64(len(f.Data)) {
		return nil, 0, fmt.Errorf("a section ends at %#x: out of the file", end)
	}
	return sections, end, nil
}

// New returns a file for a machine, as e_machine names it, that has a build id and nothing else.
func New(machine uint16, id []byte) *File {
	const note, executable, current = 7, 2, 1
	names := "\x00.shstrtab\x00" + buildIDSection + "\x00"
	h := make([]byte, headerSize)
	copy(h, "\x7fELF\x02\x01\x01")
	le.PutUint16(h[16:], executable)
	le.PutUint16(h[18:], machine)
	le.PutUint32(h[20:], current)
	le.PutUint16(h[52:], headerSize)
	le.PutUint16(h[58:], sectionSize)
	const alloc, kind, owner = 2, 3, "GNU\x00" // NT_GNU_BUILD_ID
	content := le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, uint32(len(owner))), uint32(len(id))), kind)
	content = append(append(content, owner...), id...)
	f := &File{names: 1, Sections: []Section{{}, {Name: ".shstrtab", Type: typeStrtab, Align: 1}, {Name: buildIDSection, Type: note, Flags: alloc, Align: 4}}}
	for i, data := range [][]byte{nil, []byte(names), content} {
		f.Sections[i].Off, f.Sections[i].Size = uint64(len(h)), uint64(len(data))
		h = append(h, data...)
	}
	f.Sections[0].Off = 0
	f.Data = h
	return f
}

// Only returns a file that has the added sections and the build id, but no code to run.
func (f *File) Only(add []image.Addition) ([]byte, error) {
	out := &File{Data: bytes.Clone(f.Data[:headerSize]), Sections: []Section{{}}}
	le.PutUint64(out.Data[32:], 0) // no program headers
	le.PutUint16(out.Data[56:], 0)
	for i := range f.Sections {
		s := f.Sections[i]
		if s.Name != buildIDSection && i != f.names {
			continue
		}
		data, err := f.bytes(&s)
		if err != nil {
			return nil, err
		}
		if i == f.names {
			out.names = len(out.Sections)
		}
		s.Off, s.Link = uint64(len(out.Data)), 0
		out.Data = append(out.Data, data...)
		out.Sections = append(out.Sections, s)
	}
	return out.Extend(add, false)
}
