package mippack

import "github.com/cairnprof/cairn/format/mip/wire"

// Problem: the image of a raw section is mostly zeros with some ones, which are adjacent because functions that
// use each other are, or words with the calls and the order of functions. The map of the records is not
// available.
//
// A byte is coded as: is it zero; if not, is it the value of a flag; if not, its bits. The context is which of
// the preceding bytes were zero, and the byte at its place in an earlier run of the same build. The value of a
// flag is one, or, in images of Armv7, that of package wire: sections begin at a page, so the offset has the
// low byte of the address.

// imageModel is the adaptive model of images. One serves all files of a pack.
type imageModel struct {
	zero, set []bit
	bytes     [8][4][256]bit // by place in the record and the word so far
}

const (
	zeroContexts = 2 * 4 * 32 * 5 * 4
	maxGap       = 64
)

func newImageModel() *imageModel {
	return &imageModel{zero: make([]bit, zeroContexts), set: make([]bit, zeroContexts)}
}

// flagSet returns the value of a flag at an offset that is set.
func flagSet(off int, odd bool) byte {
	if odd {
		return wire.OddFlag(uint64(off))
	}
	return 1
}

// oddFlags reports whether more bytes of an image have the odd value of a flag than are one.
func oddFlags(data []byte) bool {
	more := 0
	for i, v := range data {
		switch odd := flagSet(i, true); {
		case v == odd && v != 1:
			more++
		case v == 1 && v != odd:
			more--
		}
	}
	return more > 0
}

// code codes an image, which a decoder fills, given that of an earlier run, if there is one; odd tells what flags
// are. A decoder whose bytes are used up leaves the rest zero.
func (m *imageModel) code(c *coder, data, earlier []byte, odd bool) {
	wide := 0 // 1 if the image has words
	hist := uint32(0)
	gap := 0 // zeros since the last nonzero byte
	for i := range data {
		if c.d != nil && c.d.spent() {
			return
		}
		v, set := data[i], flagSet(i, odd)
		before := 4
		switch {
		case i < len(earlier) && earlier[i] == set:
			before = 1
		case i < len(earlier) && earlier[i] != 0:
			before = 2
		case i < len(earlier):
			before = 0
		case earlier != nil:
			before = 3
		}
		g := 0
		for x := gap; x > 0; x >>= 1 {
			g++
		}
		place := 0
		if wide != 0 {
			place = i % 4
		}
		ctx := (((int(hist&3)*8+min(g, 7))*5+before)*4+place)*2 + wide
		if c.bit(&m.zero[ctx], v != 0) {
			if v = set; c.bit(&m.set[ctx], data[i] != set) {
				v = m.byte(c, data, i)
				wide = 1
			}
			gap = 0
			hist = hist<<1 | 1
		} else {
			v = 0
			gap = min(gap+1, maxGap)
			hist <<= 1
		}
		data[i] = v
	}
}

// byte codes a byte that is neither 0 nor the value of a flag.
func (m *imageModel) byte(c *coder, data []byte, i int) byte {
	word := 0
	if i%4 > 0 {
		switch last := data[i-1]; {
		case last == 0xff:
			word = 3
		case last >= 0x80:
			word = 2
		case last > 0:
			word = 1
		}
	}
	return c.tree(m.bytes[i%8][word][:], 8, data[i])
}
