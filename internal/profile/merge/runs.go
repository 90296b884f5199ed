package merge

import (
	"math"
	"slices"

	"github.com/cairnprof/cairn/internal/splitmix"
	"github.com/cairnprof/cairn/prof"
)

// Problem: raw files may be summed twice by mistake, such as by a job that was started twice,
// and a sum does not show it. A profile stores its runs with 64 bits each, up to some
// thousands. Larger sets are reduced to 40 bits per run: with a million runs, one in a million
// new runs is mistaken for one of them. The set is sorted, so it does not depend on the order
// of merging.

// sketchMask selects the bits of an ID in a sketch.
const sketchMask = math.MaxUint64 &^ (1<<(64-prof.SketchBits) - 1)

// RunID returns the ID in a set of runs for the run with this number in this process. 0 is an
// unknown run.
func RunID(run uint64, pid uint32) uint64 {
	if run == 0 {
		return 0
	}
	return max(splitmix.Mix(run+uint64(pid)*splitmix.Gamma), 1)
}

// Holds reports whether the run with this ID is in a set.
func Holds(s *prof.RunSet, id uint64) bool {
	if id == 0 {
		return false
	}
	if s.Sketch {
		id &= sketchMask
	}
	_, ok := slices.BinarySearch(s.IDs, id)
	return ok
}

// runSet returns the set of runs with IDs in any order, which it takes.
func runSet(ids []uint64, sketch bool) prof.RunSet {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if sketch || len(ids) > prof.MaxExactRuns {
		sketch = true
		for i := range ids {
			ids[i] &= sketchMask
		}
		ids = slices.Compact(ids)
	}
	return prof.RunSet{IDs: slices.Clip(ids[:min(len(ids), prof.MaxRuns)]), Sketch: sketch}
}

// joinRuns returns the union of two sets.
func joinRuns(a, b *prof.RunSet) prof.RunSet {
	switch {
	case len(a.IDs) == 0 && !a.Sketch:
		return *b
	case len(b.IDs) == 0 && !b.Sketch:
		return *a
	}
	return runSet(slices.Concat(a.IDs, b.IDs), a.Sketch || b.Sketch)
}

// Overlap describes the common runs of two modules of one build.
type Overlap int

// Overlaps.
const (
	Apart  Overlap = iota // no run, or none that is known
	Within                // all runs of the second are in the first
	Around                // all runs of the first are in the second, and others
	Partly                // some of each: their sums cannot be joined
)

// Compare returns the overlap of b with a.
func Compare(a, b *prof.Module) Overlap {
	common := commonRuns(&a.Held, &b.Held)
	switch {
	case common <= byChance(&a.Held, &b.Held):
		return Apart
	case common >= len(b.Held.IDs) && known(b):
		return Within
	case common >= len(a.Held.IDs) && known(a):
		return Around
	}
	return Partly
}

// known reports whether m stores all of its runs.
func known(m *prof.Module) bool {
	return m.Raws <= uint64(len(m.Held.IDs)+byChance(&m.Held, &m.Held))
}

// commonRuns returns the number of runs in both sets, as far as it can be determined.
func commonRuns(a, b *prof.RunSet) (n int) {
	mask := uint64(math.MaxUint64)
	if a.Sketch || b.Sketch {
		mask = sketchMask
	}
	x, y := a.IDs, b.IDs
	for len(x) > 0 && len(y) > 0 {
		switch p, q := x[0]&mask, y[0]&mask; {
		case p < q:
			x = x[1:]
		case p > q:
			y = y[1:]
		default:
			n++
			x, y = x[1:], y[1:]
		}
	}
	return n
}

// byChance returns how many IDs of different runs may well be equal: none unless one
// of the sets is a sketch.
func byChance(a, b *prof.RunSet) int {
	if !a.Sketch && !b.Sketch {
		return 0
	}
	expected := float64(len(a.IDs)) * float64(len(b.IDs)) / (1 << prof.SketchBits)
	if expected < 1e-4 {
		return 0
	}
	return 3 + int(4*expected)
}
