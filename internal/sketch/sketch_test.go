package sketch

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func drawValues(t *rapid.T, label string) []uint64 {
	small := rapid.Uint64Range(0, 5000)
	any := rapid.Uint64()
	return rapid.SliceOfN(rapid.OneOf(small, any), 0, 120).Draw(t, label)
}

func of(values []uint64) *Sketch {
	s := new(Sketch)
	for _, v := range values {
		s.Add(v)
	}
	return s
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := drawValues(t, "values")
		s := of(values)
		if got := s.Count(); got != uint64(len(values)) {
			t.Fatalf("%d values, counted %d", len(values), got)
		}
		slices.Sort(values)
		for _, q := range []float64{0, 0.5, 0.9, 0.99, 1} {
			if len(values) == 0 {
				continue
			}
			want := values[min(int(q*float64(len(values))), len(values)-1)]
			got := s.Quantile(q)
			off := math.Abs(float64(got)-float64(want)) / math.Max(1, float64(want))
			if exact := len(values) <= Exact || want < 2*perOctave; exact && got != want || off > 1.0/(2*perOctave) {
				t.Fatalf("quantile %g of %d values: %d, want %d", q, len(values), got, want)
			}
		}
	})
}

// TestMerge: however values come together, the sketch is the same.
func TestMerge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawValues(t, "a"), drawValues(t, "b")
		both := of(slices.Concat(a, b))
		ab, ba := of(a), of(b)
		ab.Merge(of(b))
		ba.Merge(of(a))
		want := both.Buckets()
		if !slices.Equal(ab.Buckets(), want) || !slices.Equal(ba.Buckets(), want) {
			t.Fatalf("together %v\na and b %v\nb and a %v", want, ab.Buckets(), ba.Buckets())
		}
	})
}

func TestBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64().Draw(t, "v")
		lo, width := bounds(bucket(v))
		if v < lo || v-lo >= width {
			t.Fatalf("%d is not in its bucket, %d and the %d after it", v, lo, width)
		}
	})
}

func TestCarry(t *testing.T) {
	t.Parallel()
	s := of(make([]uint64, Exact+1))
	s.counts[0] = math.MaxUint32
	s.Add(0)
	s.Merge(&Sketch{counts: []uint32{7}, over: map[uint32]uint32{0: 2}})
	if got, want := s.Count(), uint64(3)<<32+7; got != want {
		t.Errorf("count %d, want %d", got, want)
	}
	if got := s.Quantile(0.5); got != 0 {
		t.Errorf("median %d of zeros", got)
	}
}

func BenchmarkAdd(b *testing.B) {
	s := of(make([]uint64, Exact+1))
	for i := range uint64(b.N) {
		s.Add(i * 2654435761 >> 20 & 0xffff)
	}
}
