package ehframe

import "github.com/cairnprof/cairn/internal/bytecur"

// Numbers of registers in frame descriptions.
const (
	stackPointer = 7
	returnColumn = 16
)

// rules is as much of a row of a frame's table as tells whether its code may be
// come to by a call.
type rules struct {
	register, offset int64 // of the canonical frame address; offset -1: not known
	saved            bool  // a register is elsewhere than in itself
	unreturning      bool  // there is no return address
}

// called says whether the row is that behind a call instruction.
func (r *rules) called() bool {
	return r.register == stackPointer && r.offset == 8 && !r.saved && !r.unreturning
}

// run executes instructions up to the first that is for a later address.
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

// step executes one instruction that has no operand in its opcode. It returns
// false at the end of what run is for.
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
		r.unreturning = r.unreturning || c.Uvarint() == returnColumn
	case 0x0c:
		r.register, r.offset = int64(c.Uvarint()), int64(c.Uvarint())
	case 0x0d:
		r.register = int64(c.Uvarint())
	case 0x0e:
		r.offset = int64(c.Uvarint())
	default: // expressions, and what compilers do not write for functions
		r.offset = -1
		return false
	}
	return true
}

// save notes that a register is in memory, at this factored offset.
func (r *rules) save(register, offset uint64) {
	if register != returnColumn || offset != 1 {
		r.saved = true
	}
}
