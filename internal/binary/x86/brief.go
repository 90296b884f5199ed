package x86

import (
	"encoding/binary"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
)

// Brief is what is needed of an instruction to find the next one and where it branches.
type Brief struct {
	Len      uint8
	Class    controlflow.Class
	Restores bool  // as Inst.RestoresFrame
	Rel      int32 // as of Inst
}

// Scan decodes the instruction at the start of code as Decode does, several times as fast, and may decline: then Decode
// has to do it. It knows what most instructions of compilers are: those with at most one prefix and REX, without opcodes
// whose class or length depends on more than these and ModRM.
//
// Which of several forms an instruction has cannot be predicted, so the usual ones differ in the content of tables, and
// not in the path through this function.
func Scan(code []byte) (b Brief, ok bool) {
	if len(code) <= MaxLen {
		return Brief{}, false
	}
	w := binary.LittleEndian.Uint64(code) // the next bytes, and pos those before them
	pos, how := 0, &briefOne
	unknown := briefUnknown
	if op := uint8(w); op == 0x66 || op == 0xf2 || op == 0xf3 {
		unknown |= briefAltered
		w, pos = w>>8, 1
	}
	rex := uint8(w)
	is := (uint64(rex>>4^4) - 1) >> 63 // 1 if it is one
	rex &= -uint8(is)
	w, pos = w>>(8*is), pos+int(is)
	if uint8(w) == 0x0f {
		w, pos, how = w>>8, pos+1, &briefTwo
	}
	op, m := uint8(w), uint8(w>>8)
	h := how[op]
	if h&unknown != 0 {
		return Brief{}, false
	}
	pos += 1 + int(briefOperand[m]&uint8(h>>briefModRM))
	if m&0xc7 == 0x04 && w>>16&7 == 5 && h>>briefModRM != 0 { // a displacement without base
		pos += 4
	}
	size := int(h & briefSize)
	b.Class = controlflow.Class(h >> briefClass)
	if h&briefSpecial != 0 {
		if size, ok = special(op, m, rex, h, &b); !ok {
			return Brief{}, false
		}
	}
	pos += size
	if pos > MaxLen {
		return Brief{}, false
	}
	b.Len = uint8(pos)
	if h&briefRelative != 0 {
		if size == 1 {
			b.Rel = int32(int8(code[pos-1]))
		} else {
			b.Rel = int32(binary.LittleEndian.Uint32(code[pos-4:]))
		}
	}
	return b, true
}

// special is what depends on more than the opcode: the size of the immediate, the class, and whether it restores the frame
// pointer. It declines as Scan does.
func special(op, modRM, rex uint8, h uint32, b *Brief) (size int, ok bool) {
	size = int(h & briefSize)
	reg := modRM >> 3 & 7
	switch op {
	case 0x5d: // pop
		b.Restores = rex&1 == 0
	case 0xc9: // leave
		b.Restores = true
	case 0xc6, 0xc7: // see check
		return size, reg == 0
	case 0xf6, 0xf7: // only test has an immediate
		if reg > 1 {
			size = 0
		}
	case 0xff:
		switch reg {
		case 2, 3:
			b.Class = controlflow.IndirectCall
		case 4, 5:
			b.Class = controlflow.IndirectJump
		case 7:
			return 0, false
		}
	default: // mov to a register
		if rex&8 != 0 {
			size = 8
		}
	}
	return size, true
}

// What Scan knows of an opcode.
const (
	briefSize     uint32 = 7      // of the immediate, 0, 1, 2 or 4 bytes
	briefUnknown  uint32 = 1 << 3 // Decode has to do it
	briefRelative uint32 = 1 << 4
	briefSpecial  uint32 = 1 << 5 // see special
	briefAltered  uint32 = 1 << 6 // a prefix may change its length or its class
	briefClass           = 8      // shift of the class
	briefModRM           = 16     // shift of a mask of the size that ModRM gives
)

// briefOperand has the size of ModRM with what follows it, but for displacements without a base in a SIB.
var briefOperand = func() (t [256]uint8) {
	for m := range t {
		mod, rm := m>>6, m&7
		n := 1
		if mod != 3 && rm == 4 {
			n++
		}
		switch {
		case mod == 1:
			n++
		case mod == 2, mod == 0 && rm == 5:
			n += 4
		}
		t[m] = uint8(n)
	}
	return t
}()

// briefOne and briefTwo are by opcode, without escape and after 0F.
var (
	briefOne = briefs(&oneByte, func(op int) (c controlflow.Class, marks uint32) {
		switch op {
		case 0x8f, 0x90, 0xfe: // see vector, classifyOne and check
			return 0, briefUnknown
		case 0x5d, 0xc6, 0xc7, 0xc9, 0xf6, 0xf7, 0xff:
			marks = briefSpecial
		}
		return oneByteClass[op], marks
	})
	briefTwo = briefs(&twoByte, func(op int) (c controlflow.Class, marks uint32) {
		switch op {
		case 0x05, 0x07, 0x34, 0x35, 0x0b, 0xb9, 0x78, 0xb8, 0xba: // see escaped, classify0F and check
			return 0, briefUnknown
		case 0x1e: // with a prefix a valid target
			return controlflow.Other, briefAltered
		case 0x1f:
			return controlflow.Nop, 0
		}
		if op&0xf0 == 0x80 {
			return controlflow.Conditional, 0
		}
		return controlflow.Other, 0
	})
)

// briefs converts a table of shapes. class returns the class, as far as it depends on the opcode alone, and marks.
func briefs(shapes *[256]shape, class func(op int) (c controlflow.Class, marks uint32)) (t [256]uint32) {
	sizes := [kindMask + 1]uint32{
		immNone: 0, imm8: 1, imm16: 2, imm24: briefUnknown, immZ: 4 | briefAltered, immV: 4 | briefAltered | briefSpecial, immMoffs: briefUnknown,
		rel8: 1 | briefRelative | briefAltered, rel32: 4 | briefRelative | briefAltered,
	}
	for op, s := range shapes {
		size := sizes[s&kindMask]
		c, marks := class(op)
		if s&(undefined|registers) != 0 || s&testOnly != 0 && marks&briefSpecial == 0 {
			marks |= briefUnknown
		}
		t[op] = size | marks | uint32(c)<<briefClass
		if s&hasModRM != 0 {
			t[op] |= 0xff << briefModRM
		}
	}
	return t
}
