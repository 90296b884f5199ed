package spikes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/report"
)

// HeldBy is the thread that ended the longest wait of a spike, or that had the lock meanwhile.
type HeldBy struct {
	TID    uint32 // 0 if it is not known
	Thread string
	Ended  string // what it did: "released", "woken", "held" if the lock was seen in its hands, or awaited
	Waited uint64 // ns of the wait, at most
	// Stack is where it was when it ended the wait, the innermost function first; nil if that is not known.
	Stack []Place
	Addrs []Address // of its frames
}

// heldBy returns which thread ended a wait of a spike, nil if that is not known or the wait was short.
func (w *Writer) heldBy(sp *Spike) *HeldBy {
	h := sp.Holder
	const part = 10 // of the spike, at least
	if h == nil || h.Waited < sp.Peak.Lo/part && h.Waited < sp.Threshold {
		return nil
	}
	x := &HeldBy{TID: h.TID, Thread: w.Set.threadOf(sp, h.TID), Waited: h.Waited, Ended: "woken"}
	switch {
	case h.Readers > 0:
		x.Ended, x.Thread = "held", readers(uint64(h.Readers))
	case h.Object != 0:
		x.Ended = held(sp.Wait)
		x.Stack = w.openAt(sp.Log, h.TID, h.At)
	case h.Reason == tracelog.ReasonLock || h.Reason == tracelog.ReasonRWLock:
		x.Ended = "released"
	}
	for _, pc := range h.Addrs {
		a := w.Set.address(sp.Log, pc, h.At)
		loc := w.Name(a, true)
		x.Addrs = append(x.Addrs, a)
		for _, p := range slices.Backward(loc.Places) {
			if x.Stack == nil && ofLocks(p.Function) || madeByGo(p.Function) {
				continue // the inlined half of Unlock
			}
			x.Stack = append(x.Stack, p)
		}
	}
	return x
}

// awaited is what a thread does that has not ended, for one that waits for its end.
const awaited = "awaited"

// held returns what a thread did for which another one waited.
func held(w *tracelog.Wait) string {
	return either(w != nil && w.On&tracelog.WaitThread != 0, awaited, "held")
}

// readers names those that have a lock.
func readers(n uint64) string { return report.Plural(int(n), "reader") + " (which is not known)" }

// lateCall is a late call of a thread, for other threads that waited meanwhile.
type lateCall struct {
	end, least uint64 // when it ended, and how long it had lasted at least
	stack      []Address
	exact      bool // the first address is no return address
}

// lateCalls are the late calls of each thread.
type lateCalls struct {
	of    map[threadID][]lateCall
	count int
}

// maxLate is how many late calls are kept.
const maxLate = 1 << 18

func (s *Set) keepLate(sp *Spike) {
	if s.late.count == maxLate || len(sp.Stack) == 0 {
		return
	}
	s.late.count++
	if s.late.of == nil {
		s.late.of = make(map[threadID][]lateCall)
	}
	of := threadID{sp.Log, sp.TID}
	s.late.of[of] = append(s.late.of[of], lateCall{sp.Time, sp.Peak.Lo, sp.Addrs, !sp.isCall(0)})
}

// openAt returns the stack of the shortest late call that a thread was in at a time, the innermost function first, or
// of that which has not ended; nil if there is none.
func (w *Writer) openAt(log int, tid uint32, time uint64) (stack []Place) {
	var best *lateCall
	list := w.Set.late.of[threadID{log, tid}]
	for i := range list {
		if c := &list[i]; c.end >= time && since(c.end, c.least) <= time && (best == nil || c.least < best.least) {
			best = c
		}
	}
	if best == nil {
		return w.stillIn(log, tid, time)
	}
	for i, a := range best.stack {
		loc := w.Name(a, i > 0 || !best.exact)
		p := loc.Outer()
		if i == 0 {
			p.Line = p.Opening // the address is where the call ended
		}
		stack = append(stack, p)
	}
	return stack
}

// stillIn returns the stack of the call that a thread has not ended since a time, the innermost function first.
func (w *Writer) stillIn(log int, tid uint32, time uint64) (stack []Place) {
	for _, sp := range w.Set.open {
		if sp.Log != log || sp.TID != tid || since(sp.Time, sp.Peak.Hi) > time || w.Set.hasEnded(sp) {
			continue
		}
		for i, a := range sp.Addrs {
			loc := w.Name(a, sp.isCall(i))
			stack = append(stack, loc.Outer())
		}
		return stack
	}
	return nil
}

// ofLocks reports whether a function belongs to the packages of locks themselves.
func ofLocks(function string) bool {
	return strings.HasPrefix(function, "sync.") || strings.HasPrefix(function, "internal/sync.") || strings.HasPrefix(function, "runtime.")
}

// wrappers match the functions that the compiler of Go makes for defer and go statements.
var wrappers = lazyregexp.New(`\.(deferwrap|gowrap)[0-9]+$`)

// madeByGo reports whether a function is none of the source.
func madeByGo(function string) bool {
	return wrappers().MatchString(function) || strings.HasPrefix(function, "runtime.goexit")
}

// threadOf returns the name of a thread of the process of a spike.
func (s *Set) threadOf(sp *Spike, tid uint32) string {
	other := Spike{Log: sp.Log, Episode: tracelog.Episode{TID: tid, Time: sp.Time}}
	if name := s.Thread(&other); name != "" {
		return name
	}
	if s.hasGoroutines(sp.Log) {
		return fmt.Sprintf("goroutine %d", tid)
	}
	return fmt.Sprintf("thread %d", tid)
}

// hasGoroutines reports whether a log is of a Go program.
func (s *Set) hasGoroutines(log int) bool {
	for _, name := range s.Logs[log].Threads {
		if strings.HasPrefix(name, "goroutine ") {
			return true
		}
	}
	return false
}

// leftBy says what makes calls of the program of a spike end without a return.
func (s *Set) leftBy(sp *Spike) string {
	if s.hasGoroutines(sp.Log) {
		return "a panic or Goexit"
	}
	return "an exception, longjmp or the end of the thread"
}

// text is who ended the wait, for the first line: "released by goroutine 7 in main.rebuild (main.go:41)".
func (x *HeldBy) text() string {
	if x == nil {
		return ""
	}
	text := x.Ended + " by " + report.Printable(x.Thread)
	if x.Ended == awaited {
		text = "the other thread was " + report.Printable(x.Thread)
	}
	if len(x.Stack) == 0 {
		return text
	}
	text += " in " + report.Printable(x.Stack[0].Function)
	if place := at(x.Stack[0].File, x.Stack[0].Line); place != "" {
		text += " (" + place + ")"
	}
	return text
}

// endedBy says who ended the wait that is why a spike took long, and "" if it was no wait that another thread ends.
// Whoever signals a condition, posts a semaphore or ends, leaves no trace in what the thread waits for.
func (w *Writer) endedBy(sp *Spike, why string) string {
	if by := w.heldBy(sp).text(); by != "" {
		return by
	}
	if strings.Contains(why, " in futex") {
		return "who ended that wait is not known"
	}
	return ""
}

// lines are where the thread was when it ended the wait.
func (x *HeldBy) lines() []line {
	if x == nil {
		return nil
	}
	const most = 6
	var lines []line
	for i, p := range x.Stack {
		if i == most {
			break
		}
		lines = append(lines, line{index: x.Ended + " in", function: p.Function, file: at(p.File, p.Line), color: report.Dim})
	}
	if len(lines) > 0 {
		lines[0].rest = x.Thread + either(x.Ended == "held" || x.Ended == awaited, ", during a wait of ", ", after a wait of ") + Duration(x.Waited)
	}
	return lines
}

// HolderObject is the thread that ended a wait.
type HolderObject struct {
	Thread string `json:"thread"`
	TID    uint32 `json:"tid"`       // 0 if it is not known
	Ended  string `json:"ended"`     // released, woken, held or awaited
	Waited uint64 `json:"waited_ns"` // of the wait, at most
	Stack  []Site `json:"stack"`     // when it ended the wait, the innermost function first
}

func (w *Writer) holderObject(sp *Spike) *HolderObject {
	return w.heldBy(sp).object()
}

// object describes who ended a wait for programs, nil if that is not known.
func (x *HeldBy) object() *HolderObject {
	if x == nil {
		return nil
	}
	o := &HolderObject{Thread: x.Thread, TID: x.TID, Ended: x.Ended, Waited: x.Waited, Stack: []Site{}}
	for _, p := range x.Stack {
		o.Stack = append(o.Stack, Site{Function: p.Function, Symbol: p.Symbol, File: p.File, Line: p.Line})
	}
	return o
}
