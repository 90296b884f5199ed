package coverage

import (
	"bytes"

	"github.com/cairnprof/cairn/internal/binary/aarch64"
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machine"
)

// probes finds the probes of several instructions among those of a block, from number first
// on: the instructions from the one that computes the page of a record to the last that uses
// the record, and the branch to the path of a first call, with what mode edge adds.
func (d *decoder) probes(first int) {
	switch d.code.Machine() {
	case machine.X86_64:
		d.counters(first)
		return
	case machine.AArch64:
	default:
		return
	}
	const most = 5 // instructions
	for i := first; i < len(d.insts); i++ {
		if !d.raw[i].Refers || d.insts[i].kind != none {
			continue
		}
		last := i
		for k := i; k < min(i+most, len(d.insts)); k++ {
			if d.raw[k].Refers && d.insts[k].kind == none || k == last+1 && d.first(k) {
				last = k
			}
		}
		var from int
		from, last = d.aarch64Counter(first, i, last)
		for k := from; k <= last; k++ {
			d.insts[k].kind, d.insts[k].padding = none, false
		}
		i = last
	}
}

// counters finds the counters of mode edge, on x86-64, that are more than an increment (internal/instrument/probe/x86count.go):
// those by a register begin with a load of the record and end with a store to it, those that save the flags are two
// instructions longer at both ends.
func (d *decoder) counters(first int) {
	const save, restore = 0x9c, 0x9d // pushfq, popfq
	is := func(i int, op byte) bool {
		return i >= first && i < len(d.insts) && bytes.Equal(d.code.Bytes(d.insts[i].addr, d.insts[i].addr+1), []byte{op})
	}
	for i := first; i < len(d.insts); i++ {
		if !d.raw[i].Refers || d.insts[i].kind != none || d.insts[i].padding {
			continue
		}
		from, to := i, i
		switch {
		case i+2 < len(d.insts) && d.raw[i+2].Refers && d.raw[i+2].Memory == d.raw[i].Memory && d.insts[i+2].kind == none:
			to = i + 2
		case is(i-1, save) && is(i+1, restore):
			from, to = max(i-2, first), min(i+2, len(d.insts)-1)
		}
		for k := from; k <= to; k++ {
			d.insts[k].kind, d.insts[k].padding = none, false
		}
		i = to
	}
}

// first reports whether instruction number i is the branch to the path of a first call, behind the entry's count or slot.
func (d *decoder) first(i int) bool {
	const cbz = 0x34000011 // cbz w17, 0
	return d.blocks[i] == 0 && uint32(d.word(i))&^((1<<19-1)<<5) == cbz
}

// aarch64Counter extends a probe on AArch64, instructions from to last, by what else belongs to a counter of mode edge
// (internal/instrument/probe/aarch64count.go): the computation of the page if no record is on it, what comes after the
// address with --atomic, and what saves registers on the stack and restores them.
func (d *decoder) aarch64Counter(first, from, last int) (int, int) {
	const nop = 0xd503201f
	_, page, ok := d.word(from).Address(0)
	adr := ok && !page // by a linker that joined the page and the offset, and left a nop
	if from > first {
		_, page, _ := d.word(from - 1).Address(0)
		if page && d.word(from-1).Rd() == d.word(from).Rn() || adr && d.words(from-1, nop) {
			from--
		}
	}
	if _, sum := d.word(last).Sum(); sum || adr {
		last = d.atomic(last)
	}
	for from > first && d.saves(from-1, last+1) {
		from, last = from-1, last+1
	}
	return from, last
}

// atomic returns the last instruction of an atomic increment behind the computation of its address, or address: that of a
// counter, or the decrement of the count of calls, and the branch to the path of a first call.
func (d *decoder) atomic(address int) int {
	const (
		one       = 0xd2800020 // mov x0, 1
		stadd     = 0xf820001f // stadd x0, [x0]
		ldxr      = 0xc85f7c00 // ldxr x0, [x0]
		increment = 0x91000400 // add x0, x0, 1
		stxr      = 0xc8007c00 // stxr w0, x0, [x0]
		again     = 0x35ffffa0 // cbnz w0, .-12
	)
	base := uint32(d.word(address).Rd())
	value := uint32(d.word(address + 1).Rd())
	failed := uint32(d.word(address+3)) >> 16 & 31
	switch {
	case d.words(address+1, one|value, stadd|value<<16|base<<5):
		return address + 2
	case d.words(address+1, ldxr|base<<5|value, increment|value<<5|value, stxr|failed<<16|base<<5|value, again|failed):
		d.raw[address+4].Class = controlflow.Other // it is no branch of the program
		return address + 4
	case d.words(address+1, 0x12800011, 0xb8310211): // mov w17, -1; ldadd w17, w17, [x16]; cbz, at an entry
		return address + 3
	case d.words(address+1, 0xf81f0fef, 0x885f7e11, 0x51000631, 0x880f7e11, again|15, 0xf84107ef, 0x3100063f):
		// str x15, [sp, -16]!; ldxr w17, [x16]; sub w17, w17, 1; stxr w15, w17, [x16]; cbnz w15, .-12; ldr x15, [sp], 16;
		// cmn w17, 1; b.eq
		d.raw[address+5].Class = controlflow.Other
		return address + 8
	}
	return address
}

// saves reports whether one instruction puts registers on the stack and another takes the same from it.
func (d *decoder) saves(down, up int) bool {
	const (
		str, ldr = 0xf81f0fe0, 0xf84107e0 // str x0, [sp, -16]! and ldr x0, [sp], 16
		stp, ldp = 0xa9bf03e0, 0xa8c103e0 // stp x0, x0, [sp, -16]! and ldp x0, x0, [sp], 16
	)
	at := d.word(down)
	first, second := uint32(at.Rd()), uint32(at.Second())<<10
	return d.words(down, str|first) && d.words(up, ldr|first) || d.words(down, stp|first|second) && d.words(up, ldp|first|second)
}

// words reports whether the instructions from number i on are those given, of AArch64.
func (d *decoder) words(i int, want ...uint32) bool {
	for k, w := range want {
		if i+k >= len(d.insts) || uint32(d.word(i+k)) != w {
			return false
		}
	}
	return true
}

// word returns instruction number i of AArch64, 0 if there is none.
func (d *decoder) word(i int) aarch64.Inst {
	if i < 0 || i >= len(d.insts) {
		return 0
	}
	return aarch64.Decode(d.code.Bytes(d.insts[i].addr, d.insts[i].addr+aarch64.Size))
}
