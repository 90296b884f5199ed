package profgen

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/format/pseudoprobe"
	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Preinline decides, for a whole program and before any module is compiled, which calls should
// be inlined: their contexts are kept and marked, all others are merged into their functions'
// own profiles. A compiler that compiles one module at a time could not move the samples of a
// context to a function in another module.
//
// Callers are processed before callees. For each caller, calls are considered by decreasing
// count, while the function does not grow too large. The maximum size of a callee depends on
// the count of the call.
//
// These are the decisions and constants of LLVM's CSPreInliner.
type Preinline struct {
	// Sizes are the sizes of machine code. Without them the size of a function is the number
	// of locations with samples.
	Sizes *Sizes
	// Replay inlines exactly what was inlined in the program that ran.
	Replay bool

	HotSize  int // of a callee at the hottest calls, which have a tenth of all counts, in hundredths of bytes
	ColdSize int // of a callee at cold calls, in bytes
	// Again is the factor by which callees may be larger if they were inlined in the program
	// that ran: its compiler had more information than their size.
	Again int
	// Lossy loses counts as LLVM does: if a function called itself from the same location
	// several times in a row, counts of the innermost calls go to contexts that were already
	// merged.
	Lossy bool

	// Growth is the maximum growth factor of a function, within limits in bytes.
	Growth, MinLimit, MaxLimit int

	Thresholds Thresholds
}

// NewPreinline returns LLVM's defaults.
func NewPreinline() Preinline {
	return Preinline{HotSize: 1500, Again: 100, Growth: 12, MinLimit: 100, MaxLimit: 50_000}
}

// hottestCutoff is the share of all counts, in millionths, whose smallest count is that of a
// hottest call. The maximum count itself would vary from run to run.
const hottestCutoff = 100_000

// preinliner is the state of Preinline.Contexts.
type preinliner struct {
	Preinline

	root          node
	at            map[*sampleprof.Samples]*node
	of            map[string][]*sampleprof.Samples // by function
	merged        map[*sampleprof.Samples]bool     // into others
	inlined       map[*sampleprof.Samples]bool
	guids         map[string]uint64
	cold, hottest uint64 // counts
}

// Preinlined describes the decisions.
type Preinlined struct {
	Summary sampleprof.Summary // of the contexts before
	Before  int                // contexts
	Inlined int
	Own     int // functions' own profiles
}

// Contexts decides about contexts, and takes ownership of their samples. Unless o is Lossy, no
// count is lost: callees that are not inlined are in their function's own profile.
func (o Preinline) Contexts(contexts []sampleprof.Context) ([]sampleprof.Context, Preinlined) {
	done := Preinlined{Summary: sampleprof.Summarize(contexts), Before: len(contexts)}
	p := &preinliner{
		Preinline: o,
		at:        map[*sampleprof.Samples]*node{},
		of:        map[string][]*sampleprof.Samples{},
		merged:    map[*sampleprof.Samples]bool{},
		inlined:   map[*sampleprof.Samples]bool{},
		guids:     map[string]uint64{},
		cold:      o.Thresholds.cold(&done.Summary), hottest: done.Summary.Least(hottestCutoff),
	}
	for _, c := range contexts {
		n := p.root.path(c.Frames)
		n.samples = c.Samples
		p.at[c.Samples] = n
	}
	p.list()
	for _, name := range topDown(&p.root, p.cold) {
		p.function(name)
	}
	out := p.root.list()
	for _, c := range out {
		if len(c.Frames) == 1 {
			done.Own++
		}
	}
	done.Inlined = len(out) - done.Own
	return out, done
}

// list lists the contexts of each function, those with the fewest callers first.
func (p *preinliner) list() {
	level := []*node{&p.root}
	for len(level) > 0 {
		var next []*node
		for _, n := range level {
			if n.samples != nil {
				p.of[n.frame.name] = append(p.of[n.frame.name], n.samples)
			}
			next = append(next, p.children(n)...)
		}
		level = next
	}
}

// children returns the callees of n in LLVM's order. The result depends on it if contexts of
// one call are merged, or if calls are equal.
func (p *preinliner) children(n *node) []*node {
	out := make([]*node, 0, len(n.next))
	for _, child := range n.next {
		out = append(out, child)
	}
	if len(out) > 1 {
		stablesort.Func(out, func(a, b *node) int {
			return cmp.Or(cmp.Compare(p.hash(a.frame), p.hash(b.frame)), cmp.Compare(a.frame.name, b.frame.name))
		})
	}
	return out
}

func (p *preinliner) guid(name string) uint64 {
	g, ok := p.guids[name]
	if !ok {
		g = pseudoprobe.GUID(name)
		p.guids[name] = g
	}
	return g
}

func (p *preinliner) hash(f frame) uint64 { return f.hashWith(p.guid(f.name)) }

// function decides which calls are inlined into a function.
func (p *preinliner) function(name string) {
	n := p.base(name)
	if n == nil || n.samples == nil {
		return
	}
	size := p.size(n)
	limit := max(min(size*p.Growth, p.MaxLimit), p.MinLimit)
	var calls candidates
	p.candidates(&calls, n)
	for len(calls) > 0 && size < limit {
		c := calls.pop()
		if !p.should(&c) {
			continue
		}
		p.inlined[c.callee.samples] = true
		c.callee.samples.Attributes |= sampleprof.ShouldBeInlined
		size += c.size
		p.candidates(&calls, c.callee)
	}
}

// base merges all contexts of a function that are not inlined into its own profile, and
// returns that, or nil if there is none.
func (p *preinliner) base(name string) *node {
	base := p.root.next[frame{name: name}]
	for _, s := range p.of[name] {
		if p.inlined[s] || p.merged[s] || p.at[s] == base {
			continue
		}
		n := p.at[s]
		parent, call := n.parent, n.frame
		if !p.Lossy {
			delete(parent.next, call)
		}
		base = p.move(n, &p.root, frame{name: name})
		delete(parent.next, call)
	}
	return base
}

// move makes n a callee of parent, merges it and all its callees with the existing nodes, and
// returns the resulting node.
func (p *preinliner) move(n, parent *node, as frame) *node {
	to := parent.next[as]
	if to == nil {
		if parent.next == nil {
			parent.next = map[frame]*node{}
		}
		n.parent, n.frame = parent, as
		parent.next[as] = n
		return n
	}
	switch {
	case n.samples == nil:
	case to.samples == nil:
		to.samples = n.samples
		p.at[to.samples] = to
	default:
		to.samples.Add(n.samples)
		to.samples.Attributes |= n.samples.Attributes & sampleprof.ShouldBeInlined
		p.merged[n.samples] = true
	}
	for children := p.children(n); len(children) > 0; {
		child := children[0]
		known := len(n.next)
		p.move(child, to, child.frame)
		if children = children[1:]; len(n.next) > known {
			children = p.behind(n, child) // they were added to n itself, see Lossy
		}
	}
	n.next = nil
	return to
}

// behind returns the children of n after one of them.
func (p *preinliner) behind(n, child *node) []*node {
	all := p.children(n)
	return all[slices.Index(all, child)+1:]
}

// should reports whether a call should be inlined.
func (p *preinliner) should(c *candidate) bool {
	was := c.callee.samples.Attributes&sampleprof.WasInlined != 0
	if p.Replay {
		return was
	}
	size := p.ColdSize
	if c.count > p.cold {
		cold, hottest := float64(p.cold), float64(p.hottest)
		heat := min((float64(c.count)-cold)/(hottest-cold), 1)
		size = int(float64(p.HotSize)*heat*100 + float64(p.ColdSize) + 1)
		if was {
			size *= p.Again
		}
	}
	return c.size < size
}

// size returns the size of a context.
func (p *preinliner) size(n *node) int {
	if p.Sizes == nil {
		return len(n.samples.Body)
	}
	return p.Sizes.of(n)
}

// candidate is a call that may be inlined.
type candidate struct {
	callee *node
	guid   uint64
	count  uint64
	size   int
}

// before reports whether c has priority over d: calls without remaining code cost nothing,
// then the hottest come first.
func (c *candidate) before(d *candidate) bool {
	switch {
	case (c.size == 0) != (d.size == 0):
		return c.size == 0
	case c.count != d.count:
		return c.count > d.count
	case c.size != d.size:
		return c.size < d.size
	}
	return c.guid > d.guid
}

// candidates adds the calls from n.
func (p *preinliner) candidates(to *candidates, n *node) {
	for _, callee := range p.children(n) {
		if callee.samples != nil {
			to.push(candidate{callee, p.guid(callee.frame.name), callee.calls(), p.size(callee)})
		}
	}
}

// calls returns how often n was called at its call site: the maximum of the caller's count and
// of the executions of its beginning.
func (n *node) calls() uint64 {
	count := n.samples.EntryCount()
	if count == 0 && n.samples.Total() > 0 {
		count = 1
	}
	if l := n.parent.samples.Body[n.frame.call]; l != nil {
		count = max(count, l.Callees[n.frame.name])
	}
	return count
}
