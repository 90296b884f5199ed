package machinecode

import (
	"bytes"
	"encoding/binary"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// x86Arch implements Arch for x86-64.
type x86Arch struct{}

func (x86Arch) step() uint64  { return 1 }
func (x86Arch) lasting() bool { return false }

func (x86Arch) Decode(code []byte, addr uint64) (Inst, error) {
	in, err := x86.Decode(code)
	if err != nil {
		return Inst{}, err
	}
	out := Inst{Len: in.Len, Class: in.Class, Restores: in.RestoresFrame()}
	if in.Relative() {
		out.Target = in.Target(addr)
	}
	if in.RIP {
		out.Refers, out.Memory = true, in.Memory(addr)
	}
	return out, nil
}

func (a x86Arch) scan(code []byte, addr uint64) (b brief, ok bool) {
	in, ok := x86.Scan(code)
	if !ok {
		in, err := a.Decode(code, addr)
		return in.brief(err)
	}
	b = brief{in.Len, in.Class, in.Restores, 0}
	if in.Class.IsDirect() {
		b.target = addr + uint64(in.Len) + uint64(int64(in.Rel))
	}
	return b, true
}

// KeepsReturn: the return address is on the stack.
func (x86Arch) KeepsReturn(interface{ Bytes(lo, hi uint64) []byte }, uint64) bool { return false }

func (x86Arch) Effect(code []byte) Effect {
	in, err := x86.Decode(code)
	switch {
	case err != nil:
		return Nothing
	case in.Class.IsCall(), in.Class == controlflow.Syscall, in.Class == controlflow.Trap:
		return Calls
	case in.Class == controlflow.Nop, in.Class == controlflow.Landing:
		return Nothing
	case in.HasModRM && in.Mod() != 3 && !onStack(in) && stores(in):
		return Stores
	}
	return Computes
}

// onStack reports whether a memory operand is relative to the stack pointer: such operands are
// mostly spilled registers, which an optimiser may remove.
func onStack(in x86.Inst) bool {
	return in.ModRM&7 == regSP && in.SIB&7 == regSP && in.Rex&1 == 0
}

// stores reports whether an instruction with a memory operand writes to it, for the
// instructions of usual code.
func stores(in x86.Inst) bool {
	switch in.Map {
	case x86.MapOne:
		return storesOne(in)
	case x86.Map0F:
		switch op := in.Opcode; op {
		case 0x11, 0x13, 0x17, 0x29, 0x2b, 0x7f, 0xd6, 0xe7, 0xc0, 0xc1, 0xc3, 0xb0, 0xb1, 0xab, 0xb3, 0xbb:
			return true
		case 0x7e:
			return in.Prefix&x86.PrefixRep == 0 // otherwise a load
		default:
			return op >= 0x90 && op <= 0x9f // setcc
		}
	}
	return false
}

func storesOne(in x86.Inst) bool {
	const reg = 7
	switch op := in.Opcode; op {
	case 0x80, 0x81, 0x83:
		return in.Reg()&reg != 7 // cmp
	case 0x86, 0x87, 0x88, 0x89, 0x8f, 0xc6, 0xc7, 0xc0, 0xc1, 0xd0, 0xd1, 0xd2, 0xd3:
		return true
	case 0xf6, 0xf7:
		return in.Reg()&reg == 2 || in.Reg()&reg == 3 // not, neg
	case 0xfe, 0xff:
		return in.Reg()&reg < 2 // inc, dec
	case 0xd9, 0xdb, 0xdd, 0xdf:
		return in.Reg()&reg >= 2 && in.Reg()&reg != 5 // x87 stores
	default:
		return op < 0x38 && op&7 < 2
	}
}

// constant handles PC-relative lea, and immediates of 32 or 64 bits, which may be addresses in
// a program with a fixed load address.
func (x86Arch) constant(s *Set, r Ref) (uint64, bool) {
	t := s.Binary(r).textOf(r)
	off := s.offset(t, r)
	in, err := x86.Decode(t.data[off:])
	if err != nil {
		return 0, false
	}
	imm := t.data[off+uint32(in.ImmOff):]
	switch {
	case in.Map == x86.MapOne && in.Opcode == 0x8d && in.RIP:
		return in.Memory(t.addr + uint64(off)), true
	case in.ImmSize == 4 && len(imm) >= 4:
		return uint64(int64(int32(binary.LittleEndian.Uint32(imm)))), true
	case in.ImmSize == 8 && len(imm) >= 8:
		return binary.LittleEndian.Uint64(imm), true
	}
	return 0, false
}

func (x86Arch) addressed(t *text, fixed bool, add func(addr uint64)) {
	const size = 4 // of an address, or of a distance
	if fixed {
		for at := 0; at+size <= len(t.data); at++ {
			add(uint64(binary.LittleEndian.Uint32(t.data[at:])))
		}
	}
	const lea, relative = 0x8d, 5
	for at := 0; ; at++ {
		next := bytes.IndexByte(t.data[at:], lea)
		if next < 0 || at+next+2+size > len(t.data) {
			return
		}
		if at += next; t.data[at+1]&0xc7 == relative {
			distance := int32(binary.LittleEndian.Uint32(t.data[at+2:]))
			add(t.addr + uint64(at) + 2 + size + uint64(int64(distance)))
		}
	}
}
