package objfile

import (
	"debug/elf"
	"fmt"
	"strings"
)

// relocation is the operation of a relocation type on its field: S is the address of the
// symbol, A the addend, P the address of the field.
type relocation struct {
	size int // bytes of the field
	op   relocationOp
}

type relocationOp uint8

const (
	setAbsolute relocationOp = iota // S + A
	setRelative                     // S + A - P
	addAbsolute                     // the field and S + A
	subAbsolute                     // the field less S + A
)

// relocations are the types that compilers use in data such as sleds and debug information, by
// machine. The numbers are those of each machine's ELF supplement.
var relocations = map[elf.Machine]map[uint32]relocation{
	elf.EM_X86_64: {1: {8, setAbsolute}, 2: {4, setRelative}, 10: {4, setAbsolute}, 24: {8, setRelative}},
	elf.EM_386:    {1: {4, setAbsolute}, 2: {4, setRelative}},
	elf.EM_AARCH64: {
		257: {8, setAbsolute}, 258: {4, setAbsolute}, 260: {8, setRelative}, 261: {4, setRelative},
	},
	elf.EM_ARM:   {2: {4, setAbsolute}, 3: {4, setRelative}},
	elf.EM_PPC64: {1: {4, setAbsolute}, 26: {4, setRelative}, 38: {8, setAbsolute}, 44: {8, setRelative}},
	elf.EM_RISCV: {
		1: {4, setAbsolute}, 2: {8, setAbsolute}, 35: {4, addAbsolute}, 36: {8, addAbsolute},
		39: {4, subAbsolute}, 40: {8, subAbsolute}, 57: {4, setRelative},
	},
	elf.EM_LOONGARCH: {
		1: {4, setAbsolute}, 2: {8, setAbsolute}, 50: {4, addAbsolute}, 51: {8, addAbsolute},
		55: {4, subAbsolute}, 56: {8, subAbsolute}, 99: {4, setRelative}, 109: {8, setRelative},
	},
	elf.EM_S390:  {4: {4, setAbsolute}, 5: {4, setRelative}, 22: {8, setAbsolute}, 23: {8, setRelative}},
	elf.EM_QDSP6: {6: {4, setAbsolute}, 31: {4, setRelative}},
	elf.EM_MIPS:  {2: {4, setAbsolute}, 248: {4, setRelative}},
}

// dynamicRelative are the relocations that add the load address of the module, by machine.
var dynamicRelative = map[elf.Machine]uint32{
	elf.EM_X86_64: 8, elf.EM_386: 8, elf.EM_AARCH64: 1027, elf.EM_ARM: 23, elf.EM_PPC64: 22,
	elf.EM_RISCV: 3, elf.EM_LOONGARCH: 3, elf.EM_S390: 12, elf.EM_QDSP6: 35,
}

// relocate applies to data, the contents of section number target, the relocations of that
// section in an object, or the dynamic ones in a module.
func (im *Image) relocate(target uint32, data []byte) error {
	if im.macho != nil {
		return im.relocateMachO(target, data)
	}
	if im.relocs == nil {
		im.relocs = map[uint32][]*imageSection{}
		for i := range im.sections {
			s := &im.sections[i]
			if s.kind != elf.SHT_RELA && s.kind != elf.SHT_REL {
				continue
			}
			if im.Relocatable() {
				im.relocs[s.info] = append(im.relocs[s.info], s)
			} else if s.flags&elf.SHF_ALLOC != 0 {
				// A module can also contain its static relocations (--emit-relocs). They have
				// been applied already, and are not loaded.
				im.relocs[0] = append(im.relocs[0], s)
			}
		}
	}
	own := target
	if !im.Relocatable() {
		own = 0
	}
	for _, s := range im.relocs[own] {
		if err := im.applyAll(s, target, data); err != nil {
			return fmt.Errorf("relocations (%s): %w", s.name, err)
		}
	}
	return nil
}

// applyAll applies the relocations of table that lie in the target.
func (im *Image) applyAll(table *imageSection, target uint32, data []byte) error {
	raw, err := im.contents(table)
	if err != nil {
		return err
	}
	base := im.sections[target].addr
	explicit := table.kind == elf.SHT_RELA
	size := 2 * im.word
	if explicit {
		size += im.word
	}
	if n := len(raw) % size; n > 0 {
		return fmt.Errorf("offset %#x: the last %d bytes are not a complete entry of %d", table.offset+uint64(len(raw)-n), n, size)
	}
	for ; len(raw) > 0; raw = raw[size:] {
		f := im.fields(raw)
		at, info := f.word(), f.word()
		addend := uint64(0)
		if explicit {
			addend = f.word()
		}
		if !im.Relocatable() {
			at -= base // the table has addresses, not offsets
		}
		if at >= uint64(len(data)) {
			continue
		}
		symbol, kind := uint32(info>>32), uint32(info)
		switch {
		case im.word == 4:
			symbol, kind = uint32(info)>>8, uint32(info)&0xff
		case im.machine == elf.EM_MIPS:
			return fmt.Errorf("those of 64-bit MIPS objects are not read")
		}
		r, known := relocations[im.machine][kind]
		switch {
		case kind == 0: // no operation
			continue
		case im.Relocatable() && !known && strings.HasPrefix(im.sections[target].name, ".debug_"):
			continue // such as in line tables, of which only file names are read
		case im.Relocatable() && !known:
			return fmt.Errorf("type %d of machine %v at offset %#x is not known", kind, im.machine, at)
		case !im.Relocatable() && kind == dynamicRelative[im.machine]:
			r, known, symbol = relocation{im.word, setAbsolute}, true, 0
		case !known:
			continue
		}
		if uint64(r.size) > uint64(len(data))-at {
			return fmt.Errorf("one at offset %#x reaches beyond the section", at)
		}
		if err := im.apply(&relocated{r, table.link, symbol, base + at, addend, explicit}, data[at:][:r.size]); err != nil {
			return err
		}
	}
	return nil
}

// relocated is an entry of a table of relocations.
type relocated struct {
	relocation
	symbols  uint32 // the section of its symbol, which is 0 if it has none
	symbol   uint32
	place    uint64 // address of its field
	addend   uint64 // if explicit; in the field otherwise
	explicit bool
}

// apply applies one relocation to its field.
func (im *Image) apply(r *relocated, field []byte) error {
	f := im.fields(field)
	addend := r.addend
	old := uint64(0)
	if r.size == 8 {
		old = im.order.Uint64(field)
	} else {
		old = uint64(int64(int32(f.u32())))
	}
	// GNU ld also stores the value of a dynamic relocation in the field.
	if !im.Relocatable() && old != 0 {
		return nil
	}
	if !r.explicit {
		addend = old
	}
	if r.symbol != 0 {
		syms, err := im.symbolTable(r.symbols)
		if err != nil {
			return err
		}
		if int64(r.symbol) >= int64(len(syms)) {
			return fmt.Errorf("symbol %d does not exist", r.symbol)
		}
		addend += syms[r.symbol].addr
	}
	switch r.op {
	case setRelative:
		addend -= r.place
	case addAbsolute:
		addend = old + addend
	case subAbsolute:
		addend = old - addend
	}
	if r.size == 8 {
		im.order.PutUint64(field, addend)
	} else {
		im.order.PutUint32(field, uint32(addend))
	}
	return nil
}
