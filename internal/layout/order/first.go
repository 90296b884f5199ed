package order

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Symbols returns the names of the functions at the given indexes without duplicates: a linker
// moves all functions of a name at its first occurrence.
func Symbols(m *prof.Module, ranked []uint32) []string {
	seen := make(map[string]bool, len(ranked))
	names := make([]string, 0, len(ranked))
	for _, i := range ranked {
		if name := m.Funcs[i].Name; !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// trace is a prof.Trace without repetitions.
type trace struct {
	scenario string
	weight   uint64
	funcs    []uint32
}

// firstUses returns the traces of in with only the first occurrence of each function, and a
// weight of at least 1.
func firstUses(in *Input) []trace {
	traces := make([]trace, len(in.Traces))
	seen := make([]int, len(in.Funcs))
	for t := range in.Traces {
		from := &in.Traces[t]
		funcs := make([]uint32, 0, len(from.Funcs))
		for _, f := range from.Funcs {
			if seen[f] != t+1 {
				seen[f] = t + 1
				funcs = append(funcs, f)
			}
		}
		traces[t] = trace{from.Scenario, max(from.Weight, 1), funcs}
	}
	return traces
}

// concatenate returns the traces one after the other, heaviest first. Functions are repeated.
func concatenate(traces []trace) []uint32 {
	sorted := slices.Clone(traces)
	stablesort.Func(sorted, func(a, b trace) int { return cmp.Compare(b.weight, a.weight) })
	var all []uint32
	for _, t := range sorted {
		all = append(all, t.funcs...)
	}
	return all
}

// byMeanOrder returns the functions that have a first-execution index, ordered by its mean,
// then by address.
func byMeanOrder(in *Input) []uint32 {
	ranked := slices.DeleteFunc(ByAddress(in), func(f uint32) bool { return in.Funcs[f].MeanOrder <= 0 })
	stablesort.Func(ranked, func(a, b uint32) int {
		return cmp.Compare(in.Funcs[a].MeanOrder, in.Funcs[b].MeanOrder)
	})
	return ranked
}

// byRuns returns the functions that have a first-execution index, by decreasing number of runs
// that executed them, then by mean index. Without traces, the number of runs replaces the
// signature.
func byRuns(in *Input) []uint32 {
	ranked := byMeanOrder(in)
	stablesort.Func(ranked, func(a, b uint32) int {
		return cmp.Compare(in.Funcs[b].Runs, in.Funcs[a].Runs)
	})
	return ranked
}
