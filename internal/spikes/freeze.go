package spikes

import (
	"fmt"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/saturate"
)

// A process that is stopped (SIGSTOP), frozen (cgroups), or whose machine is paused, stands still with all its
// threads: each call that is open takes longer, and is not the reason. The clock's thread tells that from a wait
// for a processor by its run delay, see package wire.

// frozenIn returns for how long the process stood still in the time of a call, as far as its lower bound includes
// that.
func (s *Set) frozenIn(log int, end uint64, time tracelog.Interval) uint64 {
	begin, sum := since(end, time.Lo), uint64(0)
	for _, f := range s.Logs[log].Freezes {
		sum = saturate.Add(sum, since(min(f.To, end), max(f.From, begin)))
	}
	return min(sum, time.Lo)
}

// own is the lower bound of a spike without the time in which the process stood still, its stack was suspended, or its
// thread waited for work.
func (sp *Spike) own() uint64 { return since(sp.Ran().Lo, saturate.Add(sp.Frozen, sp.Awaited)) }

// alive is the spike's time without that in which its stack was suspended, or the process stood still.
func (sp *Spike) alive() tracelog.Interval { return less(sp.Ran(), exact(sp.Frozen)) }

// stood reports whether a spike would be none if the process had not stood still.
func (sp *Spike) stood() bool { return sp.Frozen > 0 && sp.own() < max(1, sp.Threshold) }

// frozen reports whether that holds for all spikes of a group.
func (g *Group) frozen() bool { return g.froze > 0 && g.froze == g.Written }

// thaw takes the time in which the process stood still from what callers are blamed for.
func (s *Set) thaw() {
	for i := range s.long { // callees come first
		c := &s.long[i]
		c.frozen = s.frozenIn(c.log, c.end, c.time)
		if c.frozen == 0 || c.peak {
			continue
		}
		rest := c.frozen
		for k := c.first; k >= 0; k = s.long[k].next {
			rest = since(rest, s.long[k].frozen)
		}
		c.blame.Lo = since(c.blame.Lo, rest)
		c.own.Lo = since(c.own.Lo, rest)
		c.blame.Hi, c.own.Hi = max(c.blame.Lo, since(c.blame.Hi, rest)), max(c.own.Lo, since(c.own.Hi, rest))
	}
}

// FreezeRow is a time in which a process stood still.
type FreezeRow struct {
	tracelog.Freeze
	Log   int
	Calls uint64 // peaks in whose time it was
}

// FreezeRows returns the times in which processes stood still, log by log.
func (s *Set) FreezeRows() []FreezeRow {
	var rows []FreezeRow
	first := make([]int, len(s.Logs))
	for i := range s.Logs {
		first[i] = len(rows)
		for _, f := range s.Logs[i].Freezes {
			rows = append(rows, FreezeRow{Freeze: f, Log: i})
		}
	}
	for i := range s.long {
		c := &s.long[i]
		if c.frozen == 0 || !c.peak {
			continue
		}
		for k := first[c.log]; k < len(rows) && rows[k].Log == c.log; k++ {
			if f := &rows[k]; f.From < c.end && f.To > since(c.end, c.time.Lo) {
				f.Calls++
			}
		}
	}
	return rows
}

// Freezes describes the times in which processes stood still, one a line.
func (w *Writer) Freezes() []string {
	const most = 20
	var lines []string
	rows := w.Set.FreezeRows()
	for _, f := range rows[:min(most, len(rows))] {
		l := &w.Set.Logs[f.Log]
		text := "freeze " + Interval(exact(since(f.To, f.From))) + "  all threads"
		if len(w.Set.Logs) > 1 {
			text += fmt.Sprintf(" of process %d", l.Header.PID)
		}
		text += fmt.Sprintf("  from %s to %s: the process stood still, and did not wait for a processor (SIGSTOP, a cgroup freezer, swapping, or a pause of the machine)",
			seconds(since(f.From, l.Header.Monotonic)), seconds(since(f.To, l.Header.Monotonic)))
		if f.Calls > 0 {
			text += "; " + count(f.Calls, "call", "calls") + " took longer because of it"
		}
		lines = append(lines, text)
	}
	if n := len(rows) - len(lines); n > 0 {
		lines = append(lines, count(uint64(n), "freeze more", "freezes more"))
	}
	return lines
}
