package tailcall

import (
	"slices"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// Problem: few stacks need the tail calls of all code, and to disassemble it takes longer than the rest of a short recording.
//
// Choice: a graph of a lazy set has the functions on stacks, those that they call directly, where addresses of functions may
// be called those whose address they take, and all that tail calls lead to from there: what a search forward meets. An answer
// that depends on more is discarded: then more code is read, and it is asked for again. In the end that is all of a module.

// known is what a graph has of a lazy set. It is nil where the graph has all.
type known struct {
	functions []bool                  // whose tail calls are known, and those of all that they lead to
	modules   []bool                  // of which all functions are
	taken     map[function][]function // by functions of callers, see addressed
	widths    map[function]int        // how much code around a function was read, as an index of widths
	wanted    []function              // around which an answer depends on more
	all       bool                    // it depends on all code
}

// widths are the bytes of code that are read before and after a function, before all of its module is. Jumps to a function
// to which no pointer leads are mostly in the same source file.
var widths = [...]uint64{1 << 15, 1 << 19}

// want notes that an answer depends on the callers of a function.
func (g *Graph) want(f function) {
	if k := g.known; k != nil && !k.modules[g.pieces[f][0].binary] {
		k.wanted = append(k.wanted, f)
	}
}

// lacks reports whether an answer depends on code that was not read.
func (g *Graph) lacks() bool { return g.known != nil && (g.known.all || len(g.known.wanted) > 0) }

// OnDemand infers as Full and Brief do, from a lazy set.
type OnDemand struct {
	graph *Graph
	full  *Full
}

// NewOnDemand returns an inferrer for stacks without branches.
func NewOnDemand(code *machinecode.Set, stacks []unwind.Moment) *OnDemand {
	g := newGraph(code, nil)
	g.known = &known{functions: make([]bool, g.count), modules: make([]bool, len(code.Binaries())), widths: map[function]int{}, taken: map[function][]function{}}
	g.follow(g.met(stacks))
	g.connect()
	d := &OnDemand{g, NewFull(g, nil)}
	d.full.Brief()
	d.full.takes = g.known.taken
	return d
}

// Graph returns what is known.
func (d *OnDemand) Graph() *Graph { return d.graph }

// Sees implements Inferrer.
func (d *OnDemand) Sees() int { return d.full.Sees() }

// Infer implements Inferrer.
func (d *OnDemand) Infer(stack []machinecode.Ref, i int) (jumps []machinecode.Ref, rule string, known bool) {
	for {
		jumps, rule, known = d.full.Infer(stack, i)
		if !d.graph.lacks() {
			return jumps, rule, known
		}
		d.graph.widen()
		d.full.renew()
	}
}

// widen reads what the last answer depended on.
func (g *Graph) widen() {
	k := g.known
	for i, b := range g.code.Binaries() {
		if k.all && !k.modules[i] {
			k.modules[i] = true
			g.code.ReadAll(b)
		}
	}
	for _, f := range k.wanted {
		p := g.pieces[f][0]
		b := g.code.Binaries()[p.binary]
		switch n := k.widths[f]; {
		case k.modules[p.binary]:
		case n < len(widths):
			k.widths[f]++
			g.code.Read(b, &machinecode.Range{Lo: p.rng.Lo - min(p.rng.Lo, widths[n]), Hi: p.rng.Hi + widths[n]})
		default:
			k.modules[p.binary] = true
			g.code.ReadAll(b)
		}
	}
	k.wanted, k.all = nil, false
	g.connect()
}

// renew forgets what depends on the edges of the graph, which has more of them now. Earlier answers did not depend on these.
func (f *Full) renew() {
	again := f.graph.all.cyclic()
	f.seen, f.all = newSearches(&f.graph.seen, again), newSearches(&f.graph.all, again)
	f.sites = map[ref]site{}
	f.world.ways = map[function]*ways{}
}

// met returns the functions from which searches begin. Stacks are ascending.
func (g *Graph) met(stacks []unwind.Moment) []function {
	m := metFunctions{g: g, takers: map[function]bool{}, marks: make([]bool, g.code.Len())}
	var last []ref
	pointer := -1 // index of the innermost call through a pointer in last
	for i := range stacks {
		now := append(stacks[i].Frames[:len(stacks[i].Frames):len(stacks[i].Frames)], stacks[i].Leaf)
		same := 0
		for same < min(len(now), len(last)) && now[same] == last[same] {
			same++
		}
		found := -1
		for k := len(now) - 1; k >= 0; k-- {
			if found < 0 && k < len(now)-1 && g.code.Class(now[k]) == controlflow.IndirectCall {
				found = k
			}
			if k >= same || k <= found && k > pointer {
				m.add(now[k], k <= found)
			} else if found >= 0 || k <= pointer {
				found = max(found, min(pointer, k))
				break
			}
		}
		last, pointer = now, found
	}
	return m.found
}

// metFunctions collects functions.
type metFunctions struct {
	g      *Graph
	found  []function
	takers map[function]bool
	marks  []bool // of instructions
}

// add adds the functions of a frame, with those whose addresses its function takes if it is a taker.
func (m *metFunctions) add(at ref, taker bool) {
	if !at.IsInstruction() || m.marks[at] && !taker {
		return
	}
	f := m.g.function(at)
	if !m.marks[at] {
		m.marks[at] = true
		m.function(f)
		if m.g.code.Class(at) == controlflow.Call {
			m.function(m.g.target(at))
		}
	}
	if taker && f != none && !m.takers[f] {
		m.takers[f] = true
		taken := m.g.addressed(f)
		m.g.known.taken[f] = taken
		for _, x := range taken {
			m.function(x)
		}
	}
}

func (m *metFunctions) function(f function) {
	if f != none && !m.g.known.functions[f] {
		m.g.known.functions[f] = true
		m.found = append(m.found, f)
	}
}

// follow reads functions, and those that tail calls lead to from them.
func (g *Graph) follow(queue []function) {
	for len(queue) > 0 {
		f := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, p := range g.pieces[f] {
			b := g.code.Binaries()[p.binary]
			g.code.Read(b, p.rng)
			for at, end := b.From(p.rng.Lo), b.From(p.rng.Hi); at < end; at++ {
				if class := g.code.Class(at); class != controlflow.Jump && class != controlflow.Conditional {
					continue
				}
				addr, ok := g.code.Target(at)
				if !ok || addr-p.rng.Lo < p.rng.Hi-p.rng.Lo {
					continue
				}
				if to := g.at(b, addr); to != none && !g.known.functions[to] {
					g.known.functions[to] = true
					queue = append(queue, to)
				}
			}
		}
	}
}

// readFree reads functions of a lazy set that any pointer may refer to, until one is found that jumps to where any may.
func (w *world) readFree() {
	g := w.graph
	if g.known == nil {
		return
	}
	for _, f := range w.free {
		if _, wild := w.jumpsOf(f); wild {
			return
		}
	}
}

// jumpsOf is leaves of a function alone.
func (w *world) jumpsOf(f function) (some, wild bool) {
	for _, p := range w.graph.pieces[f] {
		b := w.graph.code.Binaries()[p.binary]
		w.graph.code.Read(b, p.rng)
		jumps := w.graph.code.IndirectJumps()
		k, _ := slices.BinarySearch(jumps, b.From(p.rng.Lo))
		for end := b.From(p.rng.Hi); k < len(jumps) && jumps[k] < end; k++ {
			if at := jumps[k]; !w.graph.code.OfSwitch(at) {
				some = true
				wild = wild || w.targetOf(at).source == machinecode.FromPointer
			}
		}
	}
	return some, wild
}
