package objfile

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"sort"
	"strings"
	"unsafe"
)

// Symbol is a function symbol of the module.
type Symbol struct {
	Name string
	Addr uint64
	Size uint64
}

const symbolSize = 24 // bytes of an Elf64_Sym

// FuncSymbols returns the module's function symbols with an address, ascending by address,
// then by name: those of .symtab, for a stripped module those of its debug file, or else of
// .dynsym. If there are no symbols, the slice is empty.
func (f *File) FuncSymbols() ([]Symbol, error) {
	table, s := f.openSymbols()
	if s == nil {
		table, s = f, f.symbolSection(elf.SHT_DYNSYM)
	}
	if s == nil {
		return nil, nil
	}
	defer f.done(table)
	var syms []Symbol
	err := table.eachSymbol(s, func(sym *symbol) {
		if sym.isFunc() {
			syms = append(syms, Symbol{Name: sym.name, Addr: sym.addr, Size: sym.size})
		}
	})
	if err != nil {
		return nil, err
	}
	sort.Slice(syms, func(i, j int) bool {
		if syms[i].Addr != syms[j].Addr {
			return syms[i].Addr < syms[j].Addr
		}
		return syms[i].Name < syms[j].Name
	})
	return syms, nil
}

// openSymbols returns .symtab and the file that has it: the module, or, if that is stripped,
// its separate debug file. The caller passes the file to done. The section is nil if neither
// has one.
func (f *File) openSymbols() (*File, *section) {
	if s := f.symbolSection(elf.SHT_SYMTAB); s != nil {
		return f, s
	}
	d, err := f.openDebug()
	if err != nil {
		return f, nil
	}
	s := d.symbolSection(elf.SHT_SYMTAB)
	if s == nil {
		d.Close()
		return f, nil
	}
	return d, s
}

// done closes a file that was read in place of the module.
func (f *File) done(from *File) {
	if from != f {
		from.Close()
	}
}

// symbolSection returns the first symbol table of this kind, or nil.
func (f *File) symbolSection(kind elf.SectionType) *section {
	// Index 0 is the null section.
	for i, s := range f.elf.Sections {
		if i > 0 && s.Type == kind {
			return s
		}
	}
	return nil
}

// symbol is an entry of a symbol table.
type symbol struct {
	name       string
	kind       elf.SymType
	bind       elf.SymBind
	section    elf.SectionIndex
	addr, size uint64
	file       string // source file of a local symbol, "" if not known
}

func (s *symbol) isFunc() bool {
	return (s.kind == elf.STT_FUNC || s.kind == elf.STT_GNU_IFUNC) && s.section != elf.SHN_UNDEF
}

// eachSymbol calls visit with the entries of the table s in order, except those that name a
// source file; the symbol is valid only until visit returns.
func (f *File) eachSymbol(s *section, visit func(*symbol)) error {
	return f.symbolsUntil(s, func(sym *symbol) bool { visit(sym); return true })
}

// symbolsUntil is eachSymbol up to a symbol for which visit returns false.
func (f *File) symbolsUntil(s *section, visit func(*symbol) bool) error {
	data, names, err := f.readSymbolTable(s)
	if err != nil {
		return err
	}
	file := ""
	for ; len(data) >= symbolSize; data = data[symbolSize:] {
		sym := symbolAt(data, names)
		if sym.kind == elf.STT_FILE {
			file = sym.name // of the following local symbols
			continue
		}
		if sym.bind == elf.STB_LOCAL {
			sym.file = file
		}
		if !visit(&sym) {
			return nil
		}
	}
	return nil
}

// symbolAt returns the entry of a symbol table at the beginning of data.
func symbolAt(data []byte, names string) symbol {
	return symbol{
		name:    cstring(names, uint64(binary.LittleEndian.Uint32(data))),
		kind:    elf.ST_TYPE(data[4]),
		bind:    elf.ST_BIND(data[4]),
		section: elf.SectionIndex(binary.LittleEndian.Uint16(data[6:])),
		addr:    binary.LittleEndian.Uint64(data[8:]),
		size:    binary.LittleEndian.Uint64(data[16:]),
	}
}

// readSymbolTable returns the entries of the symbol table s in the 64-bit format, which must not be changed, and the
// string with all names, so that names can be slices of it. That of the dynamic linker, for which several ask, is read
// once.
func (f *File) readSymbolTable(s *section) (entries []byte, names string, err error) {
	if s.Type != elf.SHT_DYNSYM {
		return f.loadSymbolTable(s)
	}
	f.dynamic.Lock()
	defer f.dynamic.Unlock()
	if f.dynamic.of != s {
		if entries, names, err = f.loadSymbolTable(s); err != nil {
			return nil, "", err
		}
		f.dynamic.of, f.dynamic.entries, f.dynamic.names = s, entries, names
	}
	return f.dynamic.entries, f.dynamic.names, nil
}

func (f *File) loadSymbolTable(s *section) (entries []byte, names string, err error) {
	if entries, err = f.read(s); err != nil {
		return nil, "", err
	}
	if int(s.Link) >= len(f.elf.Sections) {
		return nil, "", fmt.Errorf("%s: section %s: string table %d does not exist", f.path, s.Name, s.Link)
	}
	strtab, err := f.read(f.elf.Sections[s.Link])
	if err != nil {
		return nil, "", err
	}
	// Nobody else has these bytes, of which a large program has some MB.
	return symbols64(entries, f.elf.word, f.elf.Machine), unsafe.String(unsafe.SliceData(strtab), len(strtab)), nil
}

// symbols64 converts the entries of a symbol table to the 64-bit format. Addresses of Thumb
// functions are those of their code, one byte before their symbols.
func symbols64(entries []byte, word int, of elf.Machine) []byte {
	if word == 8 {
		return entries
	}
	const size = 16 // of an Elf32_Sym
	out := make([]byte, len(entries)/size*symbolSize)
	le := binary.LittleEndian
	for to := out; len(entries) >= size; entries, to = entries[size:], to[symbolSize:] {
		value := le.Uint32(entries[4:])
		if kind := elf.ST_TYPE(entries[12]); of == elf.EM_ARM && (kind == elf.STT_FUNC || kind == elf.STT_GNU_IFUNC) {
			value &^= 1
		}
		copy(to, entries[:4])
		copy(to[4:8], entries[12:16])
		le.PutUint64(to[8:], uint64(value))
		le.PutUint64(to[16:], uint64(le.Uint32(entries[8:])))
	}
	return out
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
