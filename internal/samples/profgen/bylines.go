package profgen

import (
	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// byLines makes profiles that are keyed by lines of debug information.
type byLines struct {
	*Lines

	cache map[ref][]sampleprof.Frame
	root  node
}

func (g *byLines) frames(r ref) []sampleprof.Frame {
	if !r.IsInstruction() {
		return nil
	}
	f, ok := g.cache[r]
	if !ok {
		f = g.at(r)
		g.cache[r] = f
	}
	return f
}

// leaf returns the location of an instruction in the innermost function.
func (g *byLines) leaf(r ref) (sampleprof.Place, bool) {
	f := g.frames(r)
	if len(f) == 0 {
		return sampleprof.Place{}, false
	}
	return f[len(f)-1].Call, true
}

// ranAt records that an instruction ran. The count of a location is the maximum of its
// instructions; if the compiler duplicated the code, each copy has a share of it.
func (g *byLines) ranAt(s *sampleprof.Samples, at sampleprof.Place, count uint64) {
	l := s.At(g.base(at))
	l.Count = max(l.Count, count*g.copies(at))
}

// stated returns the samples of a node, with their total: it counts each instruction, whereas
// a location has only the maximum.
func (n *node) stated() *sampleprof.Samples {
	s := n.counted()
	s.Stated = true
	return s
}

// lineContext is the data shared by contexts with the same names.
type lineContext struct {
	ranges, branches []unwind.Count
}

// ContextsByLines makes a profile with contexts that is keyed by lines, from counts that were
// made with the same Lines.
func ContextsByLines(r *unwind.Result, l *Lines, opt Options) []sampleprof.Context {
	g := byLines{Lines: l, cache: map[ref][]sampleprof.Frame{}}
	order, merged := g.merge(r, opt)
	for _, n := range order {
		if n != &g.root {
			g.body(n.samples, merged[n].ranges)
		}
		g.calls(n, merged[n].branches)
	}
	inferCalls(&g.root)
	contexts := g.root.list()
	for i := range contexts {
		if opt.Recount {
			contexts[i].Samples.RecountTotal()
		}
		contexts[i].Samples.RaiseCalls()
	}
	return contexts
}

// node returns the node of a context; the root if a frame is unknown.
func (g *byLines) node(key []ref, opt Options) *node {
	var stack []sampleprof.Frame
	inlined := false
	for _, r := range key {
		frames := g.frames(r)
		if len(frames) == 0 {
			return &g.root
		}
		inlined = len(frames) > 1
		for _, f := range frames {
			stack = append(stack, sampleprof.Frame{Func: f.Func, Call: g.base(f.Call)})
		}
	}
	if len(stack) == 0 {
		return &g.root
	}
	last := len(stack) - 1
	leaf := sampleprof.Frame{Func: stack[last].Func}
	callers := unwind.CompressRecursion(stack[:last], opt.Recursion)
	callers = unwind.Innermost(callers, opt.MaxDepth)
	n := g.root.path(append(callers, leaf))
	if s := n.stated(); inlined {
		s.Attributes |= sampleprof.WasInlined
	}
	return n
}

// named returns the node of a context that has names already.
func (g *byLines) named(stack []sampleprof.Frame) *node {
	n := g.root.path(stack)
	if n != &g.root {
		n.stated()
	}
	return n
}

// merge makes the nodes of all contexts, in order.
func (g *byLines) merge(r *unwind.Result, opt Options) (order []*node, merged map[*node]*lineContext) {
	merged = map[*node]*lineContext{}
	for i := range r.Contexts {
		c := &r.Contexts[i]
		var n *node
		if opt.Named != nil {
			n = g.named(opt.Named[i])
		} else {
			n = g.node(c.Frames, opt)
		}
		m := merged[n]
		if m == nil {
			m = &lineContext{}
			merged[n] = m
			order = append(order, n)
		}
		m.ranges = append(m.ranges, c.Ranges...)
		m.branches = append(m.branches, c.Branches...)
	}
	return order, merged
}

// NamedContexts merges the contexts with the same names of counts that were made with the same
// Lines, and returns the names.
func NamedContexts(r *unwind.Result, l *Lines, opt Options) (*unwind.Result, [][]sampleprof.Frame) {
	g := byLines{Lines: l, cache: map[ref][]sampleprof.Frame{}}
	order, merged := g.merge(r, opt)
	out, names := &unwind.Result{Stats: r.Stats}, [][]sampleprof.Frame{}
	for _, n := range order {
		out.Contexts = append(out.Contexts, unwind.Context{Ranges: unwind.Sum(merged[n].ranges), Branches: unwind.Sum(merged[n].branches)})
		names = append(names, n.stack())
	}
	return out, names
}

func (g *byLines) body(s *sampleprof.Samples, ranges []unwind.Count) {
	for _, piece := range disjoint(ranges) {
		if piece.Count == 0 {
			continue
		}
		for r := piece.From; r <= piece.To; r++ {
			if at, ok := g.leaf(r); ok {
				g.ranAt(s, at, piece.Count)
				s.AddTotal(piece.Count)
			}
		}
	}
}

func (g *byLines) calls(n *node, branches []unwind.Count) {
	for _, b := range branches {
		name := entered(g.code, b.To)
		if name == "" {
			continue
		}
		var call sampleprof.Place
		if at, ok := g.leaf(b.From); ok && n != &g.root {
			n.samples.At(g.base(at)).Call(name, b.Count)
			call = at
		}
		n.get(frame{call, name}).stated().Head += b.Count
	}
}

// inferCalls sets the counts of calls without a branch, those of inlined functions: as often
// as the callee began.
func inferCalls(n *node) {
	for _, child := range n.next {
		inferCalls(child)
	}
	if n.samples == nil || n.samples.Head != 0 || n.parent == nil || n.parent.parent == nil {
		return
	}
	count := n.samples.EntryCount()
	if count == 0 && (n.samples.Sum > 0 || len(n.samples.Body) == 0) {
		count = 1
	}
	caller := n.parent.stated()
	line := caller.At(n.frame.call)
	line.Count += count
	line.Call(n.frame.name, count)
	caller.AddTotal(count)
}

// FlatByLines makes a profile without contexts that is keyed by lines, from counts that were
// made without stacks.
func FlatByLines(r *unwind.Result, l *Lines) sampleprof.Profile {
	g := byLines{Lines: l, cache: map[ref][]sampleprof.Frame{}}
	out := sampleprof.Profile{}
	for i := range r.Contexts {
		c := &r.Contexts[i]
		for _, piece := range disjoint(withFunctions(l.code, c.Ranges)) {
			for x := piece.From; x <= piece.To; x++ {
				// Totals are in bytes, as in LLVM, for which the thresholds of consumers are
				// defined.
				if s := g.nested(out, g.frames(x), piece.Count*l.code.Size(x)); s != nil {
					at, _ := g.leaf(x)
					g.ranAt(s, at, piece.Count)
				}
			}
		}
		for _, b := range c.Branches {
			name := entered(l.code, b.To)
			if name == "" {
				continue
			}
			if s := g.nested(out, g.frames(b.From), 0); s != nil {
				at, _ := g.leaf(b.From)
				s.At(g.base(at)).Call(name, b.Count)
			}
			out.Func(name).Head += b.Count
		}
	}
	finish(out)
	return out
}

// nested returns the samples of the innermost of some frames, nested in those of the others,
// and adds total to all of them. It is nil if there are no frames.
func (g *byLines) nested(out sampleprof.Profile, frames []sampleprof.Frame, total uint64) *sampleprof.Samples {
	var s *sampleprof.Samples
	for i, f := range frames {
		if i == 0 {
			s = out.Func(f.Func)
		} else {
			s = s.Inline(g.base(frames[i-1].Call), f.Func)
		}
		s.AddTotal(total)
	}
	return s
}
