package objfile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Problem: clang also supports sleds on macOS, in Mach-O files, which have segments that
// contain sections, one symbol table, and relocations in pairs.
//
// Choice: an Image is filled as if the file were ELF: sections with the types and flags of
// ELF, symbols with its types. Only the reading of headers, symbols and relocations differs.

// machO has the data of a Mach-O file that sections do not contain.
type machO struct {
	symbols, count uint64 // offset of the table, and its number of entries
	names          uint64 // of symbols
	namesSize      uint64
	relocs         []machORelocs // by section
	places         []string      // of sections: segment name, comma, section name

	uuid       []byte
	segments   []machOSegment
	main       uint64 // offset of the entry from the header, 0: none
	starts     uint64 // offset of the table of function starts
	startsSize uint64
	debugOnly  bool // a debug file that belongs to a separate program
}

// machOSegment is a part of the file that is mapped.
type machOSegment struct {
	name                       string
	addr, size, offset, inFile uint64
	writable, executable       bool
}

// machORelocs is the location of a section's relocations.
type machORelocs struct{ offset, count uint64 }

// Constants of the format, from Apple's <mach-o/loader.h>, <mach-o/nlist.h> and
// <mach-o/reloc.h>.
const (
	machOMagic   = 0xfeedface
	machOMagic64 = 0xfeedfacf
	fatMagic     = 0xcafebabe
	maxFat       = 0x2b // Java class files begin with the same bytes, followed by a version of 45 or more

	machOX86  = 0x01000007
	machOARM  = 0x0100000c
	machOObj  = 1  // MH_OBJECT
	machODSYM = 10 // MH_DSYM

	loadSymtab, loadSegment, loadUUID, loadStarts, loadMain = 2, 0x19, 0x1b, 0x26, 0x28 | 1<<31

	machOHeader, machOSectionHeader, machOSymbol = 32, 80, 16 // bytes

	sectionType         = 0xff
	zeroFill            = 1
	zeroFillLarge       = 0xc
	zeroFillThread      = 0x12
	onlyInstructions    = 0x80000000
	someInstructions    = 0x400
	symbolDebug         = 0xe0 // bits of n_type
	symbolType          = 0x0e
	symbolSection       = 0x0e
	symbolExternal      = 0x01
	symbolWeak          = 0x80 // a bit of n_desc
	relocUnsigned       = 0
	relocScattered      = 1 << 31
	maxMachOCommands    = 1 << 16
	maxMachOCommandSize = 1 << 24
)

func isMachO(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	little, big := binary.LittleEndian.Uint32(head), binary.BigEndian.Uint32(head)
	return little == machOMagic || little == machOMagic64 || big == machOMagic || big == machOMagic64
}

func isUniversal(head []byte) bool {
	if len(head) < 8 {
		return false
	}
	magic := binary.BigEndian.Uint32(head)
	return (magic == fatMagic || magic == fatMagic64) && binary.BigEndian.Uint32(head[4:]) < maxFat
}

// readMachO reads the header and the load commands.
func (im *Image) readMachO() error {
	h := make([]byte, 32)
	if n, err := im.r.ReadAt(h, 0); n < len(h) {
		return fmt.Errorf("a Mach-O file that is too short (%w)", err)
	}
	if binary.LittleEndian.Uint32(h) != machOMagic64 {
		return errors.New("a Mach-O file of 32 bits, or big-endian: only those of 64 bits, for x86-64 and arm64, are read")
	}
	im.order, im.word = binary.LittleEndian, 8
	f := im.fields(h[4:])
	switch machine := f.u32(); machine {
	case machOX86:
		im.machine = elf.EM_X86_64
	case machOARM:
		im.machine = elf.EM_AARCH64
	default:
		return fmt.Errorf("a Mach-O file for machine %#x, which is neither x86-64 nor arm64", machine)
	}
	f.u32() // which of the machines
	kind, count, size := f.u32(), f.u32(), f.u32()
	im.kind = elf.ET_DYN
	if kind == machOObj {
		im.kind = elf.ET_REL
	}
	if count > maxMachOCommands || size > maxMachOCommandSize {
		return fmt.Errorf("%d load commands of %d bytes together, at most %d of %d are allowed", count, size, maxMachOCommands, maxMachOCommandSize)
	}
	data, err := im.bytes("load commands", machOHeader, uint64(size))
	if err != nil {
		return err
	}
	im.macho = &machO{debugOnly: kind == machODSYM}
	// Numbers of sections are counted from 1, as those of ELF.
	im.sections = []imageSection{{kind: elf.SHT_NULL}}
	im.macho.relocs, im.macho.places = []machORelocs{{}}, []string{""}
	for at := uint64(0); count > 0; count-- {
		n := uint64(0)
		if len(data) >= 8 {
			n = uint64(im.order.Uint32(data[4:]))
		}
		if n < 8 || n > uint64(len(data)) {
			return fmt.Errorf("offset %#x: a load command of %d bytes, %d are left", machOHeader+at, n, len(data))
		}
		if err := im.loadCommand(data[:n], kind == machODSYM); err != nil {
			return fmt.Errorf("offset %#x: %w", machOHeader+at, err)
		}
		data, at = data[n:], at+n
	}
	if im.macho.count > 0 {
		im.sections = append(im.sections, imageSection{name: "symbols", kind: elf.SHT_SYMTAB})
		im.macho.relocs, im.macho.places = append(im.macho.relocs, machORelocs{}), append(im.macho.places, "")
	}
	return nil
}

// loadCommand reads a load command. In a file with debug information only, other sections have
// no contents.
func (im *Image) loadCommand(data []byte, debugOnly bool) error {
	f := im.fields(data)
	m := im.macho
	switch kind := f.u32(); kind {
	case loadUUID:
		f.u32() // size
		m.uuid = f.next(16)
	case loadMain:
		f.u32()
		m.main = f.word()
	case loadStarts:
		f.u32()
		m.starts, m.startsSize = uint64(f.u32()), uint64(f.u32())
	case loadSymtab:
		f.u32() // size
		m.symbols, m.count, m.names, m.namesSize = uint64(f.u32()), uint64(f.u32()), uint64(f.u32()), uint64(f.u32())
	case loadSegment:
		f.u32() // size
		seg := machOSegment{name: machOName(f.next(16)), addr: f.word(), size: f.word(), offset: f.word(), inFile: f.word()}
		f.u32() // maximum protection
		protection := f.u32()
		seg.writable, seg.executable = protection&2 != 0, protection&4 != 0
		m.segments = append(m.segments, seg)
		count := uint64(f.u32())
		f.u32() // flags
		if room := uint64(len(f.data) / machOSectionHeader); count > room {
			return fmt.Errorf("a segment of %d sections, there is room for %d", count, room)
		}
		for range count {
			im.machOSection(im.fields(f.next(machOSectionHeader)), debugOnly)
		}
	}
	return nil
}

// machOSection reads the header of a section.
func (im *Image) machOSection(f *fields, debugOnly bool) {
	var s imageSection
	name, segment := machOName(f.next(16)), machOName(f.next(16))
	s.name = name
	s.addr, s.size = f.word(), f.word()
	s.offset = uint64(f.u32())
	f.u32() // alignment
	relocs := machORelocs{offset: uint64(f.u32()), count: uint64(f.u32())}
	flags := f.u32()
	s.kind = elf.SHT_PROGBITS
	switch flags & sectionType {
	case zeroFill, zeroFillLarge, zeroFillThread:
		s.kind = elf.SHT_NOBITS
	}
	if segment == "__DWARF" {
		s.name = debugName(name)
	} else {
		s.flags = elf.SHF_ALLOC
		if debugOnly {
			s.kind = elf.SHT_NOBITS
		}
	}
	if flags&(onlyInstructions|someInstructions) != 0 {
		s.flags |= elf.SHF_EXECINSTR
	}
	im.sections = append(im.sections, s)
	im.macho.relocs, im.macho.places = append(im.macho.relocs, relocs), append(im.macho.places, segment+","+name)
}

func machOName(b []byte) string {
	name, _, _ := bytes.Cut(b, []byte{0})
	return string(name)
}

// debugName returns the ELF name of a section of debug information. Names have at most 16
// bytes here.
func debugName(name string) string {
	if name == "__debug_str_offs" {
		return ".debug_str_offsets"
	}
	return "." + strings.TrimPrefix(name, "__")
}

// machOTable reads the entries of the symbol table, and their names as one string.
func (im *Image) machOTable() (entries []byte, names string, err error) {
	m := im.macho
	if entries, err = im.bytes("symbols", m.symbols, m.count*machOSymbol); err != nil {
		return nil, "", err
	}
	text, err := im.bytes("names of symbols", m.names, m.namesSize)
	return entries, string(text), err
}

// machOSymbols reads the symbol table. The underscore that the compiler prepends to names is
// removed.
func (im *Image) machOSymbols() ([]imageSymbol, error) {
	m := im.macho
	data, names, err := im.machOTable()
	if err != nil {
		return nil, err
	}
	syms := make([]imageSymbol, m.count)
	for i := range syms {
		f := im.fields(data[i*machOSymbol:][:machOSymbol])
		name, kind, section, desc, value := f.u32(), f.u8(), f.u8(), f.u16(), f.word()
		s := &syms[i]
		s.name, s.addr = cstring(names, uint64(name)), value
		if kind&symbolDebug != 0 || kind&symbolType != symbolSection || int(section) >= len(im.sections) {
			continue // for debuggers, or of another file
		}
		s.defined = true
		switch {
		case kind&symbolExternal == 0:
			s.bind = elf.STB_LOCAL
		case desc&symbolWeak != 0:
			s.bind = elf.STB_WEAK
		default:
			s.bind = elf.STB_GLOBAL
		}
		var own bool
		if s.name, own = strings.CutPrefix(s.name, "_"); own {
			s.kind = elf.STT_FUNC
		} else {
			s.kind = elf.STT_SECTION // such as ltmp0, with which a section of an object begins
		}
	}
	return syms, nil
}

// relocateMachO applies the relocations of section number target to data, its contents. A
// linked file has none: the content of its tables is relative.
func (im *Image) relocateMachO(target uint32, data []byte) error {
	r := im.macho.relocs[target]
	if r.count == 0 || !im.Relocatable() {
		return nil
	}
	raw, err := im.bytes("relocations", r.offset, r.count*8)
	if err != nil {
		return err
	}
	syms, err := im.symbolTable(uint32(len(im.sections) - 1))
	if err != nil {
		return err
	}
	subtract := uint64(0) // subtrahend from the previous relocation
	for at := uint64(0); at < uint64(len(raw)); at += 8 {
		f := im.fields(raw[at:])
		place, word := uint64(f.u32()), f.u32()
		if err := im.applyMachO(data, place, word, syms, &subtract); err != nil {
			return fmt.Errorf("relocation at offset %#x: %w", r.offset+at, err)
		}
	}
	return nil
}

// applyMachO applies one relocation. The first of a pair is the subtrahend of the second.
func (im *Image) applyMachO(data []byte, place uint64, word uint32, syms []imageSymbol, subtract *uint64) error {
	symbol, length, external, kind := word&0xffffff, word>>25&3, word>>27&1 != 0, word>>28
	subtractor := uint32(5)
	if im.machine == elf.EM_AARCH64 {
		subtractor = 1
	}
	size := uint64(1) << length
	switch {
	case place&relocScattered != 0:
		return errors.New("it is of a kind that these machines do not have")
	case kind != relocUnsigned && kind != subtractor:
		return fmt.Errorf("type %d of machine %v is not known", kind, im.machine)
	case length < 2:
		return fmt.Errorf("a field of %d bytes", size)
	case place > uint64(len(data)) || size > uint64(len(data))-place:
		return errors.New("it reaches beyond the section")
	}
	value := uint64(0) // for a section, its address is already in the field
	if external {
		if int64(symbol) >= int64(len(syms)) {
			return fmt.Errorf("symbol %d does not exist", symbol)
		}
		value = syms[symbol].addr
	}
	if kind == subtractor {
		*subtract = value
		return nil
	}
	value, *subtract = value-*subtract, 0
	field := data[place:]
	if size == 8 {
		im.order.PutUint64(field, im.order.Uint64(field)+value)
	} else {
		im.order.PutUint32(field, im.order.Uint32(field)+uint32(value))
	}
	return nil
}
