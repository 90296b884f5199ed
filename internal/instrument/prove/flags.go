package prove

import (
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// flagSet is a set of the status flags.
type flagSet uint8

const (
	carry flagSet = 1 << iota
	parity
	zero
	sign
	overflow
	adjust
	noFlags  flagSet = 0
	allFlags         = carry | parity | zero | sign | overflow | adjust
)

// flagsOf returns the status flags that an instruction may read and those that it certainly writes. An
// instruction that leaves the function writes all. code begins with the instruction.
func flagsOf(in x86.Inst, code []byte) (reads, writes flagSet) {
	switch in.Class {
	case controlflow.Return, controlflow.Call, controlflow.IndirectCall, controlflow.Trap, controlflow.Syscall:
		return noFlags, allFlags
	case controlflow.Conditional:
		if in.Map == x86.MapOne && in.Opcode == 0xc7 { // xbegin
			return noFlags, noFlags
		}
		if in.IsLoop() {
			return zero, noFlags
		}
		return condition(in.Opcode), noFlags
	case controlflow.IndirectJump:
		return noFlags, noFlags
	}
	if in.Prefix&x86.PrefixVector != 0 {
		if in.Map == x86.Map0F && (in.Opcode == 0x2e || in.Opcode == 0x2f) { // vucomis, vcomis
			return noFlags, allFlags
		}
		if in.Map == x86.Map0F38 && (in.Opcode == 0xf2 || in.Opcode == 0xf3) { // andn; blsr, blsmsk, blsi
			return noFlags, allFlags
		}
		return noFlags, noFlags // others of BMI and comparisons write, none reads
	}
	switch in.Map {
	case x86.MapOne:
		return flagsOne(in, code)
	case x86.Map0F:
		return flags0F(in)
	case x86.Map0F38:
		if in.Opcode == 0xf6 { // adcx, adox
			return carry | overflow, noFlags
		}
	}
	return noFlags, noFlags
}

// condition returns the flags that a condition tests, by the low four bits of the opcodes that have one.
func condition(opcode uint8) flagSet {
	switch opcode & 0xf >> 1 {
	case 0:
		return overflow
	case 1:
		return carry
	case 2:
		return zero
	case 3:
		return carry | zero
	case 4:
		return sign
	case 5:
		return parity
	case 6:
		return sign | overflow
	}
	return sign | overflow | zero
}

// flagsOne handles opcodes without escape.
func flagsOne(in x86.Inst, code []byte) (reads, writes flagSet) {
	op, reg := in.Opcode, in.Reg()&7
	switch {
	case op < 0x40 && op&7 < 6:
		return arithmetic(op >> 3 & 7)
	case op == 0x80, op == 0x81, op == 0x83:
		return arithmetic(reg)
	case op == 0x84, op == 0x85, op == 0xa8, op == 0xa9, op == 0x69, op == 0x6b: // test, imul
		return noFlags, allFlags
	case op == 0xf6, op == 0xf7:
		if reg == 2 { // not
			return noFlags, noFlags
		}
		return noFlags, allFlags
	case (op == 0xfe || op == 0xff) && reg < 2: // inc, dec
		return noFlags, allFlags &^ carry
	case op == 0xc0, op == 0xc1, op >= 0xd0 && op <= 0xd3:
		if reg == 2 || reg == 3 { // rcl, rcr
			return carry, noFlags
		}
		// A shift by 0 writes nothing, and a rotation never writes all.
		mask := uint8(0x1f)
		if in.Rex&8 != 0 {
			mask = 0x3f // of 64 bits
		}
		if reg >= 4 && (op == 0xd0 || op == 0xd1 || in.ImmSize == 1 && code[in.ImmOff]&mask != 0) {
			return noFlags, allFlags
		}
		return noFlags, noFlags
	case op == 0xf5: // cmc
		return carry, noFlags
	case op == 0xf8, op == 0xf9: // clc, stc
		return noFlags, carry
	case op == 0x9c, op == 0x9f: // pushf, lahf
		return allFlags, noFlags
	case (op == 0xda || op == 0xdb) && in.ModRM >= 0xc0 && in.ModRM < 0xe0: // fcmov
		return carry | zero | parity, noFlags
	case (op == 0xdb || op == 0xdf) && in.ModRM >= 0xe8 && in.ModRM < 0xf8: // fucomi, fcomi
		return noFlags, allFlags
	}
	return noFlags, noFlags
}

// arithmetic handles the eight operations whose number opcodes and ModRM share.
func arithmetic(number uint8) (reads, writes flagSet) {
	if number == 2 || number == 3 { // adc, sbb
		return carry, allFlags
	}
	return noFlags, allFlags
}

// flags0F handles opcodes after 0F.
func flags0F(in x86.Inst) (reads, writes flagSet) {
	switch op := in.Opcode; {
	case op >= 0x40 && op <= 0x4f, op >= 0x90 && op <= 0x9f: // cmov, setcc
		return condition(op), noFlags
	case op == 0x2e, op == 0x2f, op == 0xaf, op == 0xb0, op == 0xb1, op == 0xc0, op == 0xc1: // comis, imul, cmpxchg, xadd
		return noFlags, allFlags
	case op == 0xa3, op == 0xab, op == 0xb3, op == 0xbb, op == 0xba: // bt, bts, btr, btc
		return noFlags, carry
	}
	return noFlags, noFlags
}
