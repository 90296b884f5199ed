package asm

import "github.com/cairnprof/cairn/internal/binary/domtree"

// Graph is the control-flow graph of one function, from its assembly. Node 0 is the entry from outside, node 1
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
type Graph struct {
	Succs, Preds [][]int
	labels       map[string]int // the node of each label
	endless      bool           // some loop has no way out
}

// Labelled returns the node of a label in the code of the function.
func (g *Graph) Labelled(label []byte) (node int, ok bool) {
	node, ok = g.labels[string(label)]
	return node, ok
}

const (
	NodeIn  = 0
	NodeOut = 1
	Nodes   = 2 // before the first block
)

// FlowGraph builds the graph of f. taken are the labels that something other
// than a branch refers to.
func (f *Function) FlowGraph(taken, returns map[string]bool) *Graph {
	index := map[string]int{}
	n := Nodes
	for _, fr := range f.Frags {
		for _, l := range fr.Labels {
			if l.Block < len(fr.Blocks) {
				index[string(l.Name)] = n + l.Block
			}
		}
		n += len(fr.Blocks)
	}
	g := &Graph{Succs: make([][]int, n), Preds: make([][]int, n), labels: index}
	g.edge(NodeIn, Nodes)
	for name, node := range index {
		if taken[name] {
			g.edge(NodeIn, node)
		}
	}
	first := Nodes
	for _, fr := range f.Frags {
		if len(fr.Blocks) > 0 && f.jumpsTo(fr.Name) {
			g.edge(NodeIn, first)
		}
		leaves := fr.leaving(returns)
		for i := range fr.Blocks {
			if fr.Blocks[i].again {
				g.edge(NodeIn, first+i)
			}
			g.block(fr, i, first+i, index, leaves[i])
		}
		first += len(fr.Blocks)
	}
	for _, n := range stranded(NodeIn, g.Succs) {
		g.edge(NodeIn, n)
	}
	for _, n := range stranded(NodeOut, g.Preds) {
		g.edge(n, NodeOut)
		g.endless = true
	}
	return g
}

// jumpsTo reports whether f jumps to the symbol name. Clang does so to enter a
// cold fragment.
func (f *Function) jumpsTo(name string) bool {
	for _, fr := range f.Frags {
		for _, c := range fr.Calls {
			if c.tail && c.Callee == name {
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
	for n := Nodes; n < len(seen); n++ {
		if !seen[n] {
			list = append(list, n)
		}
	}
	return list
}

// block adds the edges out of block i of fr, which is node.
func (g *Graph) block(fr *Fragment, i, node int, index map[string]int, leaves bool) {
	b := &fr.Blocks[i]
	next := NodeOut // running off the end of a fragment: after a call that does not return
	if i+1 < len(fr.Blocks) {
		next = node + 1
	}
	to, known := index[string(b.Target)]
	if !known {
		to = NodeOut
	}
	switch b.Last {
	case FlowNext:
		g.edge(node, next)
	case FlowBranch, FlowShort:
		g.edge(node, to)
		g.edge(node, next)
	case FlowJump:
		g.edge(node, to)
	default:
		g.edge(node, NodeOut)
	}
	if leaves {
		g.edge(node, NodeOut)
	}
}

// leaving reports for each block whether it may be left in the middle.
func (fr *Fragment) leaving(returns map[string]bool) []bool {
	out := make([]bool, len(fr.Blocks))
	for i := range fr.Blocks {
		out[i] = fr.Blocks[i].leaves
	}
	for _, c := range fr.Calls {
		if !c.tail && !returns[c.Callee] && !fr.Blocks[c.Block].twice {
			out[c.Block] = true
		}
	}
	return out
}

func (g *Graph) edge(from, to int) {
	for _, s := range g.Succs[from] {
		if s == to {
			return
		}
	}
	g.Succs[from] = append(g.Succs[from], to)
	g.Preds[to] = append(g.Preds[to], from)
}

// Dominates reports whether a dominates b in the tree given.
func Dominates(a, b int, idom, depth []int) bool {
	for depth[b] > depth[a] {
		b = idom[b]
	}
	return a == b
}
