package native

// graph is the control flow of one function as the assembly shows it. Node 0
// is the way in from outside, node 1 the way out, block i is node i+2.
//
// The way in leads to the entry block and to every block that something other
// than a branch refers to: landing pads, jump table and computed goto targets.
// The way out follows returns, tail calls and computed jumps, and every block
// that a call may leave in the middle. So "comes before" and "comes after" in
// this graph hold whatever a callee does: exit, throw or longjmp.
//
// Every block is on some path from the way in to the way out: where no known
// path leads, an edge is added. Code that seems dead may be entered in a way
// that does not show, and a loop without an end is where a thread may be when
// another one ends the process.
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
		if len(fr.blocks) > 0 && (fr.called || f.jumpsTo(fr.name)) {
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

// jumpsTo reports whether f jumps to the symbol that name is. Clang does so to
// enter a cold fragment.
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
	for _, n := range postorder(root, next) {
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

// leaving tells for each block whether it may be left in the middle.
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

// dominators returns each node's immediate dominator on the paths from root
// along succs, and its depth in the tree they form. Root is its own; a node
// without a path has -1 for both.
// Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
func dominators(root int, succs, preds [][]int) (idom []int, depth []int) {
	order := postorder(root, succs)
	rank := make([]int, len(succs)) // position in postorder
	idom = make([]int, len(succs))
	depth = make([]int, len(succs))
	for i := range idom {
		idom[i], rank[i], depth[i] = -1, -1, -1
	}
	for i, n := range order {
		rank[n] = i
	}
	idom[root] = root
	for changed := true; changed; {
		changed = false
		for i := len(order) - 2; i >= 0; i-- {
			n, best := order[i], -1
			for _, p := range preds[n] {
				if rank[p] < 0 || idom[p] < 0 {
					continue
				}
				if best < 0 {
					best = p
					continue
				}
				for a, b := p, best; ; {
					switch {
					case rank[a] < rank[b]:
						a = idom[a]
						continue
					case rank[b] < rank[a]:
						b = idom[b]
						continue
					}
					best = a
					break
				}
			}
			if best != idom[n] {
				idom[n], changed = best, true
			}
		}
	}
	for i := len(order) - 1; i >= 0; i-- {
		if n := order[i]; n == root {
			depth[n] = 0
		} else {
			depth[n] = depth[idom[n]] + 1
		}
	}
	return idom, depth
}

// postorder lists the nodes reachable from root, each after all that the
// depth-first search found through it.
func postorder(root int, succs [][]int) []int {
	type frame struct{ node, next int }
	seen := make([]bool, len(succs))
	order := make([]int, 0, len(succs))
	stack := []frame{{node: root}}
	seen[root] = true
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == len(succs[top.node]) {
			order = append(order, top.node)
			stack = stack[:len(stack)-1]
			continue
		}
		s := succs[top.node][top.next]
		top.next++
		if !seen[s] {
			seen[s] = true
			stack = append(stack, frame{node: s})
		}
	}
	return order
}

// dominates reports whether a dominates b in the tree given.
func dominates(a, b int, idom, depth []int) bool {
	for depth[b] > depth[a] {
		b = idom[b]
	}
	return a == b
}
