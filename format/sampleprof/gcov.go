package sampleprof

import (
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"slices"
)

// The format of gcc -fauto-profile (gcc/auto-profile.cc; create_gcov of AutoFDO writes it): words of 32 bits in the byte
// order of the machine, which is little-endian here, and counters of two words, the lower one first.
//
//	file        "adcg", version, 0, names, functions, modules
//	names       tag, length, number, names: each its length, with the zero byte that ends it, and its bytes
//	functions   tag, length, number, functions: each a counter of calls and an instance
//	instance    name, number of places, number of calls, places, calls
//	place       offset, number of callees, counter, callees: kind, counter with the name, counter of calls
//	call        offset, and the instance of the function that was inlined there
//	modules     tag, length, 0
//
// A name is its index. An offset is that of the line in the upper 16 bits; gcc ignores the discriminator in the lower ones, and
// of several places with one offset it keeps the last. Lengths of sections are ignored, too.
const (
	gcovMagic     = "adcg"
	gcovVersion   = 2
	gcovNames     = 0xaa000000
	gcovFunctions = 0xac000000
	gcovModules   = 0xae000000

	gcovIndirect = 7 // the kind of callees: those of a call through a pointer
)

// gcovWriter is the state of WriteGcov.
type gcovWriter struct {
	names map[string]uint32
	b     []byte
}

func (g *gcovWriter) put(words ...uint32) {
	for _, w := range words {
		g.b = binary.LittleEndian.AppendUint32(g.b, w)
	}
}

func (g *gcovWriter) counter(n uint64) { g.b = binary.LittleEndian.AppendUint64(g.b, n) }

// WriteGcov writes the profile for gcc -fauto-profile, version 12 or later. A line has the highest count of its places. Profiles with
// contexts or by pseudo probes cannot be written, nor those with digests in place of names.
func (f *File) WriteGcov(w io.Writer) error {
	switch {
	case f.HasContexts:
		return errors.New("a profile for gcc cannot have contexts of calls, as this one has")
	case f.HasProbes():
		return errors.New("a profile for gcc cannot have counts of pseudo probes, as this one has")
	case f.MD5:
		return errors.New("a profile for gcc needs names, and this one has their MD5")
	}
	p := f.Profile()
	g := gcovWriter{names: map[string]uint32{}}
	for name, s := range p {
		g.name(name, s)
	}
	g.b = append(g.b, gcovMagic...)
	g.put(gcovVersion, 0, gcovNames, 0, uint32(len(g.names)))
	for i, name := range slices.Sorted(maps.Keys(g.names)) {
		g.names[name] = uint32(i)
		g.put(uint32(len(name) + 1))
		g.b = append(append(g.b, name...), 0)
	}
	g.put(gcovFunctions, 0, uint32(len(p)))
	for _, name := range slices.Sorted(maps.Keys(p)) {
		g.counter(p[name].Head)
		g.instance(name, p[name])
	}
	g.put(gcovModules, 0, 0)
	_, err := w.Write(g.b)
	return err
}

// name notes the names in the samples of a function.
func (g *gcovWriter) name(name string, s *Samples) {
	g.names[name] = 0
	for _, l := range s.Body {
		for callee := range l.Callees {
			g.names[callee] = 0
		}
	}
	for _, copies := range s.Inlined {
		for callee, c := range copies {
			g.name(callee, c)
		}
	}
}

// instance writes the samples of a function, or of an inlined copy.
func (g *gcovWriter) instance(name string, s *Samples) {
	lines, calls := byOffset(s)
	n := 0
	for _, copies := range calls {
		n += len(copies)
	}
	g.put(g.names[name], uint32(len(lines)), uint32(n))
	for _, at := range slices.Sorted(maps.Keys(lines)) {
		l := lines[at]
		g.put(at<<16, uint32(len(l.Callees)))
		g.counter(l.Count)
		for _, callee := range slices.Sorted(maps.Keys(l.Callees)) {
			g.put(gcovIndirect)
			g.counter(uint64(g.names[callee]))
			g.counter(l.Callees[callee])
		}
	}
	for _, at := range slices.Sorted(maps.Keys(calls)) {
		for _, callee := range slices.Sorted(maps.Keys(calls[at])) {
			g.put(at << 16)
			g.instance(callee, calls[at][callee])
		}
	}
}

// byOffset joins the places of each line: the highest count, all callees and all inlined copies.
func byOffset(s *Samples) (lines map[uint32]*Line, calls map[uint32]map[string]*Samples) {
	lines, calls = map[uint32]*Line{}, map[uint32]map[string]*Samples{}
	for at, from := range s.Body {
		l := lines[at.Offset]
		if l == nil {
			l = &Line{}
			lines[at.Offset] = l
		}
		l.Count = max(l.Count, from.Count)
		for callee, n := range from.Callees {
			l.Call(callee, n)
		}
	}
	for at, copies := range s.Inlined {
		if calls[at.Offset] == nil {
			calls[at.Offset] = map[string]*Samples{}
		}
		for callee, c := range copies {
			joined := &Samples{}
			if before := calls[at.Offset][callee]; before != nil {
				joined = before
			}
			joined.Add(c)
			calls[at.Offset][callee] = joined
		}
	}
	return lines, calls
}
