package order

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// Signature ordering: functions that the same runs use are placed together, and sets of runs
// that differ little are neighbours.
//
// The signature of a function is the set of traces that contain it. Functions with the same
// signature form a group. A trace touches one contiguous range of pages for each series of
// neighbouring groups with its bit in their signatures, and each range wastes about a page at
// its ends. The number of ranges, summed over the traces, is half the sum of the Hamming
// distances of neighbouring signatures, with an empty signature before the first and after the
// last. So the best order is a shortest path through the signatures, a travelling salesman
// problem. With weights, a trace's bit counts as its weight.
//
// Of the short paths found, the one with the fewest pages is chosen, and then improved by
// minimising the bytes in gaps instead of their number.
//
// The order inside a group does not affect the pages that a whole run touches. Functions are
// ordered by their mean relative position in the traces, which affects the pages touched early
// in a run.
func bySignature(in *Input, traces []trace, pageSize uint64) []uint32 {
	groups := groupsOf(in, traces)
	if len(groups) == 0 {
		return nil
	}
	p := newPacking(in, groups, traces, pageSize)
	var best []int
	var smallest uint64
	for _, path := range shortPaths(groups, newMetric(traces)) {
		p.set(path)
		if gaps := p.count(0, len(path)); best == nil || gaps < smallest {
			best, smallest = path, gaps
		}
	}
	p.set(best)
	p.search()
	order := make([]uint32, 0, len(in.Funcs))
	for _, g := range p.order {
		order = append(order, groups[g].funcs...)
	}
	return order
}

// signature is a set of traces, one bit each.
type signature []uint64

// group has the functions with one signature.
type group struct {
	signature signature
	funcs     []uint32 // by mean relative position
	bytes     uint64
}

// groupsOf returns the functions of the traces by signature: those with the most traces first,
// then the largest.
func groupsOf(in *Input, traces []trace) []group {
	words := (len(traces) + 63) / 64
	signatures := make([]uint64, words*len(in.Funcs))
	positions := make([]uint64, len(in.Funcs)) // sums of position / length, of 1<<32
	inTraces := make([]uint64, len(in.Funcs))
	for t, tr := range traces {
		for i, f := range tr.funcs {
			signatures[int(f)*words+t/64] |= 1 << (t % 64)
			positions[f] += uint64(i) << 32 / uint64(len(tr.funcs))
			inTraces[f]++
		}
	}
	var funcs []uint32
	for f := range in.Funcs {
		if inTraces[f] > 0 {
			positions[f] /= inTraces[f]
			funcs = append(funcs, uint32(f))
		}
	}
	of := func(f uint32) signature { return signatures[int(f)*words : int(f+1)*words] }
	stablesort.Func(funcs, func(a, b uint32) int {
		return cmp.Or(slices.Compare(of(a), of(b)), cmp.Compare(positions[a], positions[b]), cmp.Compare(a, b))
	})
	var groups []group
	for i, f := range funcs {
		if i == 0 || !slices.Equal(of(f), of(funcs[i-1])) {
			groups = append(groups, group{signature: of(f)})
		}
		g := &groups[len(groups)-1]
		g.funcs = append(g.funcs, f)
		g.bytes += in.Funcs[f].Size
	}
	stablesort.Func(groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.signature.len(), a.signature.len()), cmp.Compare(b.bytes, a.bytes))
	})
	return groups
}

// len returns the number of traces in s.
func (s signature) len() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// metric measures the distance of signatures.
type metric struct {
	// bytes[i][v] is the weight of the traces from 8*i on whose bits are set in v. It is nil
	// if all weights are equal.
	bytes [][256]int64
}

// maxWeight prevents overflow in sums of distances and of pages. Larger weights are reduced to
// it.
const maxWeight = 1 << 24

func newMetric(traces []trace) *metric {
	m := &metric{}
	if !slices.ContainsFunc(traces, func(t trace) bool { return t.weight != traces[0].weight }) {
		return m
	}
	m.bytes = make([][256]int64, (len(traces)+63)/64*8)
	for t := range traces {
		weight, bit := int64(min(traces[t].weight, maxWeight)), 1<<(t%8)
		for v := range 256 {
			if v&bit != 0 {
				m.bytes[t/8][v] += weight
			}
		}
	}
	return m
}

// distance returns the weight of the traces that are in exactly one of a and b. nil is the
// empty signature.
func (m *metric) distance(a, b signature) int64 {
	var sum int64
	for i := range max(len(a), len(b)) {
		var w uint64
		if i < len(a) {
			w = a[i]
		}
		if i < len(b) {
			w ^= b[i]
		}
		if m.bytes == nil {
			sum += int64(bits.OnesCount64(w))
			continue
		}
		for k := 0; w != 0; k++ {
			sum += m.bytes[8*i+k][w&0xff]
			w >>= 8
		}
	}
	return sum
}
