// Package x86 decodes the machine code of the 64-bit mode of x86: the length of an
// instruction, whether and where it branches, and the positions of displacement and immediate.
// This suffices to walk functions, to find the targets of jumps, and to move instructions to
// another address. It does not print instructions or operands.
//
// It follows the encoding rules of the Intel SDM, volume 2, chapter 2 and appendix A, and of
// the AMD APM, volume 3, for XOP. Encodings that it does not support are an error, and lengths
// are never guessed: the extended registers of APX, prefixes whose effect differs between
// manufacturers, undefined opcodes.
package x86

import "github.com/cairnprof/cairn/internal/binary/controlflow"

// Map is the table that an opcode belongs to.
type Map uint8

// The opcode maps. The VEX and EVEX encodings of a map have its number.
const (
	MapOne  Map = 0 // no escape
	Map0F   Map = 1
	Map0F38 Map = 2
	Map0F3A Map = 3
	Map5    Map = 5
	Map6    Map = 6
	MapXOP8 Map = 8
	MapXOP9 Map = 9
	MapXOPA Map = 10
)

// Prefix is a set of prefixes, without REX: see Inst.Rex.
type Prefix uint8

// The prefixes that change an instruction or its effect.
const (
	PrefixData    Prefix = 1 << iota // 66
	PrefixAddress                    // 67
	PrefixRepne                      // F2, also bnd
	PrefixRep                        // F3
	PrefixLock                       // F0
	PrefixSegment                    // 64 and 65: fs, gs
	PrefixHint                       // 26, 2E, 36, 3E: hints only; notrack
	PrefixVector                     // the encoding is VEX, EVEX or XOP
)

// Inst is one instruction.
type Inst struct {
	Len    uint8             // bytes, 1 to 15
	Class  controlflow.Class //
	Map    Map               // of Opcode
	Opcode uint8             //
	Prefix Prefix            //
	Rex    uint8             // the REX byte, 0 if there is none or the encoding is a vector encoding

	HasModRM bool
	ModRM    uint8
	SIB      uint8 // if ModRM's mod != 3 and rm == 4

	// RIP reports that the memory operand is relative to the instruction's end.
	RIP bool

	// Positions and sizes of displacement and immediate in the instruction; a size of 0 is
	// none. The target of a relative branch counts as immediate, the address of the moffs form
	// as displacement. For enter and extrq, the immediate is both immediates.
	DispOff, DispSize uint8
	ImmOff, ImmSize   uint8

	Disp int32 // displacement of a memory operand with ModRM
	Rel  int32 // displacement of a relative branch, from the instruction's end
}

// Relative reports whether the instruction is a branch to a Target.
func (i Inst) Relative() bool { return i.Class.IsDirect() }

// IsLoop reports whether the instruction is loop or jrcxz, which branch on a register and have
// only a distance of one byte.
func (i Inst) IsLoop() bool {
	return i.Map == MapOne && i.Opcode&^3 == 0xe0 && i.Prefix&PrefixVector == 0
}

// Target returns the target of the branch at addr. It is valid only for Relative instructions.
func (i Inst) Target(addr uint64) uint64 { return addr + uint64(i.Len) + uint64(int64(i.Rel)) }

// Memory returns the address of the RIP-relative operand of the instruction at
// addr.
func (i Inst) Memory(addr uint64) uint64 { return addr + uint64(i.Len) + uint64(int64(i.Disp)) }

// Reg returns ModRM's reg field with its REX bit, for encodings that have it there: 0 to 15.
func (i Inst) Reg() uint8 { return i.ModRM>>3&7 | i.Rex&4<<1 }

// RM returns ModRM's rm field with its REX bit: a register if Mod is 3, or else the base of a
// memory operand without SIB.
func (i Inst) RM() uint8 { return i.ModRM&7 | i.Rex&1<<3 }

// Mod returns ModRM's mod field: 3 for registers, otherwise memory.
func (i Inst) Mod() uint8 { return i.ModRM >> 6 }

// Wide reports whether operands have 64 bits by REX.W.
func (i Inst) Wide() bool { return i.Rex&8 != 0 }

// RestoresFrame reports whether the instruction loads the caller's frame pointer: pop %rbp or leave.
func (i Inst) RestoresFrame() bool {
	const popRBP, leave = 0x5d, 0xc9
	return i.Map == MapOne && (i.Opcode == popRBP && i.Rex&1 == 0 || i.Opcode == leave)
}
