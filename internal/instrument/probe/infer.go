package probe

import (
	"slices"

	"github.com/cairnprof/cairn/internal/binary/domtree"
	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Problem: a probe in every block makes the code of SQLite 37 % larger, and many of them are redundant.
// Example: in
//
//	A: test; jz C      B: ...      C: ...; jnz A      D: ret
//
// A, C and D ran in the same runs (every way to C and D comes through A, every way on from A leads to them): of
// the four, B and one more need a probe.
//
// Choice: three exact rules on the flow graph, whose way out can be taken in the middle of any block with a
// call that may not come back, so that no rule assumes that a call returns.
//
//  1. Equivalence. If a dominates b and b post-dominates a, one ran if and
//     only if the other did. They share a probe.
//  2. Successors. If a block is left only through known branches and
//     dominates all it branches to, it ran if and only if one of those did.
//  3. Predecessors. If all ways into a block are known and come from blocks
//     that it post-dominates, it ran if and only if one of those did.
//
// Why these rules suffice: a block follows from others in all runs if and only if those of them that imply it,
// which it dominates or post-dominates, cut all paths to it or all paths from it. Rules 2 and 3 find the cuts
// that are one step away, and by repetition nearly all others: looking further would save two probes on SQLite.
// The order does not matter either: a rule leads from a class to classes that strictly imply it, and never
// back.
//
// Assumptions: a loop without calls ends unless it has no way out, and instructions do not fault. A process
// that ends while a thread is in such a loop, or just between two probes, is reported as if the thread had
// continued, or had not arrived yet.
//
// Cost: two dominator trees per function, linear in practice. On SQLite at -O2 31,813 of 44,033 probes stay,
// and the code is 27 % larger; 35 runs, most of them ended by exit in the middle, confirmed all inferred
// values. If all calls returned, 28,657 would remain. Exact targets for jump tables, or the assumption that
// recursions end, would each save 50 and are not worth their code. LLVM's BlockCoverageInference (used by
// -pgo-block-coverage) follows rules 2 and 3, and assumes that calls return.

// maxEvidence bounds the probes that a block's coverage may be derived from.
const maxEvidence = 16

// inference is the state of one function: classes of equivalent blocks, named
// by their topmost node.
type inference struct {
	class    []int
	derived  [][]int // class -> classes it is the union of; nil if it has a probe
	resolved [][]int // class -> classes with probes; nil if not yet known
}

// inferred returns, for each block of f, nil if it needs a probe, or the blocks
// with probes of which at least one ran if and only if it did. The entry block
// has a probe.
func inferred(f *asm.Function, u *asm.Unit) [][]int {
	g := f.FlowGraph(u.Taken, u.Returns)
	n := len(g.Succs)
	inf := &inference{class: make([]int, n), derived: make([][]int, n), resolved: make([][]int, n)}
	idom, depth := domtree.Of(asm.NodeIn, g.Succs, g.Preds)
	ipdom, pdepth := domtree.Of(asm.NodeOut, g.Preds, g.Succs)
	inf.equate(idom, ipdom, pdepth)
	for b := asm.Nodes; b < n; b++ {
		inf.union(b, g.Succs[b], idom, depth)   // rule 2
		inf.union(b, g.Preds[b], ipdom, pdepth) // rule 3
	}
	out := make([][]int, n-asm.Nodes)
	for b := asm.Nodes + 1; b < n; b++ {
		c := inf.class[b]
		evidence := inf.resolve(c)
		if len(evidence) == 1 && evidence[0] == b {
			continue
		}
		out[b-asm.Nodes] = make([]int, len(evidence))
		for i, e := range evidence {
			out[b-asm.Nodes][i] = e - asm.Nodes
		}
	}
	return out
}

// equate finds the classes. It suffices to compare a block with its immediate dominator: the blocks between two
// equivalent blocks in the tree are equivalent too.
func (inf *inference) equate(idom, ipdom, pdepth []int) {
	for b := range inf.class {
		inf.class[b] = -1
	}
	var find func(b int) int
	find = func(b int) int {
		if inf.class[b] >= 0 {
			return inf.class[b]
		}
		inf.class[b] = b
		if a := idom[b]; a >= asm.Nodes && asm.Dominates(b, a, ipdom, pdepth) {
			inf.class[b] = find(a)
		}
		return inf.class[b]
	}
	for b := asm.Nodes; b < len(inf.class); b++ {
		find(b)
	}
}

// settled reports whether a class has its rule, or must have a probe, like the entry's.
func (inf *inference) settled(c int) bool { return inf.derived[c] != nil || c == asm.Nodes }

// union makes the class of b the union of those of its neighbours, all its successors or all its predecessors,
// if b dominates each of them in the tree of that direction.
func (inf *inference) union(b int, neighbours, idom, depth []int) {
	c := inf.class[b]
	if inf.settled(c) {
		return
	}
	var from []int
	for _, s := range neighbours {
		if s < asm.Nodes || s == b || inf.class[s] == c || !asm.Dominates(b, s, idom, depth) {
			return
		}
		from = append(from, inf.class[s])
	}
	inf.derived[c] = from
}

// resolve returns the classes with probes that determine whether c ran. If a rule leads to too many, c gets a
// probe instead.
func (inf *inference) resolve(c int) []int {
	if inf.resolved[c] != nil {
		return inf.resolved[c]
	}
	var all []int
	for _, d := range inf.derived[c] {
		all = append(all, inf.resolve(d)...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == 0 || len(all) > maxEvidence {
		all = []int{c}
	}
	inf.resolved[c] = all
	return all
}
