package spikes

import "github.com/cairnprof/cairn/format/tracelog"

// A thread that waits for other threads of its process, as main does for its workers, takes as long as they do. What
// they did meanwhile is the cause, and comes first; the wait is ranked behind it, since of what they did not everything
// need be known.

// Behind reports whether the spikes of a group only waited for other threads of their process.
func (g *Group) Behind() bool { return g.others > 0 && g.others == g.Written }

// behind compares two rows of which some come after all others.
func behind(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// waitedForThreads reports whether most of a spike was a wait for the end of another thread of the process, or for a
// WaitGroup. If it lasts as long as the process, this may also be a condition or a channel: who signals a condition is
// not known.
func (s *Set) waitedForThreads(sp *Spike) bool {
	const tenths = 8
	y := sp.Why()
	if y == nil || y.Wait == nil || !most(y.Slept.Lo, sp.alive().Lo, tenths) {
		return false
	}
	lasts := s.lastsOn(sp, sp.Peak.Lo)
	if len(y.Wait.Reasons) > 0 {
		main, all := y.Wait.main()
		of := main.Reason == tracelog.ReasonGroup || lasts && (main.Reason == tracelog.ReasonChannel || main.Reason == tracelog.ReasonCond)
		return of && most(main.Time, all, tenths)
	}
	if y.in() != "in futex" {
		return false
	}
	return y.Wait.On&tracelog.WaitThread != 0 || lasts && sp.Holder == nil
}

// waitsForThreads reports whether an open call waits for the end of another thread of the process, or for a WaitGroup.
func (sp *Spike) waitsForThreads() bool {
	o := sp.Open
	return o.On&tracelog.WaitThread != 0 || o.Waits && o.Reason == tracelog.ReasonGroup
}
