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
	// Marks is how often its code takes its own address to log it.
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

// Functions says how the functions of a log may enter each other: what their code
// calls and jumps to directly, and which of them may be entered in other ways. It is
// immutable.
//
// All code that is not of a recorded function may enter whatever it takes the address
// of, or branches to; and what data or other modules refer to may be entered by
// anybody.
type Functions struct {
	index map[calllog.FuncID]int32
	list  []behaviour
}

// behaviour is what the code of a recorded function does. Lists are ascending.
type behaviour struct {
	calls, jumps []int32 // recorded functions that direct branches of it enter
	// open: it may end by a jump that leads elsewhere, or nobody knows where.
	open bool
	// strays: not only direct branches of recorded functions enter it.
	strays bool
	marks  int
}

// NewFunctions reads the code. Pointed has for each binary the addresses that its data
// has, and those that other modules may know.
//
// Functions of the code must be those of symbols: what debug information does not
// have is called as well.
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

// Jumps reports whether a direct jump by which a function may end enters another.
func (f *Functions) Jumps(from, to calllog.FuncID) bool {
	i, known := f.index[from]
	k, also := f.index[to]
	return known && also && has(f.list[i].jumps, k)
}

// Closed reports whether all jumps by which a function may end enter functions that
// the log has.
func (f *Functions) Closed(fn calllog.FuncID) bool {
	i, known := f.index[fn]
	return known && !f.list[i].open
}

// MayCall reports whether, while caller is the innermost call of the log that has not
// ended, a call may enter fn: one of caller, or one of code that the log does not have.
func (f *Functions) MayCall(caller, fn calllog.FuncID) bool {
	i, known := f.index[caller]
	k, also := f.index[fn]
	return !known || !also || f.list[k].strays || has(f.list[i].calls, k)
}

func has(list []int32, n int32) bool {
	_, found := slices.BinarySearch(list, n)
	return found
}

// nobody represents code that does not belong to a recorded function.
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
	// The rest of a function that was split is its own only if no other one has its
	// name.
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

// enters returns the recorded function that begins at an address, or nobody.
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

// stray notes that an address is known elsewhere.
func (m *module) stray(addr uint64) {
	if to := m.enters(addr); to != nobody {
		m.f.list[to].strays = true
	}
}

// read takes what the instructions say.
func (m *module) read(code *machinecode.Set) {
	for at := m.b.First; at < m.b.End; at++ {
		switch class := code.Class(at); class {
		case controlflow.Call, controlflow.Jump, controlflow.Conditional:
			if target, ok := code.Target(at); ok {
				m.branch(m.owner(code.Address(at)), class, target)
			}
		case controlflow.IndirectJump:
			// It may be of a switch statement.
			if from := m.owner(code.Address(at)); from != nobody {
				m.f.list[from].open = true
			}
		case controlflow.Other:
			if addr, ok := code.Constant(at); ok {
				m.take(code.Address(at), addr)
			}
		}
	}
}

// branch is about a direct branch of from.
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

// take is about an instruction that has the address of something.
func (m *module) take(at, addr uint64) {
	to := m.enters(addr)
	if to == nobody {
		return
	}
	if m.owner(at) == to {
		m.f.list[to].marks-- // more often than it logs it: it tells somebody
		return
	}
	m.f.list[to].strays = true
}
