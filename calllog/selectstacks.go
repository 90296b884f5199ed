package calllog

import "github.com/cairnprof/cairn/internal/callstack"

// selectStack is a stack of a thread that changes between several: what a selector has of it while another runs.
type selectStack struct {
	callstack.Keys
	stack callstack.Stack[FuncID, selectCall]
	told  int
	held  []heldEvent
	base  int // inside, of the call below which it began
}

// maxSelectStacks bounds the stacks that are kept. With more, all that do not run are given up.
const maxSelectStacks = 1 << 16

func newSelectStack(base int) *selectStack {
	return &selectStack{stack: callstack.New[FuncID, selectCall](), base: base}
}

// switches handles the events around a change of stacks, which are selected whatever else is: those who read the
// selection need them.
func (x *selector) switches(e *Event) {
	x.report(e.Time)
	if x.stacks == nil {
		x.stacks = callstack.NewSwitches(newSelectStack(0))
	}
	if e.Kind == Suspend {
		x.leaves(uint32(e.Func))
	} else {
		x.continues(e)
	}
	marker := *e
	marker.Time, marker.Payload = x.cut(e.Time), 0
	x.put(marker, Payload{}, false)
}

func (x *selector) leaves(key uint32) {
	if x.stacks.Len() >= maxSelectStacks {
		x.stacks.Clear()
	}
	if gone, is := x.stacks.Suspend(key); is {
		x.stacks.Forget(gone)
	}
}

func (x *selector) continues(e *Event) {
	s := x.stacks
	switch c, means := s.Resume(uint32(e.Func)); means {
	case callstack.Other:
		x.change(newSelectStack(0))
	case callstack.Left:
		for len(x.stack.Frames) > 0 {
			x.pop(e.Time)
		}
		s.Forget(s.Running)
		x.change(c)
	case callstack.Back:
		x.change(c)
	}
}

// starts begins a stack with the event after that in front of a change.
func (x *selector) starts(below bool) {
	base := 0
	if below {
		base = x.inside()
	}
	x.change(newSelectStack(base))
}

func (x *selector) change(c *selectStack) {
	old := x.stacks.Running
	old.stack, old.told, old.held, old.base = x.stack, x.told, x.held, x.base
	x.stack, x.told, x.held, x.base = c.stack, c.told, c.held, c.base
	x.stacks.To(c)
	x.stack.Settle()
}
