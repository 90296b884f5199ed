// Package order ranks functions for a linker's symbol ordering file. It is
// pure.
package order

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/prof"
)

// ByFirstExecution returns the indexes of the functions of m that ran, by when
// they first did: ascending by the mean first-execution index over the runs
// that reached them, then by address. Functions whose mode records no order
// follow those with one.
func ByFirstExecution(m *prof.Module) []int {
	var ran []int
	for i := range m.Funcs {
		if m.Counts[i].Runs > 0 {
			ran = append(ran, i)
		}
	}
	slices.SortStableFunc(ran, func(a, b int) int {
		x, y := m.Counts[a].MeanOrder(), m.Counts[b].MeanOrder()
		if (x == 0) != (y == 0) {
			if x == 0 {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(m.Funcs[a].Addr(), m.Funcs[b].Addr()))
	})
	return ran
}

// Symbols returns the names of the functions at the given indexes without
// repetition: a linker moves all functions of a name at its first mention.
func Symbols(m *prof.Module, ranked []int) []string {
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
