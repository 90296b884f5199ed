package objfile

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
)

// Pointer is a word of data that has an address of the module when it is loaded:
// both are link-time addresses.
type Pointer struct{ At, To uint64 }

// shtRelr is the type of sections with packed relocations.
const shtRelr elf.SectionType = 19

// Sizes of an address and of a relocation.
const (
	word     = 8
	relaSize = 24
)

// pointerReader finds the pointers of a module. In one that is loaded anywhere
// relocations tell them; in one at a fixed address any word that looks like one is
// taken for it.
type pointerReader struct {
	f       *File
	code    []CodeSection
	others  map[uint64]bool // addresses of data that are looked for, too
	data    []piece
	symbols []elf.Symbol // of the dynamic linker, the first an empty one
	found   []Pointer
}

// piece is what a section has.
type piece struct {
	addr uint64
	data []byte
}

// pointers returns the words that point to code, and those that have one of the
// addresses of others, ascending by place.
func (f *File) pointers(code []CodeSection, others map[uint64]bool) ([]Pointer, error) {
	r := pointerReader{f: f, code: code, others: others}
	var tables []*section
	total := uint64(0)
	for _, s := range f.elf.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Flags&elf.SHF_EXECINSTR != 0 {
			continue
		}
		switch s.Type {
		case elf.SHT_RELA, shtRelr:
			tables = append(tables, s)
		case elf.SHT_PROGBITS, elf.SHT_INIT_ARRAY, elf.SHT_FINI_ARRAY:
			// Damaged headers can have many sections share the same bytes.
			if total += s.Size; total > f.size {
				return nil, fmt.Errorf("%s: its sections of data have more bytes than the file", f.path)
			}
			bytes, err := f.read(s)
			if err != nil {
				return nil, err
			}
			r.data = append(r.data, piece{s.Addr, bytes})
		}
	}
	if f.elf.Type == elf.ET_EXEC {
		r.words()
	}
	for _, s := range tables {
		bytes, err := f.read(s)
		if err != nil {
			return nil, err
		}
		if s.Type == shtRelr {
			r.packed(bytes)
		} else {
			r.relocated(bytes)
		}
	}
	slices.SortFunc(r.found, func(a, b Pointer) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.To, b.To)) })
	return slices.Compact(r.found), nil
}

func (r *pointerReader) add(at, to uint64) {
	if r.others[to] || slices.ContainsFunc(r.code, func(c CodeSection) bool { return to-c.Addr < uint64(len(c.Data)) }) {
		r.found = append(r.found, Pointer{at, to})
	}
}

func (r *pointerReader) words() {
	for _, s := range r.data {
		for off := -s.addr % word; off+word <= uint64(len(s.data)); off += word {
			r.add(s.addr+off, binary.LittleEndian.Uint64(s.data[off:]))
		}
	}
}

// relocated reads a table of relocations. Of a symbol of another module nothing is
// known.
func (r *pointerReader) relocated(table []byte) {
	for ; len(table) >= relaSize; table = table[relaSize:] {
		at, info := binary.LittleEndian.Uint64(table), binary.LittleEndian.Uint64(table[8:])
		to := binary.LittleEndian.Uint64(table[16:])
		switch r.f.relocation(uint32(info)) {
		case relocRelative:
			r.add(at, to)
		case relocSymbol, relocSlot:
			if sym := r.symbol(info >> 32); sym != nil && sym.Section != elf.SHN_UNDEF {
				r.add(at, sym.Value+to)
			}
		}
	}
}

// symbol returns a symbol of the dynamic linker, nil if there is none.
func (r *pointerReader) symbol(n uint64) *elf.Symbol {
	if r.symbols == nil {
		r.symbols, _ = r.f.dynamicSymbols()
	}
	if n >= uint64(len(r.symbols)) {
		return nil
	}
	return &r.symbols[n]
}

// packed reads places of relocations: an address, which is even, or a bitmap of the
// 63 words that follow. What is there is relative to where the module is loaded.
func (r *pointerReader) packed(table []byte) {
	next := uint64(0)
	for ; len(table) >= word; table = table[word:] {
		entry := binary.LittleEndian.Uint64(table)
		if entry&1 == 0 {
			r.inPlace(entry)
			next = entry + word
			continue
		}
		for k := range uint64(63) {
			if entry>>(k+1)&1 != 0 {
				r.inPlace(next + k*word)
			}
		}
		next += 63 * word
	}
}

func (r *pointerReader) inPlace(at uint64) {
	for _, s := range r.data {
		if off := at - s.addr; off < uint64(len(s.data)) && uint64(len(s.data))-off >= word {
			r.add(at, binary.LittleEndian.Uint64(s.data[off:]))
			return
		}
	}
}

// exports returns the addresses of what other modules may use by name.
func (f *File) exports() ([]uint64, error) {
	s := f.symbolSection(elf.SHT_DYNSYM)
	if s == nil {
		return nil, nil
	}
	var out []uint64
	err := f.eachSymbol(s, func(sym *symbol) {
		if sym.section != elf.SHN_UNDEF {
			out = append(out, sym.addr)
		}
	})
	slices.Sort(out)
	return slices.Compact(out), err
}
