package mippack

import "math/bits"

// The range coder of Martin (1979) with 64 bits: an interval of numbers is divided into parts proportional to
// the symbols' frequencies, and the current symbol's part is the next interval. Bytes that can no longer change
// are written. All arithmetic is on integers, so that every machine unpacks what any other has packed.

// bottom is the minimum size of an interval, below which bytes are written.
const bottom = 1 << 56

type encoder struct {
	low, rng uint64
	out      []byte
}

func newEncoder() *encoder { return &encoder{rng: 1<<64 - 1} }

// encode writes the symbol with frequencies [from, from+size) of total, which
// is far below bottom: all here stay below 1<<36.
func (e *encoder) encode(from, size, total uint64) {
	r := e.rng / total
	var carry uint64
	e.low, carry = bits.Add64(e.low, r*from, 0)
	if carry != 0 {
		e.carry()
	}
	for e.rng = r * size; e.rng < bottom; e.rng <<= 8 {
		e.out = append(e.out, byte(e.low>>56))
		e.low <<= 8
	}
}

// carry adds one to the number formed by the bytes already written.
func (e *encoder) carry() {
	for i := len(e.out) - 1; i >= 0; i-- {
		if e.out[i]++; e.out[i] != 0 {
			return
		}
	}
}

// finish returns the bytes: as many as needed for them, with zeros appended, to lie in the last interval.
func (e *encoder) finish() []byte {
	low, carry := bits.Add64(e.low, bottom-1, 0)
	if carry != 0 {
		e.carry()
	}
	return append(e.out, byte(low>>56))
}

type decoder struct {
	code, rng, r uint64
	in           []byte
	behind       int // bytes read after the end
}

func newDecoder(in []byte) *decoder {
	d := &decoder{rng: 1<<64 - 1, in: in}
	for range 8 {
		d.code = d.code<<8 | d.next()
	}
	return d
}

func (d *decoder) next() uint64 {
	if len(d.in) == 0 {
		d.behind++
		return 0
	}
	b := d.in[0]
	d.in = d.in[1:]
	return uint64(b)
}

// spent reports whether more was read than the data and the zeros that an encoder omits.
func (d *decoder) spent() bool { return d.behind > 7 }

// at returns the frequency that the next symbol's interval holds, and must be
// followed by decode.
func (d *decoder) at(total uint64) uint64 {
	d.r = d.rng / total
	return min(d.code/d.r, total-1)
}

// decode moves past the symbol with frequencies [from, from+size).
func (d *decoder) decode(from, size uint64) {
	d.code -= d.r * from
	for d.rng = d.r * size; d.rng < bottom; d.rng <<= 8 {
		d.code = d.code<<8 | d.next()
	}
}

// bit is the adaptive probability of a bit: the mean of a fast and a slow estimate.
type bit struct {
	fast, slow uint16
	seen       uint8
}

const (
	bitOne    = 1 << 16
	bitFloor  = 32 // no bit is likelier than 1-2^-11, see maxRatio
	fastShift = 4
	slowShift = 7
)

// zero returns the probability of a zero, of bitOne.
func (b *bit) zero() uint64 {
	if b.seen == 0 {
		return bitOne / 2
	}
	return min(max((uint64(b.fast)+uint64(b.slow))/2, bitFloor), bitOne-bitFloor)
}

// update adapts to the bit's value. The first few values count more.
func (b *bit) update(one bool) {
	if b.seen == 0 {
		b.fast, b.slow = bitOne/2, bitOne/2
	}
	if b.seen < 255 {
		b.seen++
	}
	step := func(p uint16, shift int) uint16 {
		for shift > 1 && 1<<shift > int(b.seen)+2 {
			shift--
		}
		if one {
			return p - p>>shift
		}
		return p + (bitOne-1-p)>>shift
	}
	b.fast, b.slow = step(b.fast, fastShift), step(b.slow, slowShift)
}

// coder is an encoder or a decoder with the same methods, so that both use the same models.
type coder struct {
	e *encoder
	d *decoder
}

// bit codes v under b and returns it; a decoder ignores v.
func (c *coder) bit(b *bit, v bool) bool {
	zero := b.zero()
	if c.e == nil {
		v = c.d.at(bitOne) >= zero
	}
	from, size := uint64(0), zero
	if v {
		from, size = zero, bitOne-zero
	}
	if c.e != nil {
		c.e.encode(from, size, bitOne)
	} else {
		c.d.decode(from, size)
	}
	b.update(v)
	return v
}

// tree codes the low bits of v, the highest first, each in the context of those
// above it. It needs 1<<n models.
func (c *coder) tree(models []bit, n int, v uint8) uint8 {
	node := 1
	for i := n - 1; i >= 0; i-- {
		node <<= 1
		if c.bit(&models[node>>1], v>>i&1 != 0) {
			node |= 1
		}
	}
	return uint8(node - 1<<n)
}
