package objfile

import (
	"debug/elf"
	"encoding/binary"
	"fmt"

	"github.com/cairnprof/cairn/internal/binary/machine"
)

// Relocatable is an object file for x86-64 or AArch64 as plain data, for comparing two objects.
type Relocatable struct {
	Machine  machine.Kind
	Sections []ObjectSection // by number; 0 is no section
	Symbols  []ObjectSymbol  // of .symtab, by number; 0 is no symbol
}

// ObjectSection is a section of an object.
type ObjectSection struct {
	Name   string
	Alloc  bool // it is loaded when the program runs
	Code   bool // it is executable
	Flags  uint64
	Size   uint64
	Data   []byte // nil for a section without contents in the file
	Relocs []Reloc
}

// Reloc is a relocation, by the ELF supplement of its machine.
type Reloc struct {
	Off    uint64 // of the field, in its section
	Type   uint32
	Symbol uint32 // in Symbols
	Addend int64
}

// ObjectSymbol is an entry of an object's symbol table.
type ObjectSymbol struct {
	Name    string
	Section int // in Sections; 0 if it is undefined
	Value   uint64
	Size    uint64
	Func    bool
	Local   bool
	Names   bool // it represents its section, or a source file
}

// OpenRelocatable reads the object at path.
func OpenRelocatable(path string) (*Relocatable, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if of := f.Machine(); f.elf.Type != elf.ET_REL || f.elf.word != 8 || of != machine.X86_64 && of != machine.AArch64 {
		return nil, fmt.Errorf("%s: not an object file of x86-64 or AArch64", path)
	}
	o := &Relocatable{Machine: f.Machine(), Sections: make([]ObjectSection, len(f.elf.Sections))}
	total := uint64(0)
	for i, s := range f.elf.Sections {
		to := &o.Sections[i]
		*to = ObjectSection{
			Name: s.Name, Size: s.Size, Flags: uint64(s.Flags),
			Alloc: s.Flags&elf.SHF_ALLOC != 0, Code: s.Flags&elf.SHF_EXECINSTR != 0,
		}
		if s.Type == elf.SHT_NOBITS || !to.Alloc {
			continue
		}
		// In damaged files, many sections can share the same bytes.
		if total += s.Size; total > f.size {
			return nil, fmt.Errorf("%s: its sections have more bytes than the file", path)
		}
		if to.Data, err = f.read(s); err != nil {
			return nil, err
		}
	}
	if err := o.readRelocs(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return o, o.readSymbols(f)
}

func (o *Relocatable) readRelocs(f *File) error {
	const size = 24 // of an Elf64_Rela
	for _, s := range f.elf.Sections {
		if s.Type != elf.SHT_RELA || int(s.Info) >= len(o.Sections) || !o.Sections[s.Info].Alloc {
			continue
		}
		data, err := f.read(s)
		if err != nil {
			return err
		}
		to := &o.Sections[s.Info]
		for ; len(data) >= size; data = data[size:] {
			info := binary.LittleEndian.Uint64(data[8:])
			to.Relocs = append(to.Relocs, Reloc{
				Off: binary.LittleEndian.Uint64(data), Type: uint32(info), Symbol: uint32(info >> 32),
				Addend: int64(binary.LittleEndian.Uint64(data[16:])),
			})
		}
	}
	return nil
}

func (o *Relocatable) readSymbols(f *File) error {
	s := f.symbolSection(elf.SHT_SYMTAB)
	if s == nil {
		return nil
	}
	data, names, err := f.readSymbolTable(s)
	if err != nil {
		return err
	}
	for ; len(data) >= symbolSize; data = data[symbolSize:] {
		kind := elf.ST_TYPE(data[4])
		sym := ObjectSymbol{
			Name:    cstring(names, uint64(binary.LittleEndian.Uint32(data))),
			Section: int(binary.LittleEndian.Uint16(data[6:])),
			Value:   binary.LittleEndian.Uint64(data[8:]), Size: binary.LittleEndian.Uint64(data[16:]),
			Func:  kind == elf.STT_FUNC || kind == elf.STT_GNU_IFUNC,
			Local: elf.ST_BIND(data[4]) == elf.STB_LOCAL,
			Names: kind == elf.STT_SECTION || kind == elf.STT_FILE,
		}
		if sym.Section >= len(o.Sections) { // absolute, common
			sym.Section = 0
		}
		o.Symbols = append(o.Symbols, sym)
	}
	return nil
}
