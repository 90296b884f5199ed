// Package aarch64 decodes the machine code of AArch64 as far as the analysis of control flow,
// stack frames and addresses in code requires: whether and where an instruction branches,
// whether it stores, and which address it computes. It does not print instructions.
//
// It follows the tables of the Arm Architecture Reference Manual (DDI 0487), section C4. Every
// instruction has four bytes, so an unknown instruction is no error: it is treated as one
// without such effects.
package aarch64

import "github.com/cairnprof/cairn/internal/binary/controlflow"

import "encoding/binary"

// Size is the size of an instruction in bytes.
const Size = 4

// Registers with a special role.
const (
	FP = 29
	LR = 30
	SP = 31 // the zero register, except as a base
)

// Inst is one instruction. The zero value is udf #0.
type Inst uint32

// Decode reads the instruction at the start of code, which has at least Size bytes.
func Decode(code []byte) Inst { return Inst(binary.LittleEndian.Uint32(code)) }

// is reports whether the bits of mask have the given value.
func (i Inst) is(mask, value uint32) bool { return uint32(i)&mask == value }

// signed returns the field of n bits that begins at bit low, sign-extended.
func (i Inst) signed(low, n uint) int64 { return int64(int32(uint32(i)<<(32-low-n))) >> (32 - n) }

// Class returns the effect of the instruction on control flow.
func (i Inst) Class() controlflow.Class {
	switch uint32(i) >> 26 {
	case 0b000101:
		return controlflow.Jump
	case 0b100101:
		return controlflow.Call
	}
	switch {
	case i.compares():
		return controlflow.Conditional
	case i.is(0xfe1f0000, 0xd61f0000):
		return i.register()
	case i.is(0xffc0001f, 0x5500001f): // retaasppc, retabsppc
		return controlflow.Return
	case i.is(0xff000000, 0xd4000000):
		return i.exception()
	case i.is(0xffff0000, 0):
		return controlflow.Trap // udf
	case i.is(0xfffff01f, 0xd503201f):
		return hint(uint32(i) >> 5 & 0x7f)
	}
	return controlflow.Other
}

// compares reports whether the instruction is a conditional branch.
func (i Inst) compares() bool {
	return i.is(0xff000000, 0x54000000) || // b.cond, bc.cond
		i.is(0x7c000000, 0x34000000) || // cbz, cbnz, tbz, tbnz
		i.narrow()
}

// narrow reports whether the instruction compares two registers, or a register and a constant,
// and branches.
func (i Inst) narrow() bool {
	const bytes, halves = 2, 3
	if i.is(0x7f000000, 0x74000000) {
		kind, condition := i>>14&3, i>>21&7
		return condition != 4 && condition != 5 && (kind == 0 || (kind == bytes || kind == halves) && i>>31 == 0)
	}
	return i.is(0x7f004000, 0x75000000) && i>>21&7 != 4 && i>>21&7 != 5
}

// register returns the class of a branch to a register.
func (i Inst) register() controlflow.Class {
	kind, operand := i>>10&0x3f, i&31
	keyed := kind == 2 || kind == 3 // with key A or B
	plain := kind == 0 && operand == 0
	zero := keyed && operand == 31 // signed with a zero modifier
	switch i >> 21 & 15 {
	case 0:
		if plain || zero {
			return controlflow.IndirectJump
		}
	case 1:
		if plain || zero {
			return controlflow.IndirectCall
		}
	case 2:
		if plain || keyed { // a register other than 31: retaasppcr
			return controlflow.Return
		}
	case 4, 5:
		if i>>5&31 == 31 && (plain || zero) {
			return controlflow.Return
		}
	case 8:
		if keyed {
			return controlflow.IndirectJump
		}
	case 9:
		if keyed {
			return controlflow.IndirectCall
		}
	}
	return controlflow.Other
}

// exception returns the class of an instruction that generates an exception.
func (i Inst) exception() controlflow.Class {
	switch low := i & 0x1f; i >> 21 & 7 {
	case 0:
		if low >= 1 && low <= 3 {
			return controlflow.Syscall
		}
	case 1, 2:
		if low == 0 {
			return controlflow.Trap
		}
	}
	return controlflow.Other
}

func hint(number uint32) controlflow.Class {
	switch number {
	case 0:
		return controlflow.Nop
	case 25, 27, 32, 34, 36, 38:
		return controlflow.Landing
	}
	return controlflow.Other
}

// FarBits returns the bits that hold the distance of an instruction that branches, loads, or computes an address, relative to
// its own address.
func (i Inst) FarBits() uint32 {
	switch {
	case i.is(0x7c000000, 0x14000000):
		return 1<<26 - 1
	case i.is(0x7e000000, 0x36000000):
		return (1<<14 - 1) << 5
	case i.narrow():
		return (1<<9 - 1) << 5
	case i.is(0x1f000000, 0x10000000): // adr, adrp
		return 3<<29 | (1<<19-1)<<5
	case i.compares(), i.is(0x3b000000, 0x18000000): // load literal
		return (1<<19 - 1) << 5
	}
	return 0
}

// Distance returns the offset of the target of a direct branch from the instruction's address.
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
