package stablesort_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/stablesort"
)

type element struct {
	key, at int
	name    string
	_       [3]uint64 // rows are larger than their keys
}

func byKey(a, b element) int { return cmp.Compare(a.key, b.key) }

// elements returns n elements with some different keys, of which the first are in order.
func elements(n, keys, ordered int, seed uint64) []element {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := make([]element, n)
	for i := range s {
		s[i] = element{key: rng.IntN(keys), at: i, name: fmt.Sprint(i)}
	}
	slices.SortFunc(s[:ordered], byKey)
	return s
}

func TestFunc(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		n := rng.IntN(200)
		got := elements(n, 1+rng.IntN(40), rng.IntN(n+1), seed)
		want := slices.Clone(got)
		slices.SortStableFunc(want, byKey)
		stablesort.Func(got, byKey)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: not the order of the standard library", seed)
		}
	}
}

func BenchmarkSorts(b *testing.B) {
	for _, sort := range []struct {
		name string
		f    func([]element, func(a, b element) int)
	}{
		{"stablesort", stablesort.Func[[]element]},
		{"stable", slices.SortStableFunc[[]element]},
		{"unstable", slices.SortFunc[[]element]},
	} {
		for _, n := range []int{8, 100, 10_000} {
			from := elements(n, n, 0, 1)
			s := make([]element, n)
			b.Run(fmt.Sprintf("%s/%d", sort.name, n), func(b *testing.B) {
				for b.Loop() {
					copy(s, from)
					sort.f(s, byKey)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/element")
			})
		}
	}
}
