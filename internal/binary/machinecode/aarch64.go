package machinecode

import (
	"encoding/binary"

	"github.com/cairnprof/cairn/internal/binary/aarch64"
	"github.com/cairnprof/cairn/internal/binary/controlflow"
)

// aarch64Arch implements Arch for AArch64.
type aarch64Arch struct{}

func (aarch64Arch) step() uint64 { return aarch64.Size }

// lasting: after the instruction that restores the frame pointer, other registers are restored
// and the return address is checked.
func (aarch64Arch) lasting() bool { return true }

func (a aarch64Arch) scan(code []byte, addr uint64) (b brief, ok bool) {
	in, err := a.Decode(code, addr)
	return in.brief(err)
}

func (aarch64Arch) Decode(code []byte, addr uint64) (Inst, error) {
	if len(code) < aarch64.Size {
		return Inst{}, ErrInstruction
	}
	in := aarch64.Decode(code)
	out := Inst{Len: aarch64.Size, Class: in.Class()}
	switch out.Class {
	case controlflow.Call, controlflow.Jump, controlflow.Conditional:
		out.Target = addr + uint64(in.Distance())
		return out, nil
	case controlflow.Other:
	default:
		return out, nil
	}
	out.Restores = in.RestoresFrame()
	if out.Memory, _, out.Refers = in.Address(addr); !out.Refers {
		out.Memory, _, out.Refers = in.Literal(addr)
	}
	return out, nil
}

func (a aarch64Arch) Effect(code []byte) Effect {
	if len(code) < aarch64.Size {
		return Nothing
	}
	in := aarch64.Decode(code)
	switch in.Class() {
	case controlflow.Call, controlflow.IndirectCall, controlflow.Syscall, controlflow.Trap:
		return Calls
	case controlflow.Nop, controlflow.Landing:
		return Nothing
	}
	if in.Stores() && !in.OnStack() {
		return Stores
	}
	return Computes
}

func (aarch64Arch) KeepsReturn(code interface{ Bytes(lo, hi uint64) []byte }, call uint64) bool {
	const push, pop = 0xa9bf7bf0, 0xa8c17bf0 // stp x16, x30, [sp, -16]! and ldp x16, x30, [sp], 16
	around := code.Bytes(call-aarch64.Size, call+2*aarch64.Size)
	return around != nil && aarch64.Decode(around) == push && aarch64.Decode(around[2*aarch64.Size:]) == pop
}

// pages has the pages that adrp put into registers. Code computes an address from its page and
// the offset in the page.
type pages struct {
	page  [32]uint64
	known uint32 // registers
}

// follow processes an instruction, and sets in it the address that it computes or accesses in
// a page.
func (p *pages) follow(i aarch64.Inst, in *Inst) {
	switch in.Class {
	case controlflow.Call, controlflow.IndirectCall:
		p.known &^= 1<<19 - 1 // callees keep the registers from x19 on
		return
	case controlflow.Other:
	default:
		return
	}
	if page, ok := p.of(i.Rn()); ok {
		if n, ok := i.Sum(); ok {
			in.Refers, in.Memory = true, page+n
		} else if n, ok := i.Offset(); ok {
			in.Refers, in.Memory = true, page+n
		}
	}
	p.write(i, in)
}

func (p *pages) of(register uint8) (uint64, bool) {
	return p.page[register], p.known>>register&1 == 1
}

// write forgets the registers that an instruction writes or may write.
func (p *pages) write(i aarch64.Inst, in *Inst) {
	if i.Stores() {
		if _, plain := i.Offset(); !plain {
			p.known &^= 1 << i.Rn() // it may be updated; atomic instructions write a result
			p.known &^= 1 << i.Rd()
		}
		return
	}
	p.known &^= 1 << i.Rd()
	if i.LoadsTwo() {
		p.known &^= 1<<i.Second() | 1<<i.Rn()
	}
	if _, page, ok := i.Address(0); ok && page {
		p.page[i.Rd()], p.known = in.Memory, p.known|1<<i.Rd()
	}
}

// constant handles adr, and the sum of a page and an offset.
func (a aarch64Arch) constant(s *Set, r Ref) (uint64, bool) {
	t := s.Binary(r).textOf(r)
	off := s.offset(t, r)
	in := aarch64.Decode(t.data[off:])
	if addr, page, ok := in.Address(t.addr + uint64(off)); ok {
		return addr, !page
	}
	n, ok := in.Sum()
	if !ok {
		return 0, false
	}
	// The instruction that computes the page is usually close before this one, or further up.
	for back := uint32(aarch64.Size); back <= off && back <= farthest; back += aarch64.Size {
		before := aarch64.Decode(t.data[off-back:])
		if before.Rd() != in.Rn() || before.Stores() || before.Class() != controlflow.Other {
			continue
		}
		made, page, ok := before.Address(t.addr + uint64(off-back))
		return made + n, ok && page
	}
	return 0, false
}

// farthest is the maximum distance in bytes in which the page of an address is searched.
const farthest = 1 << 12

func (aarch64Arch) addressed(t *text, _ bool, add func(addr uint64)) {
	var made [32][]uint64 // the possible pages of a register
	for off := 0; off+aarch64.Size <= len(t.data); off += aarch64.Size {
		if !t.starts.has(uint32(off)) {
			continue // data
		}
		in, addr := aarch64.Decode(t.data[off:]), t.addr+uint64(off)
		if to, page, ok := in.Address(addr); ok && page {
			made[in.Rd()] = keepLast(made[in.Rd()], to)
		} else if ok {
			add(to)
		} else if n, ok := in.Sum(); ok {
			for _, page := range made[in.Rn()] {
				add(page + n)
			}
		} else if at, size, ok := in.Literal(addr); ok && size == wordSize {
			if at -= t.addr; at+wordSize <= uint64(len(t.data)) && at < uint64(len(t.data)) {
				add(binary.LittleEndian.Uint64(t.data[at:]))
			}
		}
	}
}

// keepLast appends to the last few pages, because it is not determined which of several paths
// code takes.
func keepLast(list []uint64, page uint64) []uint64 {
	const enough = 4
	if len(list) == enough {
		list = append(list[:0], list[1:]...)
	}
	return append(list, page)
}
