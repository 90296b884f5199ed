package machinecode

import "math/bits"

// bitset is a set of small numbers that can return the number of members below one.
type bitset struct {
	words []uint64
	below []uint32 // number of members in the words before
}

func newBitset(size int) bitset {
	return bitset{words: make([]uint64, (size+63)/64)}
}

// cut removes the room for numbers from size on.
func (b *bitset) cut(size int) { b.words = b.words[:(size+63)/64] }

func (b *bitset) set(i uint32) { b.words[i/64] |= 1 << (i % 64) }

// setRange adds the numbers in [lo, hi).
func (b *bitset) setRange(lo, hi uint32) {
	for ; lo < hi && lo%64 != 0; lo++ {
		b.set(lo)
	}
	for ; lo < hi && hi%64 != 0; hi-- {
		b.set(hi - 1)
	}
	for ; lo < hi; lo += 64 {
		b.words[lo/64] = ^uint64(0)
	}
}

func (b *bitset) has(i uint32) bool { return b.words[i/64]>>(i%64)&1 != 0 }

// count prepares rank. It must be called after the last set.
func (b *bitset) count() {
	b.below = make([]uint32, len(b.words))
	n := 0
	for i, w := range b.words {
		b.below[i] = uint32(n)
		n += bits.OnesCount64(w)
	}
}

// rank returns the number of members below i, and whether i is one.
func (b *bitset) rank(i uint32) (int, bool) {
	w, mask := b.words[i/64], uint64(1)<<(i%64)
	return int(b.below[i/64]) + bits.OnesCount64(w&(mask-1)), w&mask != 0
}
