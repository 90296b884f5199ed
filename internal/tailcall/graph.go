package tailcall

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/internal/machinecode"
	"github.com/cairnprof/cairn/internal/unwind"
)

type ref = machinecode.Ref

// function is the number of one, over all binaries; none where there is none.
type function int32

const none function = -1

// Graph is who calls and jumps to whom. It is immutable.
type Graph struct {
	code  *machinecode.Set
	first []function // of each binary
	count int

	called map[ref][]function // by calls, as branches showed
	seen   edges              // tail calls that were taken
	all    edges              // those, and direct ones that the code has
	taken  [][]function       // whose address the code of a function takes, ascending
	takers []bool             // of functions: somebody takes its address
}

// edges are tail calls, by the function that makes them.
type edges struct {
	out [][]edge     // ascending
	in  [][]function // who makes them, by the function that is jumped to
}

// edge is a jump of a function to another.
type edge struct {
	at ref
	to function
}

// NewGraph finds the tail calls of the code, and what branches say of them.
func NewGraph(code *machinecode.Set, contexts []unwind.Context) *Graph {
	g := &Graph{code: code, called: map[ref][]function{}}
	for _, b := range code.Binaries() {
		g.first = append(g.first, function(g.count))
		g.count += len(b.Functions())
	}
	seen, all := make([][]edge, g.count), make([][]edge, g.count)
	g.taken, g.takers = make([][]function, g.count), make([]bool, g.count)
	g.read(all)
	g.observe(contexts, seen)
	for f := range seen {
		all[f] = append(all[f], seen[f]...)
	}
	g.seen, g.all = newEdges(seen), newEdges(all)
	return g
}

func newEdges(out [][]edge) edges {
	e := edges{out, make([][]function, len(out))}
	for f := range out {
		slices.SortFunc(out[f], func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.to, b.to)) })
		out[f] = slices.Compact(out[f])
		for _, x := range out[f] {
			e.in[x.to] = append(e.in[x.to], function(f))
		}
	}
	return e
}

// read takes what the instructions say: direct tail calls, and addresses of
// functions.
func (g *Graph) read(all [][]edge) {
	for i, b := range g.code.Binaries() {
		for _, r := range b.Ranges() {
			f := g.first[i] + function(r.Function)
			for at := b.From(r.Lo); at < b.End && g.code.Address(at) < r.Hi; at++ {
				switch g.code.Class(at) {
				case machinecode.Jump, machinecode.Conditional:
					if to := g.target(at); to != none && to != f {
						all[f] = append(all[f], edge{at, to})
					}
				case machinecode.Other:
					if addr, ok := g.code.Constant(at); ok {
						if t := b.RangeFrom(addr); t != nil && t.Entry {
							g.taken[f] = append(g.taken[f], g.first[i]+function(t.Function))
						}
					}
				}
			}
		}
	}
	for f := range g.taken {
		slices.Sort(g.taken[f])
		g.taken[f] = slices.Compact(g.taken[f])
		for _, t := range g.taken[f] {
			g.takers[t] = true
		}
	}
}

// observe takes what was seen to happen.
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
			case machinecode.Call, machinecode.IndirectCall:
				g.called[c.From] = append(g.called[c.From], callee)
			case machinecode.Jump, machinecode.IndirectJump:
				if f := g.function(c.From); from != to && f != callee {
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

// function returns the function that has an instruction.
func (g *Graph) function(r ref) function {
	b := g.code.Binary(r)
	if b == nil {
		return none
	}
	rng := b.RangeAt(g.code.Address(r))
	if rng == nil {
		return none
	}
	return g.first[slices.Index(g.code.Binaries(), b)] + function(rng.Function)
}

// target returns the function that a direct branch goes to.
func (g *Graph) target(r ref) function {
	addr, ok := g.code.Target(r)
	if !ok {
		return none
	}
	b := g.code.Binary(r)
	rng := b.RangeAt(addr)
	if rng == nil {
		return none
	}
	return g.first[slices.Index(g.code.Binaries(), b)] + function(rng.Function)
}
