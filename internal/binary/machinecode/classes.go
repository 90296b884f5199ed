package machinecode

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// VirtualTables are those of a class of C++, as the Itanium ABI lays them out
// (sections 2.5 and 2.9), of the class itself and of its bases. Classes without type
// information have none.
type VirtualTables struct {
	Class string // mangled, what is after _ZTV
	// Bases are the direct ones of the class, Known that nothing else is one. Open says
	// that other modules may derive from it.
	Bases       []string
	Known, Open bool
	Tables      []VirtualTable
}

// VirtualTable is where the first word of an object points to, and where what belongs
// to the table ends: link-time addresses of data.
type VirtualTable struct{ Start, End uint64 }

const wordSize = 8

// VirtualTables returns those of all classes.
func (b *Binary) VirtualTables() (out []VirtualTables) {
	types, names := map[string]*objfile.TableSymbol{}, map[uint64]string{}
	for i := range b.symbols {
		if name, ok := strings.CutPrefix(b.symbols[i].Name, "_ZTI"); ok {
			types[name], names[b.symbols[i].Addr] = &b.symbols[i], name
		}
	}
	for i := range b.symbols {
		s := &b.symbols[i]
		// _ZTC are the tables of a base while an object that has it is made.
		if !strings.HasPrefix(s.Name, "_ZTV") && !strings.HasPrefix(s.Name, "_ZTC") {
			continue
		}
		v := VirtualTables{Class: s.Name[len("_ZTV"):]}
		for _, p := range b.Pointers(s.Addr, s.Addr+s.Size) {
			if _, ok := names[p.To]; ok { // the type stands before the table
				if n := len(v.Tables); n > 0 {
					v.Tables[n-1].End = p.At
				}
				v.Tables = append(v.Tables, VirtualTable{p.At + wordSize, s.Addr + s.Size})
			}
		}
		if info := types[v.Class]; info != nil && s.Name[:4] == "_ZTV" {
			const bases = 2 * wordSize // after what kind of type it is, and its name
			for _, p := range b.Pointers(info.Addr+bases, info.Addr+info.Size) {
				if base, ok := names[p.To]; ok {
					v.Bases = append(v.Bases, base)
				}
			}
			v.Known = true
			_, v.Open = slices.BinarySearch(b.exports, info.Addr)
		}
		if len(v.Tables) > 0 {
			out = append(out, v)
		}
	}
	return out
}

// Pointers returns the words of data in [lo, hi) that point to code or to types of
// C++, ascending.
func (b *Binary) Pointers(lo, hi uint64) []objfile.Pointer {
	at := func(addr uint64) int {
		i, _ := slices.BinarySearchFunc(b.pointers, addr, func(p objfile.Pointer, addr uint64) int { return cmp.Compare(p.At, addr) })
		return i
	}
	return b.pointers[at(lo):max(at(lo), at(hi))]
}

// Exports returns the addresses of what other modules may use by name, ascending.
func (b *Binary) Exports() []uint64 { return b.exports }

// Names returns the names of the functions that symbols say are at an address.
func (b *Binary) Names(addr uint64) (names []string) {
	i, _ := slices.BinarySearchFunc(b.symbols, addr, func(s objfile.TableSymbol, addr uint64) int { return cmp.Compare(s.Addr, addr) })
	for ; i < len(b.symbols) && b.symbols[i].Addr == addr; i++ {
		if b.symbols[i].Func {
			names = append(names, b.symbols[i].Name)
		}
	}
	return names
}

// Taken returns the addresses of functions that the code has: relative to
// instructions, and in programs that are loaded at a fixed address in whatever looks like
// one.
func (b *Binary) Taken() (out []uint64) {
	if len(b.ranges) == 0 {
		return nil
	}
	lo, hi := b.ranges[0].Lo, b.ranges[len(b.ranges)-1].Hi
	for i := range b.texts {
		b.arch.taken(&b.texts[i], b.Loaded != 0, func(addr uint64) {
			if addr-lo < hi-lo && b.RangeFrom(addr) != nil {
				out = append(out, addr)
			}
		})
	}
	slices.Sort(out)
	return slices.Compact(out)
}
