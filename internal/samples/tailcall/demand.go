package tailcall

import (
	"slices"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Problem: few stacks need the tail calls of all code, and to disassemble it takes longer than the rest of a short recording.
//
// Choice: a graph of a lazy set has the functions on stacks, those that they call directly, where addresses of functions may
// be called those whose address they take, and all that tail calls lead to from there: what a search forward meets. An answer
// that depends on more is discarded: then more code is read, and it is asked for again. The functions that jump to one are
// those where the bytes of such a jump are. Where an answer depends on all jumps to computed addresses, all code is read.

// known is what a graph has of a lazy set. It is nil where the graph has all.
type known struct {
	functions []bool                  // whose tail calls are known, and those of all that they lead to
	callers   []bool                  // of which the functions that jump to them are known, and those that jump to these
	near      []bool                  // around which code was read
	modules   []bool                  // of which all functions are known
	searches  []int                   // of modules, for callers
	taken     map[function][]function // by functions of callers, see addressed
	from, to  []function              // whose tail calls and whose callers an answer depends on
	all       bool                    // it depends on all code
	connected [2]int                  // jumps that the edges have: those that leave, those to computed addresses
	cycles    cycles
}

const (
	// around is the number of bytes before and after a function that are read first: one that jumps to it, if there is any,
	// is mostly of the same source file.
	around = 1 << 15
	// maxSearches is the number of times that the code of a module is searched for jumps before it is read.
	maxSearches = 8
)

// wantFrom notes that an answer depends on where tail calls lead to from a function.
func (g *Graph) wantFrom(f function) {
	if k := g.known; k != nil && !k.functions[f] && !k.modules[g.pieces[f][0].binary] {
		k.from = append(k.from, f)
	}
}

// wantTo notes that an answer depends on the functions from which tail calls lead to one.
func (g *Graph) wantTo(f function) {
	if k := g.known; k != nil && !k.callers[f] && !k.modules[g.pieces[f][0].binary] && !slices.Contains(k.to, f) {
		k.to = append(k.to, f)
	}
}

// lacks reports whether an answer depends on code that was not read.
func (g *Graph) lacks() bool {
	k := g.known
	return k != nil && (k.all || len(k.from)+len(k.to) > 0)
}

// OnDemand infers as Full and Brief do, from a lazy set.
type OnDemand struct {
	graph *Graph
	full  *Full
}

// NewOnDemand returns an inferrer for stacks without branches.
func NewOnDemand(code *machinecode.Set, stacks []unwind.Moment) *OnDemand {
	g := newGraph(code, nil)
	modules := len(code.Binaries())
	g.known = &known{functions: make([]bool, g.count), callers: make([]bool, g.count), near: make([]bool, g.count), modules: make([]bool, modules), searches: make([]int, modules), taken: map[function][]function{}}
	g.seen, g.all, g.computed = noEdges(g.count), noEdges(g.count), make([][]ref, g.count)
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
	for i := range k.modules {
		if k.all {
			g.readModule(i)
		}
	}
	for _, f := range k.from {
		k.functions[f] = true
	}
	g.follow(k.from)
	far := slices.DeleteFunc(k.to, g.readAround)
	if len(far) == 0 {
		g.connect()
	}
	g.readCallers(far)
	k.from, k.to, k.all = nil, nil, false
}

// connectMore adds the edges of the code that was read since the last ones were added: to make all of them again takes a fifth
// of the time of a short recording.
func (g *Graph) connectMore() {
	done := &g.known.connected
	leaving, computed := g.code.JumpsRead()
	out, in := map[function]bool{}, map[function]bool{} // whose lists have more
	for _, at := range leaving[done[0]:] {
		if f, to := g.function(at), g.target(at); f != none && to != none && f != to {
			g.all.out[f], g.all.in[to] = append(g.all.out[f], edge{at, to}), append(g.all.in[to], f)
			out[f], in[to] = true, true
		}
	}
	for f := range out {
		stablesort.Func(g.all.out[f], edge.compare)
	}
	for f := range in {
		slices.Sort(g.all.in[f])
	}
	clear(out)
	for _, at := range computed[done[1]:] {
		if f := g.function(at); f != none && g.code.Departs(at) {
			g.computed[f] = append(g.computed[f], at)
			out[f] = true
		}
	}
	for f := range out {
		slices.Sort(g.computed[f])
	}
	*done = [2]int{len(leaving), len(computed)}
}

// readAround reads the code around a function, and reports whether it had not been read.
func (g *Graph) readAround(f function) bool {
	if g.known.near[f] {
		return false
	}
	g.known.near[f] = true
	p := g.pieces[f][0]
	g.code.Read(g.code.Binaries()[p.binary], &machinecode.Range{Lo: p.rng.Lo - min(p.rng.Lo, around), Hi: p.rng.Hi + around})
	return true
}

// readModule reads all functions of a module.
func (g *Graph) readModule(i int) {
	if !g.known.modules[i] {
		g.known.modules[i] = true
		g.code.ReadAll(g.code.Binaries()[i])
	}
}

// readCallers reads the functions from which tail calls lead to some.
func (g *Graph) readCallers(to []function) {
	k := g.known
	for len(to) > 0 {
		ranges := make([][]*machinecode.Range, len(k.modules))
		for _, f := range to {
			k.callers[f] = true
			for _, p := range g.pieces[f] {
				ranges[p.binary] = append(ranges[p.binary], p.rng)
			}
		}
		for i, r := range ranges {
			if len(r) == 0 || k.modules[i] {
				continue
			}
			if k.searches[i]++; k.searches[i] > maxSearches {
				g.readModule(i)
			} else {
				g.code.ReadJumpsTo(g.code.Binaries()[i], r)
			}
		}
		g.connect()
		var next []function
		for _, f := range to {
			for _, c := range g.all.in[f] {
				if !k.callers[c] {
					k.callers[c] = true
					next = append(next, c)
				}
			}
		}
		to = next
	}
}

// renew forgets what depends on the edges of the graph, which has more of them now. Earlier answers did not depend on these.
func (f *Full) renew() {
	again := f.graph.known.cycles.find(&f.graph.all)
	f.seen, f.all = newSearches(&f.graph.seen, again), newSearches(&f.graph.all, again)
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
	for _, h := range w.hopsOf(f) {
		some, wild = true, wild || h.to.source == machinecode.FromPointer
	}
	return some, wild
}
