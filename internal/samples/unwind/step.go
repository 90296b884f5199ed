package unwind

// Problem: reversing a branch requires the classes of instructions, lookups of nodes, and
// counting in two tables.
//
// Choice: the result of reversing a branch depends only on the current node and the branch. So
// it is computed once and then looked up, and steps are counted. The executions of code and
// branches are computed from these counts at the end.
//
// Each step also stores the step that followed it last time. That is usually the next one
// again, and is known before the next node is.

// step is a reversed branch: from the function of a node, where end is the last instruction
// that ran after the branch, None if that is not known.
type step struct {
	node uint32
	end  ref
	// from has the bit known if the branch is a return to a function whose call was observed.
	// to be called.
	from, to ref
}

// steps counts steps and stores their results.
type steps struct {
	slots []stepSlot // slots with count 0 are free
	used  int
}

type stepSlot struct {
	step
	next  uint32 // the node of the function that took the branch
	after uint32 // index of the slot of the step that followed it last time
	count uint64
}

func newSteps() steps { return steps{slots: make([]stepSlot, firstSlots)} }

// find returns the index of the slot of a step, or of the free one for it.
// into.
func (s *steps) find(x step) uint32 {
	mask := uint32(len(s.slots) - 1)
	for i := x.hash() & mask; ; i = (i + 1) & mask {
		if slot := &s.slots[i]; slot.count == 0 || slot.step == x {
			return i
		}
	}
}

// fill fills a free slot.
func (s *steps) fill(i uint32, x step, next uint32, count uint64) {
	s.slots[i] = stepSlot{x, next, 0, count}
	if s.used++; 3*s.used > 2*len(s.slots) {
		s.grow()
	}
}

func (s *steps) grow() {
	old := s.slots
	s.slots = make([]stepSlot, 2*len(old))
	for i := range old {
		if x := &old[i]; x.count != 0 {
			i := s.find(x.step)
			s.slots[i] = stepSlot{x.step, x.next, 0, x.count}
		}
	}
}

func (x step) hash() uint32 {
	h := (uint64(x.node)<<32 | uint64(x.end)) * 0x9e3779b97f4a7c15
	h = (h ^ h>>29 ^ uint64(x.from)<<32 ^ uint64(x.to)) * 0xbf58476d1ce4e5b9
	return uint32(h >> 32)
}

// settleSteps computes the counts from those of steps.
func (u *Unwinder) settleSteps() {
	// A range of code follows about two branches, and a branch has about two successors.
	u.ranges.reserve(u.steps.used / 2)
	u.branches.reserve(u.steps.used / 2)
	for i := range u.steps.slots {
		if s := &u.steps.slots[i]; s.count != 0 {
			u.settle(s.step, s.next, s.count)
		}
	}
	u.steps, u.last = newSteps(), 0
}
