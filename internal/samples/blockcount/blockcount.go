// Package blockcount estimates how often the blocks of a program without probes ran, and where control went from them, from
// samples and the map of its blocks (cairn build --map). It is pure.
//
// Problem: samples show parts of what ran, so that more seems to enter a block than leaves it. Layouts and compilers need
// executions for which that cannot be.
//
// Choice: what was seen of the blocks that ran least is kept, and the others follow from them (edges.Fit): the sum of errors of
// small counts is small beside a large one, while the difference of two large ones may be far from a small one. Samples of
// instructions, without branches, become executions before that (package flowcount).
package blockcount

import (
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/edges"
	"github.com/cairnprof/cairn/prof"
)

// Seen is what samples show. Addresses are those of the link.
type Seen interface {
	// Of returns how often the straight code in [lo, hi) was seen to run.
	Of(lo, hi uint64) uint64
	// On returns how often control was seen to go on from that code without a jump.
	On(lo, hi uint64) uint64
	// Taken returns how often the jump at its end was seen to lead to an address.
	Taken(lo, hi, to uint64) uint64
}

// Estimate returns the counts of the functions of m, whose mode is sampled, in the unit of what was seen. Functions that were
// not seen have zeros.
func Estimate(m *prof.Map, seen Seen) []prof.Counts {
	counts := make([]prof.Counts, len(m.Funcs))
	for i := range m.Funcs {
		f := &m.Funcs[i]
		counts[i] = countsOf(edges.Fit(f, measure(f, seen)))
	}
	return counts
}

// countsOf returns the counts of a function by the executions of its blocks.
func countsOf(times []uint64) prof.Counts {
	c := prof.Counts{Calls: times[0], Times: times[1:], Blocks: make([]uint64, len(times)-1)}
	for b, n := range times {
		if n == 0 {
			continue
		}
		if c.Runs = 1; b > 0 {
			c.Blocks[b-1] = 1
		}
	}
	return c
}

// measure returns how often each block was seen. A block of an edge has no code: it ran as often as a jump led from the block
// before to that behind, or went on to it.
func measure(f *prof.Func, seen Seen) []uint64 {
	lo, hi := bounds(f)
	before := make([]int, len(lo))
	for b := range before {
		for _, to := range f.Flow[b].Next {
			before[to] = b
		}
	}
	times := make([]uint64, len(lo))
	for b := range times {
		switch {
		case lo[b] < hi[b]:
			times[b] = seen.Of(lo[b], hi[b])
		case len(f.Flow[b].Next) == 1:
			from, to := before[b], lo[f.Flow[b].Next[0]]
			if hi[from] == to {
				times[b] = seen.On(lo[from], to)
			} else {
				times[b] = seen.Taken(lo[from], hi[from], to)
			}
		}
	}
	return times
}

// bounds returns where the code of each block begins and ends.
func bounds(f *prof.Func) (lo, hi []uint64) {
	n := f.NumBlocks()
	lo, hi = make([]uint64, n), make([]uint64, n)
	for b := range coverage.Blocks(f) {
		lo[b.Index], hi[b.Index] = b.Lo, b.Hi
	}
	return lo, hi
}
