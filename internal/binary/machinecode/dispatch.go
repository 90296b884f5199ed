package machinecode

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
)

// Problem: to determine the possible targets of an indirect call, one must know where its
// address was read. For a virtual call in C++ this is a fixed slot of the table that the
// object's first word points to, and the object is the first argument.
//
// Choice: the instructions of a function are processed once, in order, with the known state of
// each register: the value it holds, and at which offset of which other value that was read.
// At the target of a jump everything is forgotten, except for callee-saved registers that were
// set only once, to the function's first argument: in methods, that is this.

// Source is where an indirect call or jump reads its target.
type Source uint8

// The sources.
const (
	FromPointer Source = iota // unknown
	FromTable                 // a virtual table, as far as the code shows
	FromCases                 // the jump table of a switch statement
)

// Dispatch is an indirect call or jump.
type Dispatch struct {
	Source Source
	// Slot is the offset in the virtual table, in bytes, from the address that the object
	// points to.
	Slot int32
	// This reports that the object is the first argument of the function that contains the
	// call.
	This bool
}

// Dispatches returns the indirect calls and jumps of a range of a binary. Those that are
// omitted read their target from anywhere.
func (s *Set) Dispatches(b *Binary, r *Range) map[Ref]Dispatch {
	w := newWalk(s, b, r)
	defer w.free()
	out := map[Ref]Dispatch{}
	w.run(out, [registers]bool{})
	if keeps, some := w.keeps(); some {
		w.run(out, keeps)
	}
	return out
}

// OfSwitch reports whether an indirect jump belongs to a switch statement, judging by the
// instructions right before it.
func (s *Set) OfSwitch(at Ref) bool {
	const enough = 8
	b := s.Binary(at)
	r := b.RangeAt(s.Address(at))
	if r == nil || s.Departs(at) {
		return false
	}
	s.Read(b, r)
	first := at
	for n := 0; n < enough && first > b.From(r.Lo); n++ {
		first = s.previous(first)
	}
	w := walkOf(s, b, max(b.From(r.Lo), first), at+1)
	defer w.free()
	found := map[Ref]Dispatch{}
	w.run(found, [registers]bool{})
	return found[at].Source == FromCases
}

// registers is the maximum number of registers of a machine.
const registers = 32

// convention is the calling convention of a machine, as sets of registers, and the register of
// the first argument.
type convention struct {
	argument      uint8
	scratch, kept uint32
}

// moved is the effect of an instruction on registers.
type moved struct {
	written uint32 // set of registers that it may change
	dest    uint8  // the one of them that gets a known value, if any
	value   value
	pops    bool // it restores what the function saved in its prologue
}

// value is the content of a register: one of the values of the walk, plus an offset. Value
// number 0 is the first argument.
type value struct {
	number int32
	offset int32
}

// origin is where a value was read: the memory that another value points to.
type origin struct {
	from  value
	read  bool
	cases bool // or it is a sum, or from the middle of a table
}

type walk struct {
	code    *Set
	binary  *Binary
	first   Ref
	end     Ref    // after the last instruction
	entered bool   // the first instruction is the function's entry
	targets []bool // of jumps, from first on; nil if there are none
	room    []bool // for targets

	regs    [registers]value
	origins []origin

	// For callee-saved registers: how often they are set, and which are set to the first
	// argument.
	sets [registers]int
	this [registers]bool
}

// walks have the memory of those that have ended: binaries have thousands of functions.
var walks = sync.Pool{New: func() any { return new(walk) }}

// walkOf returns a walk of instructions, without jumps. It is freed at the end.
func walkOf(s *Set, b *Binary, first, end Ref) *walk {
	w := walks.Get().(*walk)
	*w = walk{code: s, binary: b, first: first, end: end, room: w.room, origins: w.origins[:0]}
	return w
}

func (w *walk) free() {
	w.code, w.binary, w.targets = nil, nil, nil
	walks.Put(w)
}

func newWalk(s *Set, b *Binary, r *Range) *walk {
	s.Read(b, r)
	first := b.From(r.Lo)
	w := walkOf(s, b, first, max(first, b.From(r.Hi)))
	w.entered = r.Start
	n := int(w.end - w.first)
	w.room = slices.Grow(w.room[:0], n)[:n]
	clear(w.room)
	w.targets = w.room
	for at := w.first; at < w.end; at++ {
		if c := s.Class(at); c == controlflow.Jump || c == controlflow.Conditional {
			if to, ok := s.Target(at); ok && to-r.Lo < r.Hi-r.Lo {
				if i := b.At(to) - w.first; i < w.end-w.first {
					w.targets[i] = true
				}
			}
		}
	}
	return w
}

// keeps returns the registers that keep the first argument, as a run without any found, and whether there are some.
func (w *walk) keeps() (keeps [registers]bool, some bool) {
	for i := range keeps {
		keeps[i] = w.this[i] && w.sets[i] == 1
		some = some || keeps[i]
	}
	return keeps, some
}

// run processes the instructions. keeps are the registers that keep the first argument, as far as that is known.
func (w *walk) run(found map[Ref]Dispatch, keeps [registers]bool) {
	w.origins = append(w.origins[:0], origin{})
	w.sets, w.this = [registers]int{}, [registers]bool{}
	w.forget(&keeps)
	rules := w.binary.arch.convention()
	if w.entered {
		w.regs[rules.argument] = value{}
	}
	for at := w.first; at < w.end; at++ {
		if w.code.hole(at) {
			continue
		}
		if w.targets != nil && w.targets[at-w.first] {
			w.forget(&keeps)
		}
		class := w.code.Class(at)
		if class == controlflow.IndirectCall || class == controlflow.IndirectJump {
			found[at] = w.binary.arch.dispatch(w, at)
		}
		w.step(w.binary.arch.move(w, at), rules.kept)
		if class.IsCall() {
			for set := rules.scratch; set != 0; set &= set - 1 {
				w.regs[bits.TrailingZeros32(set)] = w.fresh(origin{})
			}
		}
		if class == controlflow.Jump || class == controlflow.IndirectJump || class == controlflow.Return {
			w.forget(&keeps)
		}
	}
}

func (w *walk) fresh(o origin) value {
	w.origins = append(w.origins, o)
	return value{number: int32(len(w.origins) - 1)}
}

// forget gives all registers new values, except for those that keep the first argument.
func (w *walk) forget(keeps *[registers]bool) {
	n := len(w.origins)
	w.origins = append(w.origins, make([]origin, registers)...)
	for r := range w.regs {
		w.regs[r] = value{number: int32(n + r)}
		if keeps[r] {
			w.regs[r] = value{}
		}
	}
}

// reads describes an indirect call or jump to an address that was read from method.
func (w *walk) reads(method origin) Dispatch {
	switch {
	case method.cases:
		return Dispatch{Source: FromCases}
	case !method.read:
		return Dispatch{}
	}
	table := w.origins[method.from.number]
	if !table.read || table.cases || table.from != w.regs[w.binary.arch.convention().argument] || method.from.offset < 0 {
		return Dispatch{}
	}
	return Dispatch{FromTable, method.from.offset, table.from == value{}}
}

// step applies an instruction to the registers.
func (w *walk) step(m moved, kept uint32) {
	for set := m.written; set != 0; set &= set - 1 {
		r := bits.TrailingZeros32(set)
		if uint8(r) == m.dest {
			w.regs[r] = m.value
		} else {
			w.regs[r] = w.fresh(origin{})
		}
		if !m.pops {
			w.sets[r]++
			w.this[r] = kept>>r&1 != 0 && w.regs[r] == value{}
		}
	}
}
