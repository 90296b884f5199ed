package machinecode

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Problem: to disassemble all code of a large program takes longer than everything else that is done with a short recording,
// whose stacks have few functions.
//
// Choice: a lazy set disassembles the code from one symbol to the next when an address in it is asked for. The number of an
// instruction is that of its first byte, so that the order does not depend on what is asked for first.

// lazy is what a lazy set has instead of lists of all instructions.
type lazy struct {
	on     bool
	sorted [2][]Ref // leaving and computed, which are in the order in which they were read
}

// piece is the code from one symbol to the next, as offsets in its section.
type piece struct {
	off, end uint64
	read     bool
}

// CanBeLazy reports whether NewLazySet accepts programs.
func CanBeLazy(programs []*objfile.Program) bool {
	return !slices.ContainsFunc(programs, func(p *objfile.Program) bool { return p.Machine != machine.X86_64 })
}

// NewLazySet returns a set of programs for x86-64 whose code is disassembled when it is needed. The set is not safe for
// concurrent use, its numbers have gaps, and Runs, Dubious, TailCall, Blocks and Flow panic: it does not have what they need.
// LeavingJumps and IndirectJumps are those of the code that was read.
func NewLazySet(programs ...*objfile.Program) (*Set, error) { return newSet(true, programs) }

// whole panics if a set is lazy: an answer would be about code that was read by chance.
func (s *Set) whole(what string) {
	if s.on {
		panic("machinecode: " + what + " of a lazy set")
	}
}

// divide adds a section of a lazy set.
func (b *Binary) divide(s *Set, section objfile.CodeSection, symbols []int32) {
	size := uint64(len(section.Data))
	t := text{addr: section.Addr, data: section.Data, first: s.end(), pieces: make([]piece, 0, len(symbols))}
	for i, k := range symbols {
		p := piece{off: b.symbols[k].Addr - section.Addr, end: size}
		if i+1 < len(symbols) {
			p.end = min(size, b.symbols[symbols[i+1]].Addr-section.Addr)
		}
		if p.off < p.end {
			t.pieces = append(t.pieces, p)
		}
	}
	s.shapes = s.shapes[:len(s.shapes)+len(section.Data)]
	b.texts = append(b.texts, t)
}

// before returns the index of the last piece that begins at or before an offset, -1 if there is none.
func (t *text) before(off uint64) int {
	i, end := -1, len(t.pieces)
	for i+1 < end {
		if mid := int(uint(i+end) / 2); t.pieces[mid].off <= off {
			i = mid
		} else {
			end = mid
		}
	}
	return i
}

// shapesOf returns the shapes of a section of a lazy set.
func (s *Set) shapesOf(t *text) []shape { return s.shapes[t.first-firstRef:][:len(t.data)] }

// read disassembles the code of a lazy set in [lo, hi), offsets in a section.
func (s *Set) read(b *Binary, t *text, lo, hi uint64) {
	for i := max(0, t.before(lo)); i < len(t.pieces) && t.pieces[i].off < hi; i++ {
		if p := &t.pieces[i]; !p.read {
			p.read = true
			s.readPiece(b, t, p)
		}
	}
}

func (s *Set) readPiece(b *Binary, t *text, p *piece) {
	d := sweep{s: s, b: b}
	shapes, restored := s.shapesOf(t), false
	for off := p.off; off < p.end; {
		in, ok := scan(b.arch, t.data[off:], t.addr+off)
		if !ok {
			off, restored = off+b.arch.step(), false
			continue
		}
		class := inSet(in.class)
		x := newShape(class, in.len)
		if class >= controlflow.Jump {
			if restored {
				x |= departing
			}
			d.jump(t.first+Ref(off), class, t.addr+off, in.target)
		}
		shapes[off] = x
		restored = in.restores || restored && class == controlflow.Other && b.arch.lasting()
		off += uint64(in.len)
	}
}

// JumpsRead returns the jumps that LeavingJumps and IndirectJumps return, in the order in which a lazy set has read them: what
// is read later is appended.
func (s *Set) JumpsRead() (leaving, computed []Ref) { return s.leaving, s.computed }

// ascending returns list in order: one of the two lists of jumps, with its number. Earlier results remain as they are.
func (s *Set) ascending(number int, list []Ref) []Ref {
	if !s.on {
		return list
	}
	if sorted := &s.sorted[number]; len(*sorted) != len(list) {
		*sorted = slices.Sorted(slices.Values(list))
	}
	return s.sorted[number]
}

// Read disassembles a range of code of a lazy set.
func (s *Set) Read(b *Binary, r *Range) {
	if !s.on {
		return
	}
	for i := range b.texts {
		if t := &b.texts[i]; r.Lo < t.addr+uint64(len(t.data)) && r.Hi > t.addr {
			s.read(b, t, max(r.Lo, t.addr)-t.addr, r.Hi-t.addr)
		}
	}
}

// ReadAll disassembles a binary of a lazy set.
func (s *Set) ReadAll(b *Binary) {
	if !s.on {
		return
	}
	for i := range b.texts {
		t := &b.texts[i]
		s.read(b, t, 0, uint64(len(t.data)))
	}
}

// ReadJumpsTo disassembles the code of a lazy set that may have direct jumps to some ranges of a binary: wherever the bytes of
// one are, instruction or not. To search for these takes a tenth of the time that it takes to disassemble all.
func (s *Set) ReadJumpsTo(b *Binary, ranges []*Range) {
	if !s.on || len(ranges) == 0 {
		return
	}
	all := span{lo: ranges[0].Lo, hi: ranges[0].Hi}
	for _, r := range ranges {
		all.lo, all.hi = min(all.lo, r.Lo), max(all.hi, r.Hi)
	}
	if all.hi-all.lo > maxInstructions { // of damaged debug information
		s.ReadAll(b)
		return
	}
	spans := joined(ranges)
	for i := range b.texts {
		t := &b.texts[i]
		eachDistance(t.data, all.lo-t.addr, all.hi-t.addr, func(at int, to uint64) {
			if jumpsBy(t.data, at) && covers(spans, to+t.addr) {
				s.read(b, t, uint64(max(0, at-MaxLen)), uint64(at))
			}
		})
	}
	const near = 1 << 7 // distances of one byte
	for _, r := range ranges {
		s.Read(b, &Range{Lo: r.Lo - min(r.Lo, near+MaxLen), Hi: r.Hi + near})
	}
}

// joined returns what ranges cover, ascending and apart from each other.
func joined(ranges []*Range) (spans []span) {
	sorted := slices.Clone(ranges)
	stablesort.Func(sorted, func(a, b *Range) int { return cmp.Compare(a.Lo, b.Lo) })
	for _, r := range sorted {
		if last := len(spans) - 1; last >= 0 && r.Lo <= spans[last].hi {
			spans[last].hi = max(spans[last].hi, r.Hi)
		} else {
			spans = append(spans, span{lo: r.Lo, hi: r.Hi})
		}
	}
	return spans
}

// covers reports whether an address is in one of ascending spans.
func covers(spans []span, addr uint64) bool {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].hi > addr })
	return i < len(spans) && spans[i].lo <= addr
}

const sizeOfDistance = 4

// eachDistance calls do for all offsets of code at which there is a distance of four bytes to [lo, hi) from what follows it,
// with the offset to which it is.
func eachDistance(code []byte, lo, hi uint64, do func(at int, to uint64)) {
	// Modulo 1<<32, of five offsets at once: this takes a quarter of the time of a search for opcodes, of which there are many.
	begin, size := uint32(sizeOfDistance-lo), uint32(hi-lo)
	at, found := 0, func(at int) {
		distance := int32(binary.LittleEndian.Uint32(code[at:]))
		do(at, uint64(int64(at)+sizeOfDistance+int64(distance)))
	}
	for ; at+8 <= len(code); at += 5 {
		word := binary.LittleEndian.Uint64(code[at:])
		for k := range 5 {
			if uint32(word)+begin < size {
				found(at + k)
			}
			word >>= 8
			begin++
		}
	}
	for ; at+sizeOfDistance <= len(code); at++ {
		if binary.LittleEndian.Uint32(code[at:])+begin < size {
			found(at)
		}
		begin++
	}
}

// jumpsBy reports whether the bytes before a distance of four bytes are the opcode of a direct jump of x86-64.
func jumpsBy(code []byte, distance int) bool {
	switch {
	case distance >= 1 && code[distance-1] == 0xe9: // jmp
		return true
	case distance < 2:
		return false
	}
	first, second := code[distance-2], code[distance-1]
	return first == 0x0f && second&0xf0 == 0x80 || first == 0xc7 && second == 0xf8 // jcc, xbegin
}

// at returns the instruction of a lazy set at an offset in a section, External if there is none.
func (s *Set) at(b *Binary, t *text, off uint64) Ref {
	r := t.first + Ref(off)
	if s.hole(r) {
		if s.read(b, t, off, off+1); s.hole(r) {
			return External
		}
	}
	return r
}

// hole reports whether no instruction of a lazy set has a number, as far as it was read.
func (s *Set) hole(r Ref) bool { return s.shapes[r-firstRef] == 0 }

// previous returns the instruction before another one, None if there is none.
func (s *Set) previous(r Ref) Ref {
	if !s.on {
		if r <= firstRef {
			return None
		}
		return r - 1
	}
	for q := r - 1; q >= firstRef && r-q < MaxLen; q-- {
		if !s.hole(q) {
			if q+Ref(s.Size(q)) == r {
				return q
			}
			break
		}
	}
	for q := r - 1; q >= firstRef; {
		b := s.Binary(q)
		t := b.textOf(q)
		i := t.before(uint64(q - t.first))
		if i < 0 {
			q = t.first - 1
			continue
		}
		s.read(b, t, t.pieces[i].off, t.pieces[i].end)
		for first := t.first + Ref(t.pieces[i].off); q >= first; q-- {
			if !s.hole(q) {
				return q
			}
		}
	}
	return None
}

// offset returns the offset of an instruction in its section.
func (s *Set) offset(t *text, r Ref) uint32 {
	if s.on {
		return uint32(r - t.first)
	}
	return s.offsets[r-firstRef]
}

// bytes returns the code from an instruction of a binary on.
func (s *Set) bytes(b *Binary, r Ref) []byte {
	t := b.textOf(r)
	return t.data[s.offset(t, r):]
}
