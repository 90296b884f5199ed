//go:build linux && amd64

package oracle

import (
	"debug/elf"
	"encoding/binary"
	"slices"
	"strings"
)

// armCode tells which of a program's instructions for Armv7 call and return.
type armCode struct {
	at    []uint64 // where the state changes, in order
	thumb []bool
}

// newArmCode reads the mapping symbols, which say where the code of each state and data begin.
func newArmCode(f *elf.File) *armCode {
	type mark struct {
		at    uint64
		thumb bool
	}
	var marks []mark
	symbols, _ := f.Symbols()
	for _, s := range symbols {
		if name, _, _ := strings.Cut(s.Name, "."); name == "$t" || name == "$a" {
			marks = append(marks, mark{s.Value, name == "$t"})
		}
	}
	slices.SortFunc(marks, func(a, b mark) int { return int(int64(a.at) - int64(b.at)) })
	c := &armCode{}
	for _, m := range marks {
		c.at, c.thumb = append(c.at, m.at), append(c.thumb, m.thumb)
	}
	return c
}

// inThumb reports whether the instruction at an address is of the Thumb state.
func (c *armCode) inThumb(pc uint64) bool {
	i, found := slices.BinarySearch(c.at, pc)
	if !found {
		i--
	} else {
		for i+1 < len(c.at) && c.at[i+1] == pc {
			i++
		}
	}
	return i >= 0 && c.thumb[i]
}

// isReturn knows bx lr, pop with the program counter, ldm of the stack pointer with it, its load from there, and
// mov pc, lr.
func (c *armCode) isReturn(code []byte, pc uint64) bool {
	if !c.inThumb(pc) {
		insn := binary.LittleEndian.Uint32(code) & 0x0fffffff
		return insn == 0x12fff1e || insn == 0x1a0f00e || insn == 0x49df004 || // bx lr; mov pc, lr; pop {pc}
			insn&0xe1f8000 == 0x81d8000 // ldm sp, {..., pc}, of all kinds
	}
	half := binary.LittleEndian.Uint16(code)
	switch {
	case half == 0x4770, half&0xff00 == 0xbd00, half == 0x46f7:
		return true
	case len(code) < 4:
		return false
	}
	next := binary.LittleEndian.Uint16(code[2:])
	return half == 0xe8bd && next&0x8000 != 0 || half == 0xf85d && next == 0xfb04 // pop.w, ldr pc, [sp], #4
}

// isCall knows bl and blx, of labels and of registers.
func (c *armCode) isCall(code []byte, pc uint64) (behind uint64, ok bool) {
	if !c.inThumb(pc) {
		insn := binary.LittleEndian.Uint32(code)
		return pc + 4, insn&0x0f000000 == 0x0b000000 || insn&0x0ffffff0 == 0x012fff30 || insn&0xfe000000 == 0xfa000000
	}
	half := binary.LittleEndian.Uint16(code)
	if half&0xff87 == 0x4780 {
		return pc + 2, true
	}
	return pc + 4, len(code) >= 4 && half&0xf800 == 0xf000 && binary.LittleEndian.Uint16(code[2:])&0xc000 == 0xc000
}
