package unwind

import (
	"github.com/cairnprof/cairn/internal/machinecode"
	"github.com/cairnprof/cairn/sample"
)

// Moment returns the stack of a sample as a context, calls outermost first and
// recursion whole, with the tail calls that its branches show if Options ask for
// them, and the instruction that was sampled. It is not counted. There is none if
// the stack cannot be believed.
func (u *Unwinder) Moment(s *sample.Sample) (c Context, leaf ref, ok bool) {
	u.places.enter(s.PID)
	if !u.readStack(s.Stack) || u.stack[0] == external {
		return c, leaf, false
	}
	u.readBranches(s.Branches)
	node := uint32(root)
	if u.tailCalls() {
		node = u.start(u.follow())
	} else {
		for i := len(u.stack) - 1; i > 0; i-- {
			node = u.frames.child(node, u.stack[i])
		}
	}
	x := contexts{u: u, whole: true}
	x.read(node)
	return x.context(), u.stack[0], true
}

// Instruction returns the instruction at an address of a process, External if it is
// in none of the binaries.
func (u *Unwinder) Instruction(pid int32, addr uint64) machinecode.Ref {
	u.places.enter(pid)
	return u.places.ref(addr)
}

// Events takes what happened to address spaces.
func (u *Unwinder) Events(events []sample.Event) { u.places.apply(events) }
