package calllog

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/cairnprof/cairn/internal/callstack"
)

// Problem: from the time before the selection only the stack matters, and following each call for that keeps a
// core busy for most of a long log.
//
// Choice: nearly all calls begin and end within a batch and leave no trace in the stack, whatever it was. So
// all cores cancel out such calls, some parts each, and the rest, some ten of thousands of events, is followed
// in order by the same rules as selected events. It is exact: see digester.batch. To the rules, what is
// cancelled is on a stack of which the beginning is not known.

// A digest is the rest of some parts of a thread after cancelling.
type digest struct {
	batches []digestBatch
	damage  []error
	err     error // any other, which ends the log
	now     uint64
	depth   int  // frames that it may put on a stack at most
	stacks  bool // the thread changes between stacks: the digest is not sufficient
}

// digestBatch is what is left of a batch.
type digestBatch struct {
	brk       bool
	now, last uint64 // as in selector, after the batch; last only if there was an event
	any       bool
	events    []digestEvent
}

// digestEvent is an event that has no other half in its batch.
type digestEvent struct {
	Event
	args []uint64
	now  uint64 // the greatest time of the batch so far
}

// digester makes digests.
type digester struct {
	stack callstack.Stack[FuncID, digestCall] // calls of the batch that are open
	out   digest
	left  int // enters that are left so far
}

// digestCall is a call of the batch.
type digestCall struct{ begun }

type begun struct {
	now   uint64 // the greatest time of the batch so far
	event int32  // its index in the batch
}

// digestParts makes a digest of some parts of a thread.
func digestParts(log Log, thread, from, to int) *digest {
	d := newDigester()
	for b, err := range log.Batches(thread, from, to) {
		damage := (*Damage)(nil)
		switch {
		case err == nil:
			d.batch(b)
		case errors.As(err, &damage):
			d.out.damage = append(d.out.damage, err)
		default:
			d.out.err = err
			return &d.out
		}
	}
	return &d.out
}

func newDigester() *digester {
	d := &digester{stack: callstack.New[FuncID, digestCall]()}
	d.stack.Limit, d.stack.Unknown = math.MaxInt, true
	return d
}

// batch cancels out what it can. An exit ends the innermost call of its function, and those above that have no
// exit. As long as that call began in the batch, earlier calls play no part. An exit without one may end an
// earlier call, and all open ones with it: it is kept, after the enters before it.
//
// Cancelled calls never make the stack lower than it was when the batch began, and so do not affect
// selector.border either.
func (d *digester) batch(b *Batch) {
	out := digestBatch{brk: b.Break, any: len(b.Events) > 0}
	now := uint64(0)
	events := b.Events
	for i := range events {
		e := &events[i]
		now = max(now, e.Time)
		switch {
		case e.Kind.IsEnter():
			if d.stack.Tight() {
				d.stack.Ready(e.Func)
			}
			f := &d.stack.Push(e.Func).Data
			f.now, f.event = now, int32(i)
		case e.Kind.IsExit() && d.stack.OnTop(e.Func):
			d.stack.Pop()
		case e.Kind.IsExit() || e.Kind == Arrive:
			out.now = now
			d.exit(&out, b, e)
		case e.Kind == Suspend || e.Kind == Resume:
			d.out.stacks = true
		}
	}
	d.leave(&out, b)
	if out.now = now; out.any {
		out.last = b.Events[len(b.Events)-1].Time
	}
	d.out.now = max(d.out.now, out.now)
	d.out.batches = append(d.out.batches, out)
}

// exit cancels out the calls that an exit or an arrival ends, or keeps it, after the enters before it.
func (d *digester) exit(out *digestBatch, b *Batch, e *Event) {
	arrives := e.Kind == Arrive
	keep, means := d.stack.Exit(e.Func, arrives)
	if means == callstack.Below {
		d.leave(out, b)
		out.events = append(out.events, digestEvent{Event: *e, now: out.now})
		return
	}
	if !arrives {
		keep--
	}
	for len(d.stack.Frames) > keep {
		d.stack.Pop()
	}
}

// leave appends the calls that are open.
func (d *digester) leave(out *digestBatch, b *Batch) {
	for _, f := range d.stack.Frames {
		e := digestEvent{Event: b.Events[f.Data.event], now: f.Data.now}
		if k := int(e.Payload); k > 0 && k <= len(b.Payloads) {
			e.args = slices.Clone(b.Payloads[k-1].Args)
		}
		e.Payload = 0
		out.events = append(out.events, e)
	}
	// The memory for the calls bounds their greatest height so far: cheaper than to look at each.
	d.out.depth = max(d.out.depth, d.left+cap(d.stack.Frames))
	d.left += len(d.stack.Frames)
	d.stack.Frames = d.stack.Frames[:0]
	d.stack.Settle()
}

// fits reports whether a digest is sufficient: not if the stack would be too deep, as exits count differently
// there.
func (x *selector) fits(d *digest) bool {
	return x.stacks == nil && !d.stacks && x.stack.Over == 0 && len(x.stack.Frames)+d.depth <= x.stack.Limit
}

// digested follows the rest of some parts, before the selection.
func (x *selector) digested(d *digest) {
	before := x.now
	for i := range d.batches {
		b := &d.batches[i]
		if b.brk {
			x.stack.Block()
		}
		for k := range b.events {
			e := &b.events[k]
			if x.now = max(before, e.now); e.Kind.IsExit() || e.Kind == Arrive {
				x.exit(&e.Event)
			} else {
				x.enter(&e.Event, &Payload{Args: e.args})
			}
		}
		before = max(before, b.now)
		if x.now = before; b.any {
			x.last = b.last
		}
	}
}

// digests makes the digests of parts of a thread in advance.
type digests struct {
	log              Log
	thread, to, step int
	slots            chan struct{} // one for each that is worked on, of all threads
	queue            chan chan *digest
	stop             chan struct{}
	work             sync.WaitGroup
}

// start makes digests of the parts of the thread from one on, of step parts each. The caller reads them
// with next, and must call end.
func (d *digests) start(from int) {
	d.queue, d.stop = make(chan chan *digest, cap(d.slots)), make(chan struct{})
	d.work.Go(func() {
		defer close(d.queue)
		for ; from < d.to; from += d.step {
			if !d.begin(from) {
				return
			}
		}
	})
}

// begin starts the digest of the parts from one on, unless nobody wants it any more.
func (d *digests) begin(from int) bool {
	select {
	case d.slots <- struct{}{}:
	case <-d.stop:
		return false
	}
	one := make(chan *digest, 1)
	d.work.Go(func() {
		one <- digestParts(d.log, d.thread, from, min(from+d.step, d.to))
		<-d.slots
	})
	select {
	case d.queue <- one:
		return true
	case <-d.stop:
		return false
	}
}

// next returns the next digest, nil at the end.
func (d *digests) next() *digest {
	one, ok := <-d.queue
	if !ok {
		return nil
	}
	return <-one
}

// end waits until nobody reads the log any more.
func (d *digests) end() {
	close(d.stop)
	d.work.Wait()
}

// workers returns how many digests are made at a time.
func workers(n int) int {
	if n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}
