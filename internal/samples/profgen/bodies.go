package profgen

import (
	"encoding/binary"
	"slices"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/tailcall"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// body is the code that ran after the same callers.
type body struct {
	callers          []sampleprof.Frame
	ranges, branches []unwind.Count
}

// bodies collects the code that ran. Contexts of instructions that are equal for a profile,
// such as those that differ only in observed tail calls and restored frames, share one body,
// so its probes are looked up once.
type bodies struct {
	*Probes

	restorer *tailcall.Restorer
	list     []*body
	index    map[string]*body // by calls: all open calls, and those that are kept

	// start, end and in describe the last range of code that was looked up.
	start, end ref
	in         *machinecode.Range

	context *unwind.Context
	of      map[*machinecode.Range]*body // of the context, by the code that ran
	last    *body                        // that of the range of code, nil if it is not known
	path    []ref
	key     []byte
}

// gather returns the code that ran, by contexts.
func gather(contexts []unwind.Context, p *Probes, by tailcall.Inferrer) []*body {
	g := bodies{Probes: p, restorer: tailcall.NewRestorer(p.code, by), index: map[string]*body{}, of: map[*machinecode.Range]*body{}}
	for i := range contexts {
		c := &contexts[i]
		g.context = c
		if by == nil {
			b := g.body(c.Frames)
			b.ranges, b.branches = join(b.ranges, c.Ranges), join(b.branches, c.Branches)
			continue
		}
		clear(g.of)
		g.last = nil
		g.splitRanges(c.Ranges)
		g.splitBranches(c.Branches)
	}
	return g.list
}

// splitRanges adds ranges of the context to the bodies of their code: which frames are missing
// depends on the function that ran.
func (g *bodies) splitRanges(ranges []unwind.Count) {
	for len(ranges) > 0 {
		b, n := g.at(ranges[0].From), 0
		for n < len(ranges) && ranges[n].From >= g.start && ranges[n].To < g.end {
			n++
		}
		if n > 0 {
			b.ranges = join(b.ranges, ranges[:n])
			ranges = ranges[n:]
			continue
		}
		for x := ranges[0]; x.From <= x.To; x.From = g.end { // it may continue in other code
			b = g.at(x.From)
			b.ranges = append(b.ranges, unwind.Count{From: x.From, To: min(x.To, g.end-1), Count: x.Count})
		}
		ranges = ranges[1:]
	}
}

// splitBranches adds branches of the context.
func (g *bodies) splitBranches(branches []unwind.Count) {
	for len(branches) > 0 {
		n := 1
		if from := branches[0].From; from.IsInstruction() {
			b := g.at(from)
			for n < len(branches) && branches[n].From >= g.start && branches[n].From < g.end {
				n++
			}
			b.branches = join(b.branches, branches[:n])
		}
		branches = branches[n:]
	}
}

// join appends counts to others. If there are none, it returns counts itself.
func join(to, counts []unwind.Count) []unwind.Count {
	if to == nil {
		return slices.Clip(counts)
	}
	return append(to, counts...)
}

// at returns the body of the context that an instruction belongs to.
func (g *bodies) at(leaf ref) *body {
	if leaf < g.start || leaf >= g.end {
		g.start, g.last = leaf, nil
		g.in, g.end = g.code.Extent(leaf)
	}
	if g.last == nil {
		g.last = g.of[g.in]
	}
	if g.last == nil {
		g.path = g.path[:0]
		for _, f := range g.restorer.Restore(g.context, leaf) {
			g.path = append(g.path, f.At)
		}
		g.last = g.body(g.path)
		g.of[g.in] = g.last
	}
	return g.last
}

// body returns the body after calls. They end, from the innermost outwards, at the first one
// without a probe: a compiler could not use callers beyond a call that it does not know.
func (g *bodies) body(calls []ref) *body {
	b := g.find(calls)
	if b != nil {
		return b
	}
	all := string(g.key)
	from := len(calls)
	for ; from > 0; from-- {
		if _, ok := g.call(calls[from-1]); !ok {
			break
		}
	}
	if b = g.find(calls[from:]); b == nil {
		b = &body{}
		for _, r := range calls[from:] {
			c, _ := g.call(r)
			b.callers = c.in.expand(b.callers, c.index)
		}
		g.index[string(g.key)] = b
		g.list = append(g.list, b)
	}
	g.index[all] = b
	return b
}

// find returns the body with these calls, or nil if there is none yet.
func (g *bodies) find(calls []ref) *body {
	g.key = g.key[:0]
	for _, r := range calls {
		g.key = binary.LittleEndian.AppendUint32(g.key, uint32(r))
	}
	return g.index[string(g.key)]
}
