package order

import (
	"container/heap"
	"maps"
	"math"
	"slices"
)

// The parameters of cache-directed sort, those of LLVM.
const (
	cdEntries   = 4    // the cache's lines are 1<<4
	cdLineBytes = 2048 // bytes of a line
	cdMaxNodes  = 128  // functions in a chain
	cdFrequency = 0.25 // weight of the frequency term
	cdEpsilon   = 1e-8 // gains closer than this are equal
)

// cdsort orders by cache-directed sort, the default of lld and BOLT for call graphs: chains of
// functions are joined while that brings callers near to their callees, or frequently executed
// functions onto the same lines; then the densest chains come first. The gain of joining two
// chains is
//
//	sum of calls x (d^-1/4 - D^-1/4) + (misses of both - misses of the joined) / 4
//
// divided by the size of the smaller, where d is the distance of call and callee, D the total
// size, and a chain misses the cache with the probability that none of its last sixteen
// accesses was in the chain.
//
// The algorithm is LLVM's (llvm/lib/Transforms/Utils/CodeLayout.cpp, by Pupyrev; pull request
// #68638 has measurements), with the same result as lld except for ties. It takes nearly O(E
// log E), because chains are short.
func (g *graph) cdsort() []uint32 {
	s := newChains(g)
	for s.queue.Len() > 0 {
		best := heap.Pop(&s.queue).(candidate)
		if best.version == best.pair.version {
			s.join(best)
		}
	}
	var left []*cluster
	for i := range s.chains {
		if c := &s.chains[i]; len(c.nodes) > 0 {
			left = append(left, &c.cluster)
		}
	}
	return g.byDensity(left)
}

// chain is a cluster with its calls to others.
type chain struct {
	cluster
	pairs map[int32]*pair // by the other chain
}

// pair is two chains with calls between them, in either direction.
type pair struct {
	first, second int32
	calls         []int32 // indexes of graph.calls
	version       int     // incremented when either chain changes
}

// candidate is a possible join.
type candidate struct {
	pair    *pair
	version int
	ends    [2]int32 // those of pair
	gain    float64
	swapped bool // second is placed before first
}

type chains struct {
	*graph
	chains []chain
	chain  []int32   // by node
	offset []float64 // by node, in its chain
	bytes  float64   // of the functions with a count
	counts float64   // the sum of the counts
	queue  candidates
}

func newChains(g *graph) *chains {
	s := &chains{graph: g, chains: make([]chain, len(g.funcs)), offset: make([]float64, len(g.funcs))}
	var clusters []*cluster
	clusters, s.chain = g.singletons()
	for n, c := range clusters {
		s.chains[n].cluster = *c
		s.counts += g.count[n]
		if g.count[n] > 0 {
			s.bytes += g.size[n]
		}
	}
	for n, calls := range g.outgoing() {
		// A function with more calls than entries was entered before counting began, or from
		// callers that are not counted.
		s.chains[n].count = max(s.chains[n].count, calls)
	}
	var pairs []*pair
	for i, c := range g.calls {
		p := s.chains[c.caller].pairs[c.callee]
		if p == nil {
			p = &pair{first: c.caller, second: c.callee}
			pairs = append(pairs, p)
			s.link(p)
		}
		p.calls = append(p.calls, int32(i))
	}
	for _, p := range pairs {
		s.consider(p)
	}
	return s
}

// link adds p to both of its chains.
func (s *chains) link(p *pair) {
	for _, end := range [2][2]int32{{p.first, p.second}, {p.second, p.first}} {
		c := &s.chains[end[0]]
		if c.pairs == nil {
			c.pairs = map[int32]*pair{}
		}
		c.pairs[end[1]] = p
	}
}

// consider adds the better of the two ways to join p to the queue, if it has a gain.
func (s *chains) consider(p *pair) {
	if len(s.chains[p.first].nodes)+len(s.chains[p.second].nodes) > cdMaxNodes {
		return
	}
	straight, swapped := s.gain(p, false), s.gain(p, true)
	best := candidate{pair: p, version: p.version, ends: [2]int32{p.first, p.second}, gain: straight}
	if d := swapped - straight; d > cdEpsilon || d > -cdEpsilon && p.second < p.first {
		best.gain, best.swapped = swapped, true
	}
	if best.gain > cdEpsilon {
		heap.Push(&s.queue, best)
	}
}

// gain returns the gain of joining p, second after first or swapped.
func (s *chains) gain(p *pair, swapped bool) float64 {
	a, b := &s.chains[p.first], &s.chains[p.second]
	front, shift := p.first, a.size
	if swapped {
		front, shift = p.second, b.size
	}
	place := func(n int32) float64 {
		if s.chain[n] == front {
			return s.offset[n]
		}
		return s.offset[n] + shift
	}
	var near float64
	for _, i := range p.calls {
		c := &s.calls[i]
		// The position of the call in the caller is not known.
		from, to := place(c.caller)+math.Floor((s.size[c.caller]+1)/2), place(c.callee)
		near += float64(c.weight * (proximity(math.Abs(from-to)) - proximity(s.bytes)))
	}
	joined := cluster{size: a.size + b.size, count: a.count + b.count}
	frequent := s.misses(&a.cluster) + s.misses(&b.cluster) - s.misses(&joined)
	gain := near + float64(cdFrequency*frequent)
	if gain > 0 {
		gain /= min(a.size, b.size)
	}
	return gain
}

// proximity returns d^-1/4.
func proximity(d float64) float64 {
	if d == 0 {
		d = 0.1
	}
	return 1 / math.Sqrt(math.Sqrt(d))
}

// misses returns how many executions of c miss the cache.
func (s *chains) misses(c *cluster) float64 {
	p := 1 - c.density()*cdLineBytes/s.counts
	if p <= 0 || s.counts == 0 {
		return 0
	}
	for range cdEntries {
		p *= p
	}
	return float64(c.count * p) // rounded, not fused into a sum
}

// join performs the join best and considers the joins of the result.
func (s *chains) join(best candidate) {
	p := best.pair
	into, from := &s.chains[p.first], &s.chains[p.second]
	if best.swapped {
		into.nodes = append(slices.Clone(from.nodes), into.nodes...)
	} else {
		into.nodes = append(into.nodes, from.nodes...)
	}
	into.size += from.size
	into.count += from.count
	into.at = min(into.at, from.at)
	var at float64
	for _, n := range into.nodes {
		s.chain[n], s.offset[n] = p.first, at
		at += s.size[n]
	}
	from.nodes = nil
	s.relink(p)
	for _, other := range slices.Sorted(maps.Keys(into.pairs)) {
		q := into.pairs[other]
		q.version++
		s.consider(q)
	}
}

// relink moves the pairs of p's second chain to the first.
func (s *chains) relink(p *pair) {
	into, from := &s.chains[p.first], &s.chains[p.second]
	p.version++
	delete(into.pairs, p.second)
	delete(from.pairs, p.first)
	for _, other := range slices.Sorted(maps.Keys(from.pairs)) {
		q := from.pairs[other]
		q.version++
		delete(s.chains[other].pairs, p.second)
		if have := into.pairs[other]; have != nil {
			have.calls = append(have.calls, q.calls...)
			continue
		}
		if q.first == p.second {
			q.first = p.first
		} else {
			q.second = p.first
		}
		s.link(q)
	}
	from.pairs = nil
}

// candidates is a heap with the largest gain at the top.
type candidates []candidate

func (q candidates) Len() int      { return len(q) }
func (q candidates) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q candidates) Less(i, j int) bool {
	a, b := &q[i], &q[j]
	if a.gain != b.gain {
		return a.gain > b.gain
	}
	return slices.Compare(a.ends[:], b.ends[:]) < 0
}

func (q *candidates) Push(x any) { *q = append(*q, x.(candidate)) }

func (q *candidates) Pop() any {
	last := len(*q) - 1
	c := (*q)[last]
	*q = (*q)[:last]
	return c
}
