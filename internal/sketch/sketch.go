// Package sketch counts durations so that percentiles can be told later, in
// little memory and without knowing the range beforehand.
//
// Up to Exact values are kept as they are, and percentiles of them are exact.
// More go to buckets whose bounds grow with the value: the five bits below the
// highest one choose the bucket, so that a value is known to one part in 32 and
// its middle is at most 1.6 % off, as in an HDR histogram of that precision. Two sketches merge
// without loss beyond that, and the result depends only on the values, not on
// the order of adding and merging.
//
// Why not a library: there is a sketch in every node of a trie and an Add for
// every call of a log, ten million a second and more. docs/rationale.md has the
// figures.
package sketch

import (
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
type Sketch struct {
	// values holds up to Exact values in the order of adding; then it is nil.
	values []uint64
	// counts are the buckets first, first+1, ...; of a full sketch the first and
	// the last are not 0.
	counts []uint32
	first  uint32
	// over are buckets whose count does not fit, in units of 1<<32.
	over map[uint32]uint32
}

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
	if i := bucket(v) - s.first; i < uint32(len(s.counts)) {
		if s.counts[i]++; s.counts[i] == 0 {
			s.carry(s.first + i)
		}
		return
	}
	s.addSlow(v)
}

func (s *Sketch) addSlow(v uint64) {
	if s.counts == nil {
		if len(s.values) < Exact {
			s.values = append(s.values, v)
			return
		}
		s.spill()
	}
	s.addCount(bucket(v), 1)
}

// spill moves the exact values to buckets.
func (s *Sketch) spill() {
	values := s.values
	s.values = nil
	if len(values) == 0 {
		return
	}
	s.reach(bucket(slices.Min(values)))
	s.reach(bucket(slices.Max(values)))
	for _, v := range values {
		s.counts[bucket(v)-s.first]++
	}
}

// reach makes room for bucket b.
func (s *Sketch) reach(b uint32) {
	switch n := uint32(len(s.counts)); {
	case n == 0:
		s.counts, s.first = make([]uint32, 1, 8), b
	case b < s.first:
		grown := make([]uint32, s.first-b+n)
		copy(grown[s.first-b:], s.counts)
		s.counts, s.first = grown, b
	case b-s.first >= n:
		s.counts = append(s.counts, make([]uint32, b-s.first-n+1)...)
	}
}

func (s *Sketch) addCount(b, n uint32) {
	s.reach(b)
	c := &s.counts[b-s.first]
	old := *c
	if *c += n; *c < old {
		s.carry(b)
	}
}

func (s *Sketch) carry(b uint32) {
	if s.over == nil {
		s.over = make(map[uint32]uint32)
	}
	s.over[b]++
}

// Merge adds the values of other, which it leaves as it is.
func (s *Sketch) Merge(other *Sketch) {
	switch {
	case other.counts == nil && s.counts == nil && len(s.values)+len(other.values) <= Exact:
		s.values = append(s.values, other.values...)
		return
	case other.counts == nil && len(other.values) == 0:
		return
	case s.counts == nil:
		s.spill()
	}
	for _, v := range other.values {
		s.addCount(bucket(v), 1)
	}
	if n := uint32(len(other.counts)); n > 0 {
		s.reach(other.first)
		s.reach(other.first + n - 1)
	}
	for i, n := range other.counts {
		if n != 0 {
			s.addCount(other.first+uint32(i), n)
		}
	}
	for b, n := range other.over {
		if s.over == nil {
			s.over = make(map[uint32]uint32)
		}
		s.over[b] += n
	}
}

// Count returns the number of values.
func (s *Sketch) Count() uint64 {
	n := uint64(len(s.values))
	for _, c := range s.counts {
		n += uint64(c)
	}
	for _, c := range s.over {
		n += uint64(c) << 32
	}
	return n
}

// Quantile returns the value at rank floor(q*n) of the n values in order, which
// is how llvm-xray picks percentiles: 0.5 is the median, 1 the largest. Above
// Exact values it is the middle of the bucket. It is 0 for an empty sketch.
func (s *Sketch) Quantile(q float64) uint64 {
	n := s.Count()
	if n == 0 {
		return 0
	}
	rank := min(uint64(math.Max(0, q*float64(n))), n-1)
	if s.counts == nil {
		sorted := slices.Sorted(slices.Values(s.values))
		return sorted[rank]
	}
	for i, c := range s.counts {
		b := s.first + uint32(i)
		here := uint64(c) + uint64(s.over[b])<<32
		if rank < here {
			lo, width := bounds(b)
			return lo + (width-1)/2
		}
		rank -= here
	}
	return 0
}

// Bucket is a range of values and how many are in it.
type Bucket struct {
	Low, Width uint64 // values v with Low <= v < Low+Width; Width 2^63 and more do not occur
	Count      uint64
}

// Buckets returns the buckets that are not empty, ascending; exact values are
// buckets of width 1.
func (s *Sketch) Buckets() []Bucket {
	var list []Bucket
	if s.counts == nil {
		for _, v := range slices.Sorted(slices.Values(s.values)) {
			if n := len(list); n > 0 && list[n-1].Low == v {
				list[n-1].Count++
				continue
			}
			list = append(list, Bucket{Low: v, Width: 1, Count: 1})
		}
		return list
	}
	for i, c := range s.counts {
		b := s.first + uint32(i)
		if n := uint64(c) + uint64(s.over[b])<<32; n > 0 {
			lo, width := bounds(b)
			list = append(list, Bucket{Low: lo, Width: width, Count: n})
		}
	}
	return list
}
