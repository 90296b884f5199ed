package calltrie

import "github.com/cairnprof/cairn/trace"

// index finds nodes by parent and function: a table with open addressing. A slot
// has the number of a node and the upper half of its hash; 0 is empty, as the
// root is not in the table. At most half of the slots are used.
type index struct {
	slots []uint64
	used  int
}

const minSlots = 64

// hash mixes a parent and a function. Both are small numbers, so it multiplies
// them to the upper bits and folds these back.
func hash(parent NodeID, fn trace.FuncID) uint64 {
	h := (uint64(parent)<<32 | uint64(fn)) * 0x9e3779b97f4a7c15
	h ^= h >> 32
	return h * 0xd6e8feb86659fd93
}

// find returns the node of fn below parent.
func (x *index) find(nodes *nodes, parent NodeID, fn trace.FuncID) (NodeID, bool) {
	if len(x.slots) == 0 {
		return Root, false
	}
	h := hash(parent, fn)
	mask := uint64(len(x.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		slot := x.slots[i]
		if slot == 0 {
			return Root, false
		}
		if slot>>32 == h>>32 {
			id := NodeID(slot)
			if n := nodes.at(id); n.Func == fn && n.Parent == parent {
				return id, true
			}
		}
	}
}

// insert adds a node that is not in the table.
func (x *index) insert(nodes *nodes, id NodeID) {
	if x.used++; 2*x.used > len(x.slots) {
		old := x.slots
		x.slots = make([]uint64, max(minSlots, 2*len(old)))
		for _, slot := range old {
			if slot != 0 {
				n := nodes.at(NodeID(slot))
				x.put(slot, hash(n.Parent, n.Func))
			}
		}
	}
	n := nodes.at(id)
	h := hash(n.Parent, n.Func)
	x.put(h>>32<<32|uint64(id), h)
}

func (x *index) put(slot, h uint64) {
	mask := uint64(len(x.slots) - 1)
	i := h & mask
	for x.slots[i] != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = slot
}
