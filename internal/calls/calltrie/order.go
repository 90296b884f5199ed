package calltrie

import "github.com/cairnprof/cairn/calllog"

// Walk visits all nodes but the root in the order of their stacks: a node before its callees, which are in the
// order of their functions. It calls enter where a node's callees begin and leave where they end. It does not
// recurse.
func (t *Trie) Walk(enter, leave func(NodeID)) {
	type step struct {
		node NodeID
		next int // child to visit
	}
	children := t.Children()
	path := []step{{node: Root}}
	for len(path) > 0 {
		top := &path[len(path)-1]
		if list := children[top.node]; top.next < len(list) {
			child := list[top.next]
			top.next++
			enter(child)
			path = append(path, step{node: child})
			continue
		}
		if top.node != Root {
			leave(top.node)
		}
		path = path[:len(path)-1]
	}
}

// Ranks returns the position of each node in the order of stacks, so that two stacks are compared without
// building them. Index it with a NodeID.
func (t *Trie) Ranks() []uint32 {
	ranks := make([]uint32, t.nodes.n)
	n := uint32(0)
	t.Walk(func(id NodeID) {
		n++
		ranks[id] = n
	}, func(NodeID) {})
	return ranks
}

// Outermost returns for each node whether its function is not among its callers:
// only the totals of such nodes add up to a function's time, or recursion would
// count twice. Index it with a NodeID; the root is false.
func (t *Trie) Outermost() []bool {
	outer := make([]bool, t.nodes.n)
	above := make(map[calllog.FuncID]uint32) // how many of a function are on the path
	t.Walk(func(id NodeID) {
		fn := t.nodes.at(id).Func
		outer[id] = above[fn] == 0
		above[fn]++
	}, func(id NodeID) { above[t.nodes.at(id).Func]-- })
	return outer
}
