package spikes

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Late is how much of the late time the rows of a report explain. Late is the time of the outermost calls that took
// too long, without those that contain all work of a thread, waits for work, and freezes. Times are nanoseconds,
// lower bounds.
type Late struct {
	Time      uint64 `json:"time_ns"`
	Explained uint64 `json:"explained_ns"` // in calls that are ranked: peaks, and callers with what they called
	Idle      uint64 `json:"idle_ns"`      // not in Time: waits for work
	Frozen    uint64 `json:"frozen_ns"`    // not in Time: processes stood still
	// Outside is the time of the calls that contain all work of a thread, and are not ranked, in no reported call.
	Outside uint64 `json:"outside_ns"`
}

// Late returns how much of the late time is explained, after Settle.
func (s *Set) Late() Late {
	var l Late
	lost, within := uint64(0), uint64(0) // within: idle time in outer calls
	inRow := make([]bool, len(s.long))   // the call, or one around it, is a caller that is ranked
	for i := range slices.Backward(s.long) {
		c := &s.long[i]
		inRow[i] = c.listed() || c.parent >= 0 && inRow[c.parent]
		idle := c.group != nil && c.group.Idle == Idle
		outer := c.parent < 0 || s.long[c.parent].lasting
		switch {
		case c.lasting:
			l.Outside = saturate.Add(l.Outside, c.own.Lo)
		case idle:
			l.Idle = saturate.Add(l.Idle, c.time.Lo)
			if !outer {
				within = saturate.Add(within, c.time.Lo)
			}
		case outer:
			l.Time = saturate.Add(l.Time, since(c.time.Lo, saturate.Add(saturate.Add(c.frozen, c.suspended.Hi), c.awaited)))
			l.Idle = saturate.Add(l.Idle, c.awaited)
			l.Frozen = saturate.Add(l.Frozen, c.frozen)
		}
		if !c.lasting && !c.peak && !inRow[i] {
			lost = saturate.Add(lost, c.own.Lo)
		}
	}
	l.Time = since(l.Time, within)
	l.Explained = since(l.Time, lost)
	return l
}

// Explained describes in sentences how much of the late time the rows explain.
func (w *Writer) Explained() []string {
	var lines []string
	l := w.Set.Late()
	if l.Time > 0 {
		text := fmt.Sprintf("The ranked calls explain %s %% of the %s in which calls took too long.", report.Decimal(100*float64(l.Explained)/float64(l.Time)), Duration(l.Time))
		if rest := l.Time - l.Explained; rest > l.Time/20 {
			text += fmt.Sprintf(" The other %s are spread over calls that are too short to be ranked: a lower threshold shows more.", Duration(rest))
		}
		lines = append(lines, text)
	}
	if l.Idle > 0 {
		lines = append(lines, "Threads waited for work for "+Duration(l.Idle)+".")
	}
	for _, o := range w.outside() {
		lines = append(lines, fmt.Sprintf("%s of the %s of %s are in no reported call: in calls shorter than the threshold, or in functions without probes: those of libraries and, unless the build had --small 0, small ones.",
			Duration(o.own), Duration(o.time), o.name))
	}
	return lines
}

// outside is time of a function that contains all work of a thread.
type outside struct {
	name      string
	own, time uint64
}

// outside returns the functions that contain all work of a thread, and have much time in no reported call.
func (w *Writer) outside() []outside {
	const most, part = 3, 10
	sums := make(map[function]*outside)
	var list []*outside
	for i := range w.Set.long {
		c := &w.Set.long[i]
		if !c.lasting {
			continue
		}
		loc := w.Name(c.at, !c.exact)
		o := sums[functionOf(&loc)]
		if o == nil {
			o = &outside{name: report.Printable(loc.Outer().Function)}
			sums[functionOf(&loc)] = o
			list = append(list, o)
		}
		o.own, o.time = saturate.Add(o.own, c.own.Lo), saturate.Add(o.time, c.time.Lo)
	}
	stablesort.Func(list, func(a, b *outside) int { return cmp.Compare(b.own, a.own) })
	var out []outside
	for _, o := range list {
		if len(out) < most && o.own >= o.time/part && o.own >= 1e8 {
			out = append(out, *o)
		}
	}
	return out
}
