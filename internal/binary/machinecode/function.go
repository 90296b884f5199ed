package machinecode

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Function is a function of a binary: all ranges of code with its name.
type Function struct {
	Name   string // linkage name, without the suffixes that compilers append to clones and parts
	Ranges int    // how many it has
	// Aliases are its other names, from symbols. Debug information with only line tables has
	// no linkage names.
	Aliases []string
	// symbol reports that debug information does not have it.
	symbol bool
}

// BySymbol reports whether only a symbol describes the function.
func (f *Function) BySymbol() bool { return f.symbol }

// Range is a contiguous part of a function.
type Range struct {
	Lo, Hi   uint64 // link-time addresses [Lo, Hi)
	Function int    // index into Functions
	// Entry reports that the function is entered at Lo, according to symbols. Split parts of a
	// function are not entries.
	Entry bool
	// Start reports that there is a symbol at Lo that is not named like a split part. Debug
	// information may have one name for several functions, because it omits template arguments
	// in anonymous namespaces.
	Start bool
}

// Functions returns the functions of the binary.
func (b *Binary) Functions() []Function { return b.functions }

// Ranges returns the ranges of all functions, ascending. They start at different addresses;
// nested ranges occur only in damaged debug information.
func (b *Binary) Ranges() []Range { return b.ranges }

// RangeAt returns the range that contains an address, or nil if there is none.
func (b *Binary) RangeAt(addr uint64) *Range {
	i := b.rangeBefore(addr)
	if i < 0 || addr >= b.ranges[i].Hi {
		return nil
	}
	return &b.ranges[i]
}

// rangeBefore returns the index of the last range that starts at or before an address, or -1
// if there is none.
func (b *Binary) rangeBefore(addr uint64) int {
	// This is twice as fast as slices.BinarySearchFunc: there are millions of calls.
	i, end := -1, len(b.ranges)
	for i+1 < end {
		if mid := int(uint(i+end) / 2); b.ranges[mid].Lo <= addr {
			i = mid
		} else {
			end = mid
		}
	}
	return i
}

// RangeFrom returns the range that starts at an address, or nil if there is none.
func (b *Binary) RangeFrom(addr uint64) *Range {
	i := b.rangeBefore(addr)
	if i < 0 || b.ranges[i].Lo != addr {
		return nil
	}
	return &b.ranges[i]
}

// Entered returns the name of the function whose entry is at an address, without suffixes of
// link-time optimisation, or "" if there is none.
func (b *Binary) Entered(addr uint64) string {
	if r := b.RangeFrom(addr); r != nil && r.Entry {
		return CanonicalName(b.functions[r.Function].Name)
	}
	return ""
}

// readFunctions takes functions from debug information and, where that has none, from symbols:
// programs with pseudo probes often lack debug information. In programs without probes,
// profiles are keyed by debug information, and symbols add nothing. Without either, functions
// are symbols.
func (b *Binary) readFunctions(p *objfile.Program) {
	count := len(p.Ranges)
	for i := range p.Symbols {
		if p.Symbols[i].Func {
			count++
		}
	}
	b.functions, b.ranges = make([]Function, 0, count), make([]Range, 0, count)
	byName := make(map[string]int, count)
	add := func(name string, lo, hi uint64, symbol bool) {
		k, ok := byName[name]
		if !ok {
			k = len(b.functions)
			byName[name] = k
			b.functions = append(b.functions, Function{Name: name, symbol: symbol})
		}
		b.functions[k].Ranges++
		b.ranges = append(b.ranges, Range{Lo: lo, Hi: hi, Function: k})
	}
	for _, r := range p.Ranges {
		if r.Lo >= b.Base && r.Lo < r.Hi {
			add(r.Name, r.Lo, r.Hi, false)
		}
	}
	b.sortRanges()
	if len(p.Probes) == 0 && len(p.Ranges) > 0 {
		return
	}
	known := &Binary{ranges: b.ranges}
	covered := uint64(0) // by earlier symbols
	for _, sym := range p.Symbols {
		end := sym.Addr + sym.Size
		if !sym.Func || end <= sym.Addr {
			continue
		}
		name := cutSuffixes(sym.Name, cloneSuffixes)
		if r := known.RangeAt(sym.Addr); r != nil {
			if f := &b.functions[r.Function]; f.Name != name && !slices.Contains(f.Aliases, name) {
				f.Aliases = append(f.Aliases, name)
			}
		} else if sym.Addr >= covered {
			add(name, sym.Addr, end, true)
			covered = end
		}
	}
	b.sortRanges()
}

// sortRanges sorts ranges. Of those with the same start, the first that was read is kept.
func (b *Binary) sortRanges() {
	k := 1
	for k < len(b.ranges) && b.ranges[k-1].Lo < b.ranges[k].Lo {
		k++
	}
	if k >= len(b.ranges) { // as those of symbols
		return
	}
	sorted := slices.Clone(b.ranges)
	stablesort.Func(sorted, func(x, y Range) int { return cmp.Compare(x.Lo, y.Lo) })
	b.ranges = slices.CompactFunc(sorted, func(x, y Range) bool { return x.Lo == y.Lo })
}

// markEntries records which symbols, ascending by address, are at the beginning of a function.
func (b *Binary) markEntries(symbols []objfile.TableSymbol) {
	k := -1 // the last range that begins at or before the symbol
	for i := range symbols {
		addr := symbols[i].Addr
		for k+1 < len(b.ranges) && b.ranges[k+1].Lo <= addr {
			k++
		}
		if k >= 0 && addr < b.ranges[k].Hi {
			b.markEntry(&symbols[i], &b.ranges[k])
		}
	}
}

// markEntry records that a symbol, which is in a range, is at the beginning of a function.
func (b *Binary) markEntry(sym *objfile.TableSymbol, r *Range) {
	if r.Lo == sym.Addr && sym.Func && cutSuffixes(sym.Name, restSuffixes) == sym.Name {
		r.Start = true
	}
	if r.Entry {
		return
	}
	f := &b.functions[r.Function]
	r.Entry = f.Ranges == 1 || f.symbol || len(f.Aliases) > 0 || f.Name == cutSuffixes(sym.Name, partSuffixes)
}

var (
	// partSuffixes are appended by optimisers to the name of a function that remains the same
	// function in a profile.
	partSuffixes = []string{".llvm.", ".part."}
	// restSuffixes are those of code that was moved out of its function.
	restSuffixes = []string{".cold", ".warm"}
	// cloneSuffixes are those that debug information does not have.
	cloneSuffixes = []string{
		".cleanup", ".destroy", ".resume", ".cold", ".warm",
		".llvm.", ".part.", ".isra.", ".constprop.", ".lto_priv.",
	}
)

// CanonicalName removes the suffixes of link-time optimisation from a name.
func CanonicalName(name string) string { return cutSuffixes(name, partSuffixes) }

// cutSuffixes removes suffixes from a name, each at most once and in this order, if the name
// ends with the suffix and an optional number.
func cutSuffixes(name string, suffixes []string) string {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return name
	}
	for _, s := range suffixes {
		at := strings.LastIndex(name, s)
		if at < 0 {
			continue
		}
		if dot := strings.LastIndexByte(name, '.'); dot == at || dot == at+len(s)-1 {
			name = name[:at]
		}
	}
	return name
}
