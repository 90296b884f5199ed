package spikes

import (
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/saturate"
)

// Reach describes what the logs can show, and so the meaning of "no spike". Times are nanoseconds.
type Reach struct {
	Logs       int    `json:"logs"`
	Unfinished int    `json:"unfinished"` // logs of processes that were killed, or still run
	Unknown    int    `json:"unknown"`    // logs that lack the following values
	Span       uint64 `json:"span_ns"`    // of all processes together
	// Threshold and Period are the least and the largest of all logs.
	Threshold  [2]uint64 `json:"threshold_ns"`
	Period     [2]uint64 `json:"period_ns"`
	Sure       uint64    `json:"sure_ns"`      // calls of this duration are found while the clock is on time
	SureIdle   uint64    `json:"sure_idle_ns"` // for calls that begin after the process had been idle; 0: it was not
	Signal     bool      `json:"signal"`       // signals to each thread move the clock
	Signalled  uint64    `json:"signalled"`    // threads that got such signals
	Blocked    uint64    `json:"blocked"`      // of those, threads that blocked them
	Exact      int       `json:"exact"`        // logs of processes whose calls read the exact clock
	RateError  uint32    `json:"rate_error"`   // of the exact clock, in 10^-9
	Backwards  uint64    `json:"backwards"`    // calls that ended before they began, by the exact clock
	Window     uint32    `json:"window_mib"`   // the smallest window that cannot distinguish all stack addresses; 0: all can
	Ticks      uint64    `json:"ticks"`
	Blind      uint64    `json:"blind_ns"` // time in which the clock was late
	Gaps       uint64    `json:"gaps"`
	WorstGap   uint64    `json:"worst_gap_ns"`
	Borderline uint64    `json:"borderline"` // calls that may have reached the threshold
	Slow       uint64    `json:"slow"`       // calls that were evaluated
	Limited    uint64    `json:"limited"`    // spikes that were only counted
	Dropped    uint64    `json:"dropped"`    // records that were lost
	Damaged    int64     `json:"damaged_bytes"`
	Written    uint64    `json:"written"`   // spikes in the logs
	Stacks     int       `json:"stacks"`    // of those
	Ungrouped  uint64    `json:"ungrouped"` // spikes of stacks beyond the number that is distinguished
	Uncounted  uint64    `json:"uncounted"` // spikes of stacks that are not in the logs
	Off        int       `json:"off"`       // logs of processes in which recording was switched off
	OffTime    uint64    `json:"off_ns"`    // time for which it was off
	Changes    uint64    `json:"changes"`   // of settings while the processes ran
	Ring       uint64    `json:"ring"`      // maximum number of recorded calls of a thread; 0: none
	NoWindow   uint64    `json:"no_window"` // spikes whose calls were not kept
	// NoRoom are calls that had not ended when threads were last looked at, and had no room in the log, those included
	// that contain all work of their threads; Unwatched are threads beyond those that are looked at.
	NoRoom    uint64 `json:"open_no_room"`
	Unwatched uint64 `json:"threads_not_looked_at"`
	Unjudged  uint64 `json:"unjudged"` // calls on stacks of coroutines that cannot be distinguished
	Freezes   uint64 `json:"freezes"`  // times in which a process stood still
	Late      Late   `json:"late"`     // how much of the late time the ranked calls explain
}

// Reach sums up what the logs report about themselves.
func (s *Set) Reach() *Reach {
	r := &Reach{Logs: len(s.Logs), Written: s.Episodes, Stacks: len(s.Groups), Ungrouped: s.Ungrouped, Uncounted: s.Uncounted}
	for i := range s.long {
		if s.long[i].on == tracelog.UnknownStack {
			r.Unjudged++
		}
	}
	r.Late = s.Late()
	for i := range s.Logs {
		l := &s.Logs[i]
		r.Damaged += l.Lost
		r.Freezes += uint64(len(l.Freezes))
		t := l.Trailer
		if t == nil {
			r.Unknown++
			continue
		}
		if !t.Final {
			r.Unfinished++
		}
		r.NoRoom += uint64(t.NoRoom) + uint64(t.NoRoomLasting)
		r.Unwatched += uint64(t.Unwatched)
		if t.Off {
			r.Off++
		}
		if t.Exact {
			r.Exact++
			r.RateError = max(r.RateError, t.RateError)
		}
		r.settings(l)
		r.Signal = r.Signal || t.Signal
		if t.Window != 0 && (r.Window == 0 || t.Window < r.Window) {
			r.Window = t.Window
		}
		r.WorstGap = max(r.WorstGap, t.WorstGap)
		r.Ring = max(r.Ring, t.Ring)
		r.add(l)
	}
	return r
}

// settings adds the settings of a process.
func (r *Reach) settings(l *Log) {
	t := l.Trailer
	r.holds(t.Threshold, t.Period, t)
	for i, set := range l.Settings {
		r.holds(set.Threshold, set.Period, t)
		if i > 0 {
			r.Changes++
		}
		end := t.Time
		if i+1 < len(l.Settings) {
			end = l.Settings[i+1].Time
		}
		if set.Off {
			r.OffTime = saturate.Add(r.OffTime, since(end, set.Time))
		}
	}
}

// add adds the sums of a process.
func (r *Reach) add(l *Log) {
	t := l.Trailer
	for _, sum := range []struct {
		to *uint64
		n  uint64
	}{
		{&r.Span, since(t.Time, l.Header.Monotonic)},
		{&r.Ticks, t.Ticks},
		{&r.Blind, t.Blind},
		{&r.Gaps, t.Late},
		{&r.Borderline, t.Borderline},
		{&r.Slow, t.Slow},
		{&r.Limited, t.Limited},
		{&r.Dropped, t.Dropped},
		{&r.NoWindow, uint64(t.NoWindow)},
		{&r.Signalled, uint64(t.Signalled)},
		{&r.Blocked, uint64(t.Blocked)},
		{&r.Backwards, t.Backwards},
	} {
		*sum.to = saturate.Add(*sum.to, sum.n)
	}
}

// holds adds a threshold and a period of a process.
func (r *Reach) holds(threshold, period uint64, t *tracelog.Trailer) {
	widen := func(r *[2]uint64, v uint64) {
		if r[0] == 0 {
			r[0] = v
		}
		r[0], r[1] = min(r[0], v), max(r[1], v)
	}
	widen(&r.Threshold, threshold)
	if t.Exact {
		r.Sure = max(r.Sure, saturate.Add(threshold, threshold/1000*uint64(t.RateError)/1e6+exactReading))
		return
	}
	widen(&r.Period, period)
	interval := saturate.Add(period, period)
	if t.Signal {
		period /= 2 // several threads may record ticks at that rate
	}
	r.Sure = max(r.Sure, sure(threshold, period, interval))
	if t.Idle > 0 {
		interval := max(saturate.Add(period, saturate.Add(period, period)), saturate.Add(threshold/2, period))
		r.SureIdle = max(r.SureIdle, sure(threshold, period, interval))
	}
}

// sure returns how long a call must take to be found for certain, if no interval of the clock around its
// beginning is longer than interval: its lower bound is below the truth by at most that. For calls longer than
// 1984 periods the clock remembers only every 8th tick, for 8 times longer ones every 64th, up to every 4096th
// (search in timed_clock.c), and the lower bound may be too low by that many ticks.
func sure(threshold, period, interval uint64) uint64 {
	const remembered, shift, levels, largest = 1984, 3, 5, 1 << 48
	period, interval = min(period, largest), min(interval, largest)
	for level := range levels {
		if at := saturate.Add(threshold, interval<<(shift*level)); level == levels-1 || at <= remembered*period<<(shift*level) {
			return at
		}
	}
	return threshold // not reached
}

// exactReading is the time to read the exact clock, with an allowance for cold caches: a call's lower bound is
// below the truth by at most that.
const exactReading = 2000

// clock describes the clocks that time calls.
func (r *Reach) clock() string {
	var kinds []string
	if r.Period[1] > 0 || r.Exact == 0 {
		how := "the clock advances every " + span(r.Period)
		if r.Signal {
			how += ", by signals in " + count(r.Signalled, "thread", "threads")
		}
		kinds = append(kinds, how)
	}
	if r.Exact > 0 {
		kinds = append(kinds, fmt.Sprintf("each call reads the exact clock, whose rate is known to %g ppm", float64(r.RateError)/1000))
	}
	return strings.Join(kinds, "; ")
}

// span formats a duration, or the least and the largest.
func span(v [2]uint64) string {
	if v[0] == v[1] {
		return Duration(v[0])
	}
	return Duration(v[0]) + " to " + Duration(v[1])
}

// Lines describe the reach in sentences.
func (r *Reach) Lines() []string {
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if r.Unknown < r.Logs {
		r.sure(say)
	}
	if r.Blocked > 0 {
		say("%s blocked the signal: only other threads advanced the clock for it.", count(r.Blocked, "thread", "threads"))
	}
	if r.Backwards > 0 {
		say("%s before its beginning by the exact clock: the counters of the processors differ.", count(r.Backwards, "call ended", "calls ended"))
	}
	if r.Window > 0 {
		say("Masked window of %d MiB, because address space is limited: a call may be missed, or reported too short, if another one had a stack address that differs by a multiple of that.", r.Window)
	}
	if r.Ring > 0 {
		say("The last %s calls of each thread were recorded; %s.", report.Count(r.Ring),
			either(r.NoWindow > 0, "those around "+count(r.NoWindow, "spike", "spikes")+" were replaced by those around longer ones",
				"those around each spike were saved unless replaced by those around longer ones"))
	}
	say("Functions without probes are not measured: their time is attributed to their callers.")
	r.gaps(say)
	return lines
}

// sure describes which calls are sure to be found.
func (r *Reach) sure(say func(format string, args ...any)) {
	say("Threshold %s, unless the program set others; %s. Watched: %s in %s.",
		span(r.Threshold), r.clock(), Duration(r.Span), count(uint64(r.Logs-r.Unknown), "process", "processes"))
	late := "The clock was never late: a"
	if r.Exact == r.Logs-r.Unknown {
		late = "A"
	}
	if r.Gaps > 0 {
		late = fmt.Sprintf("The clock was late for %s in %s, at worst %s: a", Duration(r.Blind), count(r.Gaps, "gap", "gaps"), Duration(r.WorstGap))
	}
	idle := ""
	if r.SureIdle > r.Sure {
		idle = fmt.Sprintf(" (%s if nothing ran before it)", Duration(r.SureIdle))
	}
	say("%s call%s is certain to be found if it took %s%s%s.", late, either(r.Unjudged > 0, " on its thread's own stack", ""), Duration(r.Sure), idle,
		either(r.Gaps > 0, " and neither began nor ended in a gap", ""))
	missed := []string{
		either(r.Borderline > 0, count(r.Borderline, "call", "calls")+" on the border of the threshold not listed", "no call was on the border of the threshold"),
		either(r.Limited > 0, count(r.Limited, "spike", "spikes")+" counted only", ""),
		either(r.Dropped > 0, count(r.Dropped, "record", "records")+" lost", "no record lost"),
	}
	say("%s.", capital(join(missed)))
}

// gaps describes what was not recorded or cannot be reported.
func (r *Reach) gaps(say func(format string, args ...any)) {
	if r.Unjudged > 0 {
		say("%s on stacks that cannot be distinguished without an unwinder: other calls there may be missing, mistaken for callers of calls on another stack.",
			count(r.Unjudged, "call was", "calls were"))
	}
	if r.Changes > 0 {
		say("The settings were changed %s while it ran.", count(r.Changes, "time", "times"))
	}
	if r.OffTime > 0 {
		say("The search for spikes was off for %s.", Duration(r.OffTime))
	}
	if r.Off > 0 {
		say("%s switched off at the end (CAIRN_SPIKE).", count(uint64(r.Off), "process was", "processes were"))
	}
	if r.Uncounted > 0 {
		say("%s, whose stacks are not in the logs.", count(r.Uncounted, "spike more was counted", "spikes more were counted"))
	}
	if r.Unfinished > 0 {
		say("%s no end: the process is still running, was killed, or ended by _exit.", count(uint64(r.Unfinished), "log has", "logs have"))
	}
	if r.NoRoom > 0 {
		say("%s more had not ended and had no room in the logs.", count(r.NoRoom, "call", "calls"))
	}
	if r.Unwatched > 0 {
		say("%s not looked at for calls that have not ended: there were too many.", count(r.Unwatched, "thread was", "threads were"))
	}
	if r.Unknown > 0 {
		say("%s not contain the limits of its clock.", count(uint64(r.Unknown), "log does", "logs do"))
	}
	if r.Ungrouped > 0 {
		say("%s omitted: too many different stacks.", count(r.Ungrouped, "spike is", "spikes are"))
	}
}

func join(list []string) string {
	var kept []string
	for _, s := range list {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, "; ")
}

// count formats n things.
func count(n uint64, one, many string) string {
	return report.Count(n) + " " + report.Either(n, one, many)
}

func either(c bool, yes, no string) string {
	if c {
		return yes
	}
	return no
}

// capital makes the first letter of an ASCII text a capital.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
