package nativert

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// Libraries contain their host compressed, as most processes never load it. Problem: the decoder is part of each
// library as well, and runs when a program starts. Choice: LZ77 with adaptive models of single bits and a range coder,
// as LZMA's but with few models; 450 bytes of code (c/timed/unpack.h) decode 20 MB/s, a host in 5 ms. A host becomes 53 %
// of its size, on AArch64 43 %. Static codes, with 300 bytes of code and ten times as fast, made 58 and 51 % of it; gzip
// makes 57 % on x86-64 and its decoder has 2 KB; xz makes 51 and 41 % with more models and a decoder twice as large. Models
// that depend on the byte before or on the one at the last offset, and two speeds of adaption, gain 1 % or less.
//
// The stream is the length of the data, 4 bytes, and what the range coder makes of bits. Each bit has a model, of those
// of its step:
//
//	0 BYTE                     the byte, its highest bit first; models of four places, by the address
//	1 1 length                 a copy from the last offset
//	1 0 length-1 SIZE offset-1  a copy; SIZE is the number of bits of offset-1, of which the highest follows from it
//
// A number n >= 1 is its bits below the highest one, each after a bit 1, then a bit 0. Its models depend on what of it
// is known.

// longest bounds a copy, since the time is quadratic in it. tries bounds how many earlier places with the same three
// bytes are compared, none if one has enough bytes in common. Each round computes the cheapest steps by how often bits
// of each model were 0 and 1 in the round before.
const (
	longest = 256
	tries   = 256
	enough  = 128
	rounds  = 3
)

// The first models of each kind, as in c/timed/unpack.h.
const (
	modelCopy    = 0
	modelAgain   = 2
	modelAgains  = 4
	modelLengths = 132
	modelSizes   = 260
	modelOffsets = 512
	modelBytes   = 1536
	models       = 2560
)

// step is the last step of the cheapest encoding of the data before a place.
type step struct {
	cost   int // of all, in 1/256 bits
	length int // of this step
	offset int // of a copy; 0: a byte
	last   int // offset that the next copy may use
	repeat bool
}

// copied is 1 if the step is a copy.
func (s *step) copied() int { return min(s.offset, 1) }

// Compress returns the compressed form of data.
func Compress(data []byte) []byte {
	var costs prices
	for m := range costs {
		costs[m] = [2]int{256, 256}
	}
	for round := 1; ; round++ {
		out := newRangeCoder()
		at, copied := 0, 0
		for _, s := range cheapest(data, &costs) {
			s.put(out.bit, data, at, copied)
			at, copied = at+s.length, s.copied()
		}
		if round == rounds {
			return append(binary.LittleEndian.AppendUint32(nil, uint32(len(data))), out.finish()...)
		}
		costs = out.prices()
	}
}

// put encodes a step at a place, behind a copy or not.
func (s *step) put(bit func(model, b int), data []byte, at, copied int) {
	switch bit(modelCopy+copied, s.copied()); {
	case s.offset == 0:
		putTree(bit, modelBytes+at&3*256, int(data[at]), 8)
	case s.repeat:
		bit(modelAgain+copied, 1)
		putNumber(bit, modelAgains, s.length)
	default:
		bit(modelAgain+copied, 0)
		putNumber(bit, modelLengths, s.length-1)
		putOffset(bit, s.offset, s.length)
	}
}

func putTree(bit func(model, b int), model, value, bits int) {
	n := 1
	for i := bits - 1; i >= 0; i-- {
		b := value >> i & 1
		bit(model+n, b)
		n = 2*n + b
	}
}

func putNumber(bit func(model, b int), model, value int) {
	n := 1
	for i := bits.Len(uint(value)) - 2; i >= 0; i-- {
		b := value >> i & 1
		bit(model+min(n, 63), 1)
		bit(model+min(n, 63)+64, b)
		n = 2*n + b
	}
	bit(model+min(n, 63), 0)
}

func putOffset(bit func(model, b int), offset, length int) {
	size := bits.Len(uint(offset - 1))
	putTree(bit, modelSizes+min(length-2, 3)*32, size, 5)
	for i := size - 2; i >= 0; i-- {
		bit(modelOffsets+size*32+i, (offset-1)>>i&1)
	}
}

// prices are the costs of bits 0 and 1 of each model, in 1/256 bits.
type prices [models][2]int

// of returns the cost of what put encodes.
func (p *prices) of(put func(bit func(model, b int))) (sum int) {
	put(func(model, b int) { sum += p[model][b] })
	return sum
}

// lengthPrices returns the costs of the lengths of copies as numbers of a model.
func (p *prices) lengthPrices(model int) (of [longest + 1]int) {
	for n := 1; n <= longest; n++ {
		of[n] = p.of(func(bit func(model, b int)) { putNumber(bit, model, n) })
	}
	return of
}

// cheapest returns the steps that encode data at the least cost, of those that differ in the last offset at one place
// only the cheapest.
func cheapest(data []byte, p *prices) []step {
	best := make([]step, len(data)+1)
	take := func(to int, s step) {
		if best[to].length == 0 || s.cost < best[to].cost {
			best[to] = s
		}
	}
	agains, lengths := p.lengthPrices(modelAgains), p.lengthPrices(modelLengths)
	earlier := newPlaces(len(data))
	for at := range data {
		here := best[at]
		copied := here.copied()
		single := step{length: 1, last: here.last}
		single.cost = here.cost + p.of(func(bit func(model, b int)) { single.put(bit, data, at, copied) })
		take(at+1, single)
		start := here.cost + p[modelCopy+copied][1]
		if here.last > 0 {
			for n := range same(data, at, here.last) {
				take(at+n+1, step{start + p[modelAgain+copied][1] + agains[n+1], n + 1, here.last, here.last, true})
			}
		}
		have := 1
		for offset := range earlier.of(data, at) {
			n := same(data, at, offset)
			for ; have < n; have++ {
				far := p.of(func(bit func(model, b int)) { putOffset(bit, offset, have+1) })
				take(at+have+1, step{start + p[modelAgain+copied][0] + lengths[have] + far, have + 1, offset, offset, false})
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
	slices.Reverse(back)
	return back
}

// same returns how many bytes from at on equal those at an offset before, at most longest.
func same(data []byte, at, offset int) (n int) {
	for n < longest && at+n < len(data) && data[at+n] == data[at+n-offset] {
		n++
	}
	return n
}

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

// rangeCoder encodes bits. Each has a part of the range in proportion to its probability.
type rangeCoder struct {
	data   []byte
	low    uint64 // of the range, 32 bits and a carry
	size   uint32 // of the range
	last   byte   // before the range, which the carry may change
	full   int    // bytes 255 behind it
	taken  int    // bytes that the decoder takes
	half   [models]uint16
	counts [models][2]int
}

func newRangeCoder() *rangeCoder {
	c := &rangeCoder{size: 1}
	for m := range c.half {
		c.half[m] = 1 << 15
	}
	return c
}

func (c *rangeCoder) bit(model, b int) {
	c.counts[model][b]++
	for ; c.size < 1<<24; c.size <<= 8 {
		c.shift()
		c.taken++
	}
	p := &c.half[model]
	bound := c.size >> 16 * uint32(*p)
	if b == 1 {
		c.size = bound
		*p += (65535 - *p) >> 5
		return
	}
	c.low += uint64(bound)
	c.size -= bound
	*p -= *p >> 5
}

// shift writes the highest byte of the range when no carry can change it any more.
func (c *rangeCoder) shift() {
	if carry := byte(c.low >> 32); carry > 0 || c.low < 0xff<<24 {
		c.data = append(c.data, c.last+carry)
		for ; c.full > 0; c.full-- {
			c.data = append(c.data, 255+carry)
		}
		c.last = byte(c.low >> 24)
	} else {
		c.full++
	}
	c.low = c.low << 8 & 0xffffffff
}

// finish returns the data. The first five bytes are always 0, and those that the decoder does not take have no effect.
func (c *rangeCoder) finish() []byte {
	for range 5 {
		c.shift()
	}
	return c.data[5:][:c.taken]
}

// prices returns the costs of bits as often as they were encoded.
func (c *rangeCoder) prices() (p prices) {
	for m, n := range c.counts {
		all := float64(n[0]+n[1]) + 0.8
		for b := range p[m] {
			p[m][b] = int(-256 * math.Log2((float64(n[b])+0.4)/all))
		}
	}
	return p
}
