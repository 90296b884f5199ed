package calllog

import (
	"errors"
	"iter"
	"math"
	"slices"

	"github.com/cairnprof/cairn/internal/callstack"
)

// Selection describes which calls of a log are wanted. The zero value selects all.
type Selection struct {
	// From and To are the selected time, in ticks of the log's clock: calls that extend beyond it are cut
	// there. A To of 0 is the end of the log.
	From, To uint64
	// Within selects the calls of some functions and everything below them, as if threads began there. It may
	// be nil.
	Within func(FuncID) bool
	// Longer selects calls of at least that many ticks, in the whole log. The time of shorter ones counts as
	// their caller's.
	Longer uint64
	// Depth is the maximum depth of calls, counted from where Within begins; 0 for any.
	Depth int
	// UpperBound and DropOpen control calls without an exit: with UpperBound they end when their callers do and
	// not at the last event in them, with DropOpen not at all if the log ends first.
	UpperBound, DropOpen bool
	// Places, of all threads of the log, are where reading begins if From is after one, and are extended on the
	// way. It may be nil. Damage before such a place is not reported.
	Places *Places
	// Lookback, if it is not 0, is the maximum number of bytes of a thread that are read to find the calls open
	// at From, if the log knows the times of its parts. Earlier calls are missing then; Blind returns the
	// number of such threads.
	Lookback int64
	// Workers is how many goroutines look for what is open when From begins; 0 is
	// GOMAXPROCS.
	Workers int

	step  int  // parts that are read at a time, 0 for as many as take a while to read
	whole bool // follow all events, also those before From
}

// Select returns the selected part of log. Each call in it has an end, unless DropOpen is set, as missing exits
// are inferred over the whole log. Other methods of the whole log are accessible through the method Unwrap of
// the result.
func Select(log Log, want Selection) Log {
	if want.To == 0 {
		want.To = math.MaxUint64
	}
	threads := log.Threads()
	all := make([]int, len(threads))
	for i := range threads {
		// What is open at the beginning of a part depends on those before.
		all[i], threads[i].Parts = threads[i].Parts, min(threads[i].Parts, 1)
	}
	s := &selected{Log: log, want: want, threads: threads, parts: all, slots: make(chan struct{}, workers(want.Workers))}
	for i := range threads {
		s.starts = append(s.starts, s.startOf(i))
	}
	return s
}

type selected struct {
	Log
	want    Selection
	threads []Thread
	parts   []int // of the whole log's threads
	slots   chan struct{}
	starts  []start // by thread, as it was when the log was made
}

// Unwrap returns the whole log.
func (s *selected) Unwrap() Log { return s.Log }

func (s *selected) Threads() []Thread { return slices.Clone(s.threads) }

func (s *selected) Batches(thread, from, to int) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		if from >= to {
			return
		}
		flat, err := EntersOnly(s.Log.Batches(thread, 0, s.parts[thread]))
		if err != nil {
			yield(nil, err)
			return
		}
		x := &selector{Selection: s.want, flat: flat, stack: callstack.New[FuncID, selectCall]()}
		if s.want.Within != nil {
			x.known = make(map[FuncID]bool)
		}
		if !s.read(x, thread, yield) {
			return
		}
		x.end()
		yield(x.ready(), nil)
	}
}

// read feeds x the events of a thread, from the last place before the selection on, and yields its results. It
// reports whether to continue.
func (s *selected) read(x *selector, thread int, yield func(*Batch, error) bool) bool {
	from := s.startOf(thread) // of the places that there are by now
	at, parts, step := from.part, s.parts[thread], s.want.step
	if step == 0 {
		step = stepOf(parts, s.threads[thread].Bytes)
	}
	if p := from.place; p != nil {
		x.resume(p)
		// Most likely what is wanted begins before the next place.
		at = min(p.part+step, parts)
		if !s.parted(x, thread, p.part, at, yield) {
			return false
		}
	}
	if x.now < s.want.From && !x.flat && !s.want.whole {
		var more bool
		if at, more = s.skip(x, thread, at, step, yield); !more {
			return false
		}
	}
	for ; at < parts && !x.ended; at += step {
		s.keep(x, thread, at)
		if !s.parted(x, thread, at, min(at+step, parts), yield) {
			return false
		}
	}
	return true
}

// skip advances from a part to the first that may contain selected events, which it returns, following only the
// stack.
func (s *selected) skip(x *selector, thread, at, step int, yield func(*Batch, error) bool) (int, bool) {
	parts := s.parts[thread]
	ahead := &digests{log: s.Log, thread: thread, to: parts, step: step, slots: s.slots}
	ahead.start(at)
	defer ahead.end()
	for ; at < parts; at += step {
		d := ahead.next()
		if d == nil || max(x.now, d.now) >= s.want.From {
			break
		}
		s.keep(x, thread, at)
		if !x.fits(d) {
			if !s.parted(x, thread, at, min(at+step, parts), yield) {
				return at, false
			}
			continue
		}
		x.digested(d)
		for _, err := range d.damage {
			if !yield(nil, err) {
				return at, false
			}
		}
		if d.err != nil {
			yield(nil, d.err)
			return at, false
		}
		if !yield(x.ready(), nil) {
			return at, false
		}
	}
	return at, true
}

// keep stores the place before a part, if it is before the selection.
func (s *selected) keep(x *selector, thread, at int) {
	if places := s.want.Places; places != nil && x.stacks == nil && at > 0 && x.now < s.want.From && !s.starts[thread].blind {
		places.add(s.origin(thread), x.place(at))
	}
}

// parted feeds x the events of some parts.
func (s *selected) parted(x *selector, thread, from, to int, yield func(*Batch, error) bool) bool {
	for b, err := range s.Log.Batches(thread, from, to) {
		if err != nil {
			damage := (*Damage)(nil)
			if !yield(nil, err) || !errors.As(err, &damage) {
				return false
			}
			continue
		}
		x.batch(b)
		if x.ended {
			break
		}
		// Even if it is empty: readers decide there whether to continue.
		if !yield(x.ready(), nil) {
			return false
		}
	}
	return true
}

// origin returns the index that a thread has in the whole log.
func (s *selected) origin(thread int) int {
	if o, ok := s.Log.(*only); ok {
		return o.index[thread]
	}
	return thread
}

// EntersOnly reports whether a thread, of which these are all batches, has no exit, and so no stacks: a
// function is entered twice, or more functions than a stack can have. Usually the first events decide. Damage
// is skipped.
//
//go:noinline
func EntersOnly(batches iter.Seq2[*Batch, error]) (bool, error) {
	seen := make(map[FuncID]bool)
	twice := false
	for b, err := range batches {
		if err != nil {
			if damage := (*Damage)(nil); errors.As(err, &damage) {
				continue
			}
			return false, err
		}
		for i := range b.Events {
			switch e := &b.Events[i]; {
			case e.Kind.IsExit():
				return false, nil
			case e.Kind.IsEnter() && !twice:
				twice = seen[e.Func] || len(seen) == callstack.MaxDepth
				seen[e.Func] = true
			}
		}
	}
	return twice, nil
}

// A selector processes the events of a thread.
type selector struct {
	Selection
	known  map[FuncID]bool // results of Within
	flat   bool
	stack  callstack.Stack[FuncID, selectCall]
	base   int                               // inside, of the call below the stack
	stacks *callstack.Switches[*selectStack] // nil if the thread has one
	told   int                               // number of calls of the stack that are reported, or never will be
	last   uint64                            // time of the event before
	now    uint64                            // the greatest time so far, which the thread's clock may have gone back from
	ended  bool
	exits  bool // that were given

	held []heldEvent
	out  Batch
}

// selectFrame is what a selector knows of a call that is open.
type selectFrame struct {
	enter  Event
	args   []uint64
	began  uint64 // now when it began
	inside int    // how many calls deep below what Within wants, from 1; 0 if it is not
	wanted bool
}

// selectCall is a selectFrame in a frame.
type selectCall struct{ selectFrame }

type openFrame = callstack.Frame[FuncID, selectCall]

// heldEvent is an event that waits for the calls around it to be reported.
type heldEvent struct {
	Event
	Payload
	height int
}

func (x *selector) batch(b *Batch) {
	if b.Break {
		if x.stack.Block(); x.stacks != nil {
			x.stacks.Suspended = false
		}
	}
	for i := range b.Events {
		e := &b.Events[i]
		var p *Payload
		if e.Payload != 0 && int(e.Payload) <= len(b.Payloads) {
			p = &b.Payloads[e.Payload-1]
		}
		x.now = max(x.now, e.Time)
		x.event(e, p)
		x.last = e.Time
		// The first event after the end shows what was still open there.
		if x.now >= x.To && x.decided() {
			x.ended = true
			return
		}
	}
}

// decided reports whether it is known of all open calls whether they are selected.
func (x *selector) decided() bool {
	return !slices.ContainsFunc(x.stack.Frames[x.told:], func(f openFrame) bool { return f.Data.wanted })
}

func (x *selector) event(e *Event, p *Payload) {
	if x.stacks != nil && x.stacks.Suspended && e.Kind != Resume {
		x.starts(e.Kind.IsEnter() || e.Kind == Suspend)
	}
	switch {
	case e.Kind == Suspend || e.Kind == Resume:
		x.switches(e)
	case e.Kind.IsEnter() && x.flat:
		x.enter(e, p)
		x.pop(e.Time)
	case e.Kind.IsEnter():
		x.report(e.Time)
		x.enter(e, p)
	case e.Kind.IsExit() || e.Kind == Arrive:
		x.exit(e)
	default:
		x.report(e.Time)
		x.other(e, p)
	}
}

func (x *selector) enter(e *Event, p *Payload) {
	if x.stack.Full() {
		x.stack.Over++
		return
	}
	var args []uint64
	if p != nil {
		args = slices.Clone(p.Args)
	}
	x.push(e, args, x.now)
	x.report(e.Time)
}

// push puts a call on the stack, after deciding whether it is selected.
func (x *selector) push(e *Event, args []uint64, began uint64) {
	inside := x.inside()
	if inside > 0 || x.within(e.Func) {
		inside++
	}
	if x.stack.Tight() {
		x.stack.Ready(e.Func)
	}
	f := &x.stack.Push(e.Func).Data
	f.enter, f.args, f.began, f.inside = *e, args, began, inside
	f.enter.Payload = 0
	f.wanted = inside > 0 && (x.Depth == 0 || inside <= x.Depth) && began < x.To
}

// inside returns how many calls deep the innermost one is below what Within wants, 0 if it is not.
func (x *selector) inside() int {
	if n := len(x.stack.Frames); n > 0 {
		return x.stack.Frames[n-1].Data.inside
	}
	return x.base
}

func (x *selector) within(fn FuncID) bool {
	if x.Within == nil {
		return true
	}
	is, ok := x.known[fn]
	if !ok {
		is = x.Within(fn)
		x.known[fn] = is
	}
	return is
}

// exit ends calls as an accounting of the whole log does. At an arrival, the call goes on.
func (x *selector) exit(e *Event) {
	arrives := e.Kind == Arrive
	if x.stack.OnTop(e.Func) && !arrives {
		x.report(e.Time)
		x.pop(e.Time)
		return
	}
	keep, means := x.stack.Exit(e.Func, arrives)
	end, late := x.last, means.Late(arrives, x.UpperBound)
	if late {
		end = e.Time
	}
	for len(x.stack.Frames) > keep {
		if late {
			x.report(end)
		}
		x.pop(end)
	}
	x.report(e.Time)
	if means == callstack.Found && !arrives {
		x.pop(e.Time)
	}
}

// report reports the calls that are known to be selected at time t, outer ones first.
func (x *selector) report(t uint64) {
	for ; x.told < len(x.stack.Frames); x.told++ {
		f := &x.stack.Frames[x.told].Data
		if !f.wanted {
			continue
		}
		lasts := uint64(0)
		if t > f.enter.Time {
			lasts = t - f.enter.Time
		}
		if lasts < x.Longer || x.now < x.From || x.now == x.From && f.began < x.From {
			return
		}
		x.release(x.told)
		e := f.enter
		e.Time = x.cut(e.Time)
		x.put(e, Payload{Args: f.args}, len(f.args) > 0)
	}
	x.release(x.told)
}

// pop ends the innermost call.
func (x *selector) pop(end uint64) {
	f := &x.stack.Pop().Data
	n := len(x.stack.Frames)
	if n < x.told && f.wanted {
		x.exits = true
		x.put(Event{Time: x.cut(end), Func: f.enter.Func, Kind: Exit, CPU: f.enter.CPU}, Payload{}, false)
	}
	x.told = min(x.told, n)
	for i := len(x.held) - 1; i >= 0 && x.held[i].height > n; i-- {
		x.held[i].height = n
	}
}

// cut returns a time within what is looked at.
func (x *selector) cut(t uint64) uint64 { return min(max(t, x.From), x.To) }

// other takes an event that is no call.
func (x *selector) other(e *Event, p *Payload) {
	if x.Within != nil && x.inside() == 0 || x.now < x.From || x.now >= x.To {
		return
	}
	h := heldEvent{Event: *e, height: len(x.stack.Frames)}
	h.Event.Payload = 0
	if p != nil {
		h.Payload = Payload{Data: slices.Clone(p.Data), Type: p.Type}
		h.Event.Payload = 1
	}
	x.held = append(x.held, h)
	x.release(x.told)
}

// release yields the events that waited for no more than that many calls.
func (x *selector) release(told int) {
	n := 0
	for n < len(x.held) && x.held[n].height <= told {
		h := &x.held[n]
		e := h.Event
		e.Payload, e.Time = 0, x.cut(e.Time)
		x.put(e, h.Payload, h.Event.Payload != 0)
		n++
	}
	x.held = slices.Delete(x.held, 0, n)
}

func (x *selector) put(e Event, p Payload, has bool) {
	if has {
		x.out.Payloads = append(x.out.Payloads, p)
		e.Payload = uint32(len(x.out.Payloads))
	}
	x.out.Events = append(x.out.Events, e)
}

// end ends the calls that are open at the end of the log, or of the selection.
func (x *selector) end() {
	if x.DropOpen && !x.ended {
		x.release(len(x.stack.Frames))
		if !x.exits {
			// Without any exit it looked like a thread that has none.
			x.put(Event{Time: x.cut(x.last), Kind: Exit}, Payload{}, false)
		}
		return
	}
	for len(x.stack.Frames) > 0 {
		end := x.last
		if x.ended {
			end = x.To
		}
		x.pop(end)
	}
	x.release(len(x.stack.Frames))
}

// ready returns the events that are ready.
func (x *selector) ready() *Batch {
	b := x.out
	x.out = Batch{}
	return &b
}
