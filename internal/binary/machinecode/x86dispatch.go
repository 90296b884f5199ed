package machinecode

import "github.com/cairnprof/cairn/internal/binary/x86"

// Register numbers.
const (
	regAX = iota
	regCX
	regDX
	regBX
	regSP
	regBP
	regSI
	regDI
)

// x86 decodes an instruction, which has been decoded before.
func (w *walk) x86(r Ref) x86.Inst {
	in, _ := x86.Decode(w.code.bytes(w.binary, r))
	return in
}

func (x86Arch) convention() convention {
	return convention{regDI, 1<<regAX | 1<<regCX | 1<<regDX | 1<<regSI | 1<<regDI | 0xf<<8, 1<<regBX | 0xf<<12}
}

func (x86Arch) dispatch(w *walk, at Ref) Dispatch {
	in := w.x86(at)
	if in.Mod() != 3 {
		return w.reads(w.memory(in))
	}
	v := w.regs[in.RM()]
	if v.offset != 0 {
		return Dispatch{}
	}
	return w.reads(w.origins[v.number])
}

func (x86Arch) move(w *walk, at Ref) moved {
	in := w.x86(at)
	m := moved{written: uint32(writes(in)), pops: isPop(in)}
	m.dest, m.value = w.result(in)
	return m
}

// memory returns the origin of the content of a memory operand.
func (w *walk) memory(in x86.Inst) origin {
	base, ok := baseOf(in)
	if !ok {
		return origin{cases: !in.RIP}
	}
	v := w.regs[base]
	v.offset += in.Disp
	return origin{from: v, read: true}
}

// baseOf returns the base register of a memory operand, or false if it is not relative to a
// single register.
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

func isPop(in x86.Inst) bool { return in.Map == x86.MapOne && in.Opcode&0xf8 == 0x58 }

// result returns the register to which an instruction assigns a known value, and the value.
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
	case 0x01: // add: the target is read from a table of offsets
		if in.Mod() == 3 {
			return in.RM(), w.fresh(origin{cases: true})
		}
	case 0x03:
		return in.Reg(), w.fresh(origin{cases: true})
	}
	return noRegister, value{}
}
