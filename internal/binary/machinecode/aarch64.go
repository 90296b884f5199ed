package machinecode

import (
	"encoding/binary"

	"github.com/cairnprof/cairn/internal/binary/aarch64"
	"github.com/cairnprof/cairn/internal/binary/controlflow"
)

// aarch64Arch is AArch64.
type aarch64Arch struct{}

func (aarch64Arch) step() uint64 { return aarch64.Size }

// lasting: other registers are restored and the return address is checked after it.
func (aarch64Arch) lasting() bool { return true }

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

// pages are what adrp has put into registers. Code makes the address of something from
// its page and its place there.
type pages struct {
	page  [32]uint64
	known uint32 // registers
}

// follow takes an instruction, and tells it the address that it makes or uses of a page.
func (p *pages) follow(i aarch64.Inst, in *Inst) {
	switch in.Class {
	case controlflow.Call, controlflow.IndirectCall:
		p.known &^= 1<<19 - 1 // what callees keep begins at x19
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

// write forgets the registers that an instruction writes, and maybe others.
func (p *pages) write(i aarch64.Inst, in *Inst) {
	if i.Stores() {
		if _, plain := i.Offset(); !plain {
			p.known &^= 1 << i.Rn() // it may be moved on; of atomic ones there is a result
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

// constant: adr, or the sum of a page and a place in it.
func (a aarch64Arch) constant(s *Set, r Ref) (uint64, bool) {
	t := s.Binary(r).textOf(r)
	off := s.offsets[r-firstRef]
	in := aarch64.Decode(t.data[off:])
	if addr, page, ok := in.Address(t.addr + uint64(off)); ok {
		return addr, !page
	}
	n, ok := in.Sum()
	if !ok {
		return 0, false
	}
	// What made the page stands close before it as a rule, or further up.
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

// farthest is how many bytes are looked at for the page of an address.
const farthest = 1 << 12

func (aarch64Arch) taken(t *text, _ bool, add func(addr uint64)) {
	var made [32][]uint64 // the pages that a register may have
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

// keepLast appends to the last few pages: which of several ways code takes is not
// followed.
func keepLast(list []uint64, page uint64) []uint64 {
	const enough = 4
	if len(list) == enough {
		list = append(list[:0], list[1:]...)
	}
	return append(list, page)
}
