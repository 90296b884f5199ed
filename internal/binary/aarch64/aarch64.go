// Package aarch64 reads machine code of AArch64 as far as the flow of control, the
// frames of functions and the addresses in code need it: whether and where an
// instruction branches, whether it stores, and which address it makes. It does not
// name instructions.
//
// Written after the tables of the Arm Architecture Reference Manual (DDI 0487), section
// C4. Every instruction has four bytes, so what it does not know is one that does
// nothing of the kind, and never an error.
package aarch64

import "encoding/binary"

// Size is the bytes of an instruction.
const Size = 4

// Class is what an instruction does to the flow of control.
type Class uint8

// The classes.
const (
	Other        Class = iota
	Nop                // nop; 0 too between functions, but that is a Trap
	Landing            // bti, paciasp, pacibsp: a place that indirect branches may reach
	Call               // bl
	CallIndirect       // blr and its signed kinds
	Return             // ret, eret, drps and their signed kinds
	Jump               // b
	JumpIndirect       // br and its signed kinds
	JumpCond           // b.cond, bc.cond, cbz, cbnz, tbz, tbnz, cb
	Trap               // brk, hlt, udf: control does not go on by itself
	Syscall            // svc, hvc, smc
)

func (c Class) String() string {
	names := [...]string{"other", "nop", "landing", "call", "call*", "return", "jump", "jump*", "jcc", "trap", "syscall"}
	if int(c) < len(names) {
		return names[c]
	}
	return "?"
}

// Registers that have a meaning.
const (
	FP = 29
	LR = 30
	SP = 31 // or the zero register, where it is not a base
)

// Inst is one instruction. The zero value is udf #0.
type Inst uint32

// Decode reads the instruction at the start of code, which has Size bytes at least.
func Decode(code []byte) Inst { return Inst(binary.LittleEndian.Uint32(code)) }

// is compares the bits of a mask.
func (i Inst) is(mask, value uint32) bool { return uint32(i)&mask == value }

// signed returns the field of n bits from bit low on, with its sign.
func (i Inst) signed(low, n uint) int64 { return int64(int32(uint32(i)<<(32-low-n))) >> (32 - n) }

// Class returns what the instruction does to the flow of control.
func (i Inst) Class() Class {
	switch uint32(i) >> 26 {
	case 0b000101:
		return Jump
	case 0b100101:
		return Call
	}
	switch {
	case i.compares():
		return JumpCond
	case i.is(0xfe1f0000, 0xd61f0000):
		return i.register()
	case i.is(0xffc0001f, 0x5500001f): // retaasppc, retabsppc
		return Return
	case i.is(0xff000000, 0xd4000000):
		return i.exception()
	case i.is(0xffff0000, 0):
		return Trap // udf
	case i.is(0xfffff01f, 0xd503201f):
		return hint(uint32(i) >> 5 & 0x7f)
	}
	return Other
}

// compares reports whether it is a conditional branch.
func (i Inst) compares() bool {
	return i.is(0xff000000, 0x54000000) || // b.cond, bc.cond
		i.is(0x7c000000, 0x34000000) || // cbz, cbnz, tbz, tbnz
		i.narrow()
}

// narrow reports whether it compares two registers, or one and a constant, and branches.
func (i Inst) narrow() bool {
	const bytes, halves = 2, 3
	if i.is(0x7f000000, 0x74000000) {
		kind, condition := i>>14&3, i>>21&7
		return condition != 4 && condition != 5 && (kind == 0 || (kind == bytes || kind == halves) && i>>31 == 0)
	}
	return i.is(0x7f004000, 0x75000000) && i>>21&7 != 4 && i>>21&7 != 5
}

// register returns the class of a branch to a register.
func (i Inst) register() Class {
	kind, operand := i>>10&0x3f, i&31
	keyed := kind == 2 || kind == 3 // with key A or B
	plain := kind == 0 && operand == 0
	zero := keyed && operand == 31 // signed with zero
	switch i >> 21 & 15 {
	case 0:
		if plain || zero {
			return JumpIndirect
		}
	case 1:
		if plain || zero {
			return CallIndirect
		}
	case 2:
		if plain || keyed { // with another register than 31: retaasppcr
			return Return
		}
	case 4, 5:
		if i>>5&31 == 31 && (plain || zero) {
			return Return
		}
	case 8:
		if keyed {
			return JumpIndirect
		}
	case 9:
		if keyed {
			return CallIndirect
		}
	}
	return Other
}

// exception returns the class of what makes an exception.
func (i Inst) exception() Class {
	switch low := i & 0x1f; i >> 21 & 7 {
	case 0:
		if low >= 1 && low <= 3 {
			return Syscall
		}
	case 1, 2:
		if low == 0 {
			return Trap
		}
	}
	return Other
}

func hint(number uint32) Class {
	switch number {
	case 0:
		return Nop
	case 25, 27, 32, 34, 36, 38:
		return Landing
	}
	return Other
}

// Distance returns how far from the instruction's own address a direct branch goes.
func (i Inst) Distance() int64 {
	switch {
	case i.is(0x7c000000, 0x14000000):
		return i.signed(0, 26) * Size
	case i.is(0x7e000000, 0x36000000):
		return i.signed(5, 14) * Size
	case i.narrow():
		return i.signed(5, 9) * Size
	}
	return i.signed(5, 19) * Size
}
