package account

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// frame is a call that has not ended.
type frame struct {
	start uint64
	child uint64 // time of its callees so far
	away  uint64 // time for which its stack was left; while it is, less the time since when
	id    uint64
	node  calltrie.NodeID
	at    calltrie.Place // of its next call
	fn    calllog.FuncID
	args  uint32 // where its arguments begin in replayer.args
	cpu   uint16
	// tailed: it ended by a jump to the call above it. inferred: its caller did.
	tailed, inferred bool
}

// replayer is a thread's stack and its results so far.
type replayer struct {
	opt    Options
	clock  ticker
	thread int
	trie   *calltrie.Trie
	room   int             // nodes when the trie is folded
	flat   bool            // the thread has enters only
	base   calltrie.NodeID // calls from outside the stack are below this node
	at     calltrie.Place  // of the next call from there
	chunk  *chunk          // if the stack began as an unknown one

	stack []frame
	args  []uint64 // of the frames, the outermost first
	over  uint64   // frames that are missing, as the stack was full

	stacks *coroutines // nil if the thread has one
	below  int         // calls below the stack
	// changed, if not nil, receives the calls for which time stops or goes on at a change of stacks.
	changed func(f *frame, depth int, parent uint64, on bool, t uint64)

	// looked is the number of frames searched in vain for exits. When it gets too large, open counts the frames
	// of each function.
	looked int
	tails  *tails // nil: tail calls stand as they are recorded
	open   map[calllog.FuncID]int

	// border is the height of the stack where a block began, until an exit shows whether the frames below are
	// still open; or settled, or inherited.
	border int
	last   uint64 // time of the event before

	stats       Stats
	first, most uint64 // least and greatest time; most does not include last
	busy        uint64
	slow        slowest
	damage      []*calllog.Damage

	// emit, if not nil, receives every call, until it returns false.
	emit    func(*Call) bool
	call    Call // being reported
	stopped bool
}

// maxLooked is the number of frames searched in vain before open frames are counted.
const maxLooked = 1 << 20

// Special values of replayer.border.
const (
	settled   = -1 // nothing to decide
	inherited = -2 // of a chunk: as it was before
)

func newReplayer(log calllog.Log, thread int, opt Options) *replayer {
	if opt.MaxNodes <= 0 {
		opt.MaxNodes = defaultMaxNodes
	}
	opt.depth = cmp.Or(opt.depth, maxDepth)
	opt.pieces = cmp.Or(opt.pieces, maxPieces)
	opt.nodes = cmp.Or(opt.nodes, maxChunkNodes)
	opt.looked = cmp.Or(opt.looked, maxLooked)
	r := &replayer{opt: opt, clock: newTicker(log.Info().Clock), thread: thread, trie: calltrie.New(), border: settled}
	r.trie.SetLimit(opt.MaxNodes)
	r.room = cmp.Or(opt.room, math.MaxInt)
	r.first = math.MaxUint64
	r.slow.limit = opt.Slowest
	r.tails = newTails(opt.TailCalls)
	return r
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

// prescan finds out whether the thread's enters accumulate: it has no exit, and a function is entered twice, or
// more functions than a stack can have. Usually the first events decide.
func (r *replayer) prescan(ctx context.Context, log calllog.Log) error {
	seen := map[calllog.FuncID]bool{}
	exit, twice := false, false
	var ignored []*calllog.Damage
	err := wholeThread(log, r.thread).each(ctx, &ignored, func(b *calllog.Batch) bool {
		for i := range b.Events {
			switch e := &b.Events[i]; {
			case e.Kind.IsExit():
				exit = true
				return false
			case e.Kind.IsEnter() && !twice:
				twice = seen[e.Func] || len(seen) == maxDepth
				seen[e.Func] = true
			}
		}
		return true
	})
	if r.flat = twice && !exit; r.flat {
		r.stats.EnterOnly = 1
	}
	return err
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
		r.border = len(r.stack)
		if r.stacks != nil {
			r.stacks.suspended = false
		}
	}
	for i := from; i < len(b.Events); i++ {
		e := &b.Events[i]
		t := r.clock.time(e.Time)
		if t < r.last || r.stats.Events == 0 {
			r.turn(t)
		}
		r.stats.Events++
		if r.stacks != nil && r.stacks.suspended && e.Kind != calllog.Resume {
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
	n := len(r.stack)
	if n >= r.opt.depth {
		r.over++
		r.stats.TooDeep++
		return
	}
	parent, at := r.base, r.at
	if n > 0 {
		parent, at = r.stack[n-1].node, r.stack[n-1].at
	}
	node, ok := r.trie.Expect(at, e.Func)
	if !ok {
		if r.trie.Len() >= r.room {
			r.fold()
			if parent, at = r.base, r.at; n > 0 {
				parent, at = r.stack[n-1].node, r.stack[n-1].at
			}
		}
		node = r.trie.ChildAt(at, parent, e.Func)
	}
	if n == cap(r.stack) {
		r.stack = slices.Grow(r.stack, 1)
	}
	r.stack = r.stack[:n+1]
	// Set field by field: copying a frame composed elsewhere takes a third of the whole loop's time, as the copy
	// waits for the preceding stores.
	f := &r.stack[n]
	f.start, f.child, f.away, f.id, f.node, f.fn = t, 0, 0, r.stats.Enters, node, e.Func
	f.at, f.args, f.cpu = calltrie.First(node), uint32(len(r.args)), e.CPU
	if len(args) > 0 {
		r.args = append(r.args, args...)
	}
	if n += r.below; n >= r.stats.MaxDepth {
		r.stats.MaxDepth = n + 1
	}
	if r.open != nil {
		r.open[e.Func]++
	}
	if r.flat {
		r.pop(t, Deduced)
	}
}

// exit ends a call of fn by the rules of the package.
func (r *replayer) exit(fn calllog.FuncID, t uint64, how End) {
	if r.onTop(fn) || r.reach(fn, t, how) {
		r.leave(t, how)
	}
}

// leave ends the call on top of the stack at its exit.
func (r *replayer) leave(t uint64, how End) {
	if how == arrived {
		return
	}
	r.pop(t, how)
	if len(r.stack) < r.border {
		r.border = settled
	}
}

// onTop reports whether the innermost call is one of fn.
func (r *replayer) onTop(fn calllog.FuncID) bool {
	n := len(r.stack)
	return n > 0 && r.stack[n-1].fn == fn && r.over == 0
}

// reach unwinds the stack until an exit of fn is one of the top call, or reports that it belongs to none.
func (r *replayer) reach(fn calllog.FuncID, t uint64, how End) bool {
	if r.over > 0 {
		if how != arrived { // some of them are left, it is not known how many
			r.over--
		}
		return false
	}
	if r.unwind(fn, t, how) {
		return true
	}
	r.nowhere(fn, t, how)
	return false
}

// unwind closes the frames above the innermost one of fn and reports whether
// there is one.
func (r *replayer) unwind(fn calllog.FuncID, t uint64, how End) bool {
	if r.open != nil && r.open[fn] == 0 {
		return false
	}
	for i := len(r.stack) - 1; i >= 0; i-- {
		if r.stack[i].fn == fn && !r.stack[i].tailed {
			if how == arrived { // they lasted until now
				for len(r.stack) > i+1 {
					r.pop(t, Deduced)
				}
			}
			r.deduce(i+1, t)
			return true
		}
	}
	// Searching for millions of orphans on a deep stack would take too long.
	if r.looked += len(r.stack); r.looked > r.opt.looked && r.open == nil {
		r.open = make(map[calllog.FuncID]int)
		for i := range r.stack {
			if !r.stack[i].tailed {
				r.open[r.stack[i].fn]++
			}
		}
	}
	return false
}

// deduce closes the frames above a height, as an event at time t implies.
func (r *replayer) deduce(height int, t uint64) {
	end := r.last
	if r.opt.UpperBound {
		end = t
	}
	for len(r.stack) > height {
		r.pop(end, Deduced)
	}
}

// nowhere handles an exit of a function that is not on the stack.
func (r *replayer) nowhere(fn calllog.FuncID, t uint64, how End) {
	if r.chunk != nil {
		r.chunk.nowhere(r, fn, t, how)
		return
	}
	if how != arrived {
		r.stats.Orphans++
		r.stats.orphansOf(fn, 1)
	}
	if len(r.stack) == r.border {
		if len(r.stack) > 0 {
			r.stats.Gaps++
		}
		r.deduce(0, t)
		r.border = settled
	}
}

// pop ends the call on top of the stack.
func (r *replayer) pop(end uint64, how End) {
	f := &r.stack[len(r.stack)-1]
	r.stack = r.stack[:len(r.stack)-1]
	if r.open != nil && !f.tailed {
		r.open[f.fn]--
	}
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
	if how == Returned && f.id == r.stats.Enters && len(r.stack)+1 != r.border && int(f.args) == len(r.args) {
		r.stats.leaf(total)
	}
	if !r.opt.CallsOnly {
		n := r.trie.Node(f.node)
		n.Add(total, self)
		if how > Tail || f.inferred || r.trie.OfOthers(f.node) {
			r.count(f, n, total-self, how)
		}
	}
	if n := len(r.stack); n > 0 {
		r.stack[n-1].child += total
		r.stack[n-1].at = calltrie.After(f.node)
	} else {
		r.outermost(total)
		r.at = calltrie.After(f.node)
	}
	if r.emit != nil || r.slow.wants(total) {
		r.report(f, total, self, how)
	}
	if int(f.args) < len(r.args) {
		r.args = r.args[:f.args]
	}
}

// count counts the special properties of a call, besides its time.
func (r *replayer) count(f *frame, n *calltrie.Node, child uint64, how End) {
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
func (r *replayer) report(f *frame, total, self uint64, how End) {
	c := &r.call // allocating one for each call would produce garbage
	*c = Call{
		Thread: r.thread, ID: f.id, Func: f.fn, Node: f.node, Depth: r.below + len(r.stack) + 1,
		Start: f.start, Duration: total, Away: f.away, Self: self, End: how, CPU: f.cpu,
	}
	if n := len(r.stack); n > 0 {
		c.Parent = r.stack[n-1].id
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
	r.stats.Open += uint64(len(r.stack))
	if r.opt.DropOpen {
		r.stack = r.stack[:0]
	}
	for len(r.stack) > 0 {
		r.pop(r.last, Open)
	}
}
