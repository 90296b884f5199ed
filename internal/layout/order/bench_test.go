package order

import (
	"math/bits"
	"runtime"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// large returns a program of 100,000 functions with 100 traces as large programs have them: a
// startup that all traces share, features that some use, and a few functions that only one
// uses. Calls go from earlier to later functions, with widely distributed counts.
func large(funcs, traces int) *Input {
	rng := generator(1)
	below := func(n int) int { return int(rng.next() % uint64(n)) }
	in := &Input{Funcs: make([]Func, funcs), Traces: make([]prof.Trace, traces)}
	for i := range in.Funcs {
		// Sizes double with half the probability each, from 16 bytes.
		in.Funcs[i] = Func{Addr: uint64(below(1 << 30)), Size: uint64(16+below(64)) << min(bits.TrailingZeros64(rng.next()), 8)}
		if i > 0 {
			in.Edges = append(in.Edges, Edge{uint32(below(i)), uint32(i), uint64(1 + below(1<<below(20)))})
			in.Edges = append(in.Edges, Edge{uint32(below(1 + i/10)), uint32(i), uint64(1 + below(1<<below(20)))})
		}
	}
	const feature = 40 // functions of a feature
	common, features := funcs/50, funcs*3/10/feature
	for t := range in.Traces {
		tr := &in.Traces[t]
		tr.Weight = 1
		for f := range common {
			if below(50) != 0 {
				tr.Funcs = append(tr.Funcs, uint32(f))
			}
		}
		// Zipf: feature k with a probability like 1/k.
		for k := range features {
			if below(k+10) < 10 || below(100) == 0 {
				for i := range feature {
					if below(8) != 0 {
						tr.Funcs = append(tr.Funcs, uint32(common+k*feature+i))
					}
				}
			}
		}
		for range 100 {
			tr.Funcs = append(tr.Funcs, uint32(funcs/2+below(funcs/2)))
		}
	}
	setMeanOrder(in)
	for i := range in.Funcs {
		in.Funcs[i].Calls = in.Funcs[i].Runs * uint64(1+below(1000))
	}
	return in
}

func BenchmarkLarge(b *testing.B) {
	in := large(100_000, 100)
	b.Logf("%d signatures, %d functions in traces", len(groupsOf(in, firstUses(in))), len(nodesOf(in, firstUses(in))))
	for _, alg := range Algorithms() {
		b.Run(string(alg), func(b *testing.B) {
			b.ReportAllocs()
			var r *Result
			for b.Loop() {
				var err error
				if r, err = Compute(in, alg, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			pages, _, bound := meanPages(Evaluate(in, r.Order, 0))
			b.ReportMetric(pages, "pages")
			b.ReportMetric(bound, "bound")
			b.ReportMetric(float64(m.HeapSys)/(1<<20), "heap-MiB")
		})
	}
}
