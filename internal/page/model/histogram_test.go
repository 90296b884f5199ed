package model

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/internal/calls/quantile"
)

// low returns the least time of a bucket, as the page computes it.
func low(bucket int) uint64 {
	if bucket < 4 {
		return uint64(bucket)
	}
	return uint64(4+bucket%4) << (bucket/4 - 1)
}

// TestHistogram checks that each call is in the bucket that its time is in, alone and in sums.
func TestHistogram(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var list [2][]uint64
		var of [2]*Histogram
		for i := range list {
			list[i] = rapid.SliceOfN(rapid.Uint64Range(0, 1<<40), 2, 200).Draw(t, "times")
			var s quantile.Sketch
			for _, v := range list[i] {
				s.Add(v)
			}
			of[i] = histogramOf(&s)
		}
		sum := of[0].with(of[1])
		for i, n := range sum.Counts {
			want := uint64(0)
			for _, v := range slices.Concat(list[0], list[1]) {
				if v >= low(sum.First+i) && v < low(sum.First+i+1) {
					want++
				}
			}
			if n != want {
				t.Fatalf("bucket %d, from %d to %d: %d calls, want %d", sum.First+i, low(sum.First+i), low(sum.First+i+1), n, want)
			}
		}
		if got := slices.Min([]uint64{sum.Counts[0], sum.Counts[len(sum.Counts)-1]}); got == 0 {
			t.Fatal("an end is empty")
		}
	})
	if h := histogramOf(&quantile.Sketch{}); h != nil || h.with(nil) != nil {
		t.Error("a histogram of nothing")
	}
}
