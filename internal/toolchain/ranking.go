package toolchain

import (
	"strings"

	"github.com/cairnprof/cairn/internal/layout/linkorder"
	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/profile/callgraph"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/prof"
)

// JoinAlgorithms lists the algorithms of orders for help texts.
func JoinAlgorithms() string {
	var names []string
	for _, a := range order.Algorithms() {
		names = append(names, string(a))
	}
	return strings.Join(names, ", ")
}

// OrderEdges returns the calls of g within the module of the given index. Where executions of blocks are counted, those of
// the caller's blocks that call are the weight of an edge. Otherwise the calls of a function are divided among its
// callers; if calls are not counted either, the runs that observed an edge are its weight.
func OrderEdges(g *callgraph.Graph, module int, m *prof.Module) []order.Edge {
	callers := make([]uint64, len(g.Nodes))
	for _, e := range g.Edges {
		callers[e.To]++
	}
	var edges []order.Edge
	for _, e := range g.Edges {
		from, to := g.Nodes[e.From], g.Nodes[e.To]
		if from.Module != module || to.Module != module {
			continue
		}
		weight := max(e.Runs, 1)
		if n := callsOf(m, from.Func, e.Blocks); n > 0 {
			weight = n
		} else if c := m.Counts[to.Func].Calls; c > 0 {
			weight = max(weight, c/callers[e.To])
		}
		edges = append(edges, order.Edge{Caller: uint32(from.Func), Callee: uint32(to.Func), Weight: weight})
	}
	return edges
}

// callsOf returns how often a function made the calls in its blocks; 0 if that is not counted.
func callsOf(m *prof.Module, fn int, blocks []int) (calls uint64) {
	times := m.Funcs[fn].Executions(&m.Counts[fn])
	for _, b := range blocks {
		if b < len(times) {
			calls = saturate.Add(calls, times[b])
		}
	}
	return calls
}

// Listed returns the ranked functions in the form that linkorder uses.
func Listed(m *prof.Module, ranked []uint32, sameBuild bool) []linkorder.Func {
	funcs := make([]linkorder.Func, len(ranked))
	for i, k := range ranked {
		f := &m.Funcs[k]
		funcs[i] = linkorder.Func{Name: f.Name, File: f.File, Split: len(f.Fragments) > 1}
		if sameBuild {
			funcs[i].Addr = f.Addr()
		}
	}
	return funcs
}
