package account

import (
	"container/list"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/callstack"
)

// Problem: coroutines have stacks of their own, and a thread changes between them. The calls of all are in the
// thread's events, but time passes only for those on the stack that runs.
//
// Choice: callstack.Switches says which stack runs. A call directly after the event before a change begins
// another stack, below the call that left the one before: as far as anybody knows that has called it, and so
// have the callers of that. Time passes for them all, until the call at the border has ended, which then is no
// caller any more.
//
// At a change, time stops for the calls that only the old stack has, and goes on for those that only the new one
// has. So a change takes as many steps as calls differ, whatever the number of stacks.

// coroutine is a stack of a thread. The frames of the one that runs are in the replayer.
type coroutine struct {
	callstack.Keys
	stack callstack.Stack[calllog.FuncID, openCall]
	args  []uint64
	base  calltrie.NodeID
	at    calltrie.Place

	up    *coroutine // that in which it began; nil if that is not known, or its call there has ended
	below int        // the number of calls of up below which it began
	upID  uint64     // the last of these
	depth int        // number of calls below its own

	ended uint64 // total of its outermost calls that have ended
	given uint64 // time that its caller has been given

	place *list.Element // in coroutines.left; nil while it runs
}

// coroutines are the stacks of a thread that changes between several.
type coroutines struct {
	*callstack.Switches[*coroutine]
	left   list.List // of those that do not run, in the order in which they were left
	frames int       // of those
}

// Bounds of what is kept. Stacks that were left first are given up.
const (
	maxStacks      = 1 << 16
	maxStackFrames = 1 << 22
)

// span is the part of a stack for which time passes: its outermost calls.
type span struct {
	c *coroutine
	n int
}

// spans returns the calls for which time passes while c runs, those of c first.
func spans(c *coroutine) (out []span) {
	out = append(out, span{c, len(c.stack.Frames)})
	for ; c.up != nil; c = c.up {
		if !c.called() {
			c.up = nil
			break
		}
		out = append(out, span{c.up, c.below})
	}
	return out
}

// called reports whether the call below which c began is open.
func (c *coroutine) called() bool {
	return c.up != nil && c.below <= len(c.up.stack.Frames) && c.up.stack.Frames[c.below-1].Data.id == c.upID
}

// within returns how many calls of c are among some spans.
func within(list []span, c *coroutine) int {
	for _, s := range list {
		if s.c == c {
			return s.n
		}
	}
	return 0
}

// leaves handles the event before a change of stacks.
func (r *replayer) leaves(key uint32) {
	if r.stacks == nil {
		r.stacks = &coroutines{Switches: callstack.NewSwitches(&coroutine{base: r.base})}
	}
	if gone, is := r.stacks.Suspend(key); is {
		r.forget(gone)
	}
}

// continues handles the event after a change of stacks.
func (r *replayer) continues(key uint32, t uint64) {
	s := r.stacks
	if s == nil {
		return
	}
	c, means := s.Resume(key)
	switch means {
	case callstack.Stays:
		return
	case callstack.Other:
		c = r.another()
	case callstack.Left:
		for len(r.stack.Frames) > 0 {
			r.pop(t, Deduced)
		}
		r.stack.Over = 0
		s.Forget(s.Running)
	}
	r.change(c, t)
}

// starts begins a stack with the event after that in front of a change: it is below the call that left the one
// before if a call begins, and otherwise below none that is known.
func (r *replayer) starts(enter bool, t uint64) {
	c, up := r.another(), r.stacks.Running
	switch n := len(r.stack.Frames); {
	case enter && n > 0:
		f := &r.stack.Frames[n-1].Data
		c.base, c.up, c.below, c.upID, c.depth = f.node, up, n, f.id, up.depth+n
	case enter:
		c.base, c.up, c.below, c.upID, c.depth = r.base, up.up, up.below, up.upID, up.depth
	}
	c.at = calltrie.First(c.base)
	r.change(c, t)
}

// another returns a stack below no call.
func (r *replayer) another() *coroutine {
	return &coroutine{stack: newStack(&r.opt), base: calltrie.Root, at: calltrie.First(calltrie.Root)}
}

// change makes c the stack that runs.
func (r *replayer) change(c *coroutine, t uint64) {
	s := r.stacks
	old := s.Running
	r.store(old)
	before, now := spans(old), spans(c)
	for _, b := range before {
		n := within(now, b.c)
		if n == 0 {
			r.give(b.c, t)
		}
		for k := b.n - 1; k >= n; k-- {
			r.pass(b.c, k, false, t)
		}
	}
	for i := len(now) - 1; i >= 0; i-- {
		for k := within(before, now[i].c); k < now[i].n; k++ {
			r.pass(now[i].c, k, true, t)
		}
	}
	if c.place != nil {
		s.frames -= len(c.stack.Frames)
		s.left.Remove(c.place)
		c.place = nil
	}
	s.To(c)
	r.load(c)
	r.stack.Settle()
	if old.Any() {
		old.place = s.left.PushBack(old)
		s.frames += len(old.stack.Frames)
		r.bound(now)
	}
}

// store puts the replayer's stack into c, and load does the reverse.
func (r *replayer) store(c *coroutine) {
	c.stack, c.args, c.base, c.at = r.stack, r.args, r.base, r.at
}

func (r *replayer) load(c *coroutine) {
	r.stack, r.args, r.base, r.at, r.below = c.stack, c.args, c.base, c.at, c.depth
}

// pass makes time stop or go on for a call of c.
func (r *replayer) pass(c *coroutine, k int, on bool, t uint64) {
	f := &c.stack.Frames[k].Data
	if on {
		f.away += t
	} else {
		f.away -= t
	}
	if r.changed != nil {
		parent := uint64(0)
		switch {
		case k > 0:
			parent = c.stack.Frames[k-1].Data.id
		case c.called():
			parent = c.upID
		}
		r.changed(&c.stack.Frames[k], c.depth+k+1, parent, on, t)
	}
}

// give gives the caller of c the time of the calls of c so far. That of a stack without a caller is the
// thread's.
func (r *replayer) give(c *coroutine, t uint64) {
	all := c.ended
	if len(c.stack.Frames) > 0 {
		all += c.stack.Frames[0].Data.lasted(t)
	}
	more := all - min(all, c.given)
	c.given = all
	if c.called() {
		c.up.stack.Frames[c.below-1].Data.child += more
	} else {
		r.busy += more
	}
}

// lasted returns how long a call has run by a time, without the time for which its stack was left.
func (f *openCall) lasted(t uint64) uint64 {
	if all := t - f.start - f.away; t >= f.start && all <= t {
		return all
	}
	return 0
}

// bound gives up stacks if there are too many, except for those with calls that run.
func (r *replayer) bound(run []span) {
	s := r.stacks
	for e := s.left.Front(); e != nil && (s.left.Len() > maxStacks || s.frames > maxStackFrames); {
		c := e.Value.(*coroutine)
		e = e.Next()
		if within(run, c) == 0 {
			r.forget(c)
		}
	}
}

// forget ends the calls of a stack that does not run and will not again.
func (r *replayer) forget(c *coroutine) {
	s := r.stacks
	s.Forget(c)
	if within(spans(s.Running), c) > 0 {
		return // calls of it are callers of what runs
	}
	r.end(c, Deduced)
}

// end ends the calls of a stack that does not run.
func (r *replayer) end(c *coroutine, how End) {
	s, cur := r.stacks, r.stacks.Running
	if c.place != nil {
		s.frames -= len(c.stack.Frames)
		s.left.Remove(c.place)
		c.place = nil
	}
	r.store(cur)
	s.Running = c
	r.load(c)
	for n := len(r.stack.Frames); n > 0; n-- {
		r.stack.Frames[n-1].Data.away += r.last
		r.pop(r.last, how)
	}
	r.store(c)
	s.Running = cur
	r.load(cur)
}

// finishStacks ends the calls that are open at the end of the thread on all stacks, or drops them.
func (r *replayer) finishStacks() {
	s := r.stacks
	s.Forget(s.Running)
	last := s.Running
	r.change(r.another(), r.last)
	last.place = s.left.PushBack(last)
	for s.left.Len() > 0 {
		c := s.left.Front().Value.(*coroutine)
		r.stats.Open += uint64(len(c.stack.Frames))
		if r.opt.DropOpen {
			s.left.Remove(c.place)
			continue
		}
		r.end(c, Open)
	}
}

// eachStack calls do with the stacks that do not run.
func (r *replayer) eachStack(do func(*coroutine)) {
	if r.stacks == nil {
		return
	}
	for e := r.stacks.left.Front(); e != nil; e = e.Next() {
		do(e.Value.(*coroutine))
	}
}

// caller returns the number of the call below the replayer's stack, 0 if there is none.
func (r *replayer) caller() uint64 {
	if r.stacks != nil && r.stacks.Running.called() {
		return r.stacks.Running.upID
	}
	return 0
}

// switches handles the events around a call that changes the stack.
func (r *replayer) switches(e *calllog.Event, t uint64) {
	r.settle()
	switch {
	case r.chunk != nil: // all stacks must be known
		r.chunk.of.budget = 0
		r.chunk.leave(r, t)
	case e.Kind == calllog.Suspend:
		r.leaves(uint32(e.Func))
	default:
		r.continues(uint32(e.Func), t)
	}
}

// outermost counts the time of a call without a caller on the stack.
func (r *replayer) outermost(total uint64) {
	if r.stacks != nil {
		r.stacks.Running.ended += total
	} else {
		r.busy += total
	}
}
