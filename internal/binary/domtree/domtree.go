// Package domtree finds the dominators of the nodes of a graph: those that are on every path
// from the root to a node. It follows Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
// Algorithm" (2001).
package domtree

// Of returns each node's immediate dominator on the paths from root along succs, and its depth
// in the dominator tree. The root's is the root itself; both values are -1 for unreachable
// nodes. preds are the reverse of succs. With succs and preds exchanged, the result is the
// tree of postdominators.
func Of(root int, succs, preds [][]int) (idom, depth []int) {
	order := Postorder(root, succs)
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

// Postorder lists the nodes reachable from root, each after all that the
// depth-first search found through it.
func Postorder(root int, succs [][]int) []int {
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
