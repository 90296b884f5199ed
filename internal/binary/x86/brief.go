package x86

import (
	"encoding/binary"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
)

// Brief is what is needed of an instruction to find the next one and where it branches.
type Brief struct {
	Len    uint8
	Class  controlflow.Class
	Map    Map
	Opcode uint8
	Rex    uint8
	Rel    int32 // as of Inst
}

// Scan decodes the instruction at the start of code as Decode does, three times as fast, and may decline: then Decode
// has to do it. It knows what most instructions of compilers are: those with at most a REX prefix, without opcodes whose
// class or length depends on more than the opcode.
func Scan(code []byte) (b Brief, ok bool) {
	if len(code) <= MaxLen {
		return Brief{}, false
	}
	code = code[:MaxLen+1]
	pos, op := 1, code[0]
	if op&0xf0 == 0x40 {
		b.Rex, op = op, code[1]
		pos = 2
	}
	how := &briefOne
	if op == 0x0f {
		op, how, b.Map = code[pos&MaxLen], &briefTwo, Map0F
		pos++
	}
	h := how[op]
	if h&briefKnown == 0 {
		return Brief{}, false
	}
	b.Opcode = op
	if h&briefModRM != 0 {
		m := code[pos&MaxLen]
		if h&briefFirst != 0 && m>>3&7 != 0 {
			return Brief{}, false
		}
		if m&0xc7 == 0x04 && code[(pos+1)&MaxLen]&7 == 5 { // a displacement without base
			pos += 4
		}
		pos += int(briefOperand[m])
	}
	switch h & briefSize {
	case briefV:
		pos += 4
		if b.Rex&8 != 0 {
			pos += 4
		}
	default:
		pos += int(h & briefSize)
	}
	b.Len, b.Class = uint8(pos), controlflow.Class(h>>briefClass)
	if pos > MaxLen {
		return Brief{}, false
	}
	if h&briefRelative != 0 {
		if h&briefSize == 1 {
			b.Rel = int32(int8(code[(pos-1)&MaxLen]))
		} else {
			b.Rel = int32(binary.LittleEndian.Uint32(code[pos-4:]))
		}
	}
	return b, true
}

// What Scan knows of an opcode.
const (
	briefSize     uint16 = 7 // of the immediate, 0, 1, 2 or 4 bytes, or
	briefV        uint16 = 7 // 4, or 8 with REX.W
	briefModRM    uint16 = 1 << 3
	briefRelative uint16 = 1 << 4
	briefKnown    uint16 = 1 << 5
	briefFirst    uint16 = 1 << 6 // only if ModRM's reg is 0
	briefClass           = 8      // shift of the class
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
	briefOne = briefs(&oneByte, func(op int) (controlflow.Class, bool) {
		switch op {
		case 0x8f, 0x90, 0xfe, 0xff: // see vector, classifyOne and check
			return 0, false
		}
		return oneByteClass[op], true
	})
	briefTwo = briefs(&twoByte, func(op int) (controlflow.Class, bool) {
		switch op {
		case 0x05, 0x07, 0x34, 0x35, 0x0b, 0xb9, 0x78, 0xb8, 0xba: // see escaped, classify0F and check
			return 0, false
		}
		switch {
		case op&0xf0 == 0x80:
			return controlflow.Conditional, true
		case op == 0x1f:
			return controlflow.Nop, true
		}
		return controlflow.Other, true
	})
)

// briefs converts a table of shapes. class returns whether the class depends on the opcode alone.
func briefs(shapes *[256]shape, class func(op int) (controlflow.Class, bool)) (t [256]uint16) {
	sizes := map[shape]uint16{
		immNone: 0, imm8: 1, imm16: 2, immZ: 4, immV: briefV, rel8: 1 | briefRelative, rel32: 4 | briefRelative,
	}
	for op, s := range shapes {
		size, simple := sizes[s&kindMask]
		c, known := class(op)
		if !simple || !known || s&(undefined|testOnly|registers) != 0 {
			continue
		}
		t[op] = size | briefKnown | uint16(c)<<briefClass
		if s&hasModRM != 0 {
			t[op] |= briefModRM
		}
	}
	if shapes == &oneByte {
		t[0xc6] |= briefFirst // see check
		t[0xc7] |= briefFirst
	}
	return t
}
