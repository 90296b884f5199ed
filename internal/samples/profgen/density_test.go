package profgen

import (
	"testing"

	"github.com/cairnprof/cairn/format/sampleprof"
)

func TestDensity(t *testing.T) {
	t.Parallel()
	samples := func(counts ...uint64) *sampleprof.Samples {
		s := &sampleprof.Samples{Body: map[sampleprof.Place]*sampleprof.Line{}}
		for i, n := range counts {
			s.Body[sampleprof.Place{Offset: uint32(i)}] = &sampleprof.Line{Count: n}
		}
		return s
	}
	hot := samples(900, 100) // and 0 in a copy that was inlined
	hot.Inlined = map[sampleprof.Place]map[string]*sampleprof.Samples{{Offset: 3}: {"callee": samples(0, 0)}}
	contexts := []sampleprof.Context{{Samples: samples(10, 30)}, {Samples: hot}, {Samples: samples()}}
	for cutoff, want := range map[uint64]float64{990_000: 20, 900_000: 250, 0: 0} {
		if got := Density(contexts, cutoff); got != want {
			t.Errorf("%d: %v, want %v", cutoff, got, want)
		}
	}
	if got := Density(nil, 990_000); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}
