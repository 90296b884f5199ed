package tracelog

import (
	"cmp"
	"slices"
)

// Problem: a thread may have several stacks, and switch between them while calls continue. A stack pointer
// determines the stack of a call.
//
// Choice: the recorder reports the end of each stack that is not the thread's own. A call is on the stack with
// the next end above it. Each stack is a separate thread to all readers of the window: its calls continue while
// the thread is on another one. Only signal handlers are called by the code that they interrupt, whatever stack
// they are on.

// stackTop is the end of a stack of a window.
type stackTop struct {
	sp       uint32
	handlers bool // of signals
}

// The stacks of a window have numbers: 0 is the thread's own, others count from 1 in the
// order in which they were reported.
const (
	ownStackNumber = 0
	noStackNumber  = -1 // it was not recorded
)

const (
	aboveTop = 64 << 10  // calls may come from further out than the thread's first
	ownStack = 256 << 20 // a stack is no larger
	sameTop  = 2048      // two stacks that end as near to one another are one
	maxTops  = 4096      // in a window; further ones are not distinguished
)

// addTop adds the end of a stack.
func (w *Window) addTop(top stackTop) {
	i := slices.IndexFunc(w.tops, func(t stackTop) bool { return t.sp-top.sp+sameTop < 2*sameTop })
	switch {
	case i >= 0:
		w.tops[i].sp = max(w.tops[i].sp, top.sp)
	case len(w.tops) < maxTops:
		w.tops = append(w.tops, top)
	}
}

// stackOf returns the number of the stack that sp is on.
func (w *Window) stackOf(sp, own uint32) int {
	number, nearest := noStackNumber, uint32(ownStack)
	if d := own + aboveTop - sp; d < nearest+aboveTop {
		number, nearest = ownStackNumber, max(d, aboveTop)-aboveTop
	}
	for i, t := range w.tops {
		if d := t.sp - sp; d < nearest {
			number, nearest = i+1, d
		}
	}
	return number
}

// handles reports whether a stack is one for signal handlers, or not recorded.
func (w *Window) handles(stack int) bool {
	return stack == noStackNumber || stack > ownStackNumber && w.tops[stack-1].handlers
}

// part is one stack of a window.
func (w *Window) part(stack int) Window {
	p := *w
	p.Stack, p.Calls, p.From, p.To = stack, 0, 0, 0
	return p
}

// Of returns the index of the window of a spike whose peak was entered on that thread with
// that stack pointer, -1 if there is none.
func (w *Windows) Of(spike uint64, tid, sp uint32) int {
	return slices.IndexFunc(w.Windows, func(win Window) bool {
		return win.Episode == spike && win.TID == tid && win.holds(sp)
	})
}

// holds reports whether a call with that stack pointer is in this part of the window.
func (w *Window) holds(sp uint32) bool {
	stack := w.stackOf(sp, w.chunks[len(w.chunks)-1].top)
	return stack == w.Stack || w.handles(stack)
}

// byThread is the order of windows.
func byThread(a, b Window) int {
	return cmp.Or(cmp.Compare(a.TID, b.TID), cmp.Compare(a.end, b.end), cmp.Compare(a.Stack, b.Stack))
}
