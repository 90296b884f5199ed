package model

import (
	"math/bits"

	"github.com/cairnprof/cairn/internal/calls/quantile"
)

// histogramBucket returns the bucket of a time.
func histogramBucket(v uint64) int {
	if v < 4 {
		return int(v)
	}
	octave := bits.Len64(v) - 3
	return octave*4 + int(v>>octave)
}

// histogramOf returns the times of single calls as the page draws them, nil if there are fewer than two. A bucket of a
// sketch is never in two of a histogram: its bounds are finer and are those of fractions of a power of two as well.
func histogramOf(s *quantile.Sketch) *Histogram {
	if s == nil || s.Count() < 2 {
		return nil
	}
	h := &Histogram{}
	for _, b := range s.Buckets() {
		h.add(histogramBucket(b.Low), b.Count)
	}
	return h
}

// add counts n calls of a bucket that is not below the first.
func (h *Histogram) add(bucket int, n uint64) {
	if len(h.Counts) == 0 {
		h.First = bucket
	}
	for len(h.Counts) <= bucket-h.First {
		h.Counts = append(h.Counts, 0)
	}
	h.Counts[bucket-h.First] += n
}

// with returns the sum of two histograms, each of which may be nil.
func (h *Histogram) with(other *Histogram) *Histogram {
	if h == nil || other == nil {
		if h == nil {
			return other
		}
		return h
	}
	low, high := h, other
	if other.First < h.First {
		low, high = other, h
	}
	sum := &Histogram{First: low.First, Counts: append([]uint64(nil), low.Counts...)}
	for i, n := range high.Counts {
		sum.add(high.First+i, n)
	}
	return sum
}
