// Package x86 reads machine code of the 64-bit mode of x86: how long an
// instruction is, whether and where it branches, and where in its bytes the
// displacement and the immediate are. That is what it takes to walk functions, to
// find what jumps where, and to move instructions to another address. It does not
// name instructions or their operands.
//
// Written after the encoding rules of the Intel SDM, volume 2, chapter 2 and
// appendix A, and of the AMD APM, volume 3, for XOP. What it does not know for
// sure is an error and never a guessed length: the extended registers of APX,
// prefixes whose effect differs between makers, opcodes that are not defined.
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

// Prefix is a set of prefixes. REX is not in it: see Inst.Rex.
type Prefix uint8

// The prefixes that change what an instruction is or does.
const (
	PrefixData    Prefix = 1 << iota // 66
	PrefixAddress                    // 67
	PrefixRepne                      // F2, also bnd
	PrefixRep                        // F3
	PrefixLock                       // F0
	PrefixSegment                    // 64 and 65: fs, gs
	PrefixHint                       // 26, 2E, 36, 3E: no effect but as hints; notrack
	PrefixVector                     // the encoding is VEX, EVEX or XOP
)

// Inst is one instruction.
type Inst struct {
	Len    uint8             // bytes, 1 to 15
	Class  controlflow.Class //
	Map    Map               // of Opcode
	Opcode uint8             //
	Prefix Prefix            //
	Rex    uint8             // the REX byte, 0 without; of vector encodings none

	HasModRM bool
	ModRM    uint8
	SIB      uint8 // with ModRM's mod != 3 and rm == 4

	// RIP says that the memory operand is relative to the instruction's end.
	RIP bool

	// Where in the instruction its displacement and its immediate are; a size of
	// 0 says that there is none. The target of a relative branch counts as
	// immediate, the address of the moffs form as displacement. Of enter and
	// extrq, the immediate is both.
	DispOff, DispSize uint8
	ImmOff, ImmSize   uint8

	Disp int32 // displacement of a memory operand with ModRM
	Rel  int32 // displacement of a relative branch, from the instruction's end
}

// Relative says whether the instruction is a branch to a Target.
func (i Inst) Relative() bool { return i.Class.IsDirect() }

// IsLoop reports whether the instruction is loop or jrcxz, which branch on a register and
// have a distance of one byte only.
func (i Inst) IsLoop() bool {
	return i.Map == MapOne && i.Opcode&^3 == 0xe0 && i.Prefix&PrefixVector == 0
}

// Target returns where the branch at addr goes. It means something for Relative
// ones only.
func (i Inst) Target(addr uint64) uint64 { return addr + uint64(i.Len) + uint64(int64(i.Rel)) }

// Memory returns the address of the RIP-relative operand of the instruction at
// addr.
func (i Inst) Memory(addr uint64) uint64 { return addr + uint64(i.Len) + uint64(int64(i.Disp)) }

// Reg and RM return the fields of ModRM with their REX bits, of encodings that
// have those there: 0 to 15.
func (i Inst) Reg() uint8 { return i.ModRM>>3&7 | i.Rex&4<<1 }

// RM is the register that ModRM's last field names, if Mod is 3, or is the base
// of a memory operand without SIB.
func (i Inst) RM() uint8 { return i.ModRM&7 | i.Rex&1<<3 }

// Mod returns the first field of ModRM: 3 for registers, else memory.
func (i Inst) Mod() uint8 { return i.ModRM >> 6 }

// Wide says that operands have 64 bits by REX.W.
func (i Inst) Wide() bool { return i.Rex&8 != 0 }
