package ehframe

import (
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/bytecur"
)

// registers has the DWARF register numbers of a machine, and the location of the return
// address after a call.
type registers struct {
	stack, frame, ret uint64
	called            int64  // offset of the canonical frame address from the stack pointer
	initial           Return // location of the return address
	signs             bool   // the return address may be signed
}

// registersOf returns the registers of a machine. Those of an unsupported machine match
// nothing.
func registersOf(k machine.Kind) registers {
	switch k {
	case machine.X86_64:
		return registers{stack: 7, frame: 6, ret: 16, called: 8}
	case machine.AArch64:
		return registers{stack: 31, frame: 29, ret: 30, initial: ReturnRegister, signs: true}
	}
	const none = 1 << 32
	return registers{stack: none, frame: none, ret: none, called: -1}
}

// rules is the part of a row of the unwind table that decides whether its code may be the
// target of a call.
type rules struct {
	of               registers
	register, offset int64 // of the canonical frame address; offset -1 if not known
	saved            bool  // a register has been saved or changed
	unreturning      bool  // there is no return address
}

// called reports whether the row is that after a call instruction.
func (r *rules) called() bool {
	return uint64(r.register) == r.of.stack && r.offset == r.of.called && !r.saved && !r.unreturning
}

// run executes instructions up to the first one for a later address.
func (r *rules) run(c *bytecur.Cursor) {
	for c.Len() > 0 {
		op := c.U8()
		switch op & 0xc0 {
		case 0x40: // advance
			return
		case 0x80:
			r.save(uint64(op&0x3f), c.Uvarint())
			continue
		case 0xc0: // restore
			continue
		}
		if !r.step(op, c) {
			return
		}
	}
}

// step executes an instruction that has no operand in its opcode. It returns false if run must
// stop.
func (r *rules) step(op byte, c *bytecur.Cursor) bool {
	switch op {
	case 0x00, 0x0a, 0x0b: // nop, remember, restore
	case 0x01, 0x02, 0x03, 0x04: // later addresses
		return false
	case 0x05: // at an offset
		register := c.Uvarint()
		r.save(register, c.Uvarint())
	case 0x06, 0x08, 0x2e: // restored, the same; size of arguments
		c.Uvarint()
	case 0x07: // undefined
		r.unreturning = r.unreturning || c.Uvarint() == r.of.ret
	case 0x0c:
		r.register, r.offset = int64(c.Uvarint()), int64(c.Uvarint())
	case 0x0d:
		r.register = int64(c.Uvarint())
	case 0x0e:
		r.offset = int64(c.Uvarint())
	case opSigned:
		if !r.of.signs {
			r.offset = -1
		}
		return r.of.signs
	default: // expressions, and instructions that compilers do not emit for functions
		r.offset = -1
		return false
	}
	return true
}

// save records that a register is in memory, at this factored offset.
func (r *rules) save(register, offset uint64) {
	if register != r.of.ret || offset != 1 || r.of.initial != ReturnPlain {
		r.saved = true
	}
}
