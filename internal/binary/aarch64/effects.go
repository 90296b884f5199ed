package aarch64

// Rd is the register that most instructions write, or the source register of a store.
func (i Inst) Rd() uint8 { return uint8(i & 31) }

// Rn is the first source register of most instructions, and the base of memory operands.
func (i Inst) Rn() uint8 { return uint8(i >> 5 & 31) }

// Address returns the address that adr computes, or the page that adrp computes, for an
// instruction at addr.
func (i Inst) Address(addr uint64) (made uint64, page, ok bool) {
	distance := i.signed(5, 19)<<2 | int64(i>>29&3)
	switch {
	case i.is(0x9f000000, 0x10000000):
		return addr + uint64(distance), false, true
	case i.is(0x9f000000, 0x90000000):
		return addr&^0xfff + uint64(distance)<<12, true, true
	}
	return 0, false, false
}

// Literal returns the address that the instruction at addr loads from, if it is a PC-relative
// load of 4 or 8 bytes.
func (i Inst) Literal(addr uint64) (at uint64, size int, ok bool) {
	if !i.is(0xbf000000, 0x18000000) {
		return 0, 0, false
	}
	return addr + uint64(i.signed(5, 19)*Size), 4 << (i >> 30 & 1), true
}

// Sum returns the constant that the instruction adds to the 64-bit register Rn to compute Rd.
func (i Inst) Sum() (uint64, bool) {
	if !i.is(0xff800000, 0x91000000) {
		return 0, false
	}
	return uint64(i>>10&0xfff) << (12 * (i >> 22 & 1)), true
}

// Adds reports whether the instruction adds two 64-bit registers, as code for switch
// statements does.
func (i Inst) Adds() bool { return i.is(0xff200000, 0x8b000000) || i.is(0xffe00000, 0x8b200000) }

// Offset returns the offset from register Rn of a load or store with a positive constant
// offset.
func (i Inst) Offset() (uint64, bool) {
	if !i.is(0x3b000000, 0x39000000) {
		return 0, false
	}
	scale := i >> 30
	if i.is(0x04800000, 0x04800000) && scale == 0 {
		scale = 4 // 16 bytes
	}
	return uint64(i>>10&0xfff) << scale, true
}

// access reports whether the instruction has an operand in memory.
func (i Inst) access() bool { return i.is(0x0a000000, 0x08000000) }

// OnStack reports whether an operand in memory is relative to the stack pointer.
func (i Inst) OnStack() bool { return i.access() && !i.is(0x3b000000, 0x18000000) && i.Rn() == SP }

// Stores reports whether the instruction writes to memory.
func (i Inst) Stores() bool {
	switch {
	case i.is(0xfe000000, 0xe4000000): // of scalable vectors
		return true
	case i.is(0xffffffe0, 0xd50b7420): // dc zva
		return true
	case !i.access():
		return false
	case i.is(0x3e000000, 0x08000000):
		return i.exclusive()
	case i.is(0xbe000000, 0x0c000000), i.is(0x3a000000, 0x28000000): // vectors of structures; pairs
		return i>>22&1 == 0
	case i.is(0xff200000, 0xd9200000): // tags; ldg and ldgm read
		return i>>22&1 == 0 || i>>10&3 != 0
	case i.is(0x3f000000, 0x19000000): // stlur, stilp; cpy, set
		swaps := i.is(0x00200400, 0x00200000) // ldclrp, rcwcas and the like
		return swaps || i>>10&3 == 1 || i>>22&3 == 0
	case i.is(0x3f000000, 0x1d000000): // stlur of vectors; set with tags
		return i>>10&3 == 1 || i>>22&1 == 0
	case i.is(0x3a000000, 0x38000000):
		return i.single()
	}
	return false
}

// exclusive is Stores for exclusive, ordered, and comparing accesses.
func (i Inst) exclusive() bool {
	swaps := i.is(0x00a00000, 0x00a00000) || i.is(0x80a00000, 0x00200000) || i.is(0x01a00000, 0x01800000) // cas, casp, cast
	return swaps || i>>22&1 == 0
}

// single is Stores for accesses of one register.
func (i Inst) single() bool {
	kind, vector := i>>22&3, i>>26&1 == 1
	if i.is(0x01200000, 0x00200000) {
		switch i >> 10 & 3 {
		case 0: // ldadd, swp and the like, but ldapr; ld64b reads
			return vector || !i.is(0x0020fc00, 0x0020c000) && !i.is(0xfffffc00, 0xf83fd000)
		case 1, 3: // ldraa
			return false
		}
	}
	if vector {
		return kind&1 == 0
	}
	return kind == 0
}

// RestoresFrame reports whether the instruction loads the frame pointer and the link register
// as a pair, as functions do when they remove their frame.
func (i Inst) RestoresFrame() bool { return i.is(0xfe407fff&^(31<<5), 0xa8400000|LR<<10|FP) }

// MakesFrame reports whether the instruction sets the frame pointer to the stack pointer, or
// to a constant above it.
func (i Inst) MakesFrame() bool { return i.is(0xff8003ff, 0x91000000|SP<<5|FP) }

// LoadsTwo reports whether the instruction may write registers other than Rd: it also loads
// Second, or updates Rn.
func (i Inst) LoadsTwo() bool {
	return i.is(0x3a000000, 0x28000000) || i.is(0x3e000000, 0x08000000) || i.is(0x3b000000, 0x38000000) ||
		i.is(0xbe000000, 0x0c000000) || i.is(0x3f000000, 0x19000000)
}

// Second is the second register of a pair.
func (i Inst) Second() uint8 { return uint8(i >> 10 & 31) }

// Writes returns the general registers that a non-branch instruction may write. The set may
// have too many registers, but never too few.
func (i Inst) Writes() uint32 {
	all := uint32(1)<<i.Rd() | 1<<i.Rn() | 1<<i.Second() | 1<<(i>>16&31)
	switch _, plain := i.Offset(); {
	case plain && i.Stores():
		return 0
	case i.is(0x3a000000, 0x28000000) && i.Stores():
		return 1 << i.Rn() // if it is updated
	case i.Stores():
		return all
	case i.is(0x3a000000, 0x28000000): // pairs
		return 1<<i.Rd() | 1<<i.Second() | 1<<i.Rn()
	case i.is(0x3b200000, 0x38000000): // with a constant of nine bits
		return 1<<i.Rd() | 1<<i.Rn()
	case i.LoadsTwo():
		return all
	}
	return 1 << i.Rd()
}

// Moves returns the 64-bit register that the instruction copies to Rd.
func (i Inst) Moves() (from uint8, ok bool) {
	return uint8(i >> 16 & 31), i.is(0xffe0ffe0, 0xaa0003e0)
}

// LoadsWord reports whether the instruction loads 8 bytes into a general register.
func (i Inst) LoadsWord() bool { return i.is(0xffc00000, 0xf9400000) }

// StoresWord reports whether the instruction stores 8 bytes of the general register Rd at a constant offset from Rn.
func (i Inst) StoresWord() bool { return i.is(0xffc00000, 0xf9000000) }

// Pair returns the offset from register Rn of a load or store of a pair of registers, and its size in bytes.
func (i Inst) Pair() (off, size int64, ok bool) {
	scale := int64(4) << (i >> 31)
	if i>>26&1 == 1 {
		scale = 4 << (i >> 30)
	}
	return i.signed(15, 7) * scale, 2 * scale, i.is(0x3a000000, 0x28000000)
}

// LoadsIndexed reports whether the instruction loads 8 bytes from the sum of two registers.
func (i Inst) LoadsIndexed() bool { return i.is(0xffe00c00, 0xf8600800) }

// LoadsEntry reports whether the instruction loads 1, 2 or 4 bytes from the sum of two registers, as code for switch statements
// does, and returns their number, and whether it extends 4 bytes as a signed number.
func (i Inst) LoadsEntry() (width int, signed, ok bool) {
	if i.is(0xffe00c00, 0xb8a00800) {
		return 4, true, true
	}
	return 1 << (i >> 30), false, i>>30 < 3 && i.is(0x3fe00c00, 0x38600800)
}

// AddsEntry reports whether the instruction adds a register, or four times the register, to another one. It returns the former,
// what it is multiplied by, and whether only its low bytes count, as a signed number.
func (i Inst) AddsEntry() (reg uint8, times int, signed, ok bool) {
	reg, shift := uint8(i>>16&31), i>>10&7
	ok = (shift == 0 || shift == 2) && (i.is(0xffe0e000, 0x8b000000) || i.is(0xffe00000, 0x8b200000))
	return reg, 1 << shift, i>>21&1 == 1 && i>>15&1 == 1, ok
}
