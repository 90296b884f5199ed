package objfile

import (
	"debug/elf"
	"fmt"
	"strings"
)

// DataSection is a section with variables or constants.
type DataSection struct {
	Name       string
	Addr, Size uint64
}

// DataObject is a variable or constant in the symbol table.
type DataObject struct {
	Symbol
	Section int // index in the sections of Data
}

// Data are the variables and constants of a module.
type Data struct {
	Sections []DataSection
	Objects  []DataObject
	Entry    uint64 // the entry point of a program, 0 if it has none
	Code     []byte // the first bytes from Entry on, for a program
}

// dataSections are the sections for variables and constants, to which -fdata-sections appends
// a dot and a name in objects. Thread-local sections are not included.
var dataSections = []string{".rodata", ".data.rel.ro", ".data", ".bss"}

// Data returns the variables and constants; those of a stripped module are read from its
// separate debug file. Without symbols there are no objects.
func (f *File) Data() (*Data, error) {
	d := &Data{Entry: f.elf.Entry}
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_LOAD && d.Entry != 0 && d.Entry-p.Vaddr < p.Filesz {
			const most = 128
			d.Code = make([]byte, min(most, p.Filesz-(d.Entry-p.Vaddr)))
			if _, err := p.ReadAt(d.Code, int64(d.Entry-p.Vaddr)); err != nil {
				return nil, fmt.Errorf("%s: the code at its entry point: %w", f.path, err)
			}
		}
	}
	index := map[elf.SectionIndex]int{}
	for i, s := range f.elf.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Flags&(elf.SHF_EXECINSTR|elf.SHF_TLS) != 0 || s.Size == 0 {
			continue
		}
		for _, name := range dataSections {
			if s.Name == name || strings.HasPrefix(s.Name, name+".") {
				if s.Addr > ^uint64(0)-s.Size {
					return nil, fmt.Errorf("%s: section %s ends after the last address", f.path, s.Name)
				}
				index[elf.SectionIndex(i)] = len(d.Sections)
				d.Sections = append(d.Sections, DataSection{s.Name, s.Addr, s.Size})
				break
			}
		}
	}
	table, s := f.openSymbols()
	if s == nil {
		return d, nil
	}
	defer f.done(table)
	err := table.eachSymbol(s, func(sym *symbol) {
		i, ok := index[sym.section]
		if !ok || sym.kind != elf.STT_OBJECT || sym.size == 0 {
			return
		}
		in := &d.Sections[i]
		if sym.addr >= in.Addr && sym.addr-in.Addr <= in.Size && sym.size <= in.Size-(sym.addr-in.Addr) {
			d.Objects = append(d.Objects, DataObject{Symbol{sym.name, sym.addr, sym.size}, i})
		}
	})
	return d, err
}
