package tailcall

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/internal/stablesort"
)

type ref = machinecode.Ref

// function is the number of a function, over all binaries; none if there is none.
type function int32

const none function = -1

// Graph holds the calls and tail calls between functions. It is immutable, unless it is of a lazy set.
type Graph struct {
	code  *machinecode.Set
	first []function // of each binary
	count int
	// namesakes are functions that have the name of others, by their first ranges of
	// code.
	namesakes map[*machinecode.Range]function

	called   map[ref][]function // by calls, as branches showed
	cases    map[ref][]ref      // where jumps led within their function, as branches showed
	seen     edges              // tail calls that were taken
	all      edges              // those, and direct ones that the code has
	pieces   [][]piece          // of functions
	computed [][]ref            // jumps of functions to computed addresses, outside of the function as far as is known
	contexts []unwind.Context
	known    *known
}

// piece is a range of code of a binary.
type piece struct {
	binary int
	rng    *machinecode.Range
}

// edges are tail calls, by the calling function.
type edges struct {
	out [][]edge     // ascending
	in  [][]function // callers, by the function that is called
}

// edge is a jump of a function to another.
type edge struct {
	at ref
	to function
}

// NewGraph finds the tail calls in the code and in sampled branches.
func NewGraph(code *machinecode.Set, contexts []unwind.Context) *Graph {
	g := newGraph(code, contexts)
	g.connect()
	return g
}

// newGraph returns a graph without edges.
func newGraph(code *machinecode.Set, contexts []unwind.Context) *Graph {
	g := &Graph{code: code, called: map[ref][]function{}, cases: map[ref][]ref{}, contexts: contexts}
	for _, b := range code.Binaries() {
		g.first = append(g.first, function(g.count))
		g.count += len(b.Functions())
	}
	g.numberNamesakes()
	g.findPieces()
	return g
}

// connect finds the edges, of a lazy set those of the code that was read.
func (g *Graph) connect() {
	if g.known != nil {
		g.connectMore()
		return
	}
	seen, all := make([][]edge, g.count), make([][]edge, g.count)
	g.computed = make([][]ref, g.count)
	g.read(all)
	g.observe(g.contexts, seen)
	for f := range seen {
		all[f] = append(all[f], seen[f]...)
	}
	g.seen, g.all = newEdges(seen), newEdges(all)
}

// merged returns edges, with one for all edges at one location.
func (e *edges) merged(place func(at ref) uint64) edges {
	out := make([][]edge, len(e.out))
	type spot struct {
		place uint64
		to    function
	}
	for f := range e.out {
		done := map[spot]bool{}
		for _, x := range e.out[f] {
			if p := place(x.at); p != 0 {
				if done[spot{p, x.to}] {
					continue
				}
				done[spot{p, x.to}] = true
			}
			out[f] = append(out[f], x)
		}
	}
	return newEdges(out)
}

func (x edge) compare(y edge) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.to, y.to)) }

func noEdges(functions int) edges {
	return edges{make([][]edge, functions), make([][]function, functions)}
}

func newEdges(out [][]edge) edges {
	e := edges{out, make([][]function, len(out))}
	for f := range out {
		stablesort.Func(out[f], edge.compare)
		out[f] = slices.Compact(out[f])
		for _, x := range out[f] {
			e.in[x.to] = append(e.in[x.to], function(f))
		}
	}
	return e
}

// numberNamesakes gives different numbers to functions that have the same name.
func (g *Graph) numberNamesakes() {
	g.namesakes = map[*machinecode.Range]function{}
	for _, b := range g.code.Binaries() {
		starts := make([]int, len(b.Functions()))
		for _, r := range b.Ranges() {
			if r.Start {
				starts[r.Function]++
			}
		}
		for k := range b.Ranges() {
			if r := &b.Ranges()[k]; r.Start && starts[r.Function] > 1 {
				g.namesakes[r] = function(g.count)
				g.count++
			}
		}
	}
}

// findPieces finds the code of functions.
func (g *Graph) findPieces() {
	g.pieces = make([][]piece, g.count)
	for i, b := range g.code.Binaries() {
		for k := range b.Ranges() {
			r := &b.Ranges()[k]
			f := g.of(i, r)
			g.pieces[f] = append(g.pieces[f], piece{i, r})
		}
	}
}

// of returns the function of a range of a binary.
func (g *Graph) of(binary int, r *machinecode.Range) function {
	if f, ok := g.namesakes[r]; ok {
		return f
	}
	return g.first[binary] + function(r.Function)
}

// read evaluates the instructions: direct tail calls, and jumps to computed addresses.
func (g *Graph) read(all [][]edge) {
	for _, at := range g.code.LeavingJumps() {
		if f, to := g.function(at), g.target(at); f != none && to != none && f != to {
			all[f] = append(all[f], edge{at, to})
		}
	}
	for _, at := range g.code.IndirectJumps() {
		// The others belong to switch statements.
		if f := g.function(at); f != none && g.code.Departs(at) {
			g.computed[f] = append(g.computed[f], at)
		}
	}
}

// addressed returns the functions whose address the code of a function takes, ascending.
func (g *Graph) addressed(f function) (out []function) {
	for _, p := range g.pieces[f] {
		b := g.code.Binaries()[p.binary]
		g.code.Read(b, p.rng)
		for at, end := b.From(p.rng.Lo), b.From(p.rng.Hi); at < end; at++ {
			if addr, ok := g.code.Constant(at); ok {
				if t := b.RangeFrom(addr); t != nil && t.Entry {
					out = append(out, g.of(p.binary, t))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// observe evaluates the sampled branches.
func (g *Graph) observe(contexts []unwind.Context, tails [][]edge) {
	known := map[[2]ref]bool{}
	for i := range contexts {
		for _, c := range contexts[i].Branches {
			if known[[2]ref{c.From, c.To}] || !c.From.IsInstruction() || !c.To.IsInstruction() {
				continue
			}
			known[[2]ref{c.From, c.To}] = true
			from, to := g.rangeOf(c.From), g.rangeOf(c.To)
			if from == nil || to == nil {
				continue
			}
			switch callee := g.function(c.To); g.code.Class(c.From) {
			case controlflow.Call, controlflow.IndirectCall:
				g.called[c.From] = append(g.called[c.From], callee)
			case controlflow.Jump, controlflow.IndirectJump:
				switch f := g.function(c.From); {
				case from == to && g.code.Class(c.From) == controlflow.IndirectJump:
					g.cases[c.From] = append(g.cases[c.From], c.To)
				case from != to && f != callee:
					tails[f] = append(tails[f], edge{c.From, callee})
				}
			}
		}
	}
	for at, callees := range g.called {
		slices.Sort(callees)
		g.called[at] = slices.Compact(callees)
	}
}

func (g *Graph) rangeOf(r ref) *machinecode.Range {
	if b := g.code.Binary(r); b != nil {
		return b.RangeAt(g.code.Address(r))
	}
	return nil
}

// function returns the function that contains an instruction.
func (g *Graph) function(r ref) function {
	b := g.code.Binary(r)
	if b == nil {
		return none
	}
	return g.at(b, g.code.Address(r))
}

// at returns the function that contains an address of a binary. Stubs that lead to another module are none.
func (g *Graph) at(b *machinecode.Binary, addr uint64) function {
	rng := b.RangeAt(addr)
	if rng == nil || b.InStub(addr) {
		return none
	}
	return g.of(slices.Index(g.code.Binaries(), b), rng)
}

// target returns the function that a direct branch goes to.
func (g *Graph) target(r ref) function {
	addr, ok := g.code.Target(r)
	if !ok {
		return none
	}
	return g.at(g.code.Binary(r), addr)
}
