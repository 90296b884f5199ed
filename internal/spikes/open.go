package spikes

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/stablesort"
)

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
		default:
			if sp.idle = s.openIdleness(sp, name); sp.idle == Idle {
				lasting = append(lasting, sp)
			} else {
				late = append(late, sp)
			}
		}
	}
	for _, list := range [][]*Spike{late, lasting} {
		stablesort.Func(list, func(a, b *Spike) int {
			return cmp.Or(behind(a.waitsForThreads(), b.waitsForThreads()), behind(a.awaitsSignal(), b.awaitsSignal()), cmp.Compare(b.Peak.Lo, a.Peak.Lo), cmp.Compare(a.Log, b.Log), cmp.Compare(a.TID, b.TID))
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

// State describes in a few words what the thread of an open call does.
func (sp *Spike) State() string {
	o := (*ongoing)(sp.Open)
	what := (*waited)(&tracelog.Wait{On: o.On, Peer: o.Peer}).what()
	for_ := " for at least " + Duration(since(o.Until, o.Since))
	switch {
	case o.Runs && o.Awoke:
		return "on a processor, in all for at most " + Duration(since(o.Until, o.Since)) + ": it " + cmp.Or(reasonWords[o.Reason], "waited")
	case o.Runs:
		return "on a processor (in a caller of it, if it was short and has ended)"
	case o.Waits:
		return strings.TrimSpace(o.goroutine()+" "+what) + for_
	case o.Call == "":
		return "waits in the kernel" + for_
	}
	return strings.TrimSpace("waits in "+o.Call+" "+what) + for_
}

// state is State, and who has the lock that the thread waits for.
func (w *Writer) state(sp *Spike) string {
	if by := w.openHolder(sp).text(); by != "" {
		return sp.State() + ", " + by
	}
	return sp.State()
}

// openHolder returns which thread had the lock that an open call waits for, nil if that is not known.
func (w *Writer) openHolder(sp *Spike) *HeldBy {
	o := sp.Open
	if o.Holder == 0 && o.Readers == 0 {
		return nil
	}
	x := &HeldBy{TID: o.Holder, Ended: held(&tracelog.Wait{On: o.On}), Waited: since(o.Until, o.Since)}
	if o.Readers > 0 {
		x.Thread = readers(uint64(o.Readers))
		return x
	}
	x.Thread, x.Stack = w.Set.threadOf(sp, o.Holder), w.openAt(sp.Log, o.Holder, o.Until)
	return x
}

// goroutine describes what a goroutine does that does not run.
func (o *ongoing) goroutine() string {
	switch o.How {
	case wire.OpenReceives:
		return "waits in a channel receive"
	case wire.OpenSends:
		return "waits in a channel send"
	case wire.OpenSelects:
		return "waits in a select"
	}
	switch o.Reason {
	case tracelog.ReasonSystem:
		return "is in a system call or C"
	case tracelog.ReasonSleep:
		return "sleeps"
	}
	return strings.Replace(cmp.Or(reasonWords[o.Reason], "waited"), "waited", "waits", 1)
}

// ongoing is what is known of a call that has not ended.
type ongoing tracelog.Ongoing

// Alike returns one of those open calls that have the same stack and wait for the same, the first, with the number of
// the others: those that surely are late, and those that may have been idle.
func (s *Set) Alike(list []*Spike) (sure, doubtful []*Spike) {
	type state struct {
		stack, call, peer       string
		holder                  uint32
		log                     int
		reason                  tracelog.WaitReason
		how                     uint8
		waits, runs, isDoubtful bool
	}
	at := make(map[state]*Spike)
	for _, sp := range list {
		o := sp.Open
		k := state{string(s.stackKey(sp.Addrs)), o.Call, o.Peer, o.Holder, sp.Log, o.Reason, o.How, o.Waits, o.Runs, sp.idle == Doubtful}
		if first := at[k]; first != nil {
			first.alike++
			continue
		}
		sp.alike = 0
		at[k] = sp
		if k.isDoubtful {
			doubtful = append(doubtful, sp)
		} else {
			sure = append(sure, sp)
		}
	}
	return sure, doubtful
}

// lastSeen returns when the thread of an open call was last seen in it, in nanoseconds since the log began.
func (s *Set) lastSeen(sp *Spike) uint64 {
	return since(sp.Open.Until, s.Logs[sp.Log].Header.Monotonic)
}

// openThread returns the name of a thread, with its number if open calls of several have that name; or its number.
func (s *Set) openThread(sp *Spike) string {
	name := s.Thread(sp)
	if name == "" && sp.Open != nil {
		name = sp.Open.Name
		if slices.ContainsFunc(s.open, func(o *Spike) bool { return o.Log == sp.Log && o.TID != sp.TID && o.Open.Name == name }) {
			name = strings.TrimSpace(fmt.Sprintf("%s %d", name, sp.TID))
		}
	}
	return report.Printable(cmp.Or(name, strconv.FormatUint(uint64(sp.TID), 10)))
}

// OpenLine describes an open call in a line.
func (w *Writer) OpenLine(sp *Spike) string {
	s, paint := w.Set, w.Style.Paint
	loc := w.Name(sp.Addrs[0], sp.isCall(0))
	text := paint(report.Hot, report.Printable(loc.Outer().Function)) + ": running for " +
		paint(report.Hot, Interval(sp.Peak)) + ", " + w.state(sp) + "  thread " + s.openThread(sp)
	if len(s.Logs) > 1 {
		text += " of process " + strconv.FormatUint(uint64(s.Logs[sp.Log].Header.PID), 10)
	}
	text += "  since " + seconds(since(s.lastSeen(sp), sp.Peak.Hi)) + ", last seen at " + seconds(s.lastSeen(sp))
	if sp.alike > 0 {
		text += "  and " + count(uint64(sp.alike), "more thread", "more threads")
	}
	remarks := sp.remarks()
	if sp.idle == Doubtful {
		remarks = append(remarks, "it may have been idle")
	}
	if len(remarks) > 0 {
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
	idle := w.Set.openIdleness(sp, w.Name)
	o := &OpenObject{
		Text: w.state(sp), Peer: sp.Open.Peer, Holder: w.openHolder(sp).object(), Runs: sp.Open.Runs, CPU: sp.Open.CPU, Inner: []Site{}, Lasts: idle == Idle, Doubtful: idle == Doubtful,
		Found: since(sp.Open.Found, w.Set.Logs[sp.Log].Header.Monotonic), Alike: sp.alike,
	}
	if !sp.Open.Runs {
		o.Waited = since(sp.Open.Until, sp.Open.Since)
	}
	if sp.Open.Call != "" {
		o.Call = sp.Open.Call
	}
	for i := range sp.Open.Inner {
		f := &sp.Open.Inner[i]
		a := w.Set.address(sp.Log, f.PC, sp.Open.Found)
		loc := w.Name(a, f.Flags&tracelog.Exact == 0)
		o.Inner = append(o.Inner, site(loc.Outer(), &loc, a))
	}
	return o
}

// Going names open calls that are not ranked, in a sentence; "" if there are none. The time is that of the call, not of what it
// waits in: a server's main waits many times.
func (w *Writer) Going(lasting []*Spike) string {
	const most = 6
	type place struct{ call, state string }
	var places []place
	threads, longest := make(map[place]int), make(map[place]uint64)
	for _, sp := range lasting {
		at := place{call: w.measured(sp)}
		if sp.Open.Waits {
			at.state = (*ongoing)(sp.Open).goroutine()
		} else if sp.Open.Call != "" {
			at.state = "in " + sp.Open.Call
		}
		if threads[at]++; threads[at] == 1 {
			places = append(places, at)
		}
		longest[at] = max(longest[at], sp.Peak.Lo)
	}
	if len(places) == 0 {
		return ""
	}
	var words []string
	for _, at := range places[:min(most, len(places))] {
		states := []string{at.state, either(threads[at] > 1, count(uint64(threads[at]), "thread", "threads"), "")}
		text := at.call + " for " + Duration(longest[at])
		if more := join(states); more != "" {
			text += " (" + more + ")"
		}
		words = append(words, text)
	}
	if rest := len(places) - len(words); rest > 0 {
		words = append(words, count(uint64(rest), "more function", "more functions"))
	}
	return "wait for work and have not ended: " + strings.Join(words, ", ")
}

// measured names the functions with probes that an open call is in, the outermost first.
func (w *Writer) measured(sp *Spike) string {
	const most = 4
	var names []string
	for i := len(sp.Addrs) - 1; i >= 0; i-- {
		if i == 0 || sp.Stack[i].Timed() {
			loc := w.Name(sp.Addrs[i], sp.isCall(i))
			names = append(names, report.Printable(loc.Outer().Function))
		}
	}
	if n := len(names); n > most {
		names = append([]string{names[0], "..."}, names[n-most+2:]...)
	}
	return strings.Join(names, " > ")
}
