package objfile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/aarch64"
	"github.com/cairnprof/cairn/internal/binary/machine"
)

// StubSuffix is the suffix of the names of stubs, as of perf and objdump: malloc@plt.
const StubSuffix = "@plt"

// IsStubs reports whether a section has the stubs by which a module calls functions that the dynamic linker finds.
func IsStubs(section string) bool { return section == ".plt" || strings.HasPrefix(section, ".plt.") }

// AddStubs adds a symbol to p for each stub that jumps to a function whose name is known. Which function that is shows the
// relocation of the word that the stub loads: linkers lay stubs out in several ways.
func (f *File) AddStubs(p *Program) {
	var stubs []TableSymbol
	var names map[uint64]string // of functions by the words with their addresses
	for _, s := range p.Code {
		if !IsStubs(s.Name) {
			continue
		}
		if names == nil {
			names = f.slotNames(p.Symbols)
		}
		add := func(lo, size, slot uint64) {
			if name := names[slot]; name != "" {
				stubs = append(stubs, TableSymbol{Symbol{name + StubSuffix, s.Addr + lo, size}, true, s.Index})
			}
		}
		if p.Machine == machine.AArch64 {
			armStubs(s, add)
		} else {
			x86Stubs(s, add)
		}
	}
	if len(stubs) > 0 {
		p.Symbols, p.Stubs = merged(p.Symbols, stubs), true
	}
}

// merged adds symbols to others; both are ascending.
func merged(symbols, more []TableSymbol) []TableSymbol {
	i := len(symbols) - 1
	symbols = append(symbols, more...)
	for to := len(symbols) - 1; len(more) > 0; to-- {
		if last := &more[len(more)-1]; i < 0 || symbols[i].Addr <= last.Addr {
			symbols[to], more = *last, more[:len(more)-1]
		} else {
			symbols[to] = symbols[i]
			i--
		}
	}
	return symbols
}

// slotNames returns the names of functions by the addresses of the words that the dynamic linker sets to them. symbols are
// ascending.
func (f *File) slotNames(symbols []TableSymbol) map[uint64]string {
	names := map[uint64]string{}
	var imported []byte
	var texts string
	if s := f.symbolSection(elf.SHT_DYNSYM); s != nil {
		imported, texts, _ = f.readSymbolTable(s)
	}
	for _, s := range f.elf.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Type != elf.SHT_RELA {
			continue
		}
		table, err := f.read(s)
		if err != nil {
			continue
		}
		for ; len(table) >= relaSize; table = table[relaSize:] {
			at, info := binary.LittleEndian.Uint64(table), binary.LittleEndian.Uint64(table[8:])
			switch kind := f.relocation(uint32(info)); {
			case kind == relocSlot && info>>32 < uint64(len(imported)/symbolSize):
				names[at] = cstring(texts, uint64(binary.LittleEndian.Uint32(imported[info>>32*symbolSize:])))
			case kind == relocRelative && f.chosen(uint32(info)):
				names[at] = resolverName(symbols, binary.LittleEndian.Uint64(table[16:]))
			}
		}
	}
	return names
}

// resolverName returns the name of the function that chooses another one, as objdump writes it if there is no symbol.
func resolverName(symbols []TableSymbol, addr uint64) string {
	i, _ := slices.BinarySearchFunc(symbols, addr, func(s TableSymbol, addr uint64) int { return cmp.Compare(s.Addr, addr) })
	for ; i < len(symbols) && symbols[i].Addr == addr; i++ {
		if symbols[i].Func {
			return symbols[i].Name
		}
	}
	return fmt.Sprintf("*ABS*+%#x", addr)
}

// chosen reports whether a relocation is the result of a function that chooses another one by the processor.
func (f *File) chosen(number uint32) bool {
	if f.elf.Machine == elf.EM_AARCH64 {
		return elf.R_AARCH64(number) == elf.R_AARCH64_IRELATIVE
	}
	return elf.R_X86_64(number) == elf.R_X86_64_IRELATIVE
}

// x86Stubs calls add with the offset and the size of each stub of a section, and the word that it jumps to. Stubs have 16
// bytes, or 8 in .plt.got, for which linkers give either as its entry size.
func x86Stubs(s CodeSection, add func(lo, size, slot uint64)) {
	const usual, short, length = 16, 8, 6
	jump := []byte{0xff, 0x25} // by a word relative to the instruction pointer
	for lo := 0; lo < len(s.Data); lo += usual {
		unit := s.Data[lo:min(lo+usual, len(s.Data))]
		size, last := uint64(usual), bytes.LastIndex(unit, jump)
		if first := bytes.Index(unit, jump); len(unit) == short || first != last && first < short && last >= short {
			size = short
		}
		for at := uint64(0); at+size <= uint64(len(unit)); at += size {
			stub := unit[at : at+size]
			if k := bytes.Index(stub, jump); k >= 0 && k+length <= len(stub) {
				distance := int64(int32(binary.LittleEndian.Uint32(stub[k+len(jump):])))
				begin := uint64(lo) + at
				add(begin, size, s.Addr+begin+uint64(k)+length+uint64(distance))
			}
		}
	}
}

// armStubs is x86Stubs for AArch64: adrp, ldr, add, br, and where branches are guarded a bti before them.
func armStubs(s CodeSection, add func(lo, size, slot uint64)) {
	const guard, branch = 0xd503245f, 0xd61f0220 // bti c, br x17
	word := func(at uint64) aarch64.Inst {
		if at+aarch64.Size > uint64(len(s.Data)) {
			return 0
		}
		return aarch64.Decode(s.Data[at:])
	}
	for at := uint64(0); at+2*aarch64.Size <= uint64(len(s.Data)); at += aarch64.Size {
		page, ok1 := pageOf(word(at), s.Addr+at)
		load := word(at + aarch64.Size)
		offset, ok2 := load.Offset()
		if !ok1 || !ok2 || !load.LoadsWord() || load.Rn() != word(at).Rd() {
			continue
		}
		lo, hi := at, at+2*aarch64.Size
		if at >= aarch64.Size && word(at-aarch64.Size) == guard {
			lo -= aarch64.Size
		}
		for hi < at+4*aarch64.Size && word(hi-aarch64.Size) != branch {
			hi += aarch64.Size
		}
		add(lo, hi-lo, page+offset)
	}
}

// pageOf returns the page that an adrp computes.
func pageOf(in aarch64.Inst, addr uint64) (page uint64, ok bool) {
	made, isPage, ok := in.Address(addr)
	return made, ok && isPage
}
