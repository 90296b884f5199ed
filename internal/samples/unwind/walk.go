package unwind

import (
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/saturate"
)

// astray is the node of code whose callers are not known, because the code after it is
// inconsistent with it. It is counted at the root.
const astray = ^uint32(0)

// walk reverses the branches, newest first.
func (u *Unwinder) walk() {
	u.parent = u.stacked()
	if u.opt.Moments {
		u.moments.add(edge{u.parent, u.stack[0], u.kernel}, u.count)
	}
	// The sampled address is at some distance after the last branch. The code between them may
	// not have run completely.
	u.leaf = machinecode.None
	for i := range u.taken {
		t := &u.taken[i]
		s := step{u.parent, u.leaf, t.from, t.to}
		switch t.made {
		case seen:
			s.from |= known
			fallthrough
		case unseen:
			u.parent = u.countStep(s, t)
		default: // returns to a function that made tail calls
			u.parent = u.before(t)
			u.settle(s, u.parent, u.count)
		}
		u.leaf = t.from
	}
}

// countStep counts a step, and returns the resulting node.
func (u *Unwinder) countStep(s step, t *taken) uint32 {
	last := &u.steps.slots[u.last]
	slot := &u.steps.slots[last.after]
	if slot.count == 0 || slot.step != s {
		i := u.steps.find(s)
		last.after = i
		slot = &u.steps.slots[i]
		if slot.count == 0 {
			next := u.before(t)
			u.steps.fill(i, s, next, u.count)
			u.last = 0
			return next
		}
	}
	u.last = last.after
	slot.count = saturate.Add(slot.count, u.count)
	return slot.next
}

// stacked returns the node of the sample's stack.
func (u *Unwinder) stacked() uint32 {
	if u.tailCalls() {
		return u.start()
	}
	node := uint32(root)
	for i := len(u.stack) - 1; i > 0; i-- {
		node = u.frames.child(node, u.stack[i])
	}
	return node
}

func (u *Unwinder) tailCalls() bool { return u.opt.TailCalls && u.opt.Inlining == nil }

// before returns the node of the function that took a branch, given the walk's position after
// it.
func (u *Unwinder) before(t *taken) uint32 {
	if u.parent == astray || u.leaf != machinecode.None && !u.runs(t.to, u.leaf) {
		return astray
	}
	switch t.does {
	case calls:
		if caller := u.frames.nodes[u.parent]; u.parent != root && caller.at&^known == t.from {
			return caller.parent
		}
	case returns:
		if u.tailCalls() {
			return u.called(u.parent, u.code.CallBefore(t.to), t.made)
		}
		return u.frames.child(u.parent, u.code.CallBefore(t.to))
	default:
		if u.tailCalls() && u.parent != root && u.frames.nodes[u.parent].at == t.from {
			return u.frames.nodes[u.parent].parent // a tail call
		}
	}
	return u.parent
}

// runs reports whether control can go from the target of a branch to the next branch; in other
// binaries this is not observed, and assumed.
func (u *Unwinder) runs(target, end ref) bool {
	if target == external || end == external {
		return target == end
	}
	return u.code.Runs(target, end)
}

// settle counts the code and branch of a step, and inconsistencies.
func (u *Unwinder) settle(s step, next uint32, count uint64) {
	from, node := s.from&^known, s.node
	if node == astray {
		node = root
	}
	switch {
	case s.end == machinecode.None:
	case s.to == external && s.end == external:
		u.stats.Outside += count
	case s.to == external || s.end == external:
		u.stats.Unpaired += count
	case !u.code.Runs(s.to, s.end):
		u.stats.Impossible += count
	default:
		u.ran(node, s.to, s.end, count)
	}
	if next == s.node && node != root && classify(u.code, from, s.to).does == calls {
		u.stats.Mismatched += count
	}
	switch {
	case s.to == external:
		return
	case next == astray, from == external:
		next = root
	}
	if u.opt.Inlining != nil && from != external {
		next = u.frames.child(next, from)
	}
	u.branches.add(edge{next, from, s.to}, count)
}

// ran counts a range of code.
func (u *Unwinder) ran(node uint32, from, to ref, count uint64) {
	if u.opt.Inlining == nil {
		u.ranges.add(edge{node, from, to}, count)
		return
	}
	// A range with several inlined functions is split. Each part belongs to the function at
	// its beginning: two functions that were inlined by one call are one range.
	end := to
	for r := to; r >= from; r-- {
		stack := u.opt.Inlining.Inlined(r)
		if r == from || stack == 0 || stack != u.opt.Inlining.Inlined(r-1) {
			u.ranges.add(edge{u.frames.child(node, r), r, end}, count)
			end = r - 1
		}
	}
}
