package machinecode

import (
	"path/filepath"
	"slices"

	"github.com/cairnprof/cairn/format/pseudoprobe"
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// Binary is one module of a Set.
type Binary struct {
	Path    string
	Name    string // base name
	BuildID string // in lower-case hexadecimal, "" if there is none

	// Base is the preferred address of the first executable segment, a multiple of the page
	// size, and Loaded that of the first segment of any kind.
	Base, Loaded uint64

	First, End Ref // its instructions are [First, End)

	segments  []objfile.Segment
	texts     []text
	stubs     []span // sections of stubs that have names
	functions []Function
	ranges    []Range // ascending by Lo

	probeStarts map[uint64]uint64 // addresses of symbols by the GUIDs of their names

	arch   Arch
	lazy   *Set // nil if its set is not lazy
	mapped bool // it has AArch64 mapping symbols

	symbols  []objfile.TableSymbol
	pointers []objfile.Pointer
	exports  []uint64
	unwind   *ehframe.Table
}

// text is a section, with the bytes at which instructions begin.
type text struct {
	addr   uint64
	data   []byte
	starts bitset
	first  Ref     // of its first instruction, of a lazy set of its first byte
	pieces []piece // of a lazy set
}

const pageSize = 0x1000

// newBinary disassembles a program and adds its instructions to those of s.
func newBinary(s *Set, p *objfile.Program, arch Arch) *Binary {
	b := &Binary{Path: p.Path, Name: filepath.Base(p.Path), BuildID: p.BuildID, First: s.end(), arch: arch, mapped: p.Machine == machine.AArch64, symbols: p.Symbols, pointers: p.Pointers, exports: p.Exports, unwind: p.Unwind}
	b.segments = p.Segments
	if len(b.segments) > 0 {
		b.Loaded = b.segments[0].Addr &^ (pageSize - 1)
	}
	if i := slices.IndexFunc(b.segments, func(s objfile.Segment) bool { return s.Exec }); i >= 0 {
		b.Base = b.segments[i].Addr &^ (pageSize - 1)
	}
	if s.on {
		b.lazy = s
	}
	b.readFunctions(p)
	b.markEntries(p.Symbols)
	names := symbolsOf(p)
	if len(p.Probes) > 0 {
		b.probeStarts = probeStarts(p.Symbols)
	}
	for _, section := range p.Code {
		// Stubs of the dynamic linker do not belong to functions, unless they have names.
		if p.Stubs && objfile.IsStubs(section.Name) {
			b.stubs = append(b.stubs, span{lo: section.Addr, hi: section.Addr + uint64(len(section.Data))})
		}
		if p.Stubs || section.Name != ".plt" {
			add := b.disassemble
			if s.on {
				add = b.divide
			}
			add(s, section, names[section.Index])
		}
	}
	b.End = s.end()
	return b
}

// symbolsOf returns the symbols of each section of code, by its index, as ascending indexes of p.Symbols.
func symbolsOf(p *objfile.Program) [][]int32 {
	last := 0
	for i := range p.Code {
		last = max(last, p.Code[i].Index)
	}
	counts := make([]int, last+1)
	for i := range p.Symbols {
		if k := p.Symbols[i].Section; k <= last {
			counts[k]++
		}
	}
	lists := make([][]int32, last+1)
	for i := range p.Code {
		k := p.Code[i].Index
		lists[k] = make([]int32, 0, counts[k])
	}
	for i := range p.Symbols {
		if k := p.Symbols[i].Section; k <= last && lists[k] != nil {
			lists[k] = append(lists[k], int32(i))
		}
	}
	return lists
}

// probeStarts returns the addresses of functions by the GUIDs of their names. If several
// functions have the same name, the last one is used, as in LLVM.
func probeStarts(symbols []objfile.TableSymbol) map[uint64]uint64 {
	starts := map[uint64]uint64{}
	for i := range symbols {
		if symbols[i].Func {
			starts[pseudoprobe.GUID(symbols[i].Name)] = symbols[i].Addr
		}
	}
	return starts
}

// disassemble adds a section, from symbol to symbol: bytes before the first symbol may not be
// code.
func (b *Binary) disassemble(s *Set, section objfile.CodeSection, symbols []int32) {
	d := sweep{s: s, b: b, t: text{addr: section.Addr, data: section.Data, first: s.end()}}
	d.t.starts = newBitset(len(section.Data))
	size := uint64(len(section.Data))
	data := false // by mapping symbols: the following bytes are not code
	for i, k := range symbols {
		sym := &b.symbols[k]
		off, end := sym.Addr-section.Addr, size
		if i+1 < len(symbols) {
			end = min(size, b.symbols[symbols[i+1]].Addr-section.Addr)
		}
		if b.mapped && sym.Maps() {
			data = sym.Name[1] == 'd'
		}
		if !data {
			d.add(off, end)
		}
	}
	d.t.starts.count()
	b.texts = append(b.texts, d.t)
}

// sweep is a section that is disassembled.
type sweep struct {
	s    *Set
	b    *Binary
	t    text
	here span // of the last jump
}

// add adds the instructions between two symbols.
func (d *sweep) add(off, end uint64) {
	arch, code := d.b.arch, d.t.data
	offsets, shapes, starts := d.s.offsets, d.s.shapes, d.t.starts.words
	restored := false // the previous instruction restored the frame pointer
	for end = min(end, uint64(len(code))); off < end; {
		in, ok := scan(arch, code[off:], d.t.addr+off)
		if !ok {
			off += arch.step()
			restored = false
			continue
		}
		class, departs := inSet(in.class), false
		if class != controlflow.Other {
			d.s.markBranch(uint32(len(shapes)), class)
			if at := firstRef + Ref(len(shapes)); class >= controlflow.Jump {
				departs = restored
				d.jump(at, class, d.t.addr+off, in.target)
			}
		}
		starts[off/64] |= 1 << (off % 64)
		x := newShape(class, in.len)
		if departs {
			x |= departing
		}
		offsets, shapes = append(offsets, uint32(off)), append(shapes, x)
		restored = in.restores || restored && class == controlflow.Other && arch.lasting()
		off += uint64(in.len)
	}
	d.s.offsets, d.s.shapes = offsets, shapes
}

// jump notes a jump if it leaves its range of code, or may.
func (d *sweep) jump(at Ref, class controlflow.Class, addr, to uint64) {
	if class == controlflow.IndirectJump {
		d.s.computed = append(d.s.computed, at)
		return
	}
	if !d.here.has(addr) {
		d.here = d.b.span(addr)
	}
	if !d.here.has(to) && d.b.RangeAt(to) != d.here.of {
		d.s.leaving = append(d.s.leaving, at)
	}
}

// scan is Arch.scan. The most frequent call of all is direct.
func scan(arch Arch, code []byte, addr uint64) (b brief, ok bool) {
	if of, ok := arch.(x86Arch); ok {
		return of.scan(code, addr)
	}
	return arch.scan(code, addr)
}

// At returns the instruction that starts at a link-time address, or External.
func (b *Binary) At(addr uint64) Ref {
	for i := range b.texts {
		t := &b.texts[i]
		if off := addr - t.addr; off < uint64(len(t.data)) {
			if b.lazy != nil {
				return b.lazy.at(b, t, off)
			}
			if rank, ok := t.starts.rank(uint32(off)); ok {
				return t.first + Ref(rank)
			}
			return External
		}
	}
	return External
}

// From returns the first instruction at or after a link-time address, or b.End if there is
// none. In a lazy set it is a number that is not greater than that of the first one, and greater than those before.
func (b *Binary) From(addr uint64) Ref {
	for i := range b.texts {
		t := &b.texts[i]
		if addr < t.addr {
			return t.first
		}
		if off := addr - t.addr; off < uint64(len(t.data)) {
			if b.lazy != nil {
				return t.first + Ref(off)
			}
			rank, _ := t.starts.rank(uint32(off))
			return t.first + Ref(rank)
		}
	}
	return b.End
}

// InStub reports whether an address is in a stub that has a name.
func (b *Binary) InStub(addr uint64) bool {
	return slices.ContainsFunc(b.stubs, func(s span) bool { return s.has(addr) })
}

// Segments returns the loaded parts of the binary.
func (b *Binary) Segments() []objfile.Segment { return b.segments }

// textOf returns the section that has an instruction.
func (b *Binary) textOf(r Ref) *text {
	// The last section that does not begin after it: sections without instructions have the
	// same first number as the next one.
	i, end := 0, len(b.texts)
	for i+1 < end {
		if mid := int(uint(i+end) / 2); b.texts[mid].first <= r {
			i = mid
		} else {
			end = mid
		}
	}
	return &b.texts[i]
}

// ProbeStart returns the address of the symbol whose name has the GUID of a pseudo probe, or 0
// if there is none.
func (b *Binary) ProbeStart(guid uint64) uint64 { return b.probeStarts[guid] }
