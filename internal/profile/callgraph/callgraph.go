// Package callgraph derives the call graph from a profile. It is pure.
//
// There are two kinds of evidence. An observed edge comes from a return address
// that the callee saved on its first call. It is exact, but a run tells only of the
// first caller of each function. The caller called what came to the callee: where its
// block calls the callee, it was the callee. Where it calls a function that leads to the
// callee by calls that ran, that one jumped (a tail call), and there is no edge. Else there
// was a pointer in the way, to the callee or to what jumped to it, or what was called
// jumped by one, and the edge is possible. Of modules without blocks or calls none of that is known. An implied edge
// comes from the code: the caller holds a direct call in a block that ran, and
// the callee ran. Between them, only indirect calls after the first can be
// missing.
package callgraph

import (
	"cmp"
	"slices"
	"sort"

	"github.com/cairnprof/cairn/prof"
)

// Kind is the evidence for an edge.
type Kind uint8

// The kinds of edges.
const (
	Observed Kind = iota // a return address says so
	Implied              // code that ran says so
	// Possible: a return address says that the caller called something that came to
	// the callee, by a pointer: the callee itself, or a function that jumped to it. Or
	// it called a function by its name that jumped by a pointer.
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
	Blocks   []int  // the caller's blocks that hold the calls, ascending
	Runs     uint64 // raw files that observed it; 0 if implied
}

// Graph is the call graph of a profile. Only functions with an edge are in it.
type Graph struct {
	Nodes []Node // those of the profile in its order, then those outside by name
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

// add records an edge. block is -1 if it is not known. What was observed stays
// observed when the code implies it too.
func (b *builder) add(from, to Node, kind Kind, block int, runs uint64) {
	key := [2]Node{from, to}
	e := b.edges[key]
	if e == nil {
		e = &Edge{Kind: kind}
		b.edges[key] = e
	}
	if e.Kind == Possible {
		e.Kind = kind // what is sure says more
	}
	e.Runs += runs
	if at, found := slices.BinarySearch(e.Blocks, block); block >= 0 && !found {
		e.Blocks = slices.Insert(e.Blocks, at, block)
	}
}

// observed adds the edges that the first callers of module m tell.
func (b *builder) observed(m int, external bool) {
	mod := &b.profile.Modules[m]
	code := NewCodeIndex(mod.Funcs)
	made := newMadeCalls(mod)
	for callee := range mod.Counts {
		for _, site := range mod.Counts[callee].Callers {
			// A return address may stand after the last instruction of a
			// block, or of the function: the call itself is before it.
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

// implied adds the edges that the blocks of module m that ran tell.
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
				// The callee has a record that says it never ran: the block was
				// left before the call.
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
	slices.SortFunc(g.Nodes, func(x, y Node) int {
		// As unsigned numbers, the -1 of the outside comes last.
		return cmp.Or(cmp.Compare(uint(x.Module), uint(y.Module)), cmp.Compare(uint(x.Func), uint(y.Func)), cmp.Compare(x.Name, y.Name))
	})
	for i, n := range g.Nodes {
		index[n] = i
	}
	for key, e := range b.edges {
		e.From, e.To = index[key[0]], index[key[1]]
		g.Edges = append(g.Edges, *e)
	}
	slices.SortFunc(g.Edges, func(x, y Edge) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To))
	})
	return g
}

// CodeIndex finds the function that holds an address.
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

// Find returns the function and the block that hold addr.
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

// find returns the function called name as code of file sees it: that file's
// own, or else the first.
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
