package spikes

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Problem: calls end before their callers, so the first call of a chain to take too long need not be the cause:
// in a call of 255 ms with 150 callees of 1.7 ms only those are spikes. The goal is to rank each call that took
// too long by the time that its callees do not explain.
//
// Choice: peaks and late callers are all calls that reached their thresholds, so a call's reported descendants
// are those of them inside it: on its thread and stack, in its time, below its stack pointer. A callee explains
// its time if it took a noticeable part of it. If a hundred callees are too short for that, the reason is not one
// of them, but the caller that makes a hundred calls.

// noticeable is the part of a call's time from which a callee explains its own time: an eighth.
const noticeable = 8

// call is a call that took too long: a peak, or a caller that ended later.
type call struct {
	log       int
	tid, sp   uint32
	on        uint32 // number of its stack
	peak      bool
	lasting   bool   // it contains all the work of its thread
	loop      bool   // it contains many waits of one kind
	quiet     bool   // marks suppress its report
	episode   uint64 // a peak's own episode, or an episode within a caller; 0: none is known
	frame     uint64 // of a peak
	end       uint64
	time      tracelog.Interval
	threshold uint64
	at        Address // place in the function
	exact     bool    // at is the instruction itself
	group     *Group  // of a peak
	activity
	nesting
}

// activity is what the thread of a call did in its time.
type activity struct {
	usage     *tracelog.Usage
	wait      *tracelog.Wait
	frozen    uint64            // of its lower bound, in which the process stood still
	awaited   uint64            // of a peak's lower bound, in which it waited for work
	suspended tracelog.Interval // of its time, in which its stack did not run
}

// nesting is the place of a call among its callers and callees.
type nesting struct {
	parent, first, next int32             // indexes of calls, -1 for none: its caller, its last callee, the caller's previous callee
	own                 tracelog.Interval // its time outside all calls that are listed
	blame               tracelog.Interval // outside those that explain their time
}

// begin returns the earliest possible beginning of the call.
func (c *call) begin() uint64 { return since(c.end, c.time.Hi) }

// inside reports whether a call was made by another, directly or not. Only the low halves of stack pointers are
// known. By the coarse clock, a call may seem to begin before its caller by the clock's uncertainty.
func (c *call) inside(by *call) bool {
	slop := by.time.Hi - by.time.Lo
	return c.log == by.log && c.tid == by.tid && c.on == by.on && int32(c.sp-by.sp) < 0 && c.end <= by.end && saturate.Add(c.begin(), slop) >= by.begin() &&
		c.end >= since(by.end, by.time.Hi) && c.time.Lo <= by.time.Hi
}

// maxCalls bounds the calls that are examined: some hours of a program that has as many spikes as a log
// accepts.
const maxCalls = 2_000_000

// remember keeps a call for Settle.
func (s *Set) remember(c call) {
	if len(s.long) >= maxCalls {
		s.Unranked++
		return
	}
	c.parent, c.first, c.next = -1, -1, -1
	c.own, c.blame = c.time, c.time
	s.long = append(s.long, c)
}

// peak keeps the peak of an episode of a group.
func (s *Set) peak(sp *Spike, g *Group) {
	if len(sp.Stack) == 0 {
		return
	}
	s.remember(call{
		log: sp.Log, tid: sp.TID, sp: sp.Stack[0].SP, on: sp.On, peak: true, episode: sp.Number, frame: sp.Frame, end: sp.Time, time: sp.Peak,
		threshold: sp.Threshold, at: sp.Addrs[0], exact: !sp.isCall(0), group: g,
		activity: activity{usage: sp.Usage, wait: sp.Wait, suspended: sp.Suspended, awaited: sp.Awaited},
	})
}

// AddCaller adds the end of a caller of an episode, which may have been only counted. The same caller may be
// added for several episodes.
func (s *Set) AddCaller(log int, c *tracelog.Caller) {
	if n := len(s.long) - 1; n >= 0 {
		if l := &s.long[n]; !l.peak && l.log == log && l.tid == c.TID && l.end == c.Ended && l.sp == c.SP {
			if c.Usage != nil {
				l.usage = c.Usage
			}
			if c.Wait != nil {
				l.wait = c.Wait
			}
			l.suspended.Lo, l.suspended.Hi = max(l.suspended.Lo, c.Suspended.Lo), max(l.suspended.Hi, c.Suspended.Hi)
			return
		}
	}
	s.remember(call{
		log: log, tid: c.TID, sp: c.SP, on: c.On, quiet: c.Flags&tracelog.Ignored != 0, end: c.Ended, time: c.Time, threshold: c.Threshold,
		at: s.address(log, c.PC, c.Ended), activity: activity{usage: c.Usage, wait: c.Wait, suspended: c.Suspended},
	})
}

// nest finds the caller of each call, and the time that no callee explains.
func (s *Set) nest() {
	stablesort.Func(s.long, func(a, b call) int {
		return cmp.Or(cmp.Compare(a.log, b.log), cmp.Compare(a.tid, b.tid), cmp.Compare(a.end, b.end), cmp.Compare(a.time.Hi, b.time.Hi),
			cmp.Compare(int32(a.sp-b.sp), 0), cmp.Compare(b.begin(), a.begin()))
	})
	s.long = slices.CompactFunc(s.long, func(a, b call) bool {
		return !a.peak && !b.peak && a.log == b.log && a.tid == b.tid && a.end == b.end && a.sp == b.sp
	})
	// open are calls without a caller yet, in the order of their ends: the callees of a call are at the end.
	var open []int32
	for i := range s.long {
		c := &s.long[i]
		const most = 64 // that are of other stacks, among those that ended in its time
		others := 0
		var kept []int32
		for len(open) > 0 && others < most {
			k := open[len(open)-1]
			d := &s.long[k]
			if d.log != c.log || d.tid != c.tid || d.end < c.begin() {
				break
			}
			open = open[:len(open)-1]
			if !d.inside(c) {
				kept = append(kept, k)
				others++
				continue
			}
			d.parent, d.next, c.first = int32(i), c.first, k
			if c.episode == 0 {
				c.episode = d.episode
			}
		}
		slices.Reverse(kept)
		open = append(append(open, kept...), int32(i))
		s.explain(c)
	}
}

// explain finds the part of a call's time that its callees do not explain. The callees come first.
func (s *Set) explain(c *call) {
	var all, large tracelog.Interval
	for k := c.first; k >= 0; k = s.long[k].next {
		d := &s.long[k]
		all = plus(all, d.time)
		if d.time.Hi >= c.time.Lo/noticeable {
			large = plus(large, d.time)
		}
	}
	c.own, c.blame = less(c.time, all), less(c.time, large)
}

// plus returns the sum of two durations.
func plus(a, b tracelog.Interval) tracelog.Interval {
	return tracelog.Interval{Lo: saturate.Add(a.Lo, b.Lo), Hi: saturate.Add(a.Hi, b.Hi)}
}

// less returns the rest of a duration without parts of it.
func less(of, parts tracelog.Interval) tracelog.Interval {
	return tracelog.Interval{Lo: since(of.Lo, parts.Hi), Hi: since(of.Hi, parts.Lo)}
}

// listed reports whether a caller is listed: the time that its callees do not explain exceeds the threshold. If
// all spikes below were only counted, one of them may be the reason, unless the call took many times as long as
// its threshold.
func (c *call) listed() bool {
	least := max(1, c.threshold)
	if c.first < 0 {
		least = max(1, saturate.Mul(c.threshold, noticeable))
	}
	return !c.peak && !c.quiet && !c.lasting && c.blame.Lo >= least
}

// absorbed reports whether the time of a call counts as its caller's, as it explains nothing itself.
func (s *Set) absorbed(c *call) bool {
	for c.parent >= 0 {
		p := &s.long[c.parent]
		if p.lasting {
			return false
		}
		if c.time.Hi < p.time.Lo/noticeable {
			return true
		}
		c = p
	}
	return false
}
