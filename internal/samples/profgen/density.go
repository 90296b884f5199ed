package profgen

import (
	"cmp"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Density tells whether a profile has enough samples, as llvm-profgen defines it: the density of a
// function is the sum of its counts divided by the number of its locations, inlined ones included,
// and that of a profile is the lowest of the densest functions that have cutoff millionths of all
// counts together. It is 0 if there are no counts.
func Density(contexts []sampleprof.Context, cutoff uint64) float64 {
	type function struct {
		density float64
		counts  uint64
	}
	var functions []function
	total := uint64(0)
	for _, c := range contexts {
		if counts, places := bodyOf(c.Samples); places > 0 {
			functions = append(functions, function{float64(counts) / float64(places), counts})
			total += counts
		}
	}
	stablesort.Func(functions, func(a, b function) int {
		return cmp.Or(cmp.Compare(b.density, a.density), cmp.Compare(a.counts, b.counts))
	})
	// llvm-profgen computes in 32 bits here, which decides where sums are equal but for rounding.
	enough := float32(total) * float32(cutoff) / 1e6
	density, sum := 0.0, uint64(0)
	for _, f := range functions {
		if float32(sum) >= enough {
			break
		}
		sum += f.counts
		density = f.density
	}
	return density
}

// bodyOf returns the sum of all counts and the number of their locations.
func bodyOf(s *sampleprof.Samples) (counts uint64, places int) {
	for _, line := range s.Body {
		counts += line.Count
	}
	places = len(s.Body)
	for _, at := range s.Inlined {
		for _, callee := range at {
			c, n := bodyOf(callee)
			counts, places = counts+c, places+n
		}
	}
	return counts, places
}
