package order

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// graph is the call graph among the functions that ran.
type graph struct {
	funcs []uint32 // by address; the other fields have indexes of this slice
	size  []float64
	count []float64 // executions
	calls []call    // ascending by caller, then callee; without recursive calls
}

type call struct {
	caller, callee int32
	weight         float64
}

// newGraph returns the call graph of the functions of in that ran or have an edge with a
// weight, except those in skip. The count of a function is the maximum of its calls, its runs,
// and the weights of the edges to it.
//
// Weights are floating-point numbers. They are only used in sums, products, quotients and
// square roots in a fixed sequence, which IEEE 754 rounds in one way.
func newGraph(in *Input, skip []bool) *graph {
	edges := mergedEdges(in.Edges)
	incoming := make([]float64, len(in.Funcs))
	linked := make([]bool, len(in.Funcs))
	for _, e := range edges {
		incoming[e.Callee] += float64(e.Weight)
		linked[e.Caller], linked[e.Callee] = true, true
	}
	g := &graph{}
	index := make([]int32, len(in.Funcs))
	for _, f := range ByAddress(in) {
		fn := &in.Funcs[f]
		index[f] = -1
		if skip[f] || !linked[f] && fn.Runs == 0 && fn.Calls == 0 {
			continue
		}
		index[f] = int32(len(g.funcs))
		g.funcs = append(g.funcs, f)
		g.size = append(g.size, float64(max(fn.Size, 1)))
		g.count = append(g.count, max(incoming[f], float64(fn.Calls), float64(fn.Runs)))
	}
	for _, e := range edges {
		caller, callee := index[e.Caller], index[e.Callee]
		if caller >= 0 && callee >= 0 && caller != callee {
			g.calls = append(g.calls, call{caller, callee, float64(e.Weight)})
		}
	}
	stablesort.Func(g.calls, func(a, b call) int {
		return cmp.Or(cmp.Compare(a.caller, b.caller), cmp.Compare(a.callee, b.callee))
	})
	return g
}

// mergedEdges returns the edges with a weight, one for each pair of functions.
func mergedEdges(edges []Edge) []Edge {
	sorted := slices.DeleteFunc(slices.Clone(edges), func(e Edge) bool { return e.Weight == 0 })
	stablesort.Func(sorted, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Callee, b.Callee))
	})
	merged := sorted[:0]
	for _, e := range sorted {
		if n := len(merged); n > 0 && merged[n-1].Caller == e.Caller && merged[n-1].Callee == e.Callee {
			last := &merged[n-1]
			if last.Weight += e.Weight; last.Weight < e.Weight {
				last.Weight = ^uint64(0)
			}
			continue
		}
		merged = append(merged, e)
	}
	return merged
}

// outgoing returns the sum of the calls that each function makes.
func (g *graph) outgoing() []float64 {
	sum := make([]float64, len(g.funcs))
	for _, c := range g.calls {
		sum[c.caller] += c.weight
	}
	return sum
}

// cluster is a sequence of functions to be placed together.
type cluster struct {
	nodes       []int32
	size, count float64
	at          int32 // index of its first node in the graph
}

func (c *cluster) density() float64 { return c.count / c.size }

// byDensity sorts clusters by decreasing density and returns their functions.
func (g *graph) byDensity(clusters []*cluster) []uint32 {
	stablesort.Func(clusters, func(a, b *cluster) int {
		return cmp.Or(cmp.Compare(b.density(), a.density()), cmp.Compare(a.at, b.at))
	})
	var order []uint32
	for _, c := range clusters {
		for _, n := range c.nodes {
			order = append(order, g.funcs[n])
		}
	}
	return order
}

// The limits of call-chain clustering, those of lld and hfsort.
const (
	c3MaxBytes    = 1 << 20 // maximum size of a cluster
	c3Unlikely    = 10      // the caller has at least one in this many of the callee's calls
	c3Degradation = 8       // joining must not reduce the density of the caller's cluster by more than this factor
)

// c3 orders by call-chain clustering: each function, by decreasing density, is appended to the
// cluster of its most frequent caller. This is lld's --call-graph-profile-sort=hfsort, with
// the same result except for ties.
//
// Ottoni, Maher: Optimizing Function Placement for Large-Scale Data-Center
// Applications, CGO 2017. O(E log E).
func (g *graph) c3() []uint32 {
	clusters, leader := g.singletons()
	caller, weight := make([]int32, len(g.funcs)), make([]float64, len(g.funcs))
	for _, c := range g.calls {
		if c.weight > weight[c.callee] {
			caller[c.callee], weight[c.callee] = c.caller, c.weight
		}
	}
	byDensity := make([]int32, len(g.funcs))
	for n := range byDensity {
		byDensity[n] = int32(n)
	}
	stablesort.Func(byDensity, func(a, b int32) int {
		return cmp.Compare(g.count[b]/g.size[b], g.count[a]/g.size[a])
	})
	for _, n := range byDensity {
		if weight[n] == 0 || weight[n]*c3Unlikely <= g.count[n] {
			continue
		}
		into, from := find(leader, caller[n]), find(leader, n)
		if into == from {
			continue
		}
		a, b := clusters[into], clusters[from]
		if a.size+b.size > c3MaxBytes || (a.count+b.count)/(a.size+b.size) < a.density()/c3Degradation {
			continue
		}
		a.nodes = append(a.nodes, b.nodes...)
		a.size += b.size
		a.count += b.count
		leader[from], clusters[from] = into, nil
	}
	return g.byDensity(slices.DeleteFunc(clusters, func(c *cluster) bool { return c == nil }))
}

// singletons returns a cluster for each node, with each node as its own leader.
func (g *graph) singletons() ([]*cluster, []int32) {
	clusters, leader := make([]*cluster, len(g.funcs)), make([]int32, len(g.funcs))
	for n := range clusters {
		clusters[n] = &cluster{nodes: []int32{int32(n)}, size: g.size[n], count: g.count[n], at: int32(n)}
		leader[n] = int32(n)
	}
	return clusters, leader
}

// find returns the leader of n's cluster and compresses the path to it.
func find(leader []int32, n int32) int32 {
	for leader[n] != n {
		leader[n] = leader[leader[n]]
		n = leader[n]
	}
	return n
}
