package objfile

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// Pointer is a word of data that contains an address in the module after loading: both are
// link-time addresses.
type Pointer struct{ At, To uint64 }

// shtRelr is the type of sections with packed relocations.
const shtRelr elf.SectionType = 19

// Sizes of an address and of a relocation.
const (
	word     = 8
	relaSize = 24
)

// pointerReader finds the pointers of a module. In a module that can be loaded anywhere,
// relocations describe them; in one with a fixed load address, any word that looks like a
// pointer is assumed to be one.
type pointerReader struct {
	f       *File
	code    []CodeSection
	others  map[uint64]bool // further addresses to search for, of data
	data    []piece
	symbols []byte // entries of the dynamic linker; the first is empty
	found   []Pointer
}

// piece is the content of a section.
type piece struct {
	addr uint64
	data []byte
}

// pointers returns the words that point to code, and those with an address in others,
// ascending by location.
func (f *File) pointers(code []CodeSection, others map[uint64]bool) ([]Pointer, error) {
	r := pointerReader{f: f, code: code, others: others}
	var tables, data []*section
	total, inData := uint64(0), f.elf.Type == elf.ET_EXEC // words of data are read
	for _, s := range f.elf.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Flags&elf.SHF_EXECINSTR != 0 {
			continue
		}
		switch s.Type {
		case elf.SHT_RELA, shtRelr:
			tables = append(tables, s)
			inData = inData || s.Type == shtRelr
		case elf.SHT_PROGBITS, elf.SHT_INIT_ARRAY, elf.SHT_FINI_ARRAY:
			// In damaged files, many sections can share the same bytes.
			if total += s.Size; total > f.size {
				return nil, fmt.Errorf("%s: its sections of data have more bytes than the file", f.path)
			}
			data = append(data, s)
		}
	}
	for _, s := range data {
		if !inData {
			break // relocations have what is needed
		}
		bytes, err := f.read(s)
		if err != nil {
			return nil, err
		}
		r.data = append(r.data, piece{s.Addr, bytes})
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
	stablesort.Func(r.found, func(a, b Pointer) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.To, b.To)) })
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

// relocated reads a table of relocations. Those for symbols of other modules are skipped.
func (r *pointerReader) relocated(table []byte) {
	for ; len(table) >= relaSize; table = table[relaSize:] {
		at, info := binary.LittleEndian.Uint64(table), binary.LittleEndian.Uint64(table[8:])
		to := binary.LittleEndian.Uint64(table[16:])
		switch r.f.relocation(uint32(info)) {
		case relocRelative:
			r.add(at, to)
		case relocSymbol, relocSlot:
			if value, ok := r.symbol(info >> 32); ok {
				r.add(at, value+to)
			}
		}
	}
}

// symbol returns the value of a symbol of the dynamic linker, and whether there is one that the module defines.
func (r *pointerReader) symbol(n uint64) (value uint64, ok bool) {
	if r.symbols == nil {
		if s := r.f.symbolSection(elf.SHT_DYNSYM); s != nil {
			r.symbols, _, _ = r.f.readSymbolTable(s)
		}
	}
	if n >= uint64(len(r.symbols)/symbolSize) {
		return 0, false
	}
	entry := r.symbols[n*symbolSize:]
	return binary.LittleEndian.Uint64(entry[8:]), elf.SectionIndex(binary.LittleEndian.Uint16(entry[6:])) != elf.SHN_UNDEF
}

// packed reads packed relocations: each word is an address, which is even, or a bitmap of the
// 63 words that follow. The words there are relative to the load address.
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

// exports returns the addresses of exported symbols.
func (f *File) exports() ([]uint64, error) {
	s := f.symbolSection(elf.SHT_DYNSYM)
	if s == nil {
		return nil, nil
	}
	entries, _, err := f.readSymbolTable(s)
	out := make([]uint64, 0, len(entries)/symbolSize)
	for ; len(entries) >= symbolSize; entries = entries[symbolSize:] {
		if elf.ST_TYPE(entries[4]) != elf.STT_FILE && elf.SectionIndex(binary.LittleEndian.Uint16(entries[6:])) != elf.SHN_UNDEF {
			out = append(out, binary.LittleEndian.Uint64(entries[8:]))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), err
}
