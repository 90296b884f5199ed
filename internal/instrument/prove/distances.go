package prove

import (
	"encoding/binary"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/aarch64"
	"github.com/cairnprof/cairn/internal/binary/controlflow"
)

// Problem: the jump tables that compilers make for AArch64 have no addresses. An entry is the distance of a case
// from a place in the code, in instructions or bytes, which the assembler computes. If the cases are in another order, the
// entries are others, and nothing in the object says which bytes they are.
//
// Choice: the code that jumps by such a table is one of two sequences, which the compilers write at the end of their work, with
// nothing in between:
//
//	ldrb w1, [x1, w0, uxtw]         adr  x9, base
//	adr  x2, base                   ldrb w10, [x8, x0]
//	add  x1, x2, w1, sxtb #2        add  x9, x9, x10, lsl #2
//	br   x1                         br   x9
//
// Of the plain object it tells the table, by the last instructions that wrote the register of its address, the size of entries,
// and the base. The entries of the table, up to the next place that something refers to, lead to corresponding places, and
// bytes of data may differ there alone. An adr to code that is in no such sequence is not known.

// distanceTable is such a table of the plain object.
type distanceTable struct {
	section int   // of data
	lo, hi  int64 // offsets in it
	width   int64 // bytes of an entry
	times   int64 // bytes of code that an entry counts
	signed  bool
}

// distanceTables are the tables by the place of the adr that computes their base.
type distanceTables struct {
	*laidOut
	byBase   map[place]*distanceTable
	covered  map[place]bool    // bytes of data that were compared as entries
	uneven   []place           // that differ
	branches map[place][]place // direct ones, by where they go; made when it is needed
	steps    int               // that may be taken to find the address of a table
}

// maxSteps bounds the instructions that are looked at to find the address of a table: with copies on several ways, which compilers
// do not write, they would be a power of the copies.
const maxSteps = 1 << 18

// findDistances finds the tables of the plain object.
func (l *laidOut) findDistances() {
	t := &distanceTables{laidOut: l, byBase: map[place]*distanceTable{}, covered: map[place]bool{}}
	l.tables = t
	l.uneven = func(section int, a, b []byte) {
		for i := range a {
			if a[i] != b[i] {
				t.uneven = append(t.uneven, place{section, int64(i)})
			}
		}
	}
	starts := l.a.dataStarts()
	for i := range l.a.Sections {
		s := &l.a.Sections[i]
		if !s.Alloc || !s.Code {
			continue
		}
		for off := int64(0); off+aarch64.Size <= int64(len(s.Data)); off += aarch64.Size {
			at := place{i, off}
			if _, page, ok := l.a.word(at).Address(0); ok && !page && len(l.a.within(i, off, aarch64.Size)) == 0 {
				if table := t.dispatch(at, starts); table != nil {
					t.byBase[at] = table
				}
			}
		}
	}
}

// word returns the instruction at a place, 0 outside the section.
func (o *object) word(p place) aarch64.Inst {
	data := o.Sections[p.section].Data
	if p.off < 0 || p.off+aarch64.Size > int64(len(data)) {
		return 0
	}
	return aarch64.Decode(data[p.off:])
}

// dataStarts returns the places in data that something refers to, and the ends of the sections, ascending.
func (o *object) dataStarts() map[int][]int64 {
	starts := map[int][]int64{}
	add := func(section int, off int64) {
		if section > 0 && section < len(o.Sections) && o.Sections[section].Alloc && !o.Sections[section].Code {
			starts[section] = append(starts[section], off)
		}
	}
	for i := range o.Sections {
		s := &o.Sections[i]
		add(i, int64(s.Size))
		for k := range s.Relocs {
			if t, ok := o.target(&s.Relocs[k], 0); ok && t.name == "" {
				add(t.section, t.off)
			}
		}
	}
	for i := range o.Symbols {
		add(o.Symbols[i].Section, int64(o.Symbols[i].Value))
	}
	return sorted(starts)
}

// dispatch returns the table of the sequence that an adr is in, nil if it is in none.
func (t *distanceTables) dispatch(adr place, starts map[int][]int64) *distanceTable {
	near := func(n int64) aarch64.Inst { return t.a.word(place{adr.section, adr.off + n*aarch64.Size}) }
	loadAt, addAt := int64(-1), int64(1)
	if entry, _, _, ok := near(2).AddsEntry(); ok && entry == near(1).Rd() {
		loadAt, addAt = 1, 2
	}
	base, load, add := near(0), near(loadAt), near(addAt)
	width, extended, indexed := load.LoadsEntry()
	entry, times, signed, adds := add.AddsEntry()
	if !indexed || !adds || add.Rn() != base.Rd() || entry != load.Rd() || base.Rd() == load.Rd() || !t.jumpsTo(adr, addAt, add.Rd()) {
		return nil
	}
	t.steps = maxSteps
	to, ok := t.addressIn(location{reg: load.Rn()}, place{adr.section, adr.off + min(loadAt, 0)*aarch64.Size}, 0)
	if !ok {
		return nil
	}
	list := starts[to.section]
	i, _ := slices.BinarySearch(list, to.off+1)
	if i == len(list) {
		return nil
	}
	return &distanceTable{to.section, to.off, list[i], int64(width), int64(times), signed || extended}
}

// jumpsTo reports whether the next branch behind an instruction goes to what is in a register.
func (t *distanceTables) jumpsTo(adr place, n int64, reg uint8) bool {
	const near = 8 // instructions
	for k := n + 1; k < n+near; k++ {
		switch in := t.a.word(place{adr.section, adr.off + k*aarch64.Size}); in.Class() {
		case controlflow.Other:
			if in.Writes()>>reg&1 == 1 {
				return false
			}
		case controlflow.IndirectJump:
			return in.Rn() == reg
		default:
			return false
		}
	}
	return false
}

// location is where code keeps an address: in a general register, or, if that is SP, in the stack at an offset from it.
type location struct {
	reg  uint8
	slot uint64
}

// addressIn returns the place in data whose address is at a location before an instruction: all instructions that wrote there
// last, on ways to there, computed it, or copied it from another location.
func (t *distanceTables) addressIn(loc location, before place, copies int) (to place, ok bool) {
	seen := map[place]bool{before: true}
	work := []place{before}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		for _, p := range t.comesFrom(at) {
			in := t.a.word(p)
			if t.steps--; t.steps < 0 {
				return to, false
			}
			switch {
			case seen[p], in.Class().IsCall() && loc.reg < firstSaved:
				continue // what the call leaves in the register is not used
			case loc.writtenBy(in):
				made, is := t.madeBy(in, loc, p, copies)
				if !is || ok && made != to {
					return to, false
				}
				to, ok = made, true
			default:
				work = append(work, p)
			}
			seen[p] = true
		}
	}
	return to, ok
}

// writtenBy reports whether an instruction may write to a location. Compilers address what they spill by the stack pointer.
func (l location) writtenBy(in aarch64.Inst) bool {
	if l.reg != aarch64.SP {
		return in.Class() == controlflow.Other && in.Writes()>>l.reg&1 == 1
	}
	if !in.Stores() || !in.OnStack() {
		return false
	}
	if off, plain := in.Offset(); plain {
		return off == l.slot
	}
	off, size, pair := in.Pair()
	return !pair || off < int64(l.slot)+8 && int64(l.slot) < off+size
}

// maxCopies bounds how often an address is copied between what computes and what uses it.
const maxCopies = 5

// madeBy returns the address that an instruction at p writes to a location.
func (t *distanceTables) madeBy(in aarch64.Inst, loc location, p place, copies int) (to place, ok bool) {
	if copies == maxCopies {
		return to, false
	}
	off, plain := in.Offset()
	switch {
	case loc.reg == aarch64.SP && plain && in.StoresWord() && in.Rd() != aarch64.SP:
		return t.addressIn(location{reg: in.Rd()}, p, copies+1)
	case loc.reg == aarch64.SP:
		return to, false
	case in.LoadsWord() && in.Rn() == aarch64.SP:
		return t.addressIn(location{aarch64.SP, off}, p, copies+1)
	}
	if from, is := in.Moves(); is && from != aarch64.SP {
		return t.addressIn(location{reg: from}, p, copies+1)
	}
	return t.tableAddress(p, loc.reg)
}

// firstSaved is the first general register that calls preserve.
const firstSaved = 19

// comesFrom returns the instructions from which control goes to a place, without jumps by tables.
func (t *distanceTables) comesFrom(at place) []place {
	if t.branches == nil {
		t.branches = map[place][]place{}
		for i := range t.a.Sections {
			s := &t.a.Sections[i]
			for off := int64(0); s.Alloc && s.Code && off+aarch64.Size <= int64(len(s.Data)); off += aarch64.Size {
				from := place{i, off}
				in, _ := t.a.decode(s.Data[off:])
				if in.Class != controlflow.Jump && in.Class != controlflow.Conditional {
					continue
				}
				if to, ok := t.a.branch(from, in); ok && to.name == "" {
					t.branches[to.place] = append(t.branches[to.place], from)
				}
			}
		}
	}
	from := t.branches[at]
	if p := (place{at.section, at.off - aarch64.Size}); p.off >= 0 && !t.a.word(p).Class().Ends() && !t.ends[0][at] {
		from = append(from[:len(from):len(from)], p)
	}
	return from
}

// tableAddress returns the address of data that an instruction computes in a register.
func (t *distanceTables) tableAddress(p place, reg uint8) (to place, ok bool) {
	rel := t.a.within(p.section, p.off, aarch64.Size)
	if len(rel) != 1 || rel[0].Type != relAddLow && rel[0].Type != relAdr || t.a.word(p).Rd() != reg {
		return to, false
	}
	made, ok := t.a.target(rel[0], 0)
	return made.place, ok && made.name == "" && !t.a.Sections[made.section].Code
}

// follow adds the pairs of the table whose base an adr computes, in both layouts.
func (t *distanceTables) follow(s *segment, adr, base, other place) bool {
	table := t.byBase[adr]
	if table == nil {
		t.unknown(s, "the address of code at %#x is used in an unknown way", adr.off)
		return true
	}
	a, b := t.a.Sections[table.section].Data, t.b.Sections[t.a.pair[table.section]].Data
	inFunction := t.at(base)
	end := min(table.hi, int64(len(a)), int64(len(b)))
	for off := table.lo; off >= 0 && off+table.width <= end; off += table.width {
		to := place{base.section, base.off + table.entry(a, off)}
		if to.off < 0 || t.at(to) != inFunction {
			break // what is behind the table
		}
		t.pushFar(s, "the entry of the jump table", off, to, place{other.section, other.off + table.entry(b, off)})
		for k := range table.width {
			t.covered[place{table.section, off + k}] = true
		}
	}
	return true
}

// entry returns the distance at an offset of data, in bytes.
func (d *distanceTable) entry(data []byte, off int64) int64 {
	var bits [8]byte
	copy(bits[:d.width], data[off:])
	value := binary.LittleEndian.Uint64(bits[:])
	unused := 64 - 8*d.width
	if d.signed {
		return int64(value<<unused) >> unused * d.times
	}
	return int64(value) * d.times
}

// judge records bytes of data that differ and are in no table. Code that is not known may be what jumps by them.
func (t *distanceTables) judge() {
	note := t.differ
	if len(t.found) > 0 {
		note = t.unknown
	}
	for _, p := range t.uneven {
		if !t.covered[p] {
			note(nil, "section %s has other contents at %#x", t.a.Sections[p.section].Name, p.off)
			return
		}
	}
}
