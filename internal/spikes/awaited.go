package spikes

import "github.com/cairnprof/cairn/format/tracelog"

// A thread of a server can get work in the system call in which it waits for it, and then wait for a processor, in the same
// call: the first part is idle, and only the second is late.

// awaited returns for how long the thread of a spike waited for work with nothing begun, if the rest was a wait for a
// processor that took its threshold by itself: only that is late. What the wait was for must be known.
func (s *Set) awaited(sp *Spike) uint64 {
	y := sp.Why()
	if y == nil || y.Wait == nil || len(y.Wait.Reasons) > 0 || y.Wait.On&accepts == 0 || y.InCall == 0 || !most(y.Slept.Lo, sp.alive().Lo, 8) ||
		!forWork[y.Usage.Call] && !forClient[y.Usage.Call] || 2*(uint32(y.InCall)+uint32(y.Ready)) < uint32(y.Waits) || y.mayBeIdle(sp.alive(), sp.Threshold) {
		return 0
	}
	if y.Wait.On&tracelog.WaitListener == 0 && s.begunBefore(sp) {
		return 0
	}
	return y.inCall()
}

// begunBefore reports whether a call around a spike that does not last as long as the process had begun before it.
func (s *Set) begunBefore(sp *Spike) bool {
	for i := 1; i < len(sp.Stack); i++ {
		f := &sp.Stack[i]
		if f.Timed() && since(f.Time.Lo, sp.Peak.Hi) >= max(1, sp.Threshold/8) && !s.lastsOn(sp, f.Time.Lo) {
			return true
		}
	}
	return false
}
