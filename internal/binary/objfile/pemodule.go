package objfile

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/golines"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/msname"
)

// Problem: a program or DLL for Windows has the same data as an ELF module in other tables (Microsoft, PE Format).
//
// Choice: a module is built from it, as from Mach-O. Addresses are those of the image's preferred base, which DWARF has as
// well. Functions are the symbols of the COFF symbol table in sections with code, which has no sizes: one ends at the next
// symbol. The identity is that of the CodeView record: GUID and age, which debuggers find a PDB by.

// Values of the headers.
const (
	peOffset      = 60 // of the offset of the signature, in the header for DOS
	peSignature   = "PE\x00\x00"
	peWide        = 0x20b // magic of the optional header with addresses of 64 bits
	peAMD64       = 0x8664
	peARM64       = 0xaa64     // of Go programs; others get no probes there
	peCode        = 0x20000000 // flags of sections
	peWrite       = 0x80000000
	peZeros       = 0x80
	peDebug       = 6 // directory of debug information
	peCodeView    = 2 // type of an entry there
	coffHeader    = 20
	coffSection   = 40
	coffSymbol    = 18
	maxPESections = 1 << 16
	maxPEHeader   = 1 << 12 // bytes of the optional header
	maxPESymbols  = 1 << 24
	maxPEDebug    = 1 << 12 // bytes of the directory of debug information
)

// Storage classes of symbols, and the type of a function.
const (
	coffExternal = 2
	coffStatic   = 3
	coffFile     = 103
	coffWeak     = 105
	coffFunction = 0x20
)

// peIdentity says what is missing in a file without identity.
const peIdentity = "a CodeView record"

// peNames maps the sections that have a counterpart.
var peNames = map[string]string{
	wire.RawCOFF: wire.RawSection, wire.OrderCOFF: wire.OrderSection, wire.MapCOFF: wire.MapSection,
	wire.GoMapCOFF: wire.MapSection, wire.UnitCOFF: wire.UnitSection, golines.COFFSection: golines.Section,
}

// isPE reports whether a file that begins with head may be a program for Windows.
func isPE(head []byte) bool { return len(head) >= 2 && head[0] == 'M' && head[1] == 'Z' }

// peFile reads the tables of a file.
type peFile struct {
	headers
	m       *module
	base    uint64 // address of the image
	names   string // string table, with its length in front
	symbols []byte
	debug   [2]uint32 // directory of debug information: address from the base, and size
}

// readPEModule reads a program or a DLL for Windows.
func readPEModule(r io.ReaderAt, size uint64) (*module, error) {
	f, err := readPETables(r, size)
	if err != nil {
		return nil, err
	}
	if funcs := f.functions(); len(funcs) > 0 {
		f.m.addSymbols(funcs)
	}
	return f.m, nil
}

// readPEObject reads the functions of a program or a DLL.
func readPEObject(r *io.SectionReader) (*Object, error) {
	f, err := readPETables(r, uint64(r.Size()))
	if err != nil {
		return nil, err
	}
	o := &Object{Linked: true, Machine: machineName(f.m.Machine)}
	for _, fn := range f.functions() {
		o.Funcs = append(o.Funcs, ObjectFunc{
			Symbol: Symbol{fn.name, fn.addr, fn.size}, Section: f.m.Sections[fn.section].Name, Index: uint32(fn.section),
			Local: fn.bind == elf.STB_LOCAL, Source: fn.source,
		})
	}
	return o, nil
}

// readPETables reads the tables of a program or a DLL.
func readPETables(r io.ReaderAt, size uint64) (*peFile, error) {
	f := &peFile{headers: headers{r: r, size: size, order: binary.LittleEndian, word: 8}, m: &module{
		Type: elf.ET_DYN, Machine: elf.EM_X86_64, word: 8, identity: peIdentity, Sections: []*section{{}},
	}}
	sections, err := f.readHeaders()
	if err != nil {
		return nil, err
	}
	for data := sections; len(data) >= coffSection; data = data[coffSection:] {
		if err := f.addSection(data[:coffSection]); err != nil {
			return nil, err
		}
	}
	return f, f.readIdentity()
}

// readHeaders reads the headers of the file and the symbols, and returns the section headers.
func (f *peFile) readHeaders() ([]byte, error) {
	dos, err := f.bytes("the header", 0, peOffset+4)
	if err != nil {
		return nil, err
	}
	at := uint64(binary.LittleEndian.Uint32(dos[peOffset:]))
	head, err := f.bytes("the PE header", at, 4+coffHeader)
	if err != nil {
		return nil, err
	}
	if string(head[:4]) != peSignature {
		return nil, errors.New("a program for DOS, not for Windows: it has no PE header")
	}
	h := f.fields(head[4:])
	machine, count := h.u16(), uint64(h.u16())
	stamp := h.u32()
	symbolsAt, symbolCount, optional := uint64(h.u32()), uint64(h.u32()), uint64(h.u16())
	switch machine {
	case peAMD64:
	case peARM64:
		f.m.Machine = elf.EM_AARCH64
	default:
		return nil, fmt.Errorf("a program for Windows on machine %#x, of which cairn reads x86-64 (%#x) and AArch64 (%#x)", machine, peAMD64, peARM64)
	}
	if optional > maxPEHeader {
		return nil, fmt.Errorf("an optional header of %d bytes, at most %d are allowed", optional, maxPEHeader)
	}
	data, err := f.bytes("the optional header", at+4+coffHeader, optional)
	if err != nil {
		return nil, err
	}
	const dll = 0x2000
	if f.readOptional(data); f.m.windows != nil {
		f.m.windows.Stamp, f.m.windows.DLL = stamp, h.u16()&dll != 0
	}
	if err := f.readSymbols(symbolsAt, symbolCount); err != nil {
		return nil, err
	}
	return f.bytes("section headers", at+4+coffHeader+optional, count*coffSection)
}

// readOptional reads the optional header, which an object has not.
func (f *peFile) readOptional(data []byte) {
	const entry, base, size, directories, exported, exceptions, managed = 16, 24, 56, 112, 0, 3, 14
	le := binary.LittleEndian
	if len(data) < directories || le.Uint16(data) != peWide {
		return
	}
	f.base = le.Uint64(data[base:])
	f.m.Entry = f.base + uint64(le.Uint32(data[entry:]))
	directory := func(n int) (d [2]uint32) {
		if at := directories + 8*n; at+8 <= len(data) {
			d = [2]uint32{le.Uint32(data[at:]), le.Uint32(data[at+4:])}
		}
		return d
	}
	f.debug = directory(peDebug)
	f.m.windows = &WindowsImage{
		Base: f.base, Size: le.Uint32(data[size:]), Managed: directory(managed)[0] != 0,
		Unwind: directory(exceptions), Exports: directory(exported),
	}
}

// readSymbols reads the symbol table and the strings behind it.
func (f *peFile) readSymbols(at, count uint64) (err error) {
	if at == 0 || count == 0 {
		return nil
	}
	if count > maxPESymbols {
		return fmt.Errorf("%d symbols, at most %d are allowed", count, maxPESymbols)
	}
	if f.symbols, err = f.bytes("symbols", at, count*coffSymbol); err != nil {
		return err
	}
	at += count * coffSymbol
	length, err := f.bytes("the length of the strings", at, 4)
	if err != nil {
		return err
	}
	names, err := f.bytes("strings", at, max(4, uint64(binary.LittleEndian.Uint32(length))))
	f.names = string(names)
	return err
}

// addSection adds the section of a header, and the segment that is mapped from it.
func (f *peFile) addSection(header []byte) error {
	h := f.fields(header[8:])
	size, addr, inFile, offset := uint64(h.u32()), uint64(h.u32()), uint64(h.u32()), uint64(h.u32())
	h.u32() // relocations
	h.u32() // line numbers
	h.u32() // numbers of both
	flags := h.u32()
	name := strings.TrimRight(string(header[:8]), "\x00")
	if n, err := strconv.ParseUint(strings.TrimPrefix(name, "/"), 10, 32); err == nil && name[0] == '/' {
		name = cstring(f.names, n)
	}
	if ours, ok := peNames[name]; ok {
		name = ours
	}
	s := &section{SectionHeader: elf.SectionHeader{Name: name, Type: elf.SHT_PROGBITS, Addr: f.base + addr, Offset: offset, Addralign: 1}}
	s.FileSize = min(inFile, cmp.Or(size, inFile)) // the file has whole blocks
	s.Size = s.FileSize
	if s.FileSize == 0 || flags&peZeros != 0 {
		s.Type, s.FileSize, s.Size = elf.SHT_NOBITS, 0, size
	}
	if s.Type != elf.SHT_NOBITS && (offset > f.size || s.FileSize > f.size-offset) {
		return fmt.Errorf("section %s at offset %d lies outside the file (cut off?)", name, offset)
	}
	f.m.Sections = append(f.m.Sections, s)
	switch {
	case name == wire.PlaceCOFF:
		return f.addRecords(s)
	case strings.HasPrefix(name, ".zdebug_"):
		return f.packed(s)
	}
	if strings.HasPrefix(name, ".debug") || name == wire.MapSection {
		return nil
	}
	s.Flags = elf.SHF_ALLOC
	p := elf.ProgHeader{Type: elf.PT_LOAD, Flags: elf.PF_R, Off: offset, Vaddr: s.Addr, Paddr: s.Addr, Filesz: s.FileSize, Memsz: max(size, s.Size), Align: 1}
	if flags&peCode != 0 {
		s.Flags |= elf.SHF_EXECINSTR
		p.Flags |= elf.PF_X
	}
	if flags&peWrite != 0 {
		s.Flags |= elf.SHF_WRITE
		p.Flags |= elf.PF_W
	}
	f.m.Progs = append(f.m.Progs, &segment{p, io.NewSectionReader(f.r, int64(p.Off), int64(p.Filesz))})
	return nil
}

// addRecords adds the section of the records of a Go program, whose place is what s has.
func (f *peFile) addRecords(s *section) error {
	data, err := f.bytes("the place of the records", s.Offset, 16)
	if err != nil {
		return err
	}
	addr, size := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
	f.m.Sections = append(f.m.Sections, &section{SectionHeader: elf.SectionHeader{
		Name: wire.RawSection, Type: elf.SHT_NOBITS, Flags: elf.SHF_ALLOC | elf.SHF_WRITE, Addr: addr, Size: size, Addralign: 1,
	}})
	return nil
}

// packed makes the header of a section .zdebug_X, as the Go linker writes, that of .debug_X, compressed.
func (f *peFile) packed(s *section) error {
	if s.FileSize < packedHead {
		return nil
	}
	b, err := f.bytes("the header of a compressed section", s.Offset, packedHead)
	if err != nil || string(b[:4]) != "ZLIB" {
		return err
	}
	s.pack(strings.TrimPrefix(s.Name, ".zdebug_"), b)
	return nil
}

// readIdentity reads the identity from the directory of debug information.
func (f *peFile) readIdentity() error {
	const entry, id = 28, 20
	size := uint64(f.debug[1])
	if size == 0 {
		return nil
	}
	if size > maxPEDebug {
		return fmt.Errorf("%d bytes of a directory of debug information, at most %d are allowed", size, maxPEDebug)
	}
	data, err := f.at("the directory of debug information", f.debug[0], size)
	for ; err == nil && len(data) >= entry; data = data[entry:] {
		h := f.fields(data[12:entry])
		kind, length, addr := h.u32(), h.u32(), h.u32()
		if kind != peCodeView || length < 4+id {
			continue
		}
		record, err := f.at("the CodeView record", addr, min(uint64(length), maxPEDebug))
		if err != nil {
			return err
		}
		if string(record[:4]) == "RSDS" {
			f.m.id, f.m.pdb = record[4:4+id], cstring(string(record), 4+id)
			return nil
		}
	}
	return err
}

// at reads bytes at an address from the image's base.
func (f *peFile) at(what string, addr uint32, size uint64) ([]byte, error) {
	for _, s := range f.m.Sections {
		if from := f.base + uint64(addr) - s.Addr; f.base+uint64(addr) >= s.Addr && from < s.FileSize && size <= s.FileSize-from {
			return f.bytes(what, s.Offset+from, size)
		}
	}
	return nil, fmt.Errorf("%s at address %#x is in no section", what, addr)
}

// functions returns the symbols in sections with code, with the source files that gcc names.
func (f *peFile) functions() []symbolOfCode {
	var funcs []symbolOfCode
	var starts []uint64
	source := ""
	for data := f.symbols; len(data) >= coffSymbol; {
		h := f.fields(data[8:coffSymbol])
		value, number, kind, class, more := h.u32(), int(int16(h.u16())), h.u16(), h.u8(), int(h.u8())
		name, rest := f.symbolName(data[:8]), data[coffSymbol:]
		data = rest[min(more*coffSymbol, len(rest)):]
		if class == coffFile {
			source = strings.TrimRight(string(rest[:min(more*coffSymbol, len(rest))]), "\x00")
			continue
		}
		if of, handler := msname.HandlerOf(name); handler { // a part of that function
			name = of
		}
		if number <= 0 || number >= len(f.m.Sections) || f.m.Sections[number].Flags&elf.SHF_EXECINSTR == 0 {
			continue
		}
		s := f.m.Sections[number]
		if uint64(value) >= s.Size {
			continue
		}
		starts = append(starts, s.Addr+uint64(value))
		fn := symbolOfCode{name: strings.TrimPrefix(name, wire.LocalCOFF), section: number, addr: s.Addr + uint64(value), bind: elf.STB_GLOBAL}
		switch {
		case class == coffStatic && kind == coffFunction:
			fn.bind, fn.source = elf.STB_LOCAL, source
		case class == coffWeak:
			fn.bind = elf.STB_WEAK
		case class != coffExternal:
			continue // of a section, or a label
		}
		funcs = append(funcs, fn)
	}
	slices.Sort(starts)
	for i := range funcs {
		fn := &funcs[i]
		end := f.m.Sections[fn.section].Addr + f.m.Sections[fn.section].Size
		if k := sort.Search(len(starts), func(k int) bool { return starts[k] > fn.addr }); k < len(starts) {
			end = min(end, starts[k])
		}
		fn.size = end - fn.addr
	}
	return funcs
}

// symbolName returns the name of a symbol, which is in the table or, if it is long, among the strings.
func (f *peFile) symbolName(field []byte) string {
	if binary.LittleEndian.Uint32(field) == 0 {
		return cstring(f.names, uint64(binary.LittleEndian.Uint32(field[4:])))
	}
	return strings.TrimRight(string(field), "\x00")
}

// COFFSection returns the contents of all sections of an object for Windows with a name, nil if it has none, or if r is no
// such object.
func COFFSection(r *io.SectionReader, name string) ([]byte, error) {
	f := &peFile{headers: headers{r: r, size: uint64(r.Size()), order: binary.LittleEndian, word: 8}, m: &module{}}
	var head [coffHeader]byte
	if n, _ := r.ReadAt(head[:], 0); n < len(head) || binary.LittleEndian.Uint16(head[:]) != peAMD64 {
		return nil, nil
	}
	h := f.fields(head[2:])
	count := uint64(h.u16())
	h.u32() // time
	symbolsAt, symbolCount, optional := uint64(h.u32()), uint64(h.u32()), uint64(h.u16())
	if err := f.readSymbols(symbolsAt, symbolCount); err != nil {
		return nil, err
	}
	sections, err := f.bytes("section headers", coffHeader+optional, count*coffSection)
	if err != nil {
		return nil, err
	}
	var all []byte
	for ; len(sections) >= coffSection; sections = sections[coffSection:] {
		if err := f.addSection(sections[:coffSection]); err != nil {
			return nil, err
		}
		if s := f.m.Sections[len(f.m.Sections)-1]; s.Name == cmp.Or(peNames[name], name) && s.Type != elf.SHT_NOBITS {
			data, err := f.bytes("contents", s.Offset, s.FileSize)
			if err != nil {
				return nil, err
			}
			all = append(all, data...)
		}
	}
	return all, nil
}
