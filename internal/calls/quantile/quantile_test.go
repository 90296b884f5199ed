package quantile

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

// TestMerge checks that the sketch does not depend on the order in which values are merged.
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
	for range 1000 {
		s.Add(0)
		s.Add(7)
	}
	big := &Sketch{data: []byte{255}, high: &high{counts: []uint32{math.MaxUint32}}} // 2^40-1 zeros
	s.Merge(big)
	s.Merge(big)
	s.Merge(s)
	want := []Bucket{{0, 1, 2 * (2<<40 - 2 + 1000 + Exact + 1)}, {7, 1, 2000}}
	if got := s.Buckets(); !slices.Equal(got, want) {
		t.Errorf("buckets %v, want %v", got, want)
	}
	s.Add(3)
	s.Add(1 << 40)
	want = slices.Insert(want, 1, Bucket{3, 1, 1})
	want = append(want, Bucket{1 << 40, 1 << 35, 1})
	if got := s.Buckets(); !slices.Equal(got, want) {
		t.Errorf("buckets %v, want %v", got, want)
	}
	if got := s.Quantile(0.5); got != 0 {
		t.Errorf("median %d of zeros", got)
	}
}

// TestAddInner checks that AddInner adds values as Add does, but never changes the minimum or
// maximum.
func TestAddInner(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := drawValues(t, "values")
		s := new(Sketch)
		var lo, hi uint64
		for i, v := range values {
			if s.AddInner(v) {
				if v <= lo || v >= hi {
					t.Fatalf("%d is not between %d and %d", v, lo, hi)
				}
				continue
			}
			s.Add(v)
			if i == 0 {
				lo = v
			}
			lo, hi = min(lo, v), max(hi, v)
		}
		if got, want := s.Buckets(), of(values).Buckets(); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	s := of(make([]uint64, Exact+1))
	for i := range uint64(b.N) {
		s.Add(i * 2654435761 >> 20 & 0xffff)
	}
}
