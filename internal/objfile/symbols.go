package objfile

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"sort"
	"strings"
)

// Symbol is a function symbol of the module.
type Symbol struct {
	Name string
	Addr uint64
	Size uint64
}

const symbolSize = 24 // bytes of an Elf64_Sym

// FuncSymbols returns the module's function symbols with an address, ascending
// by address, then by name: those of .symtab, or of .dynsym in a stripped
// module. No symbols at all is an empty slice.
func (f *File) FuncSymbols() ([]Symbol, error) {
	for _, kind := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		// Index 0 is the null section.
		for i, s := range f.elf.Sections {
			if i > 0 && s.Type == kind {
				return f.readSymbols(s)
			}
		}
	}
	return nil, nil
}

func (f *File) readSymbols(s *elf.Section) ([]Symbol, error) {
	data, err := f.read(s)
	if err != nil {
		return nil, err
	}
	if int(s.Link) >= len(f.elf.Sections) {
		return nil, fmt.Errorf("%s: section %s: string table %d does not exist", f.path, s.Name, s.Link)
	}
	strtab, err := f.read(f.elf.Sections[s.Link])
	if err != nil {
		return nil, err
	}
	names := string(strtab) // names are slices of this one string
	var syms []Symbol
	for ; len(data) >= symbolSize; data = data[symbolSize:] {
		kind := elf.ST_TYPE(data[4])
		shndx := elf.SectionIndex(binary.LittleEndian.Uint16(data[6:]))
		if kind != elf.STT_FUNC && kind != elf.STT_GNU_IFUNC || shndx == elf.SHN_UNDEF {
			continue
		}
		syms = append(syms, Symbol{
			Name: cstring(names, uint64(binary.LittleEndian.Uint32(data))),
			Addr: binary.LittleEndian.Uint64(data[8:]),
			Size: binary.LittleEndian.Uint64(data[16:]),
		})
	}
	sort.Slice(syms, func(i, j int) bool {
		if syms[i].Addr != syms[j].Addr {
			return syms[i].Addr < syms[j].Addr
		}
		return syms[i].Name < syms[j].Name
	})
	return syms, nil
}

// cstring returns the NUL-terminated string at off, at most maxSymbolName long.
func cstring(table string, off uint64) string {
	if off >= uint64(len(table)) {
		return ""
	}
	s := table[off:min(off+maxSymbolName, uint64(len(table)))]
	if i := strings.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	return s
}
