package tracelog

import (
	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/trace"
)

// Problem: tell from entries and their stack pointers which calls had ended.
//
// Choice: the calls that go on are a stack by falling stack pointers. Whoever is
// entered ends all that have the same stack pointer or one below. That also takes
// away what an exception or a longjmp left.
//
// A thread has other stacks than its own: that of signal handlers, those of
// coroutines. What is entered on another stack is called by whoever was running, and
// ends at the latest when something is entered on the thread's own stack. So calls of a
// coroutine that was switched away from are lost when it goes on: what they call then
// is shown as called by whoever switched to it.

// flight replays the events of a window.
type flight struct {
	decoder
	top    uint32 // of the thread's own stack, or near it
	stack  []flightCall
	begins []int  // indexes of the first calls on other stacks
	last   uint64 // time of the last event
	out    []trace.Event
}

type flightCall struct {
	sp uint32
	fn trace.FuncID
}

const (
	aboveTop    = 64 << 10  // calls may come from further out than the thread's first
	ownStack    = 256 << 20 // a thread's stack is no larger
	nearby      = 1 << 20   // two calls of one other stack are as near
	otherStacks = 16        // at most; beyond, all are left
)

func (f *flight) event(function, sp uint32, now uint64) {
	switch function {
	case wire.FlightTime:
	case wire.FlightExit:
		found := f.turn(sp)
		f.last = now
		if found {
			f.end(sp)
		}
		if n := len(f.begins); n > 0 && f.begins[n-1] == len(f.stack) {
			f.begins = f.begins[:n-1]
		}
	default:
		if f.turn(sp) {
			f.end(sp)
		} else {
			if len(f.begins) == otherStacks {
				f.leave(0)
			}
			f.begins = append(f.begins, len(f.stack))
		}
		f.last = now
		fn := f.function(function)
		f.stack = append(f.stack, flightCall{sp, fn})
		f.out = append(f.out, trace.Event{Time: now, Func: fn, Kind: trace.Enter})
	}
}

// turn leaves the stacks that are not that of sp. It returns false if sp is on a
// stack on which there is no call.
func (f *flight) turn(sp uint32) bool {
	if f.top+aboveTop-sp < ownStack {
		f.leave(0)
		return true
	}
	end := len(f.stack)
	for i := len(f.begins) - 1; i >= 0; i-- {
		if isNear(sp, f.stack[end-1].sp) || isNear(sp, f.stack[f.begins[i]].sp) {
			f.leave(i + 1)
			return true
		}
		end = f.begins[i]
	}
	return false
}

func isNear(a, b uint32) bool { return a-b+nearby < 2*nearby }

// leave ends all calls on other stacks but the first n of them.
func (f *flight) leave(n int) {
	if n < len(f.begins) {
		f.pop(f.begins[n])
		f.begins = f.begins[:n]
	}
}

// end ends the calls on the stack of sp that are not above sp.
func (f *flight) end(sp uint32) {
	first, n := 0, len(f.stack)
	if k := len(f.begins); k > 0 {
		first = f.begins[k-1]
	}
	for n > first && int32(sp-f.stack[n-1].sp) >= 0 {
		n--
	}
	f.pop(n)
}

// pop ends calls until n are left.
func (f *flight) pop(n int) {
	for len(f.stack) > n {
		last := len(f.stack) - 1
		f.out = append(f.out, trace.Event{Time: f.last, Func: f.stack[last].fn, Kind: trace.Exit})
		f.stack = f.stack[:last]
	}
}

// closeAll ends all calls: events are missing.
func (f *flight) closeAll() {
	f.pop(0)
	f.begins = f.begins[:0]
}
