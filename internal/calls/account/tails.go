package account

import (
	"context"

	"github.com/cairnprof/cairn/calllog"
)

// Problem: where B ends by a jump to C, a log has B's exit and then C's enter, as if
// the caller of B, A, had called both. C is to stand below B, but only where it is
// certain that A did not call it.
//
// Two things make it so. Either every jump by which B may end enters a function that
// the log has, and the log says that B ended by one: then the next enter is what it
// jumped to. Or C is entered by direct branches of functions in the log alone, and A has no call of it:
// then only the jump is left, which B has. That they are close in time proves nothing: a
// function without records may be as quick, and clocks are coarse. And nothing is
// certain in a log from which calls were left out as too short: one of them may have
// jumped to C.
//
// How: the exit of a call that may go on in another is held back until the event
// behind it. If that is the enter of such a one, the frame stays, as tailed, and goes
// when its callee does. Any other event, and a border of blocks, lets the exit take
// place when it came. The moment between exit and enter stays time of the caller: all
// that is moved is the callee's time, into that of the function that jumped there, and
// self times are what they are without. So that calls still lie within each other, the
// functions of a chain begin later by that moment.
//
// A frame of a chain of tail calls that is entered again from its end begins a chain of
// its own, as a loop would; it is not known to be wanted deeper each time round, and
// stacks would have no end.

// Code is what the code of functions can do that a log has.
type Code interface {
	// Jumps reports whether a direct jump by which from may end enters to.
	Jumps(from, to calllog.FuncID) bool
	// Closed reports whether all jumps by which fn may end enter functions that the
	// log has.
	Closed(fn calllog.FuncID) bool
	// MayCall reports whether a call may enter fn while caller is the innermost call in
	// the log: one of caller, or one of code of which the log has nothing.
	MayCall(caller, fn calllog.FuncID) bool
}

// TailCalls say how to put what a function jumped to below it. They are for logs that
// have calls of any length, see Unfiltered. Code must be safe for concurrent use.
type TailCalls struct {
	Code Code
	// Told says that the log has TailExit where a function ends by a jump.
	Told bool
}

// entered is how it is that one function was entered after the end of another.
type entered uint8

const (
	unknownYet entered = iota // of a cache
	called                    // there is no such jump
	jumped                    // by its jump
	either                    // by its jump, or else the caller called it
)

// tails is what a replayer needs to tell tail calls.
type tails struct {
	TailCalls
	held  bool // the call on top of the stack has ended, at time at
	at    uint64
	how   End
	cache []pair
}

// pair is a place in a cache of pairs of functions.
type pair struct {
	from, to calllog.FuncID
	how      entered
}

const cacheBits = 12

func newTails(t *TailCalls) *tails {
	if t == nil {
		return nil
	}
	return &tails{TailCalls: *t}
}

// holds reports whether a call that ends so may go on in another.
func (t *tails) holds(how End) bool { return how == Tail || !t.Told && how == Returned }

// after returns how to was entered when from had just ended.
func (t *tails) after(from, to calllog.FuncID) entered {
	if t.cache == nil {
		t.cache = make([]pair, 1<<cacheBits)
	}
	slot := &t.cache[(uint32(from)*0x9e3779b1^uint32(to)*0x85ebca6b)>>(32-cacheBits)]
	if slot.how == unknownYet || slot.from != from || slot.to != to {
		slot.from, slot.to, slot.how = from, to, t.decide(from, to)
	}
	return slot.how
}

func (t *tails) decide(from, to calllog.FuncID) entered {
	switch {
	case !t.Code.Jumps(from, to):
		return called
	case t.Told && t.Code.Closed(from):
		return jumped
	}
	return either
}

// hold keeps a call on the stack that has ended.
func (r *replayer) hold(t uint64, how End) {
	r.tails.held, r.tails.at, r.tails.how = true, t, how
}

// settle lets the exit take place that was held back.
func (r *replayer) settle() {
	if r.tails == nil {
		return
	}
	if r.chunk != nil {
		r.chunk.follows = false
	}
	if r.tails.held {
		r.tails.held = false
		r.leave(r.tails.at, r.tails.how)
		r.release(r.tails.at, r.tails.how)
	}
}

func (r *replayer) tailedEnter(e *calllog.Event, t uint64, args []uint64) {
	inferred, ok := r.precede(e.Func, t)
	if !ok {
		r.chunk.leave(r, t)
		return
	}
	n := len(r.stack)
	r.enter(e, t, args)
	if len(r.stack) > n {
		r.stack[n].tailed, r.stack[n].inferred = false, inferred
	}
}

// tailedExit ends a call of fn, or holds its end back.
func (r *replayer) tailedExit(fn calllog.FuncID, t uint64, how End) {
	r.settle()
	switch {
	case !r.onTop(fn) && !r.reach(fn, t, how): // it is of no call
	case r.tails.holds(how):
		r.hold(t, how)
	default:
		r.leave(t, how)
		r.release(t, how)
	}
}

// precede is what comes before an enter of fn at time t. Results are those of follow.
func (r *replayer) precede(fn calllog.FuncID, t uint64) (inferred, ok bool) {
	if r.tails.held {
		return r.follow(fn, t)
	}
	if c := r.chunk; c != nil && c.follows {
		c.follows = false
		p := &c.pieces[len(c.pieces)-1]
		p.following, p.follower, p.since = true, fn, t
	}
	return false, true
}

// follow is about an enter of fn at time t right behind an exit that was held back: it
// leaves the frame that ended as the caller, or none. False means that what follows is
// not for this chunk.
func (r *replayer) follow(fn calllog.FuncID, t uint64) (inferred, ok bool) {
	top := len(r.stack) - 1
	how := r.tails.after(r.stack[top].fn, fn)
	if how == called {
		r.settle()
		return false, true
	}
	base, circle := r.chain(top, fn)
	if r.chunk != nil && base == 0 && (how == either || r.chunk.continues()) {
		return false, false
	}
	if how == either && base > 0 && !r.tails.Code.MayCall(r.stack[base-1].fn, fn) {
		how = jumped
	}
	if how != jumped || circle || len(r.stack) >= r.opt.depth {
		r.stats.TailsLeft++
		r.settle()
		return false, true
	}
	r.stats.TailCalls++
	r.tails.held, r.stack[top].tailed = false, true
	if r.open != nil {
		r.open[r.stack[top].fn]--
	}
	for i := base; t > r.tails.at && i <= top; i++ {
		r.stack[i].start += t - r.tails.at
	}
	return true, true
}

// chain returns where the chain of tail calls begins that ends at a height of the stack,
// and whether fn is in it.
func (r *replayer) chain(top int, fn calllog.FuncID) (base int, circle bool) {
	circle = r.stack[top].fn == fn
	for base = top; base > 0 && r.stack[base-1].tailed; base-- {
		circle = circle || r.stack[base-1].fn == fn
	}
	return base, circle
}

// release ends the callers that ended by a jump to the call that was on top of the
// stack.
func (r *replayer) release(end uint64, how End) {
	if how == Returned {
		how = Tail
	}
	for n := len(r.stack); n > 0 && r.stack[n-1].tailed; n-- {
		r.leave(end, how)
	}
	if c := r.chunk; c != nil && len(r.stack) == 0 && c.continues() {
		c.resume(end, how)
	}
}

// Unfiltered reports whether a log certainly has calls of any length. A runtime that
// leaves short ones out does so below some microseconds: the beginnings of the threads
// have to have shorter ones, and more of them than such a runtime lets through by
// mistake, which it does where its buffers end, all thousand events or more.
func Unfiltered(ctx context.Context, log calllog.Log) (bool, error) {
	const enough, least, oneIn = 1 << 16, 1000, 256 // events of a thread, ns, events
	clock := newTicker(log.Info().Clock)
	if log.Info().Clock.Hz == 0 {
		return false, nil
	}
	short, all := 0, 0
	for i, t := range log.Threads() {
		events := 0
		var ignored []*calllog.Damage
		err := eachBatch(ctx, log, i, 0, t.Parts, &ignored, func(b *calllog.Batch) bool {
			for k := 1; k < len(b.Events); k++ {
				// A pair that a runtime would have dropped: see Stats.Shortest.
				in, out := &b.Events[k-1], &b.Events[k]
				if in.Kind == calllog.Enter && out.Kind == calllog.Exit && in.Func == out.Func && in.CPU == out.CPU &&
					out.Time >= in.Time && clock.time(out.Time)-clock.time(in.Time) < least {
					short++
				}
			}
			events += len(b.Events)
			return events < enough
		})
		if err != nil {
			return false, err
		}
		all += events
	}
	return short*oneIn > all, nil
}
