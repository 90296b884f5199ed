// Package callgraph derives the call graph from a profile. It is pure.
//
// There are two kinds of evidence. An observed edge comes from a return address that the
// callee saved on its first call. It is exact, but a run records only the first caller of each
// function. The caller made a call that led to the callee. If the caller's block calls the
// callee, this is an edge. If it calls a function that leads to the callee by calls that ran,
// that function jumped (a tail call), and there is no edge. Otherwise a pointer was involved,
// either in the caller's call or in a jump of the called function, and the edge is possible.
// For modules without blocks or calls, none of this is known. An implied edge comes from the
// code: the caller has a direct call in a block that ran, and the callee ran. Together, only
// indirect calls after the first can be missing.
package callgraph

import (
	"cmp"
	"slices"
	"sort"

	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Kind is the evidence for an edge.
type Kind uint8

// The kinds of edges.
const (
	Observed Kind = iota // by a return address
	Implied              // by code that ran
	// Possible: a return address shows that the caller made a call that led to the callee, by
	// a pointer: to the callee itself, or to a function that jumped to it. Or it made a direct
	// call of a function that jumped by a pointer.
	Possible
)

// String returns the kind as it appears in JSON.
func (k Kind) String() string {
	switch k {
	case Observed:
		return "observed"
	case Possible:
		return "possible"
	}
	return "implied"
}

// Outside is the name of the node for callers outside the profiled modules:
// the C library that calls main, or a thread's start.
const Outside = "[outside]"

// Node is a function that ran, or one outside the profile.
type Node struct {
	Name string
	// Module and Func are indexes into the profile; both are -1 for a function
	// outside it.
	Module, Func int
}

// Edge describes the calls from one function to another.
type Edge struct {
	From, To int // indexes into Graph.Nodes
	Kind     Kind
	Blocks   []int  // the caller's blocks with the calls, ascending
	Runs     uint64 // raw files that observed it; 0 if implied
}

// Graph is the call graph of a profile. Only functions with an edge are in it.
type Graph struct {
	Nodes []Node // those of the profile in order, then those outside by name
	Edges []Edge // by From, then To
}

// Build returns the call graph of p. With external it also has the functions
// outside the profile: callees that have no record as leaves, and Outside as a
// caller.
func Build(p *prof.Profile, external bool) *Graph {
	b := &builder{profile: p, edges: map[[2]Node]*Edge{}}
	for m := range p.Modules {
		b.observed(m, external)
	}
	for m := range p.Modules {
		b.implied(m, external)
	}
	return b.graph()
}

type builder struct {
	profile *prof.Profile
	edges   map[[2]Node]*Edge
}

func (b *builder) node(module, fn int) Node {
	return Node{b.profile.Modules[module].Funcs[fn].Name, module, fn}
}

func outside(name string) Node { return Node{name, -1, -1} }

// add records an edge. block is -1 if it is not known. An observed edge remains observed if
// the code implies it too.
func (b *builder) add(from, to Node, kind Kind, block int, runs uint64) {
	key := [2]Node{from, to}
	e := b.edges[key]
	if e == nil {
		e = &Edge{Kind: kind}
		b.edges[key] = e
	}
	if e.Kind == Possible {
		e.Kind = kind // the certain kind has priority
	}
	e.Runs += runs
	if at, found := slices.BinarySearch(e.Blocks, block); block >= 0 && !found {
		e.Blocks = slices.Insert(e.Blocks, at, block)
	}
}

// observed adds the edges from the first callers recorded in module m.
func (b *builder) observed(m int, external bool) {
	mod := &b.profile.Modules[m]
	code := NewCodeIndex(mod.Funcs)
	made := newMadeCalls(mod)
	for callee := range mod.Counts {
		for _, site := range mod.Counts[callee].Callers {
			// A return address may be after the last instruction of a block, or of the
			// function: the call itself is before it.
			caller, block, ok := code.Find(site.Addr - 1)
			switch {
			case site.Addr != 0 && ok:
				if kind, made := made.kind(caller, block, callee); made {
					b.add(b.node(m, caller), b.node(m, callee), kind, block, site.Runs)
				}
			case external:
				b.add(outside(Outside), b.node(m, callee), Observed, -1, site.Runs)
			}
		}
	}
}

// implied adds the edges implied by the blocks of module m that ran.
func (b *builder) implied(m int, external bool) {
	mod := &b.profile.Modules[m]
	names := newNameIndex(mod.Funcs)
	for caller := range mod.Funcs {
		f := &mod.Funcs[caller]
		for _, call := range f.Calls {
			if !mod.Counts[caller].Covered(int(call.Block)) {
				continue
			}
			callee, ok := names.find(call.Callee, f.File)
			switch {
			case ok && mod.Counts[callee].Runs > 0:
				b.add(b.node(m, caller), b.node(m, callee), Implied, int(call.Block), 0)
			case ok:
				// The callee has a record and never ran: the block was left before the call.
			case external:
				b.add(b.node(m, caller), outside(call.Callee), Implied, int(call.Block), 0)
			}
		}
	}
}

// graph numbers the nodes and sorts.
func (b *builder) graph() *Graph {
	index := map[Node]int{}
	for key := range b.edges {
		index[key[0]], index[key[1]] = 0, 0
	}
	g := &Graph{}
	for n := range index {
		g.Nodes = append(g.Nodes, n)
	}
	stablesort.Func(g.Nodes, func(x, y Node) int {
		// As unsigned numbers, the -1 of outside functions comes last.
		return cmp.Or(cmp.Compare(uint(x.Module), uint(y.Module)), cmp.Compare(uint(x.Func), uint(y.Func)), cmp.Compare(x.Name, y.Name))
	})
	for i, n := range g.Nodes {
		index[n] = i
	}
	for key, e := range b.edges {
		e.From, e.To = index[key[0]], index[key[1]]
		g.Edges = append(g.Edges, *e)
	}
	stablesort.Func(g.Edges, func(x, y Edge) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To))
	})
	return g
}

// CodeIndex finds the function that contains an address.
type CodeIndex struct {
	funcs []prof.Func
	frags []fragment // ascending by address
}

type fragment struct {
	lo, hi uint64
	fn     int
	at     int // index in the function's Fragments
	block  int // number of blocks listed before this fragment
}

// NewCodeIndex returns the index of a module's functions.
func NewCodeIndex(funcs []prof.Func) *CodeIndex {
	c := &CodeIndex{funcs: funcs}
	for i := range funcs {
		block := 0
		for k, fr := range funcs[i].Fragments {
			c.frags = append(c.frags, fragment{fr.Addr, fr.Addr + uint64(fr.Size), i, k, block})
			block += len(fr.Blocks)
		}
	}
	sort.SliceStable(c.frags, func(i, j int) bool { return c.frags[i].lo < c.frags[j].lo })
	return c
}

// Find returns the function and the block that contain addr.
func (c *CodeIndex) Find(addr uint64) (fn, block int, ok bool) {
	k := sort.Search(len(c.frags), func(k int) bool { return c.frags[k].lo > addr }) - 1
	if k < 0 || addr >= c.frags[k].hi {
		return 0, 0, false
	}
	fr := c.frags[k]
	blocks := c.funcs[fr.fn].Fragments[fr.at].Blocks
	n := sort.Search(len(blocks), func(i int) bool { return uint64(blocks[i]) > addr-fr.lo })
	if n == 0 {
		return fr.fn, 0, true
	}
	return fr.fn, fr.block + n, true
}

// nameIndex resolves callees. Several functions may share a name: static ones
// of different files, and inline ones that each file has a copy of.
type nameIndex struct {
	funcs  []prof.Func
	byName map[string][]int
}

func newNameIndex(funcs []prof.Func) *nameIndex {
	n := &nameIndex{funcs, make(map[string][]int, len(funcs))}
	for i := range funcs {
		n.byName[funcs[i].Name] = append(n.byName[funcs[i].Name], i)
	}
	return n
}

// find returns the function that code in file refers to as name: that of the file, or else the
// first.
func (n *nameIndex) find(name, file string) (int, bool) {
	candidates := n.byName[name]
	for _, i := range candidates {
		if n.funcs[i].File == file {
			return i, true
		}
	}
	if len(candidates) == 0 {
		return 0, false
	}
	return candidates[0], true
}
