package profgen

import (
	"slices"

	"github.com/cairnprof/cairn/format/pseudoprobe"
	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// node is a context: a function and the nodes that called it.
type node struct {
	parent  *node
	frame   frame // with the call in the parent
	samples *sampleprof.Samples
	next    map[frame]*node
}

// frame is a call and its callee.
type frame struct {
	call sampleprof.Place // in the caller; undefined without one
	name string
}

// get returns the node of a call from n, and creates it if necessary.
func (n *node) get(f frame) *node {
	if child := n.next[f]; child != nil {
		return child
	}
	if n.next == nil {
		n.next = map[frame]*node{}
	}
	child := &node{parent: n, frame: f}
	n.next[f] = child
	return child
}

// counted returns the samples of a node, and creates them if necessary.
func (n *node) counted() *sampleprof.Samples {
	if n.samples == nil {
		n.samples = &sampleprof.Samples{}
	}
	return n.samples
}

// path returns the node of a stack. Each frame has the location of its own call; that of the
// last frame is ignored.
func (n *node) path(stack []sampleprof.Frame) *node {
	var call sampleprof.Place
	for _, f := range stack {
		n = n.get(frame{call, f.Func})
		call = f.Call
	}
	return n
}

// stack returns the frames of a node.
func (n *node) stack() []sampleprof.Frame {
	var stack []sampleprof.Frame
	var call sampleprof.Place
	for ; n.parent != nil; n = n.parent {
		stack = append(stack, sampleprof.Frame{Func: n.frame.name, Call: call})
		call = n.frame.call
	}
	slices.Reverse(stack)
	return stack
}

// list returns the contexts that have samples, sorted by name.
func (n *node) list() []sampleprof.Context {
	var out []sampleprof.Context
	var walk func(n *node, stack []sampleprof.Frame)
	walk = func(n *node, stack []sampleprof.Frame) {
		if n.samples != nil {
			out = append(out, sampleprof.Context{Frames: slices.Clone(stack), Samples: n.samples})
		}
		for f, child := range n.next {
			if len(stack) > 0 {
				stack[len(stack)-1].Call = f.call
			}
			walk(child, append(stack, sampleprof.Frame{Func: f.name}))
		}
	}
	walk(n, nil)
	stablesort.Func(out, func(a, b sampleprof.Context) int { return a.Compare(&b) })
	return out
}

// byProbes makes contexts keyed by pseudo probes.
type byProbes struct {
	*Probes

	opt  Options
	root node

	callers []sampleprof.Frame // of the current body
	nodes   map[*pseudoprobe.Copy]*node
}

// ContextsByProbes makes a profile with contexts that is keyed by pseudo probes.
func ContextsByProbes(r *unwind.Result, p *Probes, opt Options) []sampleprof.Context {
	g := byProbes{Probes: p, opt: opt, nodes: map[*pseudoprobe.Copy]*node{}}
	for _, b := range gather(r.Contexts, p, opt.Inferrer) {
		g.callers = b.callers
		clear(g.nodes)
		g.body(b.ranges)
		g.calls(b.branches)
	}
	return g.root.list()
}

// body counts the blocks in ranges.
func (g *byProbes) body(ranges []unwind.Count) {
	var ran []probe // one of each copy
	for _, piece := range disjoint(ranges) {
		if piece.Count == 0 {
			continue
		}
		g.between(piece.From, piece.To, func(p probe) {
			b := p.get()
			if b.Kind != pseudoprobe.Block {
				return
			}
			if g.nodes[p.copy()] == nil {
				ran = append(ran, p)
			}
			n := g.node(p)
			add(n.samples, b, piece.Count)
			if b.IsEntry() {
				n.samples.Head += piece.Count
				g.inlinedCall(p, n, piece.Count)
			}
		})
	}
	// A block that never ran is distinguished from one that has no code.
	for _, p := range ran {
		own := p.in.table.Probes[p.copy().First:][:p.copy().Count]
		for i := range own {
			add(g.node(p).samples, &own[i], 0)
		}
	}
}

// inlinedCall counts the call of an inlined function, which has no branch.
func (g *byProbes) inlinedCall(p probe, n *node, count uint64) {
	copy := p.copy()
	if !copy.Inlined() || n.parent == &g.root {
		return
	}
	guid := p.in.table.Copies[copy.Parent].GUID
	caller := n.parent.counted()
	caller.Probes, caller.Checksum = true, p.in.funcs.Checksum(guid)
	line := caller.At(n.frame.call)
	line.Count += count
	line.Call(n.frame.name, count)
}

// calls counts the calls among branches.
func (g *byProbes) calls(branches []unwind.Count) {
	for _, b := range branches {
		p, ok := g.call(b.From)
		if !ok {
			continue
		}
		s := g.node(p).samples
		// Counts of calls have no discriminator, because call probes have none.
		line := s.At(sampleprof.Place{Offset: p.get().ID})
		line.Count += b.Count
		if name := g.entered(b.To); name != "" {
			s.At(place(p.get())).Call(name, b.Count)
		}
	}
}

func entered(code *machinecode.Set, to ref) string {
	if !to.IsInstruction() {
		return ""
	}
	return code.Binary(to).Entered(code.Address(to))
}

func place(p *pseudoprobe.Probe) sampleprof.Place {
	return sampleprof.Place{Offset: p.ID, Discriminator: p.Discriminator}
}

func add(s *sampleprof.Samples, p *pseudoprobe.Probe, count uint64) {
	s.At(place(p)).Count += count
}

// node returns the node of the function of a probe, with its samples.
func (g *byProbes) node(p probe) *node {
	n := g.nodes[p.copy()]
	if n == nil {
		n = g.makeNode(p)
		g.nodes[p.copy()] = n
	}
	return n
}

func (g *byProbes) makeNode(p probe) *node {
	stack := p.in.expand(slices.Clone(g.callers), p.index)
	last := len(stack) - 1
	leaf := sampleprof.Frame{Func: stack[last].Func}
	callers := unwind.CompressRecursion(stack[:last], g.opt.Recursion)
	callers = unwind.Innermost(callers, g.opt.MaxDepth)
	n := g.root.path(append(callers, leaf))
	s := n.counted()
	s.Probes, s.Checksum = true, p.in.funcs.Checksum(p.copy().GUID)
	if p.copy().Inlined() {
		s.Attributes |= sampleprof.WasInlined
	}
	return n
}

// expand appends the function of a probe to a stack, preceded by those that it was inlined
// into. If the location of an inlined call is unknown, all its callers are omitted.
func (b *binaryProbes) expand(stack []sampleprof.Frame, index uint32) []sampleprof.Frame {
	p := &b.table.Probes[index]
	from := len(stack)
	for c, id := p.Copy, p.ID; ; {
		copy := &b.table.Copies[c]
		stack = append(stack, sampleprof.Frame{Func: b.funcs.Name(copy.GUID), Call: sampleprof.Place{Offset: id}})
		if !copy.Inlined() {
			break
		}
		c, id = copy.Parent, copy.Site
	}
	slices.Reverse(stack[from:])
	for i := len(stack) - 2; i >= from; i-- {
		if stack[i].Call.Offset == 0 {
			return slices.Delete(stack, 0, i+1)
		}
	}
	return stack
}
