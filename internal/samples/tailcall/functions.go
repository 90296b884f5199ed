package tailcall

import (
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
)

// Recorded is a function whose calls a log has.
type Recorded struct {
	ID     calllog.FuncID
	Binary int    // index into the binaries of the code
	Entry  uint64 // link-time address
	// Marks is the number of times that its code takes its own address for the log.
	Marks int
}

// Entries are functions by their entries.
type Entries map[uint64]bool

// Has reports whether a function is among them.
func (e Entries) Has(entry uint64) bool { return e == nil || e[entry] }

// Everything is all functions.
var Everything Entries

// Callers returns the functions of a binary that call an address directly.
func Callers(code *machinecode.Set, binary int, callee uint64) Entries {
	callers, b := Entries{}, code.Binaries()[binary]
	for at := b.First; at < b.End; at++ {
		if code.Class(at) != controlflow.Call {
			continue
		}
		if target, ok := code.Target(at); ok && target == callee {
			if r := b.RangeAt(code.Address(at)); r != nil {
				callers[r.Lo] = true
			}
		}
	}
	return callers
}

// Functions describes which functions of a log may enter each other: the direct calls and
// jumps of their code, and which of them may be entered in other ways. It is immutable.
//
// Code outside of recorded functions may enter every function whose address it takes, or
// that it branches to. A function that data or other modules refer to may be entered by
// any code.
type Functions struct {
	index map[calllog.FuncID]int32
	list  []behaviour
}

// behaviour is the calls and jumps of a recorded function. Lists are ascending.
type behaviour struct {
	calls, jumps []int32 // recorded functions that direct branches of it enter
	// open: it may end with a jump to a function that is not recorded, or to an unknown one.
	open bool
	// strays: it may be entered by other means than direct branches of recorded functions.
	strays bool
	marks  int
}

// NewFunctions reads the code. Pointed has, for each binary, the addresses in its data and
// those that are visible to other modules.
//
// The functions of the code must be those of symbols, since functions without debug
// information are called as well.
func NewFunctions(code *machinecode.Set, recorded []Recorded, pointed [][]uint64) *Functions {
	f := &Functions{index: make(map[calllog.FuncID]int32, len(recorded)), list: make([]behaviour, len(recorded))}
	for i := range recorded {
		f.index[recorded[i].ID] = int32(i)
		f.list[i].marks = recorded[i].Marks
	}
	for i, b := range code.Binaries() {
		m := newModule(f, b, recorded, i)
		m.read(code)
		for _, addr := range pointed[i] {
			m.stray(addr)
		}
	}
	for i := range f.list {
		for _, list := range []*[]int32{&f.list[i].calls, &f.list[i].jumps} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
		f.list[i].strays = f.list[i].strays || f.list[i].marks < 0
	}
	return f
}

// Jumps reports whether a function has a direct tail call of another.
func (f *Functions) Jumps(from, to calllog.FuncID) bool {
	i, known := f.index[from]
	k, also := f.index[to]
	return known && also && has(f.list[i].jumps, k)
}

// Closed reports whether all tail calls of a function enter functions of the log.
func (f *Functions) Closed(fn calllog.FuncID) bool {
	i, known := f.index[fn]
	return known && !f.list[i].open
}

// MayCall reports whether fn may be called while caller is the innermost open call of the
// log: by caller, or by code that is not in the log.
func (f *Functions) MayCall(caller, fn calllog.FuncID) bool {
	i, known := f.index[caller]
	k, also := f.index[fn]
	return !known || !also || f.list[k].strays || has(f.list[i].calls, k)
}

func has(list []int32, n int32) bool {
	_, found := slices.BinarySearch(list, n)
	return found
}

// nobody is the number of code that does not belong to a recorded function.
const nobody = -1

// module is a binary that is read.
type module struct {
	f       *Functions
	b       *machinecode.Binary
	entries map[uint64]int32 // recorded functions
	owners  []int32          // of its ranges
}

func newModule(f *Functions, b *machinecode.Binary, recorded []Recorded, number int) *module {
	m := &module{f: f, b: b, entries: map[uint64]int32{}, owners: make([]int32, len(b.Ranges()))}
	for i, r := range recorded {
		if r.Binary == number && b.RangeFrom(r.Entry) != nil {
			m.entries[r.Entry] = int32(i)
		}
	}
	// The cold part of a split function is attributed to it only if no other function has
	// its name.
	starts, main := make([]int, len(b.Functions())), make([]int32, len(b.Functions()))
	for k := range b.Ranges() {
		if r := &b.Ranges()[k]; r.Start {
			starts[r.Function]++
			main[r.Function] = m.enters(r.Lo)
		}
	}
	for k := range b.Ranges() {
		r := &b.Ranges()[k]
		m.owners[k] = m.enters(r.Lo)
		if !r.Start && starts[r.Function] == 1 {
			m.owners[k] = main[r.Function]
		}
	}
	return m
}

// enters returns the recorded function that starts at an address, or nobody.
func (m *module) enters(addr uint64) int32 {
	if i, ok := m.entries[addr]; ok {
		return i
	}
	return nobody
}

// owner returns the recorded function whose code is at an address, or nobody.
func (m *module) owner(addr uint64) int32 {
	ranges := m.b.Ranges()
	k, found := slices.BinarySearchFunc(ranges, addr, func(r machinecode.Range, addr uint64) int {
		switch {
		case r.Hi <= addr:
			return -1
		case r.Lo > addr:
			return 1
		}
		return 0
	})
	if !found {
		return nobody
	}
	return m.owners[k]
}

// stray records that code outside of recorded functions knows an address.
func (m *module) stray(addr uint64) {
	if to := m.enters(addr); to != nobody {
		m.f.list[to].strays = true
	}
}

// read evaluates the instructions.
func (m *module) read(code *machinecode.Set) {
	for at := m.b.First; at < m.b.End; at++ {
		switch class := code.Class(at); class {
		case controlflow.Call, controlflow.Jump, controlflow.Conditional:
			if target, ok := code.Target(at); ok {
				m.branch(m.owner(code.Address(at)), class, target)
			}
		case controlflow.IndirectJump:
			// It may belong to a switch statement.
			if from := m.owner(code.Address(at)); from != nobody {
				m.f.list[from].open = true
			}
		case controlflow.Other:
			if addr, ok := code.Constant(at); ok {
				m.evaluate(code.Address(at), addr)
			}
		}
	}
}

// branch evaluates a direct branch of from.
func (m *module) branch(from int32, class controlflow.Class, target uint64) {
	to := m.enters(target)
	switch {
	case from == nobody:
		m.stray(target)
	case class == controlflow.Call:
		if to != nobody {
			m.f.list[from].calls = append(m.f.list[from].calls, to)
		}
	case to != nobody:
		m.f.list[from].jumps = append(m.f.list[from].jumps, to)
	case m.owner(target) != from:
		m.f.list[from].open = true
	}
}

// evaluate evaluates an instruction that takes an address.
func (m *module) evaluate(at, addr uint64) {
	to := m.enters(addr)
	if to == nobody {
		return
	}
	if m.owner(at) == to {
		m.f.list[to].marks-- // more often than for the log: others get it
		return
	}
	m.f.list[to].strays = true
}
