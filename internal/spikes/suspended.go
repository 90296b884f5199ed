package spikes

import "github.com/cairnprof/cairn/format/tracelog"

// A coroutine that is suspended does not run, and what it does not run for is not its calls' time: they are ranked by
// the rest of it. Those that would not have been too long are listed after the ranking. The time of a log is that of
// the wall, so that calls lie in their callers.

// ran returns the part of a time in which the stack of a call ran.
func ran(time, suspended tracelog.Interval) tracelog.Interval { return less(time, suspended) }

// Ran is the spike's time without that in which its stack was suspended.
func (sp *Spike) Ran() tracelog.Interval { return ran(sp.Peak, sp.Suspended) }

// wasSuspended reports whether a spike was too long only since its stack was suspended.
func (sp *Spike) wasSuspended() bool {
	return len(sp.Stack) > 0 && sp.Blame == nil && sp.Stack[0].Flags&tracelog.Suspended != 0
}

// resume takes the time in which stacks were suspended from the calls of theirs. Callees come first.
func (s *Set) resume() {
	for i := range s.long {
		c := &s.long[i]
		if c.suspended.Hi == 0 {
			continue
		}
		rest := c.suspended
		for k := c.first; k >= 0; k = s.long[k].next {
			rest = less(rest, s.long[k].suspended)
		}
		c.own, c.blame = less(c.own, rest), less(c.blame, rest)
	}
}
