package merge

import (
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/prof"
)

// edgeTally is the sum of the blocks of a function in mode edge.
type edgeTally struct {
	runs, times []uint64 // by non-entry block: images in which it ran, and its executions
}

// newEdgeTally returns the empty sum of f.
func newEdgeTally(f *prof.Func) *edgeTally {
	n := f.NumBlocks() - 1
	return &edgeTally{make([]uint64, n), make([]uint64, n)}
}

// addEdges adds what the counters of counter i say of the blocks, in an image in which the function was called so
// often. It reports whether counts may be wrong.
func (a *Accumulator) addEdges(i int, calls uint64, im *counted) (inexact bool) {
	c := &a.l.counters[i]
	n := c.plan.Counters()
	a.words = append(a.words[:0], make([]uint64, n)...)
	for k := range a.words {
		at := c.off + wire.CountSize + k*wire.EdgeSize
		if at >= len(im.data) {
			break // the end of the data truncates zeros
		}
		a.words[k] = load(im.data, at)
	}
	times, inexact := a.solver.Blocks(c.plan, calls, a.words)
	t := &a.tallies[i]
	if t.edges == nil {
		t.edges = newEdgeTally(&a.l.m.Funcs[c.fn])
	}
	for k, v := range times[1:] {
		if v == 0 {
			continue
		}
		n := uint64(v)
		if im.maxCalls > 0 && n > im.maxCalls {
			n, inexact = im.maxCalls, true
		}
		t.edges.runs[k]++
		t.edges.times[k] = saturate.Add(t.edges.times[k], n)
	}
	return inexact
}

// countedInside reports whether blocks of a function ran that was not called in the image: it is of a process that was forked
// inside of the function, or of what that called, and went on there.
func (a *Accumulator) countedInside(i int, im *counted) bool {
	c := &a.l.counters[i]
	from := c.off + wire.CountSize
	to := min(from+c.plan.Counters()*wire.EdgeSize, len(im.data))
	for ; from+8 <= to; from += 8 {
		if load(im.data, from) != 0 {
			return true
		}
	}
	return from < to && load(im.data, from) != 0
}

// merge adds the sums of another.
func (t *edgeTally) merge(o *edgeTally) {
	for i := range o.runs {
		t.runs[i] += o.runs[i]
		t.times[i] = saturate.Add(t.times[i], o.times[i])
	}
}
