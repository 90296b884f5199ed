package nativert

import (
	"encoding/binary"
	"math/bits"
)

// Libraries contain their host compressed, as most processes never load it. Problem: the decoder is part of each
// library as well, and runs when a program starts. Choice: LZ77 with static codes of a variable number of bits, decoded
// at several hundred MB/s by 300 bytes of code (c/timed/unpack.h); a host becomes 57 % of its size. gzip makes
// 57 % of it as well, but its decoder has 2 KB; xz makes 51 %, with a decoder that is slower and three times as large.
//
// The stream has bits and whole bytes. A bit is taken from the lowest end of a byte, which is in the stream where its
// first bit is needed. A number n >= 1 is its bits below the highest one, each after a bit 1, then a bit 0:
//
//	0 BYTE                      the byte
//	1 0 length                  a copy from the last offset
//	1 1 (offset-1)/256+1 BYTE length-1    a copy; BYTE is the lower part of offset-1
//
// Before it is the length of the data, 4 bytes.

// shortest is the length of the shortest copy with an offset of its own. tries bounds how many earlier places with the
// same three bytes are compared, none if one has enough bytes in common. longest bounds a copy, since the time is
// quadratic in it.
const (
	shortest = 2
	tries    = 256
	enough   = 128
	longest  = 256
)

// step is the last step of the cheapest encoding of the data before a place.
type step struct {
	cost   int // of all, in bits
	length int // of this step
	offset int // of a copy; 0: a byte
	last   int // offset that the next copy may use
	repeat bool
}

// Compress returns the compressed form of data.
func Compress(data []byte) []byte {
	out := &bitWriter{data: binary.LittleEndian.AppendUint32(nil, uint32(len(data))), at: -1}
	at := 0
	for _, s := range cheapest(data) {
		switch {
		case s.offset == 0:
			out.bit(0)
			out.data = append(out.data, data[at])
		case s.repeat:
			out.bit(1)
			out.bit(0)
			out.number(s.length)
		default:
			out.bit(1)
			out.bit(1)
			out.number((s.offset-1)>>8 + 1)
			out.data = append(out.data, byte(s.offset-1))
			out.number(s.length - 1)
		}
		at += s.length
	}
	return out.data
}

// cheapest returns the steps that encode data in the fewest bits, of those that differ in the last offset at one place
// only the cheapest.
func cheapest(data []byte) []step {
	best := make([]step, len(data)+1)
	take := func(to int, s step) {
		if to > 0 && (best[to].length == 0 || s.cost < best[to].cost) {
			best[to] = s
		}
	}
	earlier := newPlaces(len(data))
	for at := range data {
		here := best[at]
		take(at+1, step{cost: here.cost + 9, length: 1, last: here.last})
		if here.last > 0 {
			for n := range same(data, at, here.last) {
				take(at+n+1, step{here.cost + 2 + size(n+1), n + 1, here.last, here.last, true})
			}
		}
		have := shortest - 1
		for offset := range earlier.of(data, at) {
			n := same(data, at, offset)
			for ; have < n; have++ {
				cost := here.cost + 10 + size((offset-1)>>8+1) + size(have)
				take(at+have+1, step{cost, have + 1, offset, offset, false})
			}
			if have >= enough {
				break
			}
		}
	}
	var back []step
	for at := len(data); at > 0; at -= best[at].length {
		back = append(back, best[at])
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}

// same returns how many bytes from at on equal those at an offset before, at most longest.
func same(data []byte, at, offset int) (n int) {
	for n < longest && at+n < len(data) && data[at+n] == data[at+n-offset] {
		n++
	}
	return n
}

// size is the number of bits of a number.
func size(n int) int { return 2*bits.Len(uint(n)) - 1 }

// places finds earlier places with the same bytes, the nearest first.
type places struct {
	two   map[[2]byte]int
	three map[[3]byte]int
	prev  []int // of three bytes; -1: none
}

func newPlaces(n int) *places { return &places{map[[2]byte]int{}, map[[3]byte]int{}, make([]int, n)} }

// of yields the offsets of places before at, which becomes one of them.
func (p *places) of(data []byte, at int) func(func(int) bool) {
	return func(yield func(int) bool) {
		if at+2 >= len(data) {
			return
		}
		two, three := [2]byte(data[at:]), [3]byte(data[at:])
		near, isNear := p.two[two]
		from, ok := p.three[three]
		p.two[two], p.three[three] = at, at
		p.prev[at] = -1
		if ok {
			p.prev[at] = from
		}
		if isNear && !yield(at-near) {
			return
		}
		for n := 0; ok && from >= 0 && n < tries; n++ {
			if !yield(at - from) {
				return
			}
			from = p.prev[from]
		}
	}
}

// bitWriter writes bits and whole bytes.
type bitWriter struct {
	data []byte
	at   int // of the byte that the next bit belongs to; -1: a new one
	n    int // bits in it
}

func (w *bitWriter) bit(b byte) {
	if w.at < 0 {
		w.at, w.n = len(w.data), 0
		w.data = append(w.data, 0)
	}
	w.data[w.at] |= b << w.n
	if w.n++; w.n == 8 {
		w.at = -1
	}
}

func (w *bitWriter) number(n int) {
	for i := bits.Len(uint(n)) - 2; i >= 0; i-- {
		w.bit(1)
		w.bit(byte(n >> i & 1))
	}
	w.bit(0)
}
