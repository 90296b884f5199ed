// Package exttsp orders the blocks of a function so that control seldom jumps, and jumps not far: by the extended
// travelling salesman problem of Newell and Pupyrev, "Improved Basic Block Reordering" (IEEE Transactions on
// Computers, 2020), with the weights that BOLT and LLVM use. It is pure.
package exttsp

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// Problem: blocks that follow each other need no jump, and lines of the instruction cache are fetched as a whole. The
// order that fetches least cannot be found in reasonable time.
//
// Choice: each edge has a score: its executions, times 1 if its end follows its beginning, times at most 0.1 if it is a
// short jump. Chains of blocks begin as single blocks, and the two whose chain has the highest additional score are
// joined, until none has any: one behind the other, or one in the other, which may be cut and turned. A loop that is
// turned so has its test at its end.
//
// Cost: scoring a pair of chains is linear in their edges, for each place where one is cut; chains above maxCut
// blocks are not cut. After effort scored edges for each block and edge of the function only the ends of chains are
// compared. So n blocks and edges cost at most effort * n scored edges, then n log n comparisons, and maxChain * n
// copies of blocks.

// Graph is the flow of a function. Blocks are numbered in the order of the text; 0 is the entry.
type Graph struct {
	Size  []int    // of each block, in bytes
	Times []uint64 // how often each block ran
	Edges []Edge   // at most one between two blocks; those that never ran may be among them
}

// Edge says how often control went from a block to another.
type Edge struct {
	From, To int
	Times    uint64
}

// Weights of edges by their length: from the end of a block to the beginning of another.
const (
	fallsWeight  = 1.0
	onlyWeight   = 1.05 // as above, of a block without another way: the jump is not needed
	jumpWeight   = 0.1
	forwardReach = 1024
	backReach    = 640
)

const (
	maxCut   = 128  // blocks of the longest chain that is cut
	maxChain = 4096 // blocks of the longest chain
	effort   = 2000
)

// Score returns the score of an order of all blocks of g: the higher the better.
func Score(g *Graph, order []int) float64 {
	s := newSolver(g)
	at := 0
	for _, b := range order {
		s.at[b] = at
		at += g.Size[b]
	}
	sum := 0.0
	for e := range g.Edges {
		sum += s.score(e)
	}
	return sum
}

// Order returns an order of the blocks of g that begins with the entry. Blocks that never ran are last, in the order
// of the text.
func Order(g *Graph) []int {
	if len(g.Size) == 0 {
		return nil
	}
	s := newSolver(g)
	s.joinOnly()
	s.collect()
	s.run()
	s.joinCold()
	return s.concatenate()
}

// chain is a sequence of blocks.
type chain struct {
	blocks []int
	size   int
	times  uint64 // executions by bytes
	inner  []int  // edges within
	score  float64
	links  map[int]*link // by the other chain
	since  int           // the join that made it
}

// link is what is known of two chains with edges between them.
type link struct {
	a, b  int
	edges []int
	gain  float64
	best  way
	gone  bool // the chains are one, or another link has its edges
}

// way is how two chains are joined: x cut before block at, with y; y is a whole.
type way struct {
	x, y int // chains
	at   int // 0: x is not cut
	kind shape
}

type shape uint8

const (
	xy   shape = iota // x1 x2 y
	xyx               // x1 y x2
	yxx               // y x2 x1
	xxy               // x2 x1 y
	none              // ends do not meet
)

type solver struct {
	*Graph
	only   []bool // by edge: its block has no other
	at     []int  // by block: its address in the order that is scored
	of     []int  // by block: its chain
	index  []int  // by block: its place in its chain
	out    [][]int
	in     [][]int
	chains []*chain
	queue  []queued
	joins  int
	left   int // edges that may be scored
	trial  []int
}

func newSolver(g *Graph) *solver {
	n := len(g.Size)
	s := &solver{Graph: g, only: make([]bool, len(g.Edges)), at: make([]int, n), of: make([]int, n), index: make([]int, n), out: make([][]int, n), in: make([][]int, n)}
	for e := range g.Edges {
		s.out[g.Edges[e].From] = append(s.out[g.Edges[e].From], e)
		s.in[g.Edges[e].To] = append(s.in[g.Edges[e].To], e)
	}
	for e := range g.Edges {
		s.only[e] = len(s.out[g.Edges[e].From]) == 1
	}
	for b := range n {
		s.of[b] = b
		s.chains = append(s.chains, &chain{blocks: []int{b}, size: g.Size[b], times: weigh(g.Times[b], g.Size[b]), links: map[int]*link{}})
	}
	s.left = effort * (n + len(g.Edges))
	return s
}

// weigh multiplies executions and bytes, saturating.
func weigh(times uint64, size int) uint64 {
	hi, lo := bits.Mul64(times, uint64(max(size, 1)))
	if hi > 0 {
		return 1<<63 - 1
	}
	return min(lo, 1<<63-1)
}

// score returns that of an edge by the addresses in at.
func (s *solver) score(e int) float64 {
	edge := &s.Edges[e]
	d := s.at[edge.To] - s.at[edge.From] - s.Size[edge.From]
	w := 0.0
	switch {
	case edge.To == edge.From:
		return 0 // of no order's doing
	case d == 0 && s.only[e]:
		w = onlyWeight
	case d == 0:
		w = fallsWeight
	case d > 0 && d <= forwardReach:
		w = jumpWeight * (1 - float64(d)/forwardReach)
	case d < 0 && d >= -backReach:
		w = jumpWeight * (1 + float64(d)/backReach)
	}
	return w * float64(edge.Times)
}

// append puts chain b behind a.
func (s *solver) append(a, b int) {
	x, y := s.chains[a], s.chains[b]
	for _, block := range y.blocks {
		s.of[block], s.index[block] = a, len(x.blocks)
		x.blocks = append(x.blocks, block)
	}
	x.size, x.times = x.size+y.size, min(x.times+y.times, 1<<63-1)
	s.chains[b] = nil
}

// joinOnly joins blocks that only follow each other.
func (s *solver) joinOnly() {
	for e := range s.Edges {
		edge := &s.Edges[e]
		if s.only[e] && len(s.in[edge.To]) == 1 && edge.To != 0 && edge.Times > 0 && s.of[edge.From] != s.of[edge.To] {
			s.append(s.of[edge.From], s.of[edge.To])
		}
	}
}

// collect finds the edges within and between chains.
func (s *solver) collect() {
	for e := range s.Edges {
		edge := &s.Edges[e]
		if edge.Times == 0 || edge.From == edge.To {
			continue
		}
		a, b := s.of[edge.From], s.of[edge.To]
		if a == b {
			s.chains[a].inner = append(s.chains[a].inner, e)
			continue
		}
		l := s.chains[a].links[b]
		if l == nil {
			l = &link{a: a, b: b}
			s.chains[a].links[b], s.chains[b].links[a] = l, l
		}
		l.edges = append(l.edges, e)
	}
	for _, c := range s.chains {
		if c != nil {
			c.score = s.sum(c.inner, c.blocks)
		}
	}
}

// sum returns the score of edges in an order.
func (s *solver) sum(edges []int, parts ...[]int) float64 {
	at := 0
	for _, part := range parts {
		for _, b := range part {
			s.at[b] = at
			at += s.Size[b]
		}
	}
	sum := 0.0
	for _, e := range edges {
		sum += s.score(e)
	}
	return sum
}

// run joins chains, those with the highest gain first.
func (s *solver) run() {
	for a, c := range s.chains {
		if c == nil {
			continue
		}
		for _, b := range sortedKeys(c.links) {
			if l := c.links[b]; l.a == a {
				s.rate(l)
			}
		}
	}
	for len(s.queue) > 0 {
		q := s.pop()
		if l := q.link; l.gone || q.since != max(s.chains[l.a].since, s.chains[l.b].since) {
			continue // rated anew since
		}
		s.join(q.link)
	}
}

func sortedKeys(links map[int]*link) []int {
	keys := make([]int, 0, len(links))
	for k := range links {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// join joins the chains of a link in its best way.
func (s *solver) join(l *link) {
	w := l.best
	x, y := s.chains[w.x], s.chains[w.y]
	var blocks []int
	for _, part := range parts(x.blocks, y.blocks, w) {
		blocks = append(blocks, part...)
	}
	// The chain with more neighbours keeps its links.
	a, b := w.x, w.y
	if len(s.chains[b].links) > len(s.chains[a].links) {
		a, b = b, a
	}
	keep, gone := s.chains[a], s.chains[b]
	score := keep.score + gone.score + l.gain
	keep.inner = append(append(keep.inner, gone.inner...), l.edges...)
	keep.blocks, keep.score = blocks, score
	keep.size, keep.times = keep.size+gone.size, min(keep.times+gone.times, 1<<63-1)
	for i, block := range blocks {
		s.of[block], s.index[block] = a, i
	}
	delete(keep.links, b)
	delete(gone.links, a)
	l.gone = true
	for other, moved := range gone.links {
		delete(s.chains[other].links, b)
		if have := keep.links[other]; have != nil {
			have.edges = append(have.edges, moved.edges...)
			moved.gone = true
			continue
		}
		moved.a, moved.b = a, other
		keep.links[other], s.chains[other].links[a] = moved, moved
	}
	s.chains[b] = nil
	s.joins++
	keep.since = s.joins
	if s.left > 0 {
		for _, other := range sortedKeys(keep.links) {
			s.rate(keep.links[other])
		}
		return
	}
	s.rateEnds(keep)
}

// rateEnds rates the links of the edges from the end of a chain and to its beginning.
func (s *solver) rateEnds(c *chain) {
	rate := func(other int) {
		if l := c.links[other]; l != nil {
			s.rate(l)
		}
	}
	for _, e := range s.out[c.blocks[len(c.blocks)-1]] {
		rate(s.of[s.Edges[e].To])
	}
	for _, e := range s.in[c.blocks[0]] {
		rate(s.of[s.Edges[e].From])
	}
}

// parts returns the blocks of two chains that are joined in a way.
func parts(x, y []int, w way) [3][]int {
	switch w.kind {
	case xyx:
		return [3][]int{x[:w.at], y, x[w.at:]}
	case yxx:
		return [3][]int{y, x[w.at:], x[:w.at]}
	case xxy:
		return [3][]int{x[w.at:], x[:w.at], y}
	}
	return [3][]int{x, y, nil}
}

// rate finds the best way to join the chains of a link, and queues it if that gains anything.
func (s *solver) rate(l *link) {
	s.left -= len(l.edges)
	l.gain, l.best = 0, way{kind: none}
	slices.Sort(l.edges)
	for _, pair := range [][2]int{{l.a, l.b}, {l.b, l.a}} {
		x, y := pair[0], pair[1]
		if len(s.chains[x].blocks)+len(s.chains[y].blocks) > maxChain {
			return
		}
		if s.left <= 0 {
			s.tryEnds(l, x, y)
			continue
		}
		s.try(l, way{x, y, 0, xy})
		if len(s.chains[x].blocks) <= maxCut {
			s.tryCuts(l, x, y)
		}
	}
	if l.gain > 0 {
		s.push(queued{l, max(s.chains[l.a].since, s.chains[l.b].since), l.gain})
	}
}

// tryEnds considers only the edges from the end of x to the beginning of y.
func (s *solver) tryEnds(l *link, x, y int) {
	from, to := s.chains[x].blocks, s.chains[y].blocks
	if to[0] == 0 {
		return
	}
	for _, e := range s.out[from[len(from)-1]] {
		if gain := fallsWeight * float64(s.Edges[e].Times); s.Edges[e].To == to[0] && gain > l.gain {
			l.gain, l.best = gain, way{x, y, 0, xy}
		}
	}
}

// tryCuts considers the places where x may be cut: where a block of y's ends can follow or precede, and where no edge
// is cut.
func (s *solver) tryCuts(l *link, x, y int) {
	blocks, other := s.chains[x].blocks, s.chains[y].blocks
	cut := make([]bool, len(blocks)+1)
	for _, e := range s.in[other[0]] {
		if from := s.Edges[e].From; s.of[from] == x {
			cut[s.index[from]+1] = true
		}
	}
	for _, e := range s.out[other[len(other)-1]] {
		if to := s.Edges[e].To; s.of[to] == x {
			cut[s.index[to]] = true
		}
	}
	for at := 1; at < len(blocks); at++ {
		if !cut[at] && s.follows(blocks[at-1], blocks[at]) {
			continue
		}
		for _, kind := range []shape{xyx, yxx, xxy} {
			s.try(l, way{x, y, at, kind})
		}
	}
}

// follows reports whether an edge that ran leads from a block to another.
func (s *solver) follows(from, to int) bool {
	return slices.ContainsFunc(s.out[from], func(e int) bool { return s.Edges[e].To == to && s.Edges[e].Times > 0 })
}

// try scores a way of joining the chains of a link. The entry stays first.
func (s *solver) try(l *link, w way) {
	x, y := s.chains[w.x], s.chains[w.y]
	order := parts(x.blocks, y.blocks, w)
	if (x.blocks[0] == 0 || y.blocks[0] == 0) && order[0][0] != 0 {
		return
	}
	s.left -= len(x.inner) + len(y.inner) + len(l.edges) + len(x.blocks) + len(y.blocks)
	s.trial = append(append(append(s.trial[:0], x.inner...), y.inner...), l.edges...)
	gain := s.sum(s.trial, order[:]...) - x.score - y.score
	const least = 1e-6 // less is an error of rounding
	if gain > l.gain+least*(1+l.gain) {
		l.gain, l.best = gain, w
	}
}

// joinCold joins chains that follow each other in the text where neither ran.
func (s *solver) joinCold() {
	for b := 1; b < len(s.Size); b++ {
		x, y := s.of[b-1], s.of[b]
		if x == y || s.chains[x].times > 0 || s.chains[y].times > 0 || s.chains[y].blocks[0] != b {
			continue
		}
		if blocks := s.chains[x].blocks; blocks[len(blocks)-1] == b-1 && blocks[0] != 0 {
			s.append(x, y)
		}
	}
}

// concatenate orders the chains: the entry's, then those whose bytes run most often.
func (s *solver) concatenate() []int {
	chains := slices.DeleteFunc(s.chains, func(c *chain) bool { return c == nil })
	density := func(c *chain) float64 { return float64(c.times) / float64(max(c.size, 1)) }
	stablesort.Func(chains, func(a, b *chain) int {
		switch {
		case a.blocks[0] == 0:
			return -1
		case b.blocks[0] == 0:
			return 1
		}
		return cmp.Or(cmp.Compare(density(b), density(a)), cmp.Compare(a.blocks[0], b.blocks[0]))
	})
	order := make([]int, 0, len(s.Size))
	for _, c := range chains {
		order = append(order, c.blocks...)
	}
	return order
}
