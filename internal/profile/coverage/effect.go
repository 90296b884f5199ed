package coverage

import "github.com/cairnprof/cairn/internal/binary/x86"

// effect is what of an instruction an optimiser must keep.
type effect uint8

const (
	none effect = iota
	// weak instructions compute, compare, jump and return: where their result is
	// known already, or of no use, there is no trace of them.
	weak
	stores // to memory that is not a copy of a register
	calls  // functions, or the system; traps
)

// effectOf returns the effect of an instruction.
func effectOf(in x86.Inst) effect {
	switch in.Class {
	case x86.Call, x86.CallIndirect, x86.Syscall, x86.Trap:
		return calls
	case x86.Nop, x86.EndBranch:
		return none
	}
	if in.HasModRM && in.Mod() != 3 && !onStack(in) && writes(in) {
		return stores
	}
	return weak
}

// onStack reports whether a memory operand is relative to the stack pointer: there
// are copies of registers, which come and go.
func onStack(in x86.Inst) bool {
	const sp = 4
	return in.ModRM&7 == sp && in.SIB&7 == sp && in.Rex&1 == 0
}

// writes reports whether an instruction with a memory operand writes to it, as far
// as usual code goes.
func writes(in x86.Inst) bool {
	switch in.Map {
	case x86.MapOne:
		return writesOne(in)
	case x86.Map0F:
		switch op := in.Opcode; op {
		case 0x11, 0x13, 0x17, 0x29, 0x2b, 0x7f, 0xd6, 0xe7, 0xc0, 0xc1, 0xc3, 0xb0, 0xb1, 0xab, 0xb3, 0xbb:
			return true
		case 0x7e:
			return in.Prefix&x86.PrefixRep == 0 // else a load
		default:
			return op >= 0x90 && op <= 0x9f // setcc
		}
	}
	return false
}

func writesOne(in x86.Inst) bool {
	const reg = 7
	switch op := in.Opcode; op {
	case 0x80, 0x81, 0x83:
		return in.Reg()&reg != 7 // cmp
	case 0x86, 0x87, 0x88, 0x89, 0x8f, 0xc6, 0xc7, 0xc0, 0xc1, 0xd0, 0xd1, 0xd2, 0xd3:
		return true
	case 0xf6, 0xf7:
		return in.Reg()&reg == 2 || in.Reg()&reg == 3 // not, neg
	case 0xfe, 0xff:
		return in.Reg()&reg < 2 // inc, dec
	case 0xd9, 0xdb, 0xdd, 0xdf:
		return in.Reg()&reg >= 2 && in.Reg()&reg != 5 // what the x87 stores
	default:
		return op < 0x38 && op&7 < 2
	}
}
