package account

import (
	"context"
	"iter"

	"github.com/cairnprof/cairn/calllog"
)

// What is the kind of a Step.
type What uint8

// The steps of a thread.
const (
	Begins   What = iota // a call begins
	Ends                 // the innermost call that began ends
	Happened             // a custom or typed event
)

// Step is a step of a thread. Each call begins and ends, in the order of time, whether or not the log has an
// exit. A call on a stack that is left and continued, as a coroutine's, begins and ends several times.
type Step struct {
	What What
	// At is the time, in the unit of the package. It never goes back within a thread: if the clock did, it
	// stays until the clock has caught up.
	At uint64
	// Call is the call that begins or ends. At its beginning it has the function, the ids, the depth, the
	// start, the arguments and the CPU; for an event only the CPU.
	Call Call
	// Kind and Payload describe an event. Payload may be nil.
	Kind    calllog.Kind
	Payload *calllog.Payload
}

// Steps yields the steps of the thread, in order: the calls of All, each at its beginning and at its end, and
// the events. A step's memory is reused for the next. Errors are as for All. Either All or Steps can be ranged
// over, once.
func (p *Replay) Steps(ctx context.Context) iter.Seq2[*Step, error] {
	return func(yield func(*Step, error) bool) {
		s := &stepper{r: p.r, yield: yield}
		if p.r.opt.DropOpen {
			// Whether to leave out a call is known only at the end.
			open, err := stillOpen(ctx, p.log, p.r.thread, p.r.opt)
			if err != nil {
				yield(nil, err)
				return
			}
			s.skip = open
		}
		p.r.emit, p.r.changed = s.ends, s.changed
		if err := s.run(ctx, p.log); err != nil {
			if !p.r.stopped {
				yield(nil, err)
			}
			return
		}
		if !p.r.stopped {
			p.r.finish()
		}
	}
}

// stillOpen returns the ids of the calls that are open when a thread's events end.
func stillOpen(ctx context.Context, log calllog.Log, thread int, opt Options) (map[uint64]bool, error) {
	r := newReplayer(log, thread, opt)
	if err := r.prescan(ctx, log); err != nil {
		return nil, err
	}
	if err := r.run(ctx, wholeThread(log, thread)); err != nil {
		return nil, err
	}
	r.settle()
	open := make(map[uint64]bool, len(r.stack.Frames))
	add := func(stack []frame) {
		for i := range stack {
			open[stack[i].Data.id] = true
		}
	}
	add(r.stack.Frames)
	r.eachStack(func(c *coroutine) { add(c.stack.Frames) })
	return open, nil
}

// A stepper gives the replayer one event at a time and observes the stack.
type stepper struct {
	r     *replayer
	yield func(*Step, error) bool
	skip  map[uint64]bool // ids of calls to leave out
	began uint64          // id of the last call that was reported
	now   uint64
	step  Step
	// parted are the ids of calls whose stack was left: their last part has ended.
	parted map[uint64]bool
	args   []uint64 // of the event
}

func (s *stepper) run(ctx context.Context, log calllog.Log) error {
	r := s.r
	if err := r.prescan(ctx, log); err != nil {
		return err
	}
	defer s.damaged()
	return wholeThread(log, r.thread).each(ctx, &r.damage, func(b *calllog.Batch) bool {
		s.damaged()
		if len(b.Events) == 0 {
			r.batch(b, 0) // a block may begin even so
		}
		for i := 0; i < len(b.Events) && !r.stopped; i++ {
			s.event(b, i)
		}
		return !r.stopped
	})
}

// damaged reports the damage found so far.
func (s *stepper) damaged() {
	for _, d := range s.r.damage {
		s.r.stopped = s.r.stopped || !s.yield(nil, d)
	}
	s.r.damage = s.r.damage[:0]
}

func (s *stepper) event(b *calllog.Batch, i int) {
	r, e := s.r, &b.Events[i]
	s.args = argsOf(b, e)
	one := calllog.Batch{Events: b.Events[i : i+1], Payloads: b.Payloads, Break: b.Break && i == 0}
	r.batch(&one, 0)
	switch {
	case e.Kind.IsEnter():
		stack := r.stack.Frames
		if n := len(stack); n > 0 && stack[n-1].Data.id == r.stats.Enters && s.began < r.stats.Enters {
			parent := r.caller()
			if n > 1 {
				parent = stack[n-2].Data.id
			}
			s.began = r.stats.Enters
			s.begins(&stack[n-1], r.below+n, parent, stack[n-1].Data.start)
		}
	case e.Kind == calllog.Custom || e.Kind == calllog.Typed:
		s.step = Step{What: Happened, Kind: e.Kind, Call: Call{CPU: e.CPU}}
		if n := e.Payload; n != 0 && int(n) <= len(b.Payloads) {
			s.step.Payload = &b.Payloads[n-1]
		}
		s.report(r.last)
	}
}

func (s *stepper) begins(f *frame, depth int, parent, at uint64) {
	if s.skip[f.Data.id] {
		return
	}
	s.step = Step{Call: Call{
		Thread: s.r.thread, ID: f.Data.id, Parent: parent, Func: f.Func, Node: f.Data.node, Depth: depth,
		Start: at, Args: s.args, CPU: f.Data.cpu,
	}}
	s.report(at)
}

// changed divides the calls for which time stops: each part of a call begins and ends.
func (s *stepper) changed(f *frame, depth int, parent uint64, on bool, t uint64) {
	if s.args = nil; on {
		delete(s.parted, f.Data.id)
		s.begins(f, depth, parent, t)
		return
	}
	if s.skip[f.Data.id] {
		return
	}
	if s.parted == nil {
		s.parted = make(map[uint64]bool)
	}
	s.parted[f.Data.id] = true
	s.step = Step{What: Ends, Call: Call{
		Thread: s.r.thread, ID: f.Data.id, Parent: parent, Func: f.Func, Node: f.Data.node, Depth: depth,
		Start: f.Data.start, Duration: t - min(t, f.Data.start), CPU: f.Data.cpu,
	}}
	s.report(t)
}

// ends is called for each call that ended. Calls of no duration in threads without exits have not been reported
// as begun.
func (s *stepper) ends(c *Call) bool {
	if s.skip[c.ID] {
		return true
	}
	if s.began < c.ID {
		s.began = c.ID
		s.step = Step{Call: *c}
		s.report(c.Start)
	}
	if s.parted[c.ID] {
		delete(s.parted, c.ID)
		return true
	}
	s.step = Step{What: Ends, Call: *c}
	s.report(c.Start + c.Duration + c.Away)
	return !s.r.stopped
}

func (s *stepper) report(at uint64) {
	s.now = max(s.now, at)
	s.step.At = s.now
	if !s.r.stopped {
		s.r.stopped = !s.yield(&s.step, nil)
	}
}
