package order

import (
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// TestDistance checks that the distance of signatures is the sum of the weights of the traces
// in which they differ, also with more than 64 traces.
func TestDistance(t *testing.T) {
	t.Parallel()
	traces := make([]trace, 130)
	for i := range traces {
		traces[i].weight = 1
	}
	set := func(members ...int) signature {
		s := make(signature, 3)
		for _, m := range members {
			s[m/64] |= 1 << (m % 64)
		}
		return s
	}
	a, b := set(0, 63, 64, 129), set(0, 64, 100)
	equal := newMetric(traces)
	if got := equal.distance(a, b); got != 3 {
		t.Errorf("distance %d, want 3", got)
	}
	if got := equal.distance(nil, a); got != 4 {
		t.Errorf("distance from nothing %d, want 4", got)
	}
	traces[63].weight, traces[129].weight, traces[0].weight = 10, 100, ^uint64(0)
	if got := newMetric(traces).distance(a, b); got != 111 {
		t.Errorf("weighted distance %d, want 111", got)
	}
}

// TestSignatureOrder checks runs that overlap like tiles, for which there is an order in which
// the functions of each run are contiguous.
func TestSignatureOrder(t *testing.T) {
	t.Parallel()
	in := &Input{Funcs: make([]Func, 7)}
	for i := range in.Funcs {
		in.Funcs[i] = Func{Size: 8000, Addr: uint64(i)}
	}
	in.Traces = []prof.Trace{
		{Funcs: []uint32{6, 1, 0}},
		{Funcs: []uint32{6, 3, 1}},
		{Funcs: []uint32{6, 5, 3}},
	}
	r, err := Compute(in, Signature, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range Evaluate(in, r.Order, 0) {
		if s.Pages > s.Bound+1 {
			t.Errorf("trace %d touches %d pages, bound %d: order %v", i, s.Pages, s.Bound, r.Order)
		}
	}
}

// randomTraces returns a small program whose traces overlap at random.
func randomTraces(rng *generator) *Input {
	below := func(n int) int { return int(rng.next() % uint64(n)) }
	in := &Input{Funcs: make([]Func, 60)}
	for i := range in.Funcs {
		in.Funcs[i] = Func{Addr: uint64(i), Size: uint64(64 << below(8))}
	}
	for range 6 {
		t := prof.Trace{Weight: 1}
		for f := range in.Funcs {
			if below(3) == 0 {
				t.Funcs = append(t.Funcs, uint32(f))
			}
		}
		in.Traces = append(in.Traces, t)
	}
	return in
}

// TestWeights checks that a scenario with a larger weight gets fewer pages. This holds for
// every optimal order, but the order found is not always optimal. Therefore the test checks a
// mean over many programs, and limits the number of exceptions.
func TestWeights(t *testing.T) {
	t.Parallel()
	const programs = 50
	rng := generator(5)
	pages := map[uint64]uint64{}
	worse := 0
	for range programs {
		in := randomTraces(&rng)
		var before uint64
		for _, weight := range []uint64{1, 4, 100} {
			in.Traces[2].Weight = weight
			r, err := Compute(in, Signature, Options{})
			if err != nil {
				t.Fatal(err)
			}
			p := Evaluate(in, r.Order, 0)[2].Pages
			pages[weight] += p
			if weight > 1 && p > before {
				worse++
			}
			before = p
		}
	}
	t.Logf("mean pages by weight: 1: %.2f, 4: %.2f, 100: %.2f; %d of %d raises cost a page",
		float64(pages[1])/programs, float64(pages[4])/programs, float64(pages[100])/programs, worse, 2*programs)
	if pages[4] >= pages[1] || pages[100] > pages[4] || worse > programs/5 {
		t.Error("weights do not lower the pages")
	}
}
