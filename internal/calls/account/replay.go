package account

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/callstack"
)

// frame is a call that has not ended.
type frame = callstack.Frame[calllog.FuncID, openCall]

// openCall is what a replay knows of such a call.
type openCall struct {
	start uint64
	child uint64 // time of its callees so far
	away  uint64 // time for which its stack was left; while it is, less the time since when
	id    uint64
	node  calltrie.NodeID
	at    calltrie.Place // of its next call
	args  uint32         // where its arguments begin in replayer.args
	cpu   uint16
	// inferred: its caller ended by a jump to it.
	inferred bool
}

// replayer is a thread's stack and its results so far.
type replayer struct {
	opt    Options
	clock  ticker
	thread int
	flat   bool // the thread has enters only
	tree
	opened
	results
	reporting
}

// tree is where calls are counted.
type tree struct {
	trie  *calltrie.Trie
	room  int             // nodes when the trie is folded
	base  calltrie.NodeID // calls from outside the stack are below this node
	at    calltrie.Place  // of the next call from there
	chunk *chunk          // if the stack began as an unknown one
}

// opened are the calls that have not ended.
type opened struct {
	stack callstack.Stack[calllog.FuncID, openCall]
	args  []uint64 // of the frames, the outermost first

	stacks *coroutines // nil if the thread has one
	below  int         // calls below the stack
	// changed, if not nil, receives the calls for which time stops or goes on at a change of stacks.
	changed func(f *frame, depth int, parent uint64, on bool, t uint64)

	tails *tails // nil: tail calls stand as they are recorded
	last  uint64 // time of the event before
}

// results are those of a thread so far.
type results struct {
	stats       Stats
	first, most uint64 // least and greatest time; most does not include last
	busy        uint64
	slow        slowest
	damage      []*calllog.Damage
}

// reporting is where calls are reported.
type reporting struct {
	// emit, if not nil, receives every call, until it returns false.
	emit    func(*Call) bool
	call    Call // being reported
	stopped bool
}

func newReplayer(log calllog.Log, thread int, opt Options) *replayer {
	if opt.MaxNodes <= 0 {
		opt.MaxNodes = defaultMaxNodes
	}
	opt.pieces = cmp.Or(opt.pieces, maxPieces)
	opt.nodes = cmp.Or(opt.nodes, maxChunkNodes)
	r := &replayer{opt: opt, clock: newTicker(log.Info().Clock), thread: thread}
	r.trie, r.stack = calltrie.New(), newStack(&opt)
	r.trie.SetLimit(opt.MaxNodes)
	r.room = cmp.Or(opt.room, math.MaxInt)
	r.first = math.MaxUint64
	r.slow.limit = opt.Slowest
	r.tails = newTails(opt.TailCalls)
	return r
}

func newStack(opt *Options) callstack.Stack[calllog.FuncID, openCall] {
	s := callstack.New[calllog.FuncID, openCall]()
	s.Limit, s.MaxLooked = cmp.Or(opt.depth, s.Limit), cmp.Or(opt.looked, s.MaxLooked)
	return s
}

// result returns the results of the thread.
func (r *replayer) result(t calllog.Thread) Thread {
	th := Thread{Thread: t, Trie: r.trie, Stats: r.stats, Busy: r.busy}
	if r.stats.Events > 0 {
		th.First, th.Last = r.first, max(r.most, r.last)
	}
	return th
}

// stretch is some parts of a thread of a log: [from, to).
type stretch struct {
	log              calllog.Log
	thread, from, to int
}

// wholeThread is all parts of a thread.
func wholeThread(log calllog.Log, thread int) stretch {
	return stretch{log, thread, 0, log.Threads()[thread].Parts}
}

// each calls do with the batches of a stretch until it returns false, and collects the damage in between, up to
// maxDamage places. It returns the first error that is not damage.
func (s stretch) each(ctx context.Context, damage *[]*calllog.Damage, do func(*calllog.Batch) bool) error {
	for b, err := range s.log.Batches(s.thread, s.from, s.to) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var d *calllog.Damage
		switch {
		case errors.As(err, &d):
			if len(*damage) < maxDamage {
				*damage = append(*damage, d)
			}
		case err != nil:
			return err
		case !do(b):
			return nil
		}
	}
	return ctx.Err()
}

// prescan finds out whether the thread's enters accumulate.
func (r *replayer) prescan(ctx context.Context, log calllog.Log) error {
	all := log.Batches(r.thread, 0, log.Threads()[r.thread].Parts)
	flat, err := calllog.EntersOnly(func(yield func(*calllog.Batch, error) bool) {
		all(func(b *calllog.Batch, err error) bool { return ctx.Err() == nil && yield(b, err) })
	})
	if r.flat = flat; flat {
		r.stats.EnterOnly = 1
	}
	return cmp.Or(ctx.Err(), err)
}

// run replays a stretch of the thread.
func (r *replayer) run(ctx context.Context, s stretch) error {
	return s.each(ctx, &r.damage, func(b *calllog.Batch) bool {
		r.batch(b, 0)
		return true
	})
}

// batch replays the events of b from the given one on. With tail calls, an exit is held back until the next
// event shows whether it was one.
func (r *replayer) batch(b *calllog.Batch, from int) {
	if b.Break && from == 0 {
		r.settle()
		r.stack.Block()
		if r.stacks != nil {
			r.stacks.Suspended = false
		}
	}
	for i := from; i < len(b.Events); i++ {
		e := &b.Events[i]
		t := r.clock.time(e.Time)
		if t < r.last || r.stats.Events == 0 {
			r.turn(t)
		}
		r.stats.Events++
		if r.stacks != nil && r.stacks.Suspended && e.Kind != calllog.Resume {
			r.starts(e.Kind.IsEnter() || e.Kind == calllog.Suspend, t)
		}
		switch e.Kind {
		case calllog.Enter:
			r.begins(e, t, nil)
		case calllog.EnterArgs:
			r.begins(e, t, argsOf(b, e))
		case calllog.Exit:
			r.stats.Exits++
			r.ends(e.Func, t, Returned)
		case calllog.TailExit:
			r.stats.TailExits++
			r.ends(e.Func, t, Tail)
		case calllog.Arrive:
			r.settle()
			r.exit(e.Func, t, arrived)
		case calllog.Custom:
			r.stats.CustomEvents++
			r.settle()
		case calllog.Typed:
			r.stats.TypedEvents++
			r.settle()
		case calllog.Suspend, calllog.Resume:
			r.switches(e, t)
		}
		if r.stopped {
			return
		}
		r.last = t
	}
}

// begins and ends replay an event by the current rule for tail calls.
func (r *replayer) begins(e *calllog.Event, t uint64, args []uint64) {
	if r.tails != nil {
		r.tailedEnter(e, t, args)
		return
	}
	r.enter(e, t, args)
}

func (r *replayer) ends(fn calllog.FuncID, t uint64, how End) {
	if r.tails != nil {
		r.tailedExit(fn, t, how)
		return
	}
	r.exit(fn, t, how)
}

func argsOf(b *calllog.Batch, e *calllog.Event) []uint64 {
	if e.Payload == 0 || int(e.Payload) > len(b.Payloads) {
		return nil
	}
	return b.Payloads[e.Payload-1].Args
}

// turn handles the first event and events earlier than the previous one.
func (r *replayer) turn(t uint64) {
	if r.stats.Events > 0 {
		r.stats.Backwards++
		r.most = max(r.most, r.last)
	}
	r.first = min(r.first, t)
}

func (r *replayer) enter(e *calllog.Event, t uint64, args []uint64) {
	r.stats.Enters++
	n := len(r.stack.Frames)
	if r.stack.Tight() && !r.stack.Ready(e.Func) {
		r.stack.Over++
		r.stats.TooDeep++
		return
	}
	parent, at := r.from()
	node, ok := r.trie.Expect(at, e.Func)
	if !ok {
		if r.trie.Len() >= r.room {
			r.fold()
			parent, at = r.from()
		}
		node = r.trie.ChildAt(at, parent, e.Func)
	}
	f := &r.stack.Push(e.Func).Data
	f.start, f.child, f.away, f.id, f.node = t, 0, 0, r.stats.Enters, node
	f.at, f.args, f.cpu = calltrie.First(node), uint32(len(r.args)), e.CPU
	if len(args) > 0 {
		r.args = append(r.args, args...)
	}
	if n += r.below; n >= r.stats.MaxDepth {
		r.stats.MaxDepth = n + 1
	}
	if r.flat {
		r.pop(t, Deduced)
	}
}

// from returns the node of the innermost call, and the place of the next one from there.
func (r *replayer) from() (calltrie.NodeID, calltrie.Place) {
	if n := len(r.stack.Frames); n > 0 {
		f := &r.stack.Frames[n-1].Data
		return f.node, f.at
	}
	return r.base, r.at
}

// exit ends a call of fn by the rules of the package.
func (r *replayer) exit(fn calllog.FuncID, t uint64, how End) {
	if how != arrived && r.stack.OnTop(fn) || r.reach(fn, t, how) {
		r.leave(t, how)
	}
}

// leave ends the call on top of the stack at its exit.
func (r *replayer) leave(t uint64, how End) {
	if how != arrived {
		r.pop(t, how)
	}
}

// reach unwinds the stack until an exit of fn is one of the top call, or reports that it belongs to none.
func (r *replayer) reach(fn calllog.FuncID, t uint64, how End) bool {
	keep, means := r.stack.Exit(fn, how == arrived)
	switch means {
	case callstack.Below:
		r.chunk.below(r, fn, t, how)
		return false
	case callstack.Nowhere, callstack.Gap:
		if how != arrived {
			r.stats.Orphans++
			r.stats.orphansOf(fn, 1)
		}
		if keep < len(r.stack.Frames) {
			r.stats.Gaps++
		}
	}
	end := r.last
	if means.Late(how == arrived, r.opt.UpperBound) {
		end = t
	}
	for len(r.stack.Frames) > keep {
		r.pop(end, Deduced)
	}
	return means == callstack.Found
}

// pop ends the call on top of the stack.
func (r *replayer) pop(end uint64, how End) {
	border := r.stack.Border()
	popped := r.stack.Pop()
	f := &popped.Data
	var total, self uint64
	if end >= f.start {
		total = end - f.start
	}
	if r.stacks != nil {
		total = f.lasted(end)
	}
	if total >= f.child {
		self = total - f.child
	}
	if end < f.start || total < f.child {
		r.stats.Clamped++
	}
	if how == Returned && f.id == r.stats.Enters && len(r.stack.Frames)+1 != border && int(f.args) == len(r.args) {
		r.stats.leaf(total)
	}
	if !r.opt.CallsOnly {
		n := r.trie.Node(f.node)
		n.Add(total, self)
		if how > Tail || f.inferred || r.trie.OfOthers(f.node) {
			r.count(f, n, total-self, how)
		}
	}
	if n := len(r.stack.Frames); n > 0 {
		up := &r.stack.Frames[n-1].Data
		up.child += total
		up.at = calltrie.After(f.node)
	} else {
		r.outermost(total)
		r.at = calltrie.After(f.node)
	}
	if r.emit != nil || r.slow.wants(total) {
		r.report(popped, total, self, how)
	}
	if int(f.args) < len(r.args) {
		r.args = r.args[:f.args]
	}
}

// count counts the special properties of a call, besides its time.
func (r *replayer) count(f *openCall, n *calltrie.Node, child uint64, how End) {
	if r.trie.OfOthers(f.node) {
		n.Total -= child
	}
	if f.inferred {
		n.Inferred++
	}
	switch how {
	case Deduced:
		n.Deduced++
		r.stats.Deduced++
	case Open:
		n.Open++
	}
}

// report passes a call to the users of single calls.
func (r *replayer) report(popped *frame, total, self uint64, how End) {
	f, n := &popped.Data, len(r.stack.Frames)
	c := &r.call // allocating one for each call would produce garbage
	*c = Call{
		Thread: r.thread, ID: f.id, Func: popped.Func, Node: f.node, Depth: r.below + n + 1,
		Start: f.start, Duration: total, Away: f.away, Self: self, End: how, CPU: f.cpu,
	}
	if n > 0 {
		c.Parent = r.stack.Frames[n-1].Data.id
	} else {
		c.Parent = r.caller()
	}
	if int(f.args) < len(r.args) {
		c.Args = r.args[f.args:]
	}
	if r.slow.wants(total) {
		r.slow.add(*c)
	}
	if r.emit != nil && !r.stopped {
		r.stopped = !r.emit(c)
	}
}

// finish ends the calls that are open at the end of the thread.
func (r *replayer) finish() {
	r.settle()
	if r.stacks != nil {
		r.finishStacks()
		return
	}
	r.stats.Open += uint64(len(r.stack.Frames))
	if r.opt.DropOpen {
		r.stack.Frames = r.stack.Frames[:0]
	}
	for len(r.stack.Frames) > 0 {
		r.pop(r.last, Open)
	}
}
