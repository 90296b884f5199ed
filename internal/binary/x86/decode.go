package x86

import (
	"encoding/binary"
	"errors"
)

// Errors of Decode.
var (
	ErrTruncated = errors.New("instruction is cut off")
	ErrUnknown   = errors.New("unknown instruction")
	ErrTooLong   = errors.New("instruction of more than 15 bytes")
)

// MaxLen is the maximum length of an instruction in bytes.
const MaxLen = 15

// Decode decodes the instruction at the start of code. Its error is ErrTruncated, ErrUnknown
// or ErrTooLong. Undefined opcodes of the vector encodings have the length that the rules of
// their map give.
func Decode(code []byte) (Inst, error) {
	d := decoder{code: code}
	if len(code) > MaxLen {
		d.code = code[:MaxLen]
	}
	err := d.decode()
	if err == ErrTruncated && len(code) > MaxLen {
		err = ErrTooLong
	}
	if err != nil {
		return Inst{}, err
	}
	d.Len = uint8(d.pos)
	return d.Inst, nil
}

// decoder is an instruction and the number of bytes decoded so far.
type decoder struct {
	Inst
	code []byte
	pos  int
}

func (d *decoder) decode() error {
	if !d.prefixes() {
		return ErrTruncated
	}
	s, err := d.opcode()
	if err != nil {
		return err
	}
	if s&hasModRM != 0 {
		if err := d.modRM(s); err != nil {
			return err
		}
	}
	if d.immediate(s); d.pos > len(d.code) {
		return ErrTruncated
	}
	d.classify()
	return d.check()
}

// prefixes reads all prefixes. It returns false if no byte is left.
func (d *decoder) prefixes() bool {
	for ; d.pos < len(d.code); d.pos++ {
		b := d.code[d.pos]
		p := prefixOf[b]
		if p == 0 {
			if b&0xf0 == 0x40 {
				d.Rex = b
				d.pos++
				return d.pos < len(d.code)
			}
			return true
		}
		d.Prefix |= p
	}
	return false
}

// prefixOf has the legacy prefixes.
var prefixOf = [256]Prefix{
	0x66: PrefixData,
	0x67: PrefixAddress,
	0xf2: PrefixRepne,
	0xf3: PrefixRep,
	0xf0: PrefixLock,
	0x64: PrefixSegment, 0x65: PrefixSegment,
	0x26: PrefixHint, 0x2e: PrefixHint, 0x36: PrefixHint, 0x3e: PrefixHint,
}

// opcode reads the escapes and the opcode, and returns the shape of the rest.
func (d *decoder) opcode() (shape, error) {
	b := d.code[d.pos]
	switch b {
	case 0x0f:
		return d.escaped()
	case 0xc4, 0xc5, 0x62:
		return d.vector(b)
	case 0x8f:
		// XOP has its map number, which is 8 or more, in the place of ModRM's reg, which is 0
		// for pop.
		if d.pos+1 < len(d.code) && d.code[d.pos+1]&0x1f >= 8 {
			return d.vector(b)
		}
	}
	d.pos++
	d.Opcode = b
	return defined(oneByte[b])
}

func defined(s shape) (shape, error) {
	if s&undefined != 0 {
		return 0, ErrUnknown
	}
	return s, nil
}

// escaped reads an opcode after 0F.
func (d *decoder) escaped() (shape, error) {
	b, ok := d.at(1)
	if !ok {
		return 0, ErrTruncated
	}
	if b != 0x38 && b != 0x3a {
		d.Map, d.Opcode = Map0F, b
		d.pos += 2
		if b == 0x78 && d.Prefix&(PrefixData|PrefixRepne) != 0 {
			return hasModRM | imm16, nil // extrq, insertq: two immediates of one byte
		}
		return defined(twoByte[b])
	}
	op, ok := d.at(2)
	if !ok {
		return 0, ErrTruncated
	}
	d.Opcode = op
	d.pos += 3
	if b == 0x38 {
		d.Map = Map0F38
		return defined(threeByte38[op])
	}
	d.Map = Map0F3A
	return defined(threeByte3A[op])
}

// at returns the byte n bytes after the next one.
func (d *decoder) at(n int) (byte, bool) {
	if d.pos+n >= len(d.code) {
		return 0, false
	}
	return d.code[d.pos+n], true
}

// vector reads the prefixes VEX, EVEX and XOP, and the opcode.
func (d *decoder) vector(lead byte) (shape, error) {
	if d.Rex != 0 || d.Prefix&(PrefixData|PrefixRep|PrefixRepne|PrefixLock) != 0 {
		return 0, ErrUnknown // undefined with these prefixes
	}
	size := 3
	switch lead {
	case 0xc5:
		size = 2
	case 0x62:
		size = 4
	}
	op, ok := d.at(size)
	if !ok {
		return 0, ErrTruncated
	}
	d.Prefix |= PrefixVector
	d.Opcode = op
	p := d.code[d.pos:]
	d.pos += size + 1
	switch lead {
	case 0xc5:
		d.Map = Map0F
		return vectorShape(d.Map, op, false), nil
	case 0xc4:
		d.Map = Map(p[1] & 0x1f)
		return defined(vectorShape(d.Map, op, false))
	case 0x8f:
		d.Map = Map(p[1] & 0x1f)
		return defined(xopShape(d.Map))
	}
	if p[1]&0x08 != 0 || p[2]&0x04 == 0 {
		return 0, ErrUnknown // APX
	}
	d.Map = Map(p[1] & 7)
	return defined(vectorShape(d.Map, op, true))
}

// modRM reads ModRM, SIB and the displacement.
func (d *decoder) modRM(s shape) error {
	m, ok := d.at(0)
	if !ok {
		return ErrTruncated
	}
	d.pos++
	d.HasModRM, d.ModRM = true, m
	mod, rm := m>>6, m&7
	if mod == 3 || s&registers != 0 {
		return nil
	}
	base := rm
	if rm == 4 {
		sib, ok := d.at(0)
		if !ok {
			return ErrTruncated
		}
		d.pos++
		d.SIB = sib
		base = sib & 7
	}
	switch {
	case mod == 1:
		d.DispSize = 1
	case mod == 2:
		d.DispSize = 4
	case base == 5:
		d.DispSize = 4
		d.RIP = rm == 5
	default:
		return nil
	}
	d.DispOff = uint8(d.pos)
	d.pos += int(d.DispSize)
	if d.pos > len(d.code) {
		return ErrTruncated
	}
	d.Disp = signed(d.code[d.DispOff:], d.DispSize)
	return nil
}

// signed decodes a number of 1 or 4 bytes.
func signed(b []byte, size uint8) int32 {
	if size == 1 {
		return int32(int8(b[0]))
	}
	return int32(binary.LittleEndian.Uint32(b))
}

// immediate skips the immediate.
func (d *decoder) immediate(s shape) {
	short := d.Prefix&PrefixData != 0 && d.Rex&8 == 0
	size := 0
	switch s & kindMask {
	case imm8, rel8:
		size = 1
	case imm16:
		size = 2
	case imm24:
		size = 3
	case rel32:
		size = 4
	case immZ:
		size = 4
		if short {
			size = 2
		}
	case immV:
		switch {
		case d.Rex&8 != 0:
			size = 8
		case short:
			size = 2
		default:
			size = 4
		}
	case immMoffs:
		d.DispOff, d.DispSize = uint8(d.pos), 8
		if d.Prefix&PrefixAddress != 0 {
			d.DispSize = 4
		}
		d.pos += int(d.DispSize)
	}
	if s&testOnly != 0 && d.ModRM>>3&7 > 1 {
		size = 0
	}
	if size == 0 {
		return
	}
	d.ImmOff, d.ImmSize = uint8(d.pos), uint8(size)
	d.pos += size
	if k := s & kindMask; (k == rel8 || k == rel32) && d.pos <= len(d.code) {
		d.Rel = signed(d.code[d.ImmOff:], d.ImmSize)
	}
}
