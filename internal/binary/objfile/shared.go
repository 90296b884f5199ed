package objfile

import (
	"debug/elf"
	"encoding/binary"
	"fmt"

	"github.com/cairnprof/cairn/internal/binary/machine"
)

// Shared is the memory image of a shared object without dependencies, for a loader that
// supports only such libraries.
type Shared struct {
	Image    []byte          // all segments, from address 0 on; bytes that are not in the file are 0
	Segments []SharedSegment // ascending
	// Relative has the offsets of 8-byte words in Image that contain an address of the
	// library: the load address must be added to them.
	Relative []uint64
	Symbols  map[string]uint64 // exported symbols, by name: link-time addresses
}

// SharedSegment is a part of a Shared with its own permissions.
type SharedSegment struct {
	Addr, Size      uint64
	Write, Executed bool
}

// maxShared limits the size of a Shared in memory.
const maxShared = 64 << 20

// Shared reads the file as a library without dependencies, thread-local storage and imported
// symbols.
func (f *File) Shared() (*Shared, error) {
	if err := f.Machine().Only("libraries are loaded", machine.X86_64); err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	s := &Shared{Symbols: map[string]uint64{}}
	for _, p := range f.elf.Progs {
		switch p.Type {
		case elf.PT_TLS:
			return nil, fmt.Errorf("%s: has thread-local storage", f.path)
		case elf.PT_LOAD:
			if p.Vaddr > maxShared || p.Memsz > maxShared-p.Vaddr || p.Filesz > p.Memsz {
				return nil, fmt.Errorf("%s: segment at %#x of %d bytes is not plausible", f.path, p.Vaddr, p.Memsz)
			}
			end := p.Vaddr + p.Memsz
			if end > uint64(len(s.Image)) {
				s.Image = append(s.Image, make([]byte, end-uint64(len(s.Image)))...)
			}
			if _, err := p.ReadAt(s.Image[p.Vaddr:p.Vaddr+p.Filesz], 0); err != nil {
				return nil, fmt.Errorf("%s: %w", f.path, err)
			}
			s.Segments = append(s.Segments, SharedSegment{p.Vaddr, p.Memsz, p.Flags&elf.PF_W != 0, p.Flags&elf.PF_X != 0})
		}
	}
	symbols, err := f.dynamicSymbols()
	if err != nil {
		return nil, err
	}
	for _, sym := range symbols {
		if sym.Section != elf.SHN_UNDEF {
			s.Symbols[sym.Name] = sym.Value
		}
	}
	return s, f.relocateShared(s, symbols)
}

// relocateShared applies the relocations that do not depend on the load address. Undefined
// symbols must be weak: they are 0.
func (f *File) relocateShared(s *Shared, symbols []elf.Symbol) error {
	const entry = 24 // bytes of an Elf64_Rela
	for _, section := range f.elf.Sections {
		if section.Type != elf.SHT_RELA || section.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		data, err := f.read(section)
		if err != nil {
			return err
		}
		for ; len(data) >= entry; data = data[entry:] {
			at, info, value := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:]), binary.LittleEndian.Uint64(data[16:])
			if at > uint64(len(s.Image)) || uint64(len(s.Image))-at < 8 {
				return fmt.Errorf("%s: relocation at %#x is outside", f.path, at)
			}
			kind, number := elf.R_X86_64(uint32(info)), int(info>>32)
			switch kind {
			case elf.R_X86_64_RELATIVE:
			case elf.R_X86_64_GLOB_DAT, elf.R_X86_64_JMP_SLOT, elf.R_X86_64_64:
				if number < 1 || number >= len(symbols) {
					return fmt.Errorf("%s: relocation at %#x has no symbol", f.path, at)
				}
				sym := symbols[number]
				if sym.Section == elf.SHN_UNDEF {
					if elf.ST_BIND(sym.Info) != elf.STB_WEAK {
						return fmt.Errorf("%s: it needs %s", f.path, sym.Name)
					}
					continue
				}
				value += sym.Value
			default:
				return fmt.Errorf("%s: relocation of kind %v at %#x", f.path, kind, at)
			}
			binary.LittleEndian.PutUint64(s.Image[at:], value)
			s.Relative = append(s.Relative, at)
		}
	}
	return nil
}
