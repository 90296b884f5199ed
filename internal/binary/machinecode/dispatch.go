package machinecode

import "github.com/cairnprof/cairn/internal/binary/x86"

// Problem: to know whom an indirect call may reach, one must know where it has the
// address from. Of a virtual call in C++ that is a fixed place of the table that the
// object's first word points to, and the object is the first argument.
//
// Choice: the instructions of a function are gone through once, in their order, with
// what is known of each register: which value it has, and at which offset of which
// other value that was read from. At the target of a jump all is forgotten, but for
// registers that callees keep and that were set once only, to the function's first
// argument: in methods, that is this.

// Source says where an indirect call or jump has its target from.
type Source uint8

// The sources.
const (
	FromPointer Source = iota // from anywhere
	FromTable                 // from a virtual table, as far as the code can tell
	FromCases                 // from the cases of a switch statement
)

// Dispatch is an indirect call or jump.
type Dispatch struct {
	Source Source
	// Slot is the offset from where the object points to in its virtual table,
	// in bytes.
	Slot int32
	// This: the object is the first argument of the function that has the call.
	This bool
}

// Dispatches returns the indirect calls and jumps of a range of a binary. Those that are
// not among them are from anywhere.
func (s *Set) Dispatches(b *Binary, r *Range) map[Ref]Dispatch { return b.arch.dispatches(s, b, r) }

// OfSwitch reports whether an indirect jump is of a switch statement, as far as the
// instructions right before it tell.
func (s *Set) OfSwitch(at Ref) bool { return s.Binary(at).arch.ofSwitch(s, at) }

func (x86Arch) dispatches(s *Set, b *Binary, r *Range) map[Ref]Dispatch {
	w := newWalk(s, b, r)
	w.run(nil) // finds the registers that keep the first argument
	out := map[Ref]Dispatch{}
	w.run(out)
	return out
}

func (x86Arch) ofSwitch(s *Set, at Ref) bool {
	const enough = 8
	b := s.Binary(at)
	r := b.RangeAt(s.Address(at))
	if r == nil || s.Departs(at) {
		return false
	}
	w := &walk{code: s, binary: b, first: max(b.From(r.Lo), at-min(at, enough)), end: at + 1}
	found := map[Ref]Dispatch{}
	w.run(found)
	return found[at].Source == FromCases
}

// Numbers of registers.
const (
	regAX = iota
	regCX
	regDX
	regBX
	regSP
	regBP
	regSI
	regDI
	registers = 16
)

// value is what a register has: one of the values of the walk, plus an offset. Value
// number 0 is the first argument.
type value struct {
	number int32
	offset int32
}

// origin is where a value was read from: the memory that another one points to.
type origin struct {
	from  value
	read  bool
	cases bool // or it is a sum, or from the middle of a table
}

type walk struct {
	code    *Set
	binary  *Binary
	first   Ref
	end     Ref  // behind the last instruction
	entered bool // the first instruction is where the function is entered
	targets map[Ref]bool

	regs    [registers]value
	origins []origin

	// Of registers that callees keep: how often they are set, and those that are
	// set to the first argument.
	sets [registers]int
	this [registers]bool
}

// decode reads an instruction.
func (s *Set) decode(r Ref) (x86.Inst, bool) {
	in, err := x86.Decode(s.Binary(r).textOf(r).data[s.offsets[r-firstRef]:])
	return in, err == nil
}

func newWalk(s *Set, b *Binary, r *Range) *walk {
	w := &walk{code: s, binary: b, first: b.From(r.Lo), entered: r.Start, targets: map[Ref]bool{}}
	for w.end = w.first; w.end < b.End && s.Address(w.end) < r.Hi; w.end++ {
		if c := s.Class(w.end); c == Jump || c == Conditional {
			if to, ok := s.Target(w.end); ok && to-r.Lo < r.Hi-r.Lo {
				w.targets[b.At(to)] = true
			}
		}
	}
	return w
}

// run goes through the instructions. Without a map for what is found it looks for
// the registers that keep the first argument, with it it knows them.
func (w *walk) run(found map[Ref]Dispatch) {
	keeps := w.this
	for i := range keeps {
		keeps[i] = keeps[i] && w.sets[i] == 1
	}
	w.origins = append(w.origins[:0], origin{})
	w.forget(keeps)
	if w.entered {
		w.regs[regDI] = value{}
	}
	for at := w.first; at < w.end; at++ {
		if w.targets[at] {
			w.forget(keeps)
		}
		in, ok := w.code.decode(at)
		if !ok {
			w.forget(keeps)
			continue
		}
		class := w.code.Class(at)
		if found != nil && (class == IndirectCall || class == IndirectJump) {
			found[at] = w.dispatch(in)
		}
		w.step(in, found == nil)
		if class.IsCall() {
			for _, r := range []int{regAX, regCX, regDX, regSI, regDI, 8, 9, 10, 11} {
				w.regs[r] = w.fresh(origin{})
			}
		}
		if class == Jump || class == IndirectJump || class == Return {
			w.forget(keeps)
		}
	}
}

func (w *walk) fresh(o origin) value {
	w.origins = append(w.origins, o)
	return value{number: int32(len(w.origins) - 1)}
}

// forget gives all registers new values, but for those that keep the first argument.
func (w *walk) forget(keeps [registers]bool) {
	for r := range w.regs {
		if keeps[r] {
			w.regs[r] = value{}
		} else {
			w.regs[r] = w.fresh(origin{})
		}
	}
}

// dispatch tells of an indirect call or jump where its target comes from.
func (w *walk) dispatch(in x86.Inst) Dispatch {
	var method origin
	if in.Mod() == 3 {
		v := w.regs[in.RM()]
		if method = w.origins[v.number]; v.offset != 0 {
			return Dispatch{}
		}
	} else {
		method = w.memory(in)
	}
	switch {
	case method.cases:
		return Dispatch{Source: FromCases}
	case !method.read:
		return Dispatch{}
	}
	table := w.origins[method.from.number]
	if !table.read || table.cases || table.from != w.regs[regDI] || method.from.offset < 0 {
		return Dispatch{}
	}
	return Dispatch{FromTable, method.from.offset, table.from == value{}}
}

// memory returns the origin of what an operand in memory has.
func (w *walk) memory(in x86.Inst) origin {
	base, ok := baseOf(in)
	if !ok {
		return origin{cases: !in.RIP}
	}
	v := w.regs[base]
	v.offset += in.Disp
	return origin{from: v, read: true}
}

// baseOf returns the register that an operand in memory is relative to, false if
// it is not relative to one register alone.
func baseOf(in x86.Inst) (uint8, bool) {
	if in.Mod() == 3 || in.RIP {
		return 0, false
	}
	if in.ModRM&7 != regSP {
		return in.RM(), true
	}
	const none = 4
	index := in.SIB>>3&7 | in.Rex&2<<2
	base := in.SIB&7 | in.Rex&1<<3
	if index != none || in.Mod() == 0 && in.SIB&7 == regBP {
		return 0, false
	}
	return base, true
}

// step applies an instruction to the registers.
func (w *walk) step(in x86.Inst, count bool) {
	written := writes(in)
	dest, v := w.result(in)
	for r := range w.regs {
		if written>>r&1 == 0 {
			continue
		}
		if uint8(r) == dest {
			w.regs[r] = v
		} else {
			w.regs[r] = w.fresh(origin{})
		}
		if count && !isPop(in) {
			w.sets[r]++
			w.this[r] = kept>>r&1 != 0 && w.regs[r] == value{}
		}
	}
}

// kept are the registers that callees keep.
const kept = 1<<regBX | 0xf<<12

func isPop(in x86.Inst) bool { return in.Map == x86.MapOne && in.Opcode&0xf8 == 0x58 }

// result returns the register that an instruction gives a value that is known of,
// and the value.
func (w *walk) result(in x86.Inst) (uint8, value) {
	const noRegister = registers
	if in.Map != x86.MapOne || !in.HasModRM || !in.Wide() || in.Prefix&x86.PrefixVector != 0 {
		return noRegister, value{}
	}
	switch in.Opcode {
	case 0x89: // mov to memory or a register
		if in.Mod() == 3 {
			return in.RM(), w.regs[in.Reg()]
		}
	case 0x8b: // mov from memory or a register
		if in.Mod() == 3 {
			return in.Reg(), w.regs[in.RM()]
		}
		return in.Reg(), w.fresh(w.memory(in))
	case 0x8d: // lea
		if base, ok := baseOf(in); ok {
			v := w.regs[base]
			v.offset += in.Disp
			return in.Reg(), v
		}
	case 0x01: // add: what is called is read from a table of distances
		if in.Mod() == 3 {
			return in.RM(), w.fresh(origin{cases: true})
		}
	case 0x03:
		return in.Reg(), w.fresh(origin{cases: true})
	}
	return noRegister, value{}
}
