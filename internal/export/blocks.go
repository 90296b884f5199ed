package export

import "github.com/cairnprof/cairn/prof"

// blockCounts returns how often each block of each function ran, by the rules
// of the package comment. Sites are ascending by address.
func blockCounts(m *prof.Module, sites []Site) [][]uint64 {
	counts := make([][]uint64, len(m.Funcs))
	for i := range m.Funcs {
		counts[i] = make([]uint64, m.Funcs[i].NumBlocks())
		for b := range counts[i] {
			switch {
			case m.Funcs[i].Mode.HasEdges() && b > 0:
				counts[i][b] = m.Counts[i].Times[b-1]
			case m.Counts[i].Covered(b):
				counts[i][b] = weight(m, i)
			}
		}
	}
	known := map[[2]int]uint64{}
	for _, s := range sites {
		if s.Only && !s.Indirect && m.Funcs[s.Caller].Mode.HasBlocks() && !m.Funcs[s.Caller].Mode.HasEdges() && s.Block > 0 {
			key := [2]int{s.Caller, s.Block}
			known[key] = max(known[key], s.Count)
		}
	}
	for key, n := range known {
		counts[key[0]][key[1]] = max(n, 1)
	}
	return counts
}
