package machinecode

import "github.com/cairnprof/cairn/internal/binary/x86"

// writes returns the set of general registers that an instruction may change. The set may have
// too many registers, but never too few. The effects of callees are not included.
func writes(in x86.Inst) uint16 {
	switch {
	case in.Prefix&x86.PrefixVector != 0:
		return 0xffff &^ (1 << regSP)
	case in.Map == x86.MapOne:
		return writesOne(in)
	case in.Map == x86.Map0F:
		return writes0F(in)
	}
	return fields(in) | 1<<regAX | 1<<regCX | 1<<regDX
}

// fields returns both registers of ModRM.
func fields(in x86.Inst) uint16 { return field(in, in.Reg()) | memoryOr(in) }

// memoryOr returns the register in the rm field of ModRM, if there is one.
func memoryOr(in x86.Inst) uint16 {
	if in.HasModRM && in.Mod() == 3 {
		return field(in, in.RM())
	}
	return 0
}

// field returns a register. Byte registers 4 to 7 without REX are the second bytes of the
// first four.
func field(in x86.Inst, r uint8) uint16 {
	set := uint16(1) << r
	if in.Rex == 0 && r >= 4 && r < 8 {
		set |= 1 << (r - 4)
	}
	return set
}

func writesOne(in x86.Inst) uint16 {
	op := in.Opcode
	low := uint16(1) << (op&7 | in.Rex&1<<3)
	switch {
	case op < 0x40: // arithmetic
		switch {
		case op&0x38 == 0x38, op&7 > 5: // cmp
			return 0
		case op&7 < 2:
			return memoryOr(in)
		case op&7 < 4:
			return field(in, in.Reg())
		}
		return 1 << regAX
	case op >= 0x58 && op <= 0x5f, op >= 0xb0 && op <= 0xb7 && in.Rex != 0, op >= 0xb8 && op <= 0xbf: // pop, mov
		return low
	case op >= 0xb0 && op <= 0xb7:
		return low | low>>4
	case op >= 0x50 && op <= 0x57, op >= 0x70 && op <= 0x7f, op == 0x68, op == 0x6a: // push, jumps
		return 0
	case op == 0x84, op == 0x85, op == 0xa8, op == 0xa9, op == 0xcc: // test
		return 0
	case op == 0x88, op == 0x89, op == 0xc6, op == 0xc7, op == 0x8f, op == 0xc0, op == 0xc1, op >= 0xd0 && op <= 0xd3, op == 0xfe:
		return memoryOr(in)
	case op == 0x8a, op == 0x8b, op == 0x8d, op == 0x63, op == 0x69, op == 0x6b:
		return field(in, in.Reg())
	case op == 0x80, op == 0x81, op == 0x83:
		if in.Reg()&7 == 7 {
			return 0 // cmp
		}
		return memoryOr(in)
	case op == 0x90 && in.Rex&1 == 0:
		return 0
	case op > 0x90 && op <= 0x97, op == 0x90: // xchg
		return low | 1<<regAX
	case op == 0xf6, op == 0xf7:
		switch in.Reg() & 7 {
		case 0, 1: // test
			return 0
		case 2, 3: // not, neg
			return memoryOr(in)
		}
		return 1<<regAX | 1<<regDX
	case op == 0xff:
		if in.Reg()&7 < 2 { // inc, dec
			return memoryOr(in)
		}
		return 0
	case op == 0xe8, op == 0xe9, op == 0xeb, op == 0xc2, op == 0xc3:
		return 0
	case op == 0xc8, op == 0xc9: // enter, leave
		return 1 << regBP
	case op == 0x98, op == 0x99:
		return 1<<regAX | 1<<regDX
	case op >= 0xd8 && op <= 0xdf: // floating point; one stores flags in ax
		return 1 << regAX
	}
	return fields(in) | 1<<regAX | 1<<regCX | 1<<regDX | 1<<regSI | 1<<regDI
}

func writes0F(in x86.Inst) uint16 {
	op := in.Opcode
	switch {
	case op == 0x1e && in.Prefix&x86.PrefixRep != 0: // rdssp
		return memoryOr(in)
	case op == 0x1e, op == 0x1f, op == 0x0d, op == 0x18, op >= 0x80 && op <= 0x8f: // hints, jumps
		return 0
	case op >= 0x10 && op <= 0x17, op == 0x28, op == 0x29, op == 0x2b, op == 0x2e, op == 0x2f,
		op == 0x2a, op >= 0x51 && op <= 0x70, op >= 0x74 && op <= 0x77, op == 0x7f, op == 0xc6, op == 0xd6, op == 0xe7, op == 0xef, op == 0xeb:
		return 0 // of vector registers
	case op >= 0x40 && op <= 0x4f, op == 0xaf, op == 0xb6, op == 0xb7, op == 0xbe, op == 0xbf, op == 0xbc, op == 0xbd, op == 0xb8, op == 0x2c, op == 0x2d:
		return field(in, in.Reg())
	case op >= 0x90 && op <= 0x9f, op == 0x7e: // setcc, movd
		return memoryOr(in)
	case op == 0xa3: // bt
		return 0
	case op >= 0xc8 && op <= 0xcf: // bswap
		return 1 << (op&7 | in.Rex&1<<3)
	case op == 0x0b: // ud2
		return 0
	}
	return fields(in) | 1<<regAX | 1<<regBX | 1<<regCX | 1<<regDX | 1<<11
}
