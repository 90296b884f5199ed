package objfile

import (
	"cmp"
	"debug/elf"
	"fmt"
	"strings"
)

// imageSymbol is an entry of a symbol table; its address includes that of its section.
type imageSymbol struct {
	name    string
	kind    elf.SymType
	bind    elf.SymBind
	defined bool
	addr    uint64
}

// symbolTable reads the symbol table that is section number table.
func (im *Image) symbolTable(table uint32) ([]imageSymbol, error) {
	if syms, ok := im.symbols[table]; ok {
		return syms, nil
	}
	if int(table) >= len(im.sections) {
		return nil, fmt.Errorf("symbol table %d does not exist", table)
	}
	if im.macho != nil {
		syms, err := im.machOSymbols()
		im.symbols[table] = syms
		return syms, err
	}
	s := &im.sections[table]
	data, err := im.contents(s)
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", s.name, err)
	}
	if int(s.link) >= len(im.sections) {
		return nil, fmt.Errorf("section %s: string table %d does not exist", s.name, s.link)
	}
	strtab, err := im.contents(&im.sections[s.link])
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", im.sections[s.link].name, err)
	}
	wide := im.wideIndexes(table)
	names := string(strtab) // names are slices of this one string
	size := 8 + 2*im.word   // 16 or 24 bytes
	syms := make([]imageSymbol, len(data)/size)
	for i := range syms {
		syms[i] = im.symbol(im.fields(data[i*size:][:size]), names, i, wide)
	}
	im.symbols[table] = syms
	return syms, nil
}

// symbol reads entry number i. The order of its fields depends on the word size.
func (im *Image) symbol(f *fields, names string, i int, wide []byte) imageSymbol {
	name := f.u32()
	var value uint64
	var info uint8
	var index uint32
	if im.word == 8 {
		info = f.u8()
		f.u8()
		index = uint32(f.u16())
		value = f.word()
	} else {
		value = f.word()
		f.u32() // size
		info = f.u8()
		f.u8()
		index = uint32(f.u16())
	}
	if index == uint32(elf.SHN_XINDEX) && len(wide) >= 4*i+4 {
		index = im.order.Uint32(wide[4*i:])
	}
	sym := imageSymbol{cstring(names, uint64(name)), elf.ST_TYPE(info), elf.ST_BIND(info), index != 0, value}
	if im.Relocatable() && int(index) < len(im.sections) {
		sym.addr += im.sections[index].addr
	}
	if im.machine == elf.EM_ARM && sym.kind == elf.STT_FUNC {
		sym.addr &^= 1 // the lowest bit marks Thumb code
	}
	return sym
}

// wideIndexes returns the section indexes of a symbol table that do not fit into its entries,
// or nil.
func (im *Image) wideIndexes(table uint32) []byte {
	for i := range im.sections {
		if s := &im.sections[i]; s.kind == elf.SHT_SYMTAB_SHNDX && s.link == table {
			data, err := im.contents(s)
			if err != nil {
				return nil
			}
			return data
		}
	}
	return nil
}

// FunctionNames returns the names of the functions that start at these addresses, from the
// first symbol table that has one: .symtab, that of the separate debug file, .dynsym. If an
// address has several names, the choice is that of FunctionMap; a symbol without a type, as in
// assembly, is used only if there is no other.
func (im *Image) FunctionNames(addrs []uint64) (map[uint64]string, error) {
	names := make(map[uint64]string, len(addrs))
	for _, a := range addrs {
		names[a] = ""
	}
	if err := im.nameBy(elf.SHT_SYMTAB, names); err != nil {
		return nil, err
	}
	if im.find(elf.SHT_SYMTAB) == 0 {
		if d := im.openDebugImage(); d != nil {
			err := d.nameBy(elf.SHT_SYMTAB, names)
			d.Close()
			if err != nil {
				return nil, err
			}
		}
	}
	if err := im.nameBy(elf.SHT_DYNSYM, names); err != nil {
		return nil, err
	}
	return names, nil
}

// find returns the number of the first section of a type, or 0.
func (im *Image) find(kind elf.SectionType) uint32 {
	for i := range im.sections {
		if i > 0 && im.sections[i].kind == kind {
			return uint32(i)
		}
	}
	return 0
}

// nameBy looks up the addresses that have no name yet in the first symbol table of a type.
func (im *Image) nameBy(kind elf.SectionType, names map[uint64]string) error {
	table := im.find(kind)
	if table == 0 {
		return nil
	}
	syms, err := im.symbolTable(table)
	if err != nil {
		return fmt.Errorf("%s: %w", im.path, err)
	}
	best := map[uint64]*imageSymbol{}
	for i := range syms {
		sym := &syms[i]
		if !sym.mayName() {
			continue
		}
		if name, wanted := names[sym.addr]; !wanted || name != "" {
			continue
		}
		if old := best[sym.addr]; old == nil || compareNames(sym, old) < 0 {
			best[sym.addr] = sym
		}
	}
	for addr, sym := range best {
		names[addr] = sym.name
	}
	return nil
}

// mayName reports whether the symbol may be that of a function.
func (s *imageSymbol) mayName() bool {
	switch s.kind {
	case elf.STT_FUNC, elf.STT_GNU_IFUNC:
	case elf.STT_NOTYPE:
		// "$x" and similar symbols mark the kind of the code that follows.
		if strings.HasPrefix(s.name, "$") || strings.HasPrefix(s.name, ".L") {
			return false
		}
	default:
		return false
	}
	return s.defined && s.name != ""
}

// compareNames orders the symbols of one address, best name first.
func compareNames(a, b *imageSymbol) int {
	untyped := func(s *imageSymbol) int {
		if s.kind == elf.STT_NOTYPE {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(untyped(a), untyped(b)), cmp.Compare(bindRank(a.bind), bindRank(b.bind)),
		cmp.Compare(len(a.name), len(b.name)), compareBodies(a.name, b.name))
}

// openDebugImage opens the separate debug file of a linked module, or returns nil.
func (im *Image) openDebugImage() *Image {
	d := im.openDebugFile()
	if d == nil {
		return nil
	}
	defer d.Close()
	debug, err := OpenImage(d.path)
	if err != nil {
		return nil
	}
	return debug
}

// openDebugFile is openDebugImage for data that is read through File.
func (im *Image) openDebugFile() *File {
	f, err := Open(im.path)
	if err != nil {
		return nil // for another machine
	}
	defer f.Close()
	f.SetDebugRoot(im.debugRoot)
	d, err := f.openDebug()
	if err != nil {
		return nil
	}
	return d
}
