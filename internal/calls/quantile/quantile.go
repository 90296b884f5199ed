// Package quantile counts durations for percentiles, in little memory and without a range that is fixed
// beforehand.
//
// Up to Exact values are stored individually, and their percentiles are exact. More go to buckets whose bounds
// grow with the value: the five bits below the highest one choose the bucket, so that a value is known to one
// part in 32 and its middle is at most 1.6 % off, as in an HDR histogram of that precision. Two sketches merge
// without loss beyond that, and the result depends only on the values, not on the order of adding and merging.
//
// Why not a library: there is a sketch in every node of a trie and an Add for every call of a log, ten million
// a second and more. docs/rationale-time.md has the figures.
package quantile

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// Exact is the number of values up to which percentiles are exact.
const Exact = 32

const (
	// precision is the number of bits of a value that choose its bucket, below
	// the highest one.
	precision = 5
	perOctave = 1 << precision
)

// Sketch is a multiset of durations. The zero value is empty.
//
// A trie has hundreds of thousands of them, most with few values. So exact values use only as many bytes as the
// largest needs, and a bucket has one byte until that overflows.
type Sketch struct {
	// data holds up to Exact values in the order of adding, each in width bytes,
	// little-endian. More than that: the counts, modulo 256, of the buckets first,
	// first+1, ...; the first and the last are of buckets that are not empty.
	data []byte
	// first is beyond all buckets while data holds values.
	first uint32
	width uint8 // 0: data holds buckets
	high  *high // nil while no count has reached 256
}

// high holds the part of counts beyond a byte.
type high struct {
	counts []uint32 // in units of 256, for each byte of data
	over   map[uint32]uint64
}

// noBucket is Sketch.first of a sketch of values.
const noBucket = 1 << 31

// bucket returns the number of the bucket of v.
func bucket(v uint64) uint32 {
	if v < perOctave {
		return uint32(v)
	}
	shift := uint(bits.Len64(v)) - precision - 1
	return uint32(shift)<<precision + uint32(v>>shift)
}

// bounds returns the least value of bucket b and the number of values in it.
func bounds(b uint32) (lo, width uint64) {
	if b < 2*perOctave {
		return uint64(b), 1
	}
	shift := b>>precision - 1
	return uint64(b&(perOctave-1)|perOctave) << shift, 1 << shift
}

// Add adds a value.
func (s *Sketch) Add(v uint64) {
	if i := bucket(v) - s.first; i < uint32(len(s.data)) {
		s.data[i]++
		if s.data[i] == 0 {
			s.carry(i, 1)
		}
		return
	}
	s.addSlow(v)
}

// AddInner adds a value and reports true if its bucket is neither the first nor the last; otherwise it does
// nothing. Such a value is not the least or greatest of the sketch, so the caller need not check.
func (s *Sketch) AddInner(v uint64) bool {
	i := bucket(v) - s.first
	if i-1 >= uint32(len(s.data))-2 || len(s.data) < 2 {
		return false
	}
	s.data[i]++
	if s.data[i] == 0 {
		s.carry(i, 1)
	}
	return true
}

func (s *Sketch) addSlow(v uint64) {
	if s.addExact(v) {
		return
	}
	s.spill()
	s.addCount(bucket(v), 1)
}

// addExact adds a value to a sketch of values, if it is one and has room.
func (s *Sketch) addExact(v uint64) bool {
	if s.width == 0 && len(s.data) > 0 {
		return false
	}
	need := widthOf(v)
	if need > s.width {
		s.widen(need)
	}
	if len(s.data) >= Exact*int(s.width) {
		return false
	}
	switch s.width {
	case 2:
		s.data = binary.LittleEndian.AppendUint16(s.data, uint16(v))
	case 4:
		s.data = binary.LittleEndian.AppendUint32(s.data, uint32(v))
	default:
		s.data = binary.LittleEndian.AppendUint64(s.data, v)
	}
	return true
}

func widthOf(v uint64) uint8 {
	switch {
	case v < 1<<16:
		return 2
	case v < 1<<32:
		return 4
	}
	return 8
}

// widen gives exact values more bytes each.
func (s *Sketch) widen(width uint8) {
	old := *s
	s.data, s.width, s.first = nil, width, noBucket
	if n := old.count(); n > 0 {
		s.data = make([]byte, 0, 2*n*int(width))
		for i := range n {
			s.addExact(old.value(i))
		}
	}
}

// count returns the number of exact values, 0 if there are buckets.
func (s *Sketch) count() int {
	if s.width == 0 {
		return 0
	}
	return len(s.data) / int(s.width)
}

// value returns an exact value.
func (s *Sketch) value(i int) uint64 {
	switch s.width {
	case 2:
		return uint64(binary.LittleEndian.Uint16(s.data[2*i:]))
	case 4:
		return uint64(binary.LittleEndian.Uint32(s.data[4*i:]))
	}
	return binary.LittleEndian.Uint64(s.data[8*i:])
}

// sorted returns the exact values, ascending.
func (s *Sketch) sorted() []uint64 {
	values := make([]uint64, s.count())
	for i := range values {
		values[i] = s.value(i)
	}
	slices.Sort(values)
	return values
}

// spill moves the exact values, if there are, to buckets.
func (s *Sketch) spill() {
	old := *s
	n := old.count()
	if n == 0 {
		return
	}
	s.data, s.width, s.first = nil, 0, 0
	s.addValues(&old)
}

// addValues adds the exact values of other to a sketch of buckets.
func (s *Sketch) addValues(other *Sketch) {
	lo, hi := uint32(noBucket), uint32(0)
	for i := range other.count() {
		b := bucket(other.value(i))
		lo, hi = min(lo, b), max(hi, b)
	}
	s.reach(lo, hi)
	for i := range other.count() {
		s.Add(other.value(i))
	}
}

// reach makes room for the buckets from lo to hi.
func (s *Sketch) reach(lo, hi uint32) {
	n := uint32(len(s.data))
	if n == 0 {
		s.data, s.first = make([]byte, hi-lo+1), lo
		return
	}
	lo, hi = min(lo, s.first), max(hi, s.first+n-1)
	if hi-lo+1 == n {
		return
	}
	data := make([]byte, hi-lo+1)
	copy(data[s.first-lo:], s.data)
	if s.high != nil {
		counts := make([]uint32, len(data))
		copy(counts[s.first-lo:], s.high.counts)
		s.high.counts = counts
	}
	s.data, s.first = data, lo
}

// addCount counts n values of a bucket.
func (s *Sketch) addCount(b uint32, n uint64) {
	s.reach(b, b)
	i := b - s.first
	n += uint64(s.data[i])
	s.data[i] = byte(n)
	if n > 255 {
		s.carry(i, n>>8)
	}
}

// carry adds n times 256 to the bucket at i.
func (s *Sketch) carry(i uint32, n uint64) {
	if s.high == nil {
		s.high = new(high)
	}
	if s.high.counts == nil {
		s.high.counts = make([]uint32, len(s.data))
	}
	n += uint64(s.high.counts[i])
	s.high.counts[i] = uint32(n)
	if n >>= 32; n > 0 {
		if s.high.over == nil {
			s.high.over = make(map[uint32]uint64)
		}
		s.high.over[s.first+i] += n
	}
}

// at returns the count of the bucket at i.
func (s *Sketch) at(i int) uint64 {
	n := uint64(s.data[i])
	if s.high != nil {
		n += uint64(s.high.counts[i]) << 8
		if s.high.over != nil {
			n += s.high.over[s.first+uint32(i)] << 40
		}
	}
	return n
}

// Merge adds the values of other, which it leaves as it is.
func (s *Sketch) Merge(other *Sketch) {
	switch n := other.count(); {
	case len(other.data) == 0:
		return
	case n > 0 && (s.width > 0 || len(s.data) == 0) && s.count()+n <= Exact:
		if s.width == other.width {
			s.data = append(s.data, other.data...)
			return
		}
		for i := range n {
			s.addExact(other.value(i))
		}
		return
	case n > 0:
		s.spill()
		s.addValues(other)
		return
	}
	s.spill()
	s.reach(other.first, other.first+uint32(len(other.data))-1)
	s.addCounts(other)
}

// addCounts adds the counts of other, whose buckets are all there.
func (s *Sketch) addCounts(other *Sketch) {
	if other.high != nil {
		for i := range other.data {
			if n := other.at(i); n > 0 {
				s.addCount(other.first+uint32(i), n)
			}
		}
		return
	}
	at := int(other.first - s.first)
	from, into := other.data, s.data[at:at+len(other.data)]
	i := 0
	// Eight at a time as long as none overflows: add the bits below the top ones, then the top ones. Most are
	// zero.
	const top = 0x8080808080808080
	for ; i+8 <= len(from); i += 8 {
		x := binary.LittleEndian.Uint64(from[i:])
		if x == 0 {
			continue
		}
		y := binary.LittleEndian.Uint64(into[i:])
		sum := (x&^top + y&^top) ^ (x^y)&top
		if (x&y|(x|y)&^sum)&top != 0 {
			s.addBytes(from[i:i+8], at+i)
			continue
		}
		binary.LittleEndian.PutUint64(into[i:], sum)
	}
	s.addBytes(from[i:], at+i)
}

// addBytes adds counts to the buckets from the one at i on.
func (s *Sketch) addBytes(counts []byte, i int) {
	for k, n := range counts {
		sum := s.data[i+k] + n
		s.data[i+k] = sum
		if sum < n {
			s.carry(uint32(i+k), 1)
		}
	}
}

// Count returns the number of values.
func (s *Sketch) Count() uint64 {
	n := uint64(s.count())
	if n > 0 {
		return n
	}
	for i := range s.data {
		n += s.at(i)
	}
	return n
}

// Quantile returns the value at rank floor(q*n) of the n values in order, as llvm-xray computes percentiles:
// 0.5 is the median, 1 the largest. Above Exact values it is the middle of the bucket. It is 0 for an empty
// sketch.
func (s *Sketch) Quantile(q float64) uint64 {
	n := s.Count()
	if n == 0 {
		return 0
	}
	rank := min(uint64(math.Max(0, q*float64(n))), n-1)
	if s.width > 0 {
		return s.sorted()[rank]
	}
	for i := range s.data {
		here := s.at(i)
		if rank < here {
			lo, width := bounds(s.first + uint32(i))
			return lo + (width-1)/2
		}
		rank -= here
	}
	return 0
}

// Bucket is a range of values and their number.
type Bucket struct {
	Low, Width uint64 // values v with Low <= v < Low+Width; Width 2^63 and more do not occur
	Count      uint64
}

// Buckets returns the buckets that are not empty, ascending; exact values are
// buckets of width 1.
func (s *Sketch) Buckets() []Bucket {
	var list []Bucket
	if s.width > 0 {
		for _, v := range s.sorted() {
			if n := len(list); n > 0 && list[n-1].Low == v {
				list[n-1].Count++
				continue
			}
			list = append(list, Bucket{Low: v, Width: 1, Count: 1})
		}
		return list
	}
	for i := range s.data {
		if n := s.at(i); n > 0 {
			lo, width := bounds(s.first + uint32(i))
			list = append(list, Bucket{Low: lo, Width: width, Count: n})
		}
	}
	return list
}
