package calltrie

import "github.com/cairnprof/cairn/calllog"

// index finds nodes by parent and function: a table with open addressing. A slot has the number of a node in
// the low half and its hash in the high half; 0 is empty, as the root is not in the table. At most half of the
// slots are used. As the hash determines the slot, a table grows without access to the nodes: those of a large
// trie are in no cache.
type index struct {
	slots []uint64
	used  int
}

const minSlots = 64

// hash mixes a parent and a function. Both are small numbers, so it multiplies them into the upper bits, folds
// these down, and uses the upper bits again.
func hash(parent NodeID, fn calllog.FuncID) uint32 {
	h := (uint64(parent)<<32 | uint64(fn)) * 0x9e3779b97f4a7c15
	h ^= h >> 32
	return uint32(h * 0xd6e8feb86659fd93 >> 32)
}

// find returns the node of fn below parent, whose hash is h.
func (x *index) find(nodes *nodes, h uint32, parent NodeID, fn calllog.FuncID) (NodeID, bool) {
	if len(x.slots) == 0 {
		return Root, false
	}
	mask := uint32(len(x.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		slot := x.slots[i]
		if slot == 0 {
			return Root, false
		}
		if uint32(slot>>32) == h {
			id := NodeID(slot)
			if n := nodes.at(id); n.Func == fn && n.Parent == parent {
				return id, true
			}
		}
	}
}

// insert adds a node that is not in the table, whose hash is h.
func (x *index) insert(id NodeID, h uint32) {
	if x.used++; 2*x.used > len(x.slots) {
		x.grow(2 * len(x.slots))
	}
	x.put(uint64(h)<<32 | uint64(id))
}

// grow makes the table that large, a power of 2, or of the minimum size.
func (x *index) grow(slots int) {
	old := x.slots
	x.slots = make([]uint64, max(minSlots, slots))
	for _, slot := range old {
		if slot != 0 {
			x.put(slot)
		}
	}
}

func (x *index) put(slot uint64) {
	mask := uint32(len(x.slots) - 1)
	i := uint32(slot>>32) & mask
	for x.slots[i] != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = slot
}
