package machinecode

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// VirtualTables has the virtual tables of a C++ class and of its bases in it, as the Itanium
// ABI lays them out (sections 2.5 and 2.9). Classes without type information have none.
type VirtualTables struct {
	Class string // mangled, the part after _ZTV
	// Bases are the direct bases of the class; Known reports that the list is complete. Open
	// reports that other modules may derive from the class.
	Bases       []string
	Known, Open bool
	Tables      []VirtualTable
}

// VirtualTable is the address to which the first word of an object points, and the end of the
// table: link-time addresses of data.
type VirtualTable struct{ Start, End uint64 }

const wordSize = 8

// VirtualTables returns the tables of all classes.
func (b *Binary) VirtualTables() (out []VirtualTables) {
	types, names := map[string]*objfile.TableSymbol{}, map[uint64]string{}
	for i := range b.symbols {
		if name, ok := strings.CutPrefix(b.symbols[i].Name, "_ZTI"); ok {
			types[name], names[b.symbols[i].Addr] = &b.symbols[i], name
		}
	}
	for i := range b.symbols {
		s := &b.symbols[i]
		// _ZTC are the tables of a base during the construction of an object that contains it.
		if !strings.HasPrefix(s.Name, "_ZTV") && !strings.HasPrefix(s.Name, "_ZTC") {
			continue
		}
		v := VirtualTables{Class: s.Name[len("_ZTV"):]}
		for _, p := range b.Pointers(s.Addr, s.Addr+s.Size) {
			if _, ok := names[p.To]; ok { // the type is before the table
				if n := len(v.Tables); n > 0 {
					v.Tables[n-1].End = p.At
				}
				v.Tables = append(v.Tables, VirtualTable{p.At + wordSize, s.Addr + s.Size})
			}
		}
		if info := types[v.Class]; info != nil && s.Name[:4] == "_ZTV" {
			const bases = 2 * wordSize // after a pointer to the kind of type, and the name
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

// Pointers returns the words of data in [lo, hi) that point to code or to C++ type
// information, ascending.
func (b *Binary) Pointers(lo, hi uint64) []objfile.Pointer {
	at := func(addr uint64) int {
		i, _ := slices.BinarySearchFunc(b.pointers, addr, func(p objfile.Pointer, addr uint64) int { return cmp.Compare(p.At, addr) })
		return i
	}
	return b.pointers[at(lo):max(at(lo), at(hi))]
}

// Exports returns the addresses of exported symbols, ascending.
func (b *Binary) Exports() []uint64 { return b.exports }

// Names returns the names of the function symbols at an address.
func (b *Binary) Names(addr uint64) (names []string) {
	i, _ := slices.BinarySearchFunc(b.symbols, addr, func(s objfile.TableSymbol, addr uint64) int { return cmp.Compare(s.Addr, addr) })
	for ; i < len(b.symbols) && b.symbols[i].Addr == addr; i++ {
		if b.symbols[i].Func {
			names = append(names, b.symbols[i].Name)
		}
	}
	return names
}

// Taken returns the addresses of functions that the code takes: PC-relative, and in programs
// with a fixed load address also by constants that look like an address.
func (b *Binary) Taken() (out []uint64) {
	if len(b.ranges) == 0 {
		return nil
	}
	lo, hi := b.ranges[0].Lo, b.ranges[len(b.ranges)-1].Hi
	for i := range b.texts {
		b.arch.addressed(&b.texts[i], b.Loaded != 0, func(addr uint64) {
			if addr-lo < hi-lo && b.RangeFrom(addr) != nil {
				out = append(out, addr)
			}
		})
	}
	slices.Sort(out)
	return slices.Compact(out)
}
