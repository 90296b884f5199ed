package native

import "github.com/cairnprof/cairn/internal/binary/domtree"

// graph is the control-flow graph of one function, from its assembly. Node 0 is the entry from outside, node 1
// the exit, and block i is node i+2.
//
// The way in leads to the entry block and to every block that something other than a branch refers to: landing
// pads, jump table and computed goto targets. The way out follows returns, tail calls and computed jumps, and
// every block that a call may leave in the middle. So dominance in this graph holds whatever a callee does:
// exit, throw or longjmp.
//
// Every block is on some path from the way in to the way out: where there is no known path, an edge is added.
// Code that seems dead may be entered in an invisible way, and a thread may be in an endless loop when another
// one ends the process.
type graph struct {
	succs, preds [][]int
	endless      bool // some loop has no way out
}

const (
	nodeIn  = 0
	nodeOut = 1
	nodes   = 2 // before the first block
)

// flowGraph builds the graph of f. taken are the labels that something other
// than a branch refers to.
func (f *function) flowGraph(taken, returns map[string]bool) *graph {
	index := map[string]int{}
	n := nodes
	for _, fr := range f.frags {
		for _, l := range fr.labels {
			if l.block < len(fr.blocks) {
				index[string(l.name)] = n + l.block
			}
		}
		n += len(fr.blocks)
	}
	g := &graph{succs: make([][]int, n), preds: make([][]int, n)}
	g.edge(nodeIn, nodes)
	for name, node := range index {
		if taken[name] {
			g.edge(nodeIn, node)
		}
	}
	first := nodes
	for _, fr := range f.frags {
		if len(fr.blocks) > 0 && f.jumpsTo(fr.name) {
			g.edge(nodeIn, first)
		}
		leaves := fr.leaving(returns)
		for i := range fr.blocks {
			g.block(fr, i, first+i, index, leaves[i])
		}
		first += len(fr.blocks)
	}
	for _, n := range stranded(nodeIn, g.succs) {
		g.edge(nodeIn, n)
	}
	for _, n := range stranded(nodeOut, g.preds) {
		g.edge(n, nodeOut)
		g.endless = true
	}
	return g
}

// jumpsTo reports whether f jumps to the symbol name. Clang does so to enter a
// cold fragment.
func (f *function) jumpsTo(name string) bool {
	for _, fr := range f.frags {
		for _, c := range fr.calls {
			if c.tail && c.callee == name {
				return true
			}
		}
	}
	return false
}

// stranded lists the blocks without a path from root.
func stranded(root int, next [][]int) (list []int) {
	seen := make([]bool, len(next))
	for _, n := range domtree.Postorder(root, next) {
		seen[n] = true
	}
	for n := nodes; n < len(seen); n++ {
		if !seen[n] {
			list = append(list, n)
		}
	}
	return list
}

// block adds the edges out of block i of fr, which is node.
func (g *graph) block(fr *fragment, i, node int, index map[string]int, leaves bool) {
	b := &fr.blocks[i]
	next := nodeOut // running off the end of a fragment: after a call that does not return
	if i+1 < len(fr.blocks) {
		next = node + 1
	}
	to, known := index[string(b.target)]
	if !known {
		to = nodeOut
	}
	switch b.last {
	case flowNext:
		g.edge(node, next)
	case flowBranch, flowShort:
		g.edge(node, to)
		g.edge(node, next)
	case flowJump:
		g.edge(node, to)
	default:
		g.edge(node, nodeOut)
	}
	if leaves {
		g.edge(node, nodeOut)
	}
}

// leaving reports for each block whether it may be left in the middle.
func (fr *fragment) leaving(returns map[string]bool) []bool {
	out := make([]bool, len(fr.blocks))
	for i := range fr.blocks {
		out[i] = fr.blocks[i].leaves
	}
	for _, c := range fr.calls {
		if !c.tail && !returns[c.callee] {
			out[c.block] = true
		}
	}
	return out
}

func (g *graph) edge(from, to int) {
	for _, s := range g.succs[from] {
		if s == to {
			return
		}
	}
	g.succs[from] = append(g.succs[from], to)
	g.preds[to] = append(g.preds[to], from)
}

// dominates reports whether a dominates b in the tree given.
func dominates(a, b int, idom, depth []int) bool {
	for depth[b] > depth[a] {
		b = idom[b]
	}
	return a == b
}
