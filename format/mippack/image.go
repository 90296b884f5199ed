package mippack

// Problem: the image of a raw section is mostly zeros with some ones, which are adjacent because functions that
// use each other are, or words with the calls and the order of functions. The map of the records is not
// available.
//
// A byte is coded as: is it zero; if not, is it one; if not, its bits. The context is which of the preceding
// bytes were zero, and the byte at its place in an earlier run of the same build.

// imageModel is the adaptive model of images. One serves all files of a pack.
type imageModel struct {
	zero, one []bit
	bytes     [8][4][256]bit // by place in the record and the word so far
}

const (
	zeroContexts = 2 * 4 * 32 * 5 * 4
	maxGap       = 64
)

func newImageModel() *imageModel {
	return &imageModel{zero: make([]bit, zeroContexts), one: make([]bit, zeroContexts)}
}

// code codes an image, which a decoder fills, given that of an earlier run, if there is one. A decoder whose
// bytes are used up leaves the rest zero.
func (m *imageModel) code(c *coder, data, earlier []byte) {
	wide := 0 // 1 if the image has words
	hist := uint32(0)
	gap := 0 // zeros since the last nonzero byte
	for i := range data {
		if c.d != nil && c.d.spent() {
			return
		}
		v := data[i]
		before := 4
		if i < len(earlier) {
			before = int(min(earlier[i], 2))
		} else if earlier != nil {
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
			if v = 1; c.bit(&m.one[ctx], data[i] != 1) {
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

// byte codes a byte that is neither 0 nor 1.
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
