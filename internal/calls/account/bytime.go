package account

import (
	"container/heap"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/cairnprof/cairn/calllog"
)

// ThreadStep is a step and its thread.
type ThreadStep struct {
	Thread int // index into the log's Threads
	Step
	// Leaf is the end of a call, if that is the thread's next step; else nil.
	Leaf *Step
}

// ByTime yields the steps of all threads of a log in the order of time; at equal times by thread. The memory of
// a step is reused for the next. It holds one batch of each thread, and passes the result that Run would
// return, without slowest calls, to done, which may be nil. Errors are as for Replay.All.
func ByTime(ctx context.Context, log calllog.Log, opt Options, done func(*Result)) iter.Seq2[*ThreadStep, error] {
	return func(yield func(*ThreadStep, error) bool) {
		var h stepHeads
		var all []*stepHead
		defer func() {
			for _, x := range all {
				x.stop()
			}
		}()
		res := &Result{}
		// ok handles the error of a thread, and reports whether to continue.
		ok := func(err error) bool {
			d := (*calllog.Damage)(nil)
			if errors.As(err, &d) {
				res.Damage = append(res.Damage, d)
			}
			return err == nil || yield(nil, err) && d != nil
		}
		for t := range log.Threads() {
			x := &stepHead{thread: t, replay: NewReplay(log, t, opt)}
			x.pull, x.stop = iter.Pull2(x.replay.Steps(ctx))
			all = append(all, x)
			// Both the first step and the one after it.
			for range 2 {
				if !ok(x.advance()) {
					return
				}
			}
			if x.has {
				h = append(h, x)
			}
		}
		heap.Init(&h)
		var out ThreadStep
		for len(h) > 0 {
			x := h[0]
			out = ThreadStep{Thread: x.thread, Step: x.step}
			if n := &x.next; x.step.What == Begins && x.hasNext && n.What == Ends && n.Call.ID == x.step.Call.ID {
				out.Leaf = n
			}
			if !yield(&out, nil) || !ok(x.advance()) {
				return
			}
			if x.has {
				heap.Fix(&h, 0)
			} else {
				heap.Pop(&h)
			}
		}
		for _, x := range all {
			res.Threads = append(res.Threads, x.replay.Thread())
		}
		if done != nil {
			done(res)
		}
	}
}

// stepHead is the next two steps of a thread.
type stepHead struct {
	thread       int
	replay       *Replay
	pull         func() (*Step, error, bool)
	stop         func()
	step, next   Step
	has, hasNext bool
	ended        bool
}

// advance moves on by a step. It returns an error met on the way; if that was damage, the steps are valid.
func (x *stepHead) advance() (err error) {
	x.step, x.has = x.next, x.hasNext
	x.hasNext = false
	for !x.ended {
		s, failure, more := x.pull()
		if !more {
			x.ended = true
			break
		}
		if failure != nil {
			err = errors.Join(err, failure)
			continue
		}
		x.next, x.hasNext = *s, true
		x.next.Call.Args = slices.Clone(s.Call.Args)
		if p := s.Payload; p != nil {
			x.next.Payload = &calllog.Payload{Args: slices.Clone(p.Args), Data: slices.Clone(p.Data), Type: p.Type}
		}
		break
	}
	return err
}

type stepHeads []*stepHead

func (h stepHeads) Len() int { return len(h) }
func (h stepHeads) Less(i, j int) bool {
	if h[i].step.At != h[j].step.At {
		return h[i].step.At < h[j].step.At
	}
	return h[i].thread < h[j].thread
}
func (h stepHeads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *stepHeads) Push(x any)   { *h = append(*h, x.(*stepHead)) }
func (h *stepHeads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
