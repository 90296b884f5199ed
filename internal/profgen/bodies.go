package profgen

import (
	"encoding/binary"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/machinecode"
	"github.com/cairnprof/cairn/internal/tailcall"
	"github.com/cairnprof/cairn/internal/unwind"
)

// body is what ran behind the same callers.
type body struct {
	callers          []sampleprof.Frame
	ranges, branches []unwind.Count
}

// bodies collects what ran. Contexts of instructions that are one for a profile, such
// as those that differ in what was seen of a tail call and those whose frames were
// found again, have one body, and its probes are looked for once.
type bodies struct {
	*Probes

	by    tailcall.Inferrer // nil for none
	list  []*body
	index map[string]*body // by calls: all that were open, and those that count

	// start, end and in are the range of code that was asked for last.
	start, end ref
	in         *machinecode.Range

	context *unwind.Context
	of      map[*machinecode.Range]*body // of the context, by the code that ran
	key     []byte
}

// gather returns what ran in contexts.
func gather(contexts []unwind.Context, p *Probes, by tailcall.Inferrer) []*body {
	g := bodies{Probes: p, by: by, index: map[string]*body{}, of: map[*machinecode.Range]*body{}}
	for i := range contexts {
		c := &contexts[i]
		g.context = c
		if by == nil {
			b := g.body(c.Frames)
			b.ranges = append(b.ranges, c.Ranges...)
			b.branches = append(b.branches, c.Branches...)
			continue
		}
		clear(g.of)
		g.split(c.Ranges)
		for _, x := range c.Branches {
			if x.From.IsInstruction() {
				b := g.at(x.From)
				b.branches = append(b.branches, x)
			}
		}
	}
	return g.list
}

// split adds ranges of the context to the bodies of the code that they are in: which
// frames are missing depends on the function that ran.
func (g *bodies) split(ranges []unwind.Count) {
	for _, x := range ranges {
		for x.From <= x.To {
			to := g.at(x.From)
			piece := x
			piece.To = min(x.To, g.end-1)
			to.ranges = append(to.ranges, piece)
			x.From = g.end
		}
	}
}

// at returns the body of the context that an instruction belongs to.
func (g *bodies) at(leaf ref) *body {
	if leaf < g.start || leaf >= g.end {
		g.start = leaf
		g.in, g.end = g.code.Extent(leaf)
	}
	b := g.of[g.in]
	if b == nil {
		var path []ref
		for _, f := range tailcall.Restore(g.code, g.by, g.context, leaf) {
			path = append(path, f.At)
		}
		b = g.body(path)
		g.of[g.in] = b
	}
	return b
}

// body returns the body behind calls. They end, seen from the inside, at the first one
// without a probe: a compiler would not know what to do with callers behind a call
// that it does not know.
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

// find returns the body that is known by calls, nil if there is none yet.
func (g *bodies) find(calls []ref) *body {
	g.key = g.key[:0]
	for _, r := range calls {
		g.key = binary.LittleEndian.AppendUint32(g.key, uint32(r))
	}
	return g.index[string(g.key)]
}
