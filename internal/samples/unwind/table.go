package unwind

import (
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/saturate"
)

type ref = machinecode.Ref

// root is the node of the empty stack.
const root = 0

// trie has stacks: a node is a frame, and the nodes up to the root are its callers. Nodes are
// numbered in the order of creation, so parents come first.
type trie struct {
	nodes []node
	// slots is a hash table of the children of nodes by instruction. It has numbers of nodes;
	// 0 is free.
	slots []uint32
}

type node struct {
	parent uint32
	at     ref // the call that the frame is in, or the instruction that runs
}

const firstSlots = 1 << 10

func newTrie() trie {
	return trie{nodes: make([]node, 1), slots: make([]uint32, firstSlots)}
}

// child returns the node of a frame that a node calls, and creates it if necessary.
func (t *trie) child(parent uint32, at ref) uint32 {
	want := node{parent, at}
	mask := uint32(len(t.slots) - 1)
	i := want.hash() & mask
	for t.slots[i] != 0 {
		if t.nodes[t.slots[i]] == want {
			return t.slots[i]
		}
		i = (i + 1) & mask
	}
	n := uint32(len(t.nodes))
	t.nodes = append(t.nodes, want)
	t.slots[i] = n
	if 2*len(t.nodes) > len(t.slots) {
		t.grow()
	}
	return n
}

func (t *trie) grow() {
	t.slots = make([]uint32, 2*len(t.slots))
	mask := uint32(len(t.slots) - 1)
	for n := 1; n < len(t.nodes); n++ {
		i := t.nodes[n].hash() & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = uint32(n)
	}
}

func (n node) hash() uint32 {
	h := (uint64(n.parent)<<32 | uint64(n.at)) * 0x9e3779b97f4a7c15
	return uint32(h >> 32)
}

// edge is a key of the counts: a range of code or a branch in a context.
type edge struct {
	node     uint32
	from, to ref
}

// counter counts edges.
type counter struct {
	slots []slot // slots with count 0 are free
	used  int
}

type slot struct {
	edge
	count uint64
}

func newCounter() counter { return counter{slots: make([]slot, firstSlots)} }

// add counts an edge n times, n at least 1.
func (c *counter) add(e edge, n uint64) {
	mask := uint32(len(c.slots) - 1)
	i := e.hash() & mask
	for c.slots[i].count != 0 {
		if c.slots[i].edge == e {
			c.slots[i].count = saturate.Add(c.slots[i].count, n)
			return
		}
		i = (i + 1) & mask
	}
	c.slots[i] = slot{e, n}
	if c.used++; 3*c.used > 2*len(c.slots) {
		c.resize(2 * len(c.slots))
	}
}

// reserve allocates slots for n edges in all.
func (c *counter) reserve(n int) {
	size := len(c.slots)
	for 3*n > 2*size {
		size *= 2
	}
	if size > len(c.slots) {
		c.resize(size)
	}
}

// resize sets the number of slots, a power of two.
func (c *counter) resize(size int) {
	old := c.slots
	c.slots = make([]slot, size)
	mask := uint32(len(c.slots) - 1)
	for _, s := range old {
		if s.count != 0 {
			i := s.hash() & mask
			for c.slots[i].count != 0 {
				i = (i + 1) & mask
			}
			c.slots[i] = s
		}
	}
}

func (e edge) hash() uint32 {
	h := (uint64(e.node)<<32 | uint64(e.from)) * 0x9e3779b97f4a7c15
	h = (h ^ h>>29 ^ uint64(e.to)) * 0xbf58476d1ce4e5b9
	return uint32(h >> 32)
}
