package prove

import (
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// The registers that a counter may use, by their numbers: those that no call preserves.
const scratchRegisters = 1<<rax | 1<<rcx | 1<<rdx | 1<<6 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11

// Registers that instructions use without naming them.
const (
	rax = 0
	rcx = 1
	rdx = 2
)

// registerOf returns whether an instruction may read a general register, and whether it certainly overwrites all of it
// without reading it. What leaves the function reads all registers, and so does what is not known. code begins with the
// instruction.
func registerOf(in x86.Inst, code []byte, reg uint8) (reads, writes bool) {
	switch in.Class {
	case controlflow.Trap, controlflow.Nop, controlflow.Landing, controlflow.Jump:
		return false, false
	case controlflow.Conditional:
		return in.IsLoop() && reg == rcx || in.Map == x86.MapOne && in.Opcode == 0xc7, false
	case controlflow.Other:
	default:
		return true, true
	}
	use := operandsOf(in)
	if use.all || use.reads&(1<<reg) != 0 || in.HasModRM && in.Mod() != 3 && usesAddress(in, reg) {
		return true, false
	}
	return false, use.writes&(1<<reg) != 0
}

// usesAddress reports whether a register is in the address of an operand in memory. The registers of a vector encoding
// are known but for their highest bit.
func usesAddress(in x86.Inst, reg uint8) bool {
	if in.RIP {
		return false
	}
	same := func(low, high uint8) bool {
		if in.Prefix&x86.PrefixVector != 0 {
			return low == reg&7
		}
		return low|high<<3 == reg
	}
	rm := in.ModRM & 7
	if rm != 4 {
		return same(rm, in.Rex&1)
	}
	base, index := in.SIB&7, in.SIB>>3&7
	if (base != 5 || in.Mod() != 0) && same(base, in.Rex&1) {
		return true
	}
	return same(index, in.Rex>>1&1) && (index != 4 || in.Rex&2 != 0)
}

// operands are the general registers that an instruction names or implies, but for those of an address.
type operands struct {
	all           bool // it is not known which it reads
	reads, writes uint16
}

var unknownOperands = operands{all: true}

// ofModRM returns the general registers of ModRM.
func ofModRM(in x86.Inst) (reg, rm uint16) {
	both := uint(0)
	if in.Prefix&x86.PrefixVector != 0 {
		both = 8 // one of two
	}
	reg = 1<<in.Reg() | 1<<(uint(in.Reg())+both)
	if in.Mod() == 3 {
		rm = 1<<in.RM() | 1<<(uint(in.RM())+both)
	}
	return reg, rm
}

// ofBytes adds to registers of one byte those of which they are the second byte, as ah is of rax.
func ofBytes(in x86.Inst, set uint16) uint16 {
	if in.Rex == 0 {
		set |= set >> 4 & 0xf
	}
	return set
}

func operandsOf(in x86.Inst) operands {
	switch {
	case in.Prefix&x86.PrefixVector != 0:
		return vectorOperands(in)
	case in.Map == x86.MapOne:
		return operandsOne(in)
	case in.Map == x86.Map0F:
		return operands0F(in)
	case in.Map == x86.Map0F38 && in.Opcode < 0xf0, in.Map == x86.Map0F3A && in.Opcode < 0x14:
		return operands{} // of vectors
	}
	return unknownOperands
}

// overwrites returns reads, and writes unless the operand has 16 bits, which leaves the others.
func overwrites(in x86.Inst, reads, writes uint16) operands {
	if in.Prefix&x86.PrefixData != 0 && !in.Wide() {
		return operands{reads: reads | writes}
	}
	return operands{reads: reads, writes: writes}
}

// operandsOne handles opcodes without escape.
func operandsOne(in x86.Inst) operands {
	op, ext := in.Opcode, in.ModRM>>3&7
	reg, rm := ofModRM(in)
	low := uint16(1) << (op&7 | in.Rex&1<<3) // the register in the opcode
	switch {
	case op < 0x40 && op&7 < 4:
		zeroes := op&^2 == 0x31 || op&^2 == 0x29 // xor, sub
		if zeroes && reg == rm {
			return overwrites(in, 0, rm)
		}
		if op&1 == 0 {
			return operands{reads: ofBytes(in, reg|rm)}
		}
		return operands{reads: reg | rm}
	case op < 0x40 && op&7 < 6, op == 0x98, op == 0xa8, op == 0xa9: // with rax; cltq
		return operands{reads: 1 << rax}
	case op >= 0x50 && op <= 0x57: // push
		return operands{reads: low}
	case op >= 0x58 && op <= 0x5f: // pop
		return overwrites(in, 0, low)
	case op == 0x63, op == 0x69, op == 0x6b, op == 0x8b, op == 0x8d: // movslq, imul, mov, lea
		return overwrites(in, rm, reg)
	case op == 0x68, op == 0x6a, op == 0x9c, op == 0x9d, op == 0xc9, op == 0xf5, op == 0xf8, op == 0xf9, op == 0x9b:
		return operands{} // push, pushf, popf, leave, cmc, clc, stc, fwait
	case op == 0x80, op == 0xc0, op == 0xc6, op == 0xd0, op == 0xfe:
		return operands{reads: ofBytes(in, rm)}
	case op == 0x81, op == 0x83, op == 0xc1, op == 0xd1, op == 0xff && (ext < 2 || ext == 6):
		return operands{reads: rm}
	case op == 0x84, op == 0x86, op == 0x88, op == 0x8a:
		return operands{reads: ofBytes(in, reg|rm)}
	case op == 0x85, op == 0x87:
		return operands{reads: reg | rm}
	case op == 0x89:
		return overwrites(in, reg, rm)
	case op >= 0x90 && op <= 0x97: // xchg
		return operands{reads: low | 1<<rax}
	case op == 0x99: // cltd
		return overwrites(in, 1<<rax, 1<<rdx)
	case op >= 0xb0 && op <= 0xb7:
		return operands{reads: ofBytes(in, low)}
	case op >= 0xb8 && op <= 0xbf:
		return overwrites(in, 0, low)
	case op == 0xc7:
		return overwrites(in, 0, rm)
	case op == 0xd2, op == 0xd3: // shifts by cl
		return operands{reads: ofBytes(in, rm) | 1<<rcx}
	case op >= 0xd8 && op <= 0xdf: // fnstsw writes ax
		return operands{reads: 1 << rax}
	case op == 0xf6, op == 0xf7:
		return operandsF7(in, ext, rm)
	}
	return unknownOperands
}

// operandsF7 handles test, not, neg, and multiplications and divisions with rax and rdx.
func operandsF7(in x86.Inst, ext uint8, rm uint16) operands {
	if in.Opcode == 0xf6 {
		rm = ofBytes(in, rm)
	}
	switch {
	case ext < 4:
		return operands{reads: rm}
	case ext < 6 && in.Opcode == 0xf7 && rm&(1<<rdx) == 0: // mul, imul
		return overwrites(in, rm|1<<rax, 1<<rdx)
	}
	return operands{reads: rm | 1<<rax | 1<<rdx}
}

// ofVectors reports opcodes after 0F whose operands are vectors, but for addresses.
func ofVectors(op uint8) bool {
	switch op {
	case 0x50, 0x6e, 0x77, 0x78, 0x79, 0x7e, 0xc4, 0xc5, 0xd7, 0xf7, 0xff:
		return false
	}
	return op >= 0x10 && op <= 0x17 || op == 0x28 || op == 0x29 || op == 0x2b || op == 0x2e || op == 0x2f ||
		op >= 0x51 && op <= 0x7f || op == 0xc2 || op == 0xc6 || op >= 0xd0
}

// operands0F handles opcodes after 0F.
func operands0F(in x86.Inst) operands {
	op := in.Opcode
	reg, rm := ofModRM(in)
	counts := in.Prefix&x86.PrefixRep != 0
	switch {
	case ofVectors(op), op == 0x0d, op == 0x18, op == 0x77, op == 0x7e && counts, op == 0xae && (in.Mod() != 3 || !counts): // prefetch, emms, movq, fences
		return operands{}
	case op == 0x2a, op == 0x6e, op == 0xc4: // a register into a vector
		return operands{reads: rm}
	case op == 0x2c, op == 0x2d, op == 0x50, op == 0xc5, op == 0xd7: // a vector into a register
		return operands{reads: reg}
	case op == 0x7e:
		return operands{writes: rm}
	case op >= 0x40 && op <= 0x4f, op == 0xa3, op == 0xab, op == 0xb3, op == 0xbb, op == 0xaf, op == 0xc1, op == 0xc3:
		return operands{reads: reg | rm} // cmov, bit tests, imul, xadd, movnti
	case op == 0xbc, op == 0xbd, op == 0xb8: // those of a zero leave the register, but for the later ones
		if counts {
			return overwrites(in, rm, reg)
		}
		return operands{reads: reg | rm}
	case op >= 0x90 && op <= 0x9f: // setcc
		return operands{reads: ofBytes(in, rm)}
	case op == 0xa4, op == 0xa5, op == 0xac, op == 0xad: // shld, shrd
		return operands{reads: reg | rm | 1<<rcx}
	case op == 0xb0, op == 0xb1: // cmpxchg
		return operands{reads: ofBytes(in, reg|rm) | 1<<rax}
	case op == 0xb6, op == 0xbe:
		return overwrites(in, ofBytes(in, rm), reg)
	case op == 0xb7, op == 0xbf:
		return overwrites(in, rm, reg)
	case op == 0xba:
		return operands{reads: rm}
	case op >= 0xc8 && op <= 0xcf: // bswap
		return operands{reads: 1 << (op&7 | in.Rex&1<<3)}
	}
	return unknownOperands
}

// vectorOperands handles vector encodings, of which no register is overwritten for certain.
func vectorOperands(in x86.Inst) operands {
	reg, rm := ofModRM(in)
	op := in.Opcode
	switch in.Map {
	case x86.Map0F:
		if ofVectors(op) || op == 0x77 {
			return operands{}
		}
		if op == 0xf7 || !in.HasModRM {
			return unknownOperands
		}
		return operands{reads: reg | rm}
	case x86.Map0F38:
		if op < 0x78 || op >= 0x88 && op < 0xf0 {
			return operands{}
		}
	case x86.Map0F3A:
		switch {
		case op < 0x14, op >= 0x40 && op < 0x60:
			return operands{}
		case op < 0x30: // also those that name a general register
			return operands{reads: reg | rm}
		}
	}
	return unknownOperands
}
