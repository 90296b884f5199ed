package x86

import "github.com/cairnprof/cairn/internal/binary/controlflow"

import "encoding/binary"

// oneByteClass has the opcodes without escape whose class depends on nothing else.
var oneByteClass = func() (t [256]controlflow.Class) {
	for op := 0x70; op <= 0x7f; op++ {
		t[op] = controlflow.Conditional
	}
	for op := 0xe0; op <= 0xe3; op++ { // see IsLoop
		t[op] = controlflow.Conditional
	}
	for _, op := range []byte{0xc2, 0xc3, 0xca, 0xcb, 0xcf} {
		t[op] = controlflow.Return
	}
	for _, op := range []byte{0xcc, 0xf1, 0xf4} {
		t[op] = controlflow.Trap
	}
	t[0xcd] = controlflow.Syscall
	t[0xe8] = controlflow.Call
	t[0xe9] = controlflow.Jump
	t[0xeb] = controlflow.Jump
	return t
}()

// classify sets the class after the whole instruction is decoded.
func (d *decoder) classify() {
	switch {
	case d.Prefix&PrefixVector != 0:
	case d.Map == MapOne:
		d.classifyOne()
	case d.Map == Map0F:
		d.classify0F()
	}
}

func (d *decoder) classifyOne() {
	d.Class = oneByteClass[d.Opcode]
	switch d.Opcode {
	case 0x90:
		if d.Prefix&PrefixRep == 0 && d.Rex&1 == 0 { // otherwise pause, or xchg with r8
			d.Class = controlflow.Nop
		}
	case 0xc7: // xbegin
		if d.ModRM == 0xf8 && d.ImmSize == 4 {
			d.Class = controlflow.Conditional
			d.Rel = int32(binary.LittleEndian.Uint32(d.code[d.ImmOff:]))
		}
	case 0xff:
		switch d.ModRM >> 3 & 7 {
		case 2, 3:
			d.Class = controlflow.IndirectCall
		case 4, 5:
			d.Class = controlflow.IndirectJump
		}
	}
}

func (d *decoder) classify0F() {
	switch op := d.Opcode; {
	case op&0xf0 == 0x80:
		d.Class = controlflow.Conditional
	case op == 0x05 || op == 0x07 || op == 0x34 || op == 0x35:
		d.Class = controlflow.Syscall
	case op == 0x0b || op == 0xb9:
		d.Class = controlflow.Trap
	case op == 0x1f:
		d.Class = controlflow.Nop
	case op == 0x1e && d.Prefix&PrefixRep != 0 && d.ModRM == 0xfa:
		d.Class = controlflow.Landing
	}
}

// check rejects encodings that the tables accept, but that no processor, or not every one,
// executes as decoded.
func (d *decoder) check() error {
	if d.Relative() && d.Prefix&PrefixData != 0 && d.Rex&8 == 0 {
		return ErrUnknown // AMD truncates the target, and reads two bytes instead of four
	}
	if d.Prefix&PrefixVector != 0 {
		return nil
	}
	reg := d.ModRM >> 3 & 7
	bad := false
	switch d.Map {
	case MapOne:
		switch d.Opcode {
		case 0x8f:
			bad = reg != 0
		case 0xc6:
			bad = reg != 0 && d.ModRM != 0xf8
		case 0xc7:
			bad = reg != 0 && d.Class != controlflow.Conditional
		case 0xfe:
			bad = reg > 1
		case 0xff:
			bad = reg == 7
		}
	case Map0F:
		switch d.Opcode {
		case 0x78: // extrq, insertq have no form with memory
			bad = d.ImmSize != 0 && d.ModRM>>6 != 3
		case 0xb8: // popcnt; without F3 a jump to another instruction set
			bad = d.Prefix&PrefixRep == 0
		case 0xba:
			bad = reg < 4
		}
	}
	if bad {
		return ErrUnknown
	}
	return nil
}
