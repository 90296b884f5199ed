package objfile

import (
	"cmp"
	"debug/elf"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// UnnamedFunction returns what a function without a symbol is called: the base name of its
// module and its link-time address, as in libx.so.1+0x12c0.
func UnnamedFunction(module string, addr uint64) string {
	return fmt.Sprintf("%s+%#x", filepath.Base(PlainPath(module)), addr)
}

// RemainingSymbols are the symbols of a stripped module.
type RemainingSymbols struct {
	// Symbols are ascending by address: those of .dynsym and .gnu_debugdata, and one with the name of
	// UnnamedFunction for each function of .eh_frame that none of these covers.
	Symbols []TableSymbol
	Named   int  // functions of .dynsym and .gnu_debugdata
	Mini    bool // there is a .gnu_debugdata with functions
	Unnamed int  // functions of .eh_frame alone, or parts of functions that compilers split off
}

// RemainingSymbols returns what strip leaves of the symbols of a module: dynamic symbols, and
// the starts of functions in unwind tables.
func (f *File) RemainingSymbols() (out RemainingSymbols, err error) {
	if s := f.symbolSection(elf.SHT_DYNSYM); s != nil {
		if out.Symbols, err = f.symbolsOf(s); err != nil {
			return out, err
		}
	}
	if mini, err := f.miniDebug(); err == nil { // a damaged one is like none
		out.Mini = len(mini) > 0
		out.Symbols = append(out.Symbols, mini...)
		stablesort.Func(out.Symbols, func(a, b TableSymbol) int { return cmp.Compare(a.Addr, b.Addr) })
	}
	data, addr, _, ok, err := f.Section(".eh_frame")
	if err != nil || !ok {
		out.count(nil)
		return out, nil // without the table, or with a damaged one, exported symbols are left
	}
	frames, _ := ehframe.Read(data, addr, f.Machine()) // those before damage
	stablesort.Func(frames, func(a, b ehframe.Frame) int { return cmp.Compare(a.Lo, b.Lo) })
	out.count(f.unnamed(out.Symbols, frames))
	return out, nil
}

// count adds unnamed functions, and counts both kinds.
func (r *RemainingSymbols) count(unnamed []TableSymbol) {
	for i := range r.Symbols {
		if r.Symbols[i].Func {
			r.Named++
		}
	}
	r.Unnamed = len(unnamed)
	r.Symbols = append(r.Symbols, unnamed...)
	stablesort.Func(r.Symbols, func(a, b TableSymbol) int { return cmp.Compare(a.Addr, b.Addr) })
}

// unnamed returns the functions of unwind tables that no symbol covers. Symbols without a size,
// as assemblers write them, get that of their function.
func (f *File) unnamed(named []TableSymbol, frames []ehframe.Frame) (out []TableSymbol) {
	code := f.functionSections()
	next, covered := 0, uint64(0) // by symbols at or before a frame
	for i, fr := range frames {
		end := sectionEnd(code, fr.Lo)
		if end == 0 || i > 0 && frames[i-1].Lo == fr.Lo {
			continue
		}
		size := min(fr.Hi, end) - fr.Lo
		for ; next < len(named) && named[next].Addr <= fr.Lo; next++ {
			sym := &named[next]
			if !sym.Func {
				continue
			}
			if sym.Size == 0 && sym.Addr == fr.Lo {
				sym.Size = size
			}
			covered = max(covered, sym.Addr+min(sym.Size, ^uint64(0)-sym.Addr))
		}
		if fr.Lo < covered {
			continue
		}
		if next < len(named) && named[next].Addr < fr.Lo+size && named[next].Func {
			size = named[next].Addr - fr.Lo // a symbol in the middle
		}
		out = append(out, TableSymbol{Symbol{UnnamedFunction(f.path, fr.Lo), fr.Lo, size}, true, f.sectionAt(fr.Lo)})
	}
	return out
}

// sectionAt returns the index of the section with code at an address, 0 if there is none.
func (f *File) sectionAt(addr uint64) int {
	return max(0, slices.IndexFunc(f.elf.Sections, func(s *section) bool {
		return s.Flags&elf.SHF_EXECINSTR != 0 && addr-s.Addr < s.Size
	}))
}
