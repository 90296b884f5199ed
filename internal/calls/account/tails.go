package account

import (
	"context"

	"github.com/cairnprof/cairn/calllog"
)

// Problem: where B ends by a jump to C, a log has B's exit and then C's enter, as if the caller of B, A, had
// called both. C must be put below B, but only if it is certain that A did not call it.
//
// Two facts can make that certain. Either every jump by which B may end enters a function that the log has, and
// the log says that B ended by a jump: then the next enter is its target. Or C is entered only by direct
// branches of functions in the log, and A has no call of it: then only B's jump is left. That the events are
// close in time proves nothing: a function without records may be as quick, and clocks are coarse. And nothing
// is certain in a log without short calls: one of them may have jumped to C.
//
// How: the exit of a call that may end by a jump is held back until the next event. If that is the enter of a
// possible target, the frame stays, as tailed, and ends with its callee. Any other event, and a border of
// blocks, makes the exit take effect at its own time. The time between exit and enter remains the caller's:
// only the callee's time moves, into that of the function that jumped there, and self times do not change. So
// that calls still nest, the functions of a chain begin later by that gap.
//
// If a function of a chain of tail calls is entered again from the chain's end, it begins a new chain, as a
// loop would; otherwise stacks could grow without limit.

// Code describes what the code of functions in a log can do.
type Code interface {
	// Jumps reports whether a direct jump by which from may end enters to.
	Jumps(from, to calllog.FuncID) bool
	// Closed reports whether all jumps by which fn may end enter functions that the
	// log has.
	Closed(fn calllog.FuncID) bool
	// MayCall reports whether a call may enter fn while caller is the innermost call in
	// the log: a call by caller, or by code that is not recorded in the log.
	MayCall(caller, fn calllog.FuncID) bool
}

// TailCalls control how functions are put below those that jumped to them. They are for logs that have calls of
// any length, see Unfiltered. Code must be safe for concurrent use.
type TailCalls struct {
	Code Code
	// Told is set if the log has TailExit for functions that end by a jump.
	Told bool
}

// entered classifies how one function was entered after the end of another.
type entered uint8

const (
	unknownYet entered = iota // of a cache
	called                    // there is no such jump
	jumped                    // by its jump
	either                    // by its jump, or by a call of the caller
)

// tails is the replayer's state for tail calls.
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

// holds reports whether a call with that end may have jumped to another function.
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

// hold keeps an ended call on the stack.
func (r *replayer) hold(t uint64, how End) {
	r.tails.held, r.tails.at, r.tails.how = true, t, how
}

// settle applies the exit that was held back.
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
	n := len(r.stack.Frames)
	r.enter(e, t, args)
	if len(r.stack.Frames) > n {
		r.stack.Frames[n].Data.inferred = inferred
	}
}

// tailedExit ends a call of fn, or holds its end back.
func (r *replayer) tailedExit(fn calllog.FuncID, t uint64, how End) {
	r.settle()
	switch {
	case how == arrived:
		r.exit(fn, t, how)
	case !r.stack.OnTop(fn) && !r.reach(fn, t, how): // it belongs to no call
	case r.tails.holds(how):
		r.hold(t, how)
	default:
		r.leave(t, how)
		r.release(t, how)
	}
}

// precede prepares an enter of fn at time t. Results are those of follow.
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

// follow handles an enter of fn at time t directly after a held exit: it leaves the ended frame on the stack as
// the caller, or removes it. False means that the event does not belong to this chunk.
func (r *replayer) follow(fn calllog.FuncID, t uint64) (inferred, ok bool) {
	stack := r.stack.Frames
	top := len(stack) - 1
	how := r.tails.after(stack[top].Func, fn)
	if how == called {
		r.settle()
		return false, true
	}
	base, circle := r.chain(top, fn)
	if r.chunk != nil && base == 0 && (how == either || r.chunk.continues()) {
		return false, false
	}
	if how == either && base > 0 && !r.tails.Code.MayCall(stack[base-1].Func, fn) {
		how = jumped
	}
	if how != jumped || circle || r.stack.Full() {
		r.stats.TailsLeft++
		r.settle()
		return false, true
	}
	r.stats.TailCalls++
	r.tails.held = false
	r.stack.Jump(top)
	for i := base; t > r.tails.at && i <= top; i++ {
		stack[i].Data.start += t - r.tails.at
	}
	return true, true
}

// chain returns the beginning of the chain of tail calls that ends at a height of the stack, and whether fn is
// in it.
func (r *replayer) chain(top int, fn calllog.FuncID) (base int, circle bool) {
	stack := r.stack.Frames
	circle = stack[top].Func == fn
	for base = top; base > 0 && stack[base-1].Jumped; base-- {
		circle = circle || stack[base-1].Func == fn
	}
	return base, circle
}

// release ends the callers that ended by a jump to the call that was on top of the stack.
func (r *replayer) release(end uint64, how End) {
	if how == Returned {
		how = Tail
	}
	for n := len(r.stack.Frames); n > 0 && r.stack.Frames[n-1].Jumped; n-- {
		r.leave(end, how)
	}
	if c := r.chunk; c != nil && len(r.stack.Frames) == 0 && c.continues() {
		c.resume(end, how)
	}
}

// Unfiltered reports whether a log certainly has calls of any length. A runtime that drops short calls does so
// below some microseconds: the beginnings of the threads must have shorter ones, and more than such a runtime
// keeps by mistake, at the ends of its buffers, once in a thousand events or more.
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
		err := stretch{log, i, 0, t.Parts}.each(ctx, &ignored, func(b *calllog.Batch) bool {
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
