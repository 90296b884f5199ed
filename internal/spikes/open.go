package spikes

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/report"
)

// waitsFor matches the functions of C libraries in which threads wait for conditions and other threads.
var waitsFor = lazyregexp.New(`^_*(pthread_cond_(timed|clock)?wait|pthread_(timed|clock|try)?join|cnd_(timed)?wait|thrd_join|sem_(timed|clock)?wait)`)

// AddOpen adds a call that had not ended when the log was last written.
func (s *Set) AddOpen(log int, e *tracelog.Episode) {
	s.open = append(s.open, s.Spike(log, e))
}

// Open returns the calls that had not ended, the longest first, after all spikes and callers were added: those
// that took too long so far, and those that only contain the work of their threads or wait for it. A call whose
// end the logs have as well is in neither.
func (s *Set) Open(name Namer) (late, lasting []*Spike) {
	for _, sp := range s.open {
		switch {
		case s.hasEnded(sp):
		case s.waitsForWork(sp, name):
			lasting = append(lasting, sp)
		default:
			late = append(late, sp)
		}
	}
	for _, list := range [][]*Spike{late, lasting} {
		slices.SortStableFunc(list, func(a, b *Spike) int {
			return cmp.Or(cmp.Compare(b.Peak.Lo, a.Peak.Lo), cmp.Compare(a.Log, b.Log), cmp.Compare(a.TID, b.TID))
		})
	}
	return late, lasting
}

// hasEnded reports whether the logs have the end of a call that was open when its thread was looked at.
func (s *Set) hasEnded(sp *Spike) bool {
	begin := since(sp.Time, sp.Peak.Hi)
	return slices.ContainsFunc(s.long, func(c call) bool {
		return c.log == sp.Log && c.tid == sp.TID && c.sp == sp.Stack[0].SP && c.end >= sp.Open.Found && c.begin() <= since(sp.Time, sp.Peak.Lo) &&
			since(c.end, c.time.Lo) >= begin
	})
}

// waitsForWork reports whether an open call waits in a way in which programs wait for work: in a system call for
// that; or, if it contains all the work of its thread, for a condition, another thread or a signal.
func (s *Set) waitsForWork(sp *Spike, name Namer) bool {
	if forWork[sp.Open.Call] {
		return true
	}
	begins, all := s.containsAll(sp)
	if !begins && !all {
		return false
	}
	for i := range sp.Open.Inner {
		f := &sp.Open.Inner[i]
		loc := name(s.address(sp.Log, f.PC, sp.Open.Found), f.Flags&tracelog.Exact == 0)
		if waitsFor().MatchString(loc.Outer().Function) {
			return true
		}
	}
	return begins && (sp.Open.Call == callPause || sp.Open.Call == callWait || sp.Open.Call == callSuspend || sp.Open.Call == callWaitID)
}

// containsAll reports whether a call contains all the work of its thread: whether the thread begins with it, and
// whether it lasts nearly as long as the process.
func (s *Set) containsAll(sp *Spike) (begins, all bool) {
	const starters = 3 // of the C library, outside of main
	life := since(sp.Time, s.Logs[sp.Log].Header.Monotonic)
	for i := 1; i < len(sp.Stack); i++ {
		if sp.Stack[i].Timed() {
			return false, sp.Peak.Lo >= life-life/10
		}
	}
	return len(sp.Stack) <= 1+starters, false
}

// State describes in a few words what the thread of an open call does.
func (sp *Spike) State() string {
	o := sp.Open
	for_ := " for at least " + Duration(since(o.Until, o.Since))
	switch {
	case o.Runs:
		return "on a processor (in a caller of it, if it was short and has ended)"
	case o.Call < 0:
		return "waits in the kernel" + for_
	}
	return "waits in " + systemCall(o.Call) + for_
}

// lastSeen returns when the thread of an open call was last seen in it, in nanoseconds since the log began.
func (s *Set) lastSeen(sp *Spike) uint64 {
	return since(sp.Open.Until, s.Logs[sp.Log].Header.Monotonic)
}

// openThread returns the name of a thread, or its number.
func (s *Set) openThread(sp *Spike) string {
	name := s.Thread(sp)
	if name == "" && sp.Open != nil {
		name = sp.Open.Name
	}
	return report.Printable(cmp.Or(name, strconv.FormatUint(uint64(sp.TID), 10)))
}

// OpenLine describes an open call in a line.
func (w *Writer) OpenLine(sp *Spike) string {
	s, paint := w.Set, w.Style.Paint
	loc := w.Name(sp.Addrs[0], sp.isCall(0))
	text := paint(report.Hot, report.Printable(loc.Outer().Function)) + ": running for " +
		paint(report.Hot, Interval(sp.Peak)) + ", " + sp.State() + "  thread " + s.openThread(sp)
	if len(s.Logs) > 1 {
		text += " of process " + strconv.FormatUint(uint64(s.Logs[sp.Log].Header.PID), 10)
	}
	text += "  since " + seconds(since(s.lastSeen(sp), sp.Peak.Hi)) + ", last seen at " + seconds(s.lastSeen(sp))
	if remarks := sp.remarks(); len(remarks) > 0 {
		text += "   (" + strings.Join(remarks, "; ") + ")"
	}
	return text
}

// openHead is the first line of an open call.
func (w *Writer) openHead(sp *Spike) string {
	return w.Style.Paint(report.Bold, "open") + "  " + w.OpenLine(sp)
}

// inner returns a line for each call that an open call made and that goes on.
func (w *Writer) inner(sp *Spike) []line {
	if sp.Open == nil {
		return nil
	}
	var lines []line
	for i := range sp.Open.Inner {
		f := &sp.Open.Inner[i]
		loc := w.Name(w.Set.address(sp.Log, f.PC, sp.Open.Found), f.Flags&tracelog.Exact == 0)
		l := w.place(loc.Outer(), &loc)
		l.index = "in"
		if f.Timed() {
			l.rest = "so far " + Interval(f.Time)
		}
		lines = append(lines, l)
	}
	return lines
}

// openObject describes an open call for programs, nil if the call has ended.
func (w *Writer) openObject(sp *Spike) *OpenObject {
	if sp.Open == nil {
		return nil
	}
	o := &OpenObject{
		Text: sp.State(), Runs: sp.Open.Runs, CPU: sp.Open.CPU, Inner: []Site{}, Lasts: w.Set.waitsForWork(sp, w.Name),
		Found: since(sp.Open.Found, w.Set.Logs[sp.Log].Header.Monotonic),
	}
	if !sp.Open.Runs {
		o.Waited = since(sp.Open.Until, sp.Open.Since)
	}
	if sp.Open.Call >= 0 {
		o.Call = systemCall(sp.Open.Call)
	}
	for i := range sp.Open.Inner {
		f := &sp.Open.Inner[i]
		a := w.Set.address(sp.Log, f.PC, sp.Open.Found)
		loc := w.Name(a, f.Flags&tracelog.Exact == 0)
		o.Inner = append(o.Inner, site(loc.Outer(), &loc, a))
	}
	return o
}

// Going names open calls that are not ranked, in a sentence; "" if there are none.
func (w *Writer) Going(lasting []*Spike) string {
	const most = 6
	var words []string
	seen := make(map[string]int)
	for _, sp := range lasting {
		loc := w.Name(sp.Addrs[0], sp.isCall(0))
		where := report.Printable(loc.Outer().Function)
		if sp.Open.Call >= 0 {
			where += " in " + systemCall(sp.Open.Call)
		}
		if seen[where]++; seen[where] == 1 {
			words = append(words, where)
		}
	}
	if len(words) == 0 {
		return ""
	}
	rest := words[min(most, len(words)):]
	words = words[:len(words)-len(rest)]
	for i, where := range words {
		if n := seen[where]; n > 1 {
			words[i] += fmt.Sprintf(" (%d threads)", n)
		}
	}
	if len(rest) > 0 {
		words = append(words, count(uint64(len(rest)), "more function", "more functions"))
	}
	return "wait for work and have not ended: " + strings.Join(words, ", ")
}
