package machinecode

import (
	"encoding/binary"

	"github.com/cairnprof/cairn/internal/binary/aarch64"
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// Use is how an instruction takes part in a decision without a jump.
type Use uint8

// The uses.
const (
	Plain    Use = iota
	Compares     // it only sets flags
	Selects      // its result depends on flags: compilers write it in place of a conditional jump
	// Moves only moves or extends a constant or a register, restores registers, jumps or returns: compilers share such
	// code between places, and write it anywhere.
	Moves
	// Spills only moves a register to or from a place at a fixed distance from the stack pointer: compilers keep values
	// there for which they have no register, and choose from several there.
	Spills
)

func (x86Arch) Use(code []byte) Use {
	in, err := x86.Decode(code)
	if err != nil {
		return Plain
	}
	op, reg := in.Opcode, in.ModRM>>3&7
	registers := in.HasModRM && in.Mod() == 3
	inFrame := in.HasModRM && in.Mod() != 3 && onStack(in) && in.SIB>>3&7 == regSP && in.Rex&2 == 0 // no index
	same := registers && reg == in.ModRM&7
	switch in.Class {
	case controlflow.Jump, controlflow.Return:
		return Moves
	}
	switch in.Map {
	case x86.MapOne:
		switch {
		case inFrame && op >= 0x88 && op <= 0x8b:
			return Spills
		case op >= 0xb0 && op <= 0xbf, op == 0xc9, op >= 0x50 && op <= 0x5f, registers && (op == 0xc6 || op == 0xc7 || op >= 0x88 && op <= 0x8b):
			return Moves
		case registers && op == 0x63, op == 0x98: // movslq, cltq
			return Moves
		case same && (op >= 0x30 && op <= 0x33 || op >= 0x28 && op <= 0x2b): // xor, sub of a register and itself
			return Moves
		case registers && in.ModRM&7 == regSP && in.Rex&1 == 0 && (op == 0x81 || op == 0x83) && (reg == 0 || reg == 5): // rsp
			return Moves
		case op >= 0x38 && op <= 0x3d, op == 0x84, op == 0x85, op == 0xa8, op == 0xa9: // cmp, test
			return Compares
		case (op == 0x80 || op == 0x81 || op == 0x83) && reg == 7, (op == 0xf6 || op == 0xf7) && reg <= 1:
			return Compares
		case op >= 0x10 && op <= 0x15, op >= 0x18 && op <= 0x1d: // adc, sbb
			return Selects
		case (op == 0x80 || op == 0x81 || op == 0x83) && (reg == 2 || reg == 3):
			return Selects
		}
	case x86.Map0F:
		switch {
		case inFrame && (op == 0x10 || op == 0x11 || op == 0x28 || op == 0x29 || op == 0x6f || op == 0x7f): // movss, movaps, movdqa
			return Spills
		case same && (op == 0x57 || op == 0xef): // xorps, pxor
			return Moves
		case registers && (op == 0xb6 || op == 0xb7 || op == 0xbe || op == 0xbf): // movzx, movsx
			return Moves
		case op >= 0x40 && op <= 0x4f, op >= 0x90 && op <= 0x9f: // cmovcc, setcc
			return Selects
		case op == 0x2e, op == 0x2f, op == 0xa3, op == 0xba && reg == 4: // ucomiss, comiss, bt
			return Compares
		}
	}
	return Plain
}

func (aarch64Arch) Use(code []byte) Use {
	if len(code) < aarch64.Size {
		return Plain
	}
	w := binary.LittleEndian.Uint32(code)
	switch aarch64.Decode(code).Class() {
	case controlflow.Jump, controlflow.Return:
		return Moves
	}
	switch {
	case w&0x1f800000 == 0x12800000, w&0x7fe0ffe0 == 0x2a0003e0, w&0x7fc003e0 == 0x28c003e0, w&0x7fc003e0 == 0x294003e0: // mov, ldp from the stack
		return Moves
	case w&0x3b0003e0 == 0x390003e0, w&0x3b200fe0 == 0x380003e0, w&0x3a0003e0 == 0x280003e0 && w&0x01800000 != 0: // str, ldr, stur, ldur, stp, ldp
		return Spills
	case w&0xfffffc00 == 0x93407c00, w&0xffffdc00 == 0x53001c00: // sxtw, uxtb, uxth
		return Moves
	case w&0x1fe00000 == 0x1a800000, w&0x3fe00000 == 0x3a400000, w&0xff200c00 == 0x1e200c00: // csel, ccmp, fcsel
		return Selects
	case w&0x1f == 0x1f && (w&0x7f000000 == 0x71000000 || w&0x7f000000 == 0x6b000000 || // cmp
		w&0x7f000000 == 0x6a000000 || w&0x7f800000 == 0x72000000), w&0xff20fc07 == 0x1e202000: // tst, fcmp
		return Compares
	}
	return Plain
}
