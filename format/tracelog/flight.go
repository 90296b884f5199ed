package tracelog

import (
	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// Problem: determine from entries, their stack pointers and some ends which calls had ended.
//
// Choice: open calls form a stack of descending stack pointers. An entry ends all calls with the same stack
// pointer or a lower one. That also removes calls that an exception or a longjmp left.
//
// A signal handler may be on its own stack. Calls there belong to the interrupted code, and end at the latest
// with the next entry on the interrupted stack. The same applies to unreported stacks: they may be coroutines
// in a program without an unwinder, and then the caller is not certain.

// uncertain is in the number of a function whose caller is not certain.
const uncertain calllog.FuncID = 1 << 31

// Uncertain returns the number that a function has in windows where its caller is not certain, and false if
// there is none.
func Uncertain(fn calllog.FuncID) (calllog.FuncID, bool) { return fn | uncertain, fn&uncertain == 0 }

// flight replays the events of one stack of a window.
type flight struct {
	decoder
	window *Window
	ends   bool // the log has the ends of calls that no later entry implies
	at     int  // the stack that the thread is on, handlers apart
	stack  []flightCall
	begins []int  // indexes of the first calls on other stacks
	last   uint64 // time of the last event
	out    []calllog.Event
}

type flightCall struct {
	sp uint32
	fn calllog.FuncID // as in the events
}

const (
	nearby      = 1 << 20 // two calls of one other stack are as near
	otherStacks = 16      // at most; beyond, all are left
)

// event handles an event of a chunk, which gives the end of the thread's own stack.
func (f *flight) event(top, function, sp uint32, now uint64) {
	if !isPlace(function) {
		return
	}
	on := f.window.stackOf(sp, top)
	if !f.window.handles(on) {
		f.at = on
	}
	if f.at != f.window.Stack {
		return
	}
	found := f.turn(sp, on == f.at)
	if function == wire.FlightExit {
		f.last = now
		if found {
			f.end(sp)
		}
		if n := len(f.begins); n > 0 && f.begins[n-1] == len(f.stack) {
			f.begins = f.begins[:n-1]
		}
		return
	}
	if found {
		f.end(sp)
	} else {
		if len(f.begins) == otherStacks {
			f.leave(0)
		}
		f.begins = append(f.begins, len(f.stack))
	}
	f.last = now
	fn := f.function(function, now)
	if len(f.stack) > 0 && (!f.ends || !found && on == noStackNumber) {
		fn, _ = Uncertain(fn)
	}
	f.stack = append(f.stack, flightCall{sp, fn})
	f.out = append(f.out, calllog.Event{Time: now, Func: fn, Kind: calllog.Enter})
}

// turn leaves the stacks other than that of sp, which may be home, the one being replayed. It returns false if
// sp is on a stack without calls.
func (f *flight) turn(sp uint32, home bool) bool {
	if home {
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

// leave ends all calls on other stacks except the first n of them.
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
		f.out = append(f.out, calllog.Event{Time: f.last, Func: f.stack[last].fn, Kind: calllog.Exit})
		f.stack = f.stack[:last]
	}
}

// closeAll ends all calls: events are missing.
func (f *flight) closeAll() {
	f.pop(0)
	f.begins = f.begins[:0]
}
