package account

import (
	"cmp"
	"context"
	"runtime"
	"sync"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// Sizes of segments in bytes of a log, mostly 8 bytes per event, such that putting one together takes little of
// the time of replaying it, and a short log has work for all workers.
const (
	minSegment      = 1 << 20
	maxSegment      = 64 << 20
	segmentsPerCore = 3
)

// line is a thread in work: its stack as far as it is known, and the segments after that.
type line struct {
	r     *replayer
	cuts  []int // segment i has the parts from cuts[i] to cuts[i+1]
	done  int   // segments that are in r
	busy  bool  // a worker is stitching into r
	ready map[int]*segment
}

// schedule hands the segments of all threads to workers, in order.
type schedule struct {
	ctx     context.Context
	log     calllog.Log
	threads []calllog.Thread
	opt     Options
	workers int

	mu     sync.Mutex
	moved  sync.Cond // a line's done has grown, or err was set
	lines  []*line
	thread int // of the segment to hand out next
	index  int
	err    error

	progress sync.Mutex
	bytes    int64
}

// runAll replays all threads.
func runAll(ctx context.Context, log calllog.Log, opt Options) ([]*replayer, error) {
	s := &schedule{ctx: ctx, log: log, threads: log.Threads(), opt: opt, workers: opt.Workers}
	if s.workers <= 0 {
		s.workers = runtime.GOMAXPROCS(0)
	}
	s.moved.L = &s.mu
	rooms := rooms(s.threads, opt.Memory)
	if opt.Memory > 0 {
		s.opt.nodes = min(cmp.Or(opt.nodes, maxChunkNodes), max(minRoom, int(opt.Memory/calltrie.NodeBytes/8)))
	}
	for i, t := range s.threads {
		opt.room = rooms[i]
		s.lines = append(s.lines, &line{
			r: newReplayer(log, i, opt), cuts: cuts(t, s.workers, opt.chunk), ready: make(map[int]*segment),
		})
	}
	var all sync.WaitGroup
	for range s.workers {
		all.Go(s.work)
	}
	all.Wait()
	if s.err != nil {
		return nil, s.err
	}
	runs := make([]*replayer, len(s.lines))
	for i, l := range s.lines {
		runs[i] = l.r
	}
	return runs, nil
}

// cuts returns where to cut a thread: the parts that segments begin with, and the
// number of all parts.
func cuts(t calllog.Thread, workers int, size int64) []int {
	if size <= 0 {
		size = min(max(t.Bytes/int64(segmentsPerCore*workers), minSegment), maxSegment)
	}
	step := t.Parts
	if t.Bytes > size {
		step = int(max(1, int64(t.Parts)*size/t.Bytes))
	}
	var list []int
	for at := 0; at < t.Parts; at += step {
		list = append(list, at)
	}
	return append(list, t.Parts)
}

// work takes segments until there are no more.
func (s *schedule) work() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		l, thread, i := s.apply()
		if l == nil {
			return
		}
		var seg *segment
		of := stretch{s.log, thread, l.cuts[i], l.cuts[i+1]}
		direct := i == l.done && !l.busy
		l.busy = l.busy || direct
		s.mu.Unlock()
		var err error
		if direct {
			err = l.r.run(s.ctx, of)
		} else {
			seg = replaySegment(s.ctx, of, s.opt)
			err = seg.err
		}
		s.report(thread, of.from, of.to)
		s.mu.Lock()
		if direct {
			l.busy = false
			l.done++
		} else {
			l.ready[i] = seg
		}
		s.fail(err)
		s.drain(l)
		s.moved.Broadcast()
	}
}

// apply returns the next segment: its thread and its number there. It waits if stitching lags so far that segments
// would accumulate, and returns nil at the end. It is called with the lock held.
func (s *schedule) apply() (l *line, thread, index int) {
	for s.err == nil && s.thread < len(s.lines) {
		l = s.lines[s.thread]
		switch {
		case s.index >= len(l.cuts)-1:
			empty := s.index == 0 // it has no parts
			s.thread, s.index = s.thread+1, 0
			if empty {
				s.finish(l)
			}
		case s.index-l.done > 2*s.workers:
			s.moved.Wait()
		default:
			s.index++
			return l, s.thread, s.index - 1
		}
	}
	return nil, 0, 0
}

// drain stitches the next segments, unless another worker does. It is called with the lock held and releases it
// meanwhile.
func (s *schedule) drain(l *line) {
	for !l.busy && s.err == nil {
		seg := l.ready[l.done]
		if seg == nil {
			break
		}
		delete(l.ready, l.done)
		l.busy = true
		s.mu.Unlock()
		err := l.r.apply(s.ctx, s.log, seg)
		s.mu.Lock()
		l.busy = false
		l.done++
		s.fail(err)
		s.moved.Broadcast()
	}
	if !l.busy && s.err == nil && l.done == len(l.cuts)-1 {
		s.finish(l)
	}
}

// finish ends a thread whose segments are all done, with the lock held.
func (s *schedule) finish(l *line) {
	l.busy = true // for good
	s.mu.Unlock()
	r, err := l.r.conclude(s.ctx, s.log)
	s.mu.Lock()
	l.r = r
	s.fail(err)
}

func (s *schedule) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// report reports progress.
func (s *schedule) report(thread, from, to int) {
	if s.opt.Progress == nil {
		return
	}
	// Differences of rounded positions sum up to the whole.
	t := s.threads[thread]
	at := func(part int) int64 { return int64(float64(t.Bytes) * (float64(part) / float64(t.Parts))) }
	s.progress.Lock()
	defer s.progress.Unlock()
	s.bytes += at(to) - at(from)
	s.opt.Progress(s.bytes)
}

// apply applies a segment to the stack, and then replays its rest.
func (r *replayer) apply(ctx context.Context, log calllog.Log, s *segment) error {
	var events uint64
	for _, c := range s.chunks {
		if !c.fits(r) {
			return r.rest(ctx, log, s, events)
		}
		r.stitch(c)
		events += c.r.stats.Events
	}
	if s.cut {
		return r.rest(ctx, log, s, events)
	}
	r.damage = append(r.damage, s.damage[:min(len(s.damage), maxDamage-len(r.damage))]...)
	return nil
}

// conclude ends a thread that was replayed as a whole. If its enters accumulated, it is replayed once more to
// count them separately.
func (r *replayer) conclude(ctx context.Context, log calllog.Log) (*replayer, error) {
	if r.stats.Exits+r.stats.TailExits == 0 && r.stats.Enters > 1 {
		again := newReplayer(log, r.thread, r.opt) // which has the room of the thread
		if err := again.prescan(ctx, log); err != nil {
			return nil, err
		}
		if again.flat {
			r = again
			if err := r.run(ctx, wholeThread(log, r.thread)); err != nil {
				return nil, err
			}
		}
	}
	r.finish()
	return r, nil
}
