package spikes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/saturate"
)

// Problem: a thread of a server waits for its next client in the same system calls in which a request waits for
// another server, and often in the same function. The first kind of wait is no spike, and is often the longest;
// the second is what a user looks for.
//
// Choice: idle is a wait under a loop that has begun nothing. Four things decide, the more certain first: what the
// wait is for, as the kernel knows it (who connects waits for an answer, who accepts waits for work); whether a
// call that encloses it, and is no loop, had begun before it; whether the thread has another place at which it is
// idle; and whether the thread waits there again and again. If they do not decide, the wait is ranked, and marked.

// Idleness is whether a call was a wait without any work begun.
type Idleness int

// The values of Idleness.
const (
	Working Idleness = iota // it was none, or something had begun
	Doubtful
	Idle
)

// forWork are the system calls in which programs wait for work; forClient those in which they do if it is
// for a client that has connected.
var (
	forWork = map[int]bool{
		7: true, 23: true, 34: true, 43: true, 61: true, 128: true, 130: true, 232: true, 247: true, 270: true, 271: true, 281: true, 288: true,
		426: true, 441: true,
	}
	forClient = map[int]bool{0: true, 19: true, 45: true, 47: true, 299: true}
)

const (
	accepts = tracelog.WaitListener | tracelog.WaitIncoming
	kinds   = accepts | tracelog.WaitOutgoing | tracelog.WaitInternal | tracelog.WaitFile | tracelog.WaitUnknown
)

// mayBeIdle reports whether a call only waited in a way in which programs also wait for work.
func (y *Why) mayBeIdle(time tracelog.Interval) bool {
	if y == nil || !most(y.Slept.Lo, time.Lo, 8) {
		return false
	}
	if w := y.Wait; w != nil && len(w.Reasons) > 0 {
		return w.forWork()
	}
	in := forWork[y.Usage.Call] || forClient[y.Usage.Call] && y.Wait != nil && y.Wait.On&accepts != 0
	return in && y.InCall > 0 && 4*uint32(y.InCall) >= 3*uint32(y.Waits)
}

// forWork reports whether a goroutine waited as it does for work: for a channel, or the network.
func (w *waited) forWork() bool {
	var all, part uint64
	for _, r := range w.Reasons {
		all = saturate.Add(all, r.Time)
		if r.Reason == tracelog.ReasonChannel || r.Reason == tracelog.ReasonNetwork {
			part = saturate.Add(part, r.Time)
		}
	}
	return most(part, all, 8)
}

// place is what is known of the waits of a group.
type place struct {
	calls, begun, enclosed int
	on                     tracelog.WaitFlags
	time                   map[threadID]uint64 // lower bounds
	count                  map[threadID]int
	whole                  int // calls that lasted as long as the process
}

type threadID struct {
	log int
	tid uint32
}

// judge decides which of the groups were idle.
func (s *Set) judge(name Namer) {
	places := make(map[*Group]*place)
	byChain := make(map[string]*place) // of functions: loops are unrolled, and a function called from several places
	spans := make(map[threadID][2]uint64)
	s.findLoops()
	for i := range s.long {
		c := &s.long[i]
		t := threadID{c.log, c.tid}
		r, ok := spans[t]
		if !ok {
			r[0] = c.begin()
		}
		spans[t] = [2]uint64{min(r[0], c.begin()), max(r[1], c.end)}
		if c.group == nil || !c.group.waiting {
			continue
		}
		p := places[c.group]
		if p == nil {
			key := s.chainKey(c.group.Worst, name)
			if p = byChain[key]; p == nil {
				p = &place{time: make(map[threadID]uint64), count: make(map[threadID]int)}
				byChain[key] = p
			}
			places[c.group] = p
		}
		s.place(p, c)
	}
	s.idleThreads = make(map[threadID]bool)
	var open []*Group
	for _, g := range s.Groups {
		p := places[g]
		if p == nil {
			continue
		}
		var ok bool
		if g.Idle, ok = p.byKind(g, name); !ok {
			open = append(open, g)
		}
		for t := range p.count {
			s.idleThreads[t] = s.idleThreads[t] || g.Idle == Idle
		}
	}
	for _, g := range open {
		g.Idle = places[g].byHabit(s.idleThreads, spans)
	}
}

// chainKey identifies the functions of a spike's stack.
func (s *Set) chainKey(sp *Spike, name Namer) string {
	var key []byte
	for i, a := range sp.Addrs {
		loc := name(a, sp.isCall(i))
		f := functionOf(&loc)
		key = append(append(append(append(key, f.module...), 0), f.name...), 0)
	}
	return string(key)
}

// findLoops marks calls that contain many waits with one stack, and half of the life of their process: loops around
// all work, which end some time. Shorter ones may be those of a lock that is waited for step by step.
func (s *Set) findLoops() {
	const many, part = 4, 2
	type key struct {
		call  int32
		group *Group
	}
	waits := make(map[key]int)
	for i := range s.long {
		g := s.long[i].group
		if g == nil || !g.waiting {
			continue
		}
		for k := s.long[i].parent; k >= 0; k = s.long[k].parent {
			c := &s.long[k]
			t := s.Logs[c.log].Trailer
			if t == nil || c.time.Lo < since(t.Time, s.Logs[c.log].Header.Monotonic)/part {
				continue
			}
			at := key{k, g}
			waits[at]++
			c.loop = c.loop || waits[at] >= many
		}
	}
}

// surroundings reports whether a call that is no loop encloses a wait, and whether one had begun before it.
func (s *Set) surroundings(c *call) (enclosed, begun bool) {
	for k := c.parent; k >= 0; k = s.long[k].parent {
		b := &s.long[k]
		if b.lasting || b.loop {
			break
		}
		enclosed = true
		// The time that the caller had run before the wait began, at least.
		before := since(since(b.time.Lo, since(b.end, c.end)), c.time.Hi)
		begun = begun || before >= max(1, c.threshold/8)
	}
	return enclosed, begun
}

// place adds what is known of a wait.
func (s *Set) place(p *place, c *call) {
	p.calls++
	t := threadID{c.log, c.tid}
	p.time[t] = saturate.Add(p.time[t], c.time.Lo)
	p.count[t]++
	if c.wait != nil {
		p.on |= c.wait.On & kinds
	}
	if l := &s.Logs[c.log]; l.Trailer != nil && c.time.Lo >= since(l.Trailer.Time, l.Header.Monotonic)/10*9 {
		p.whole++
	}
	enclosed, begun := s.surroundings(c)
	if enclosed {
		p.enclosed++
	}
	if begun {
		p.begun++
	}
}

// byKind decides by what the waits were for, if that decides.
func (p *place) byKind(g *Group, name Namer) (Idleness, bool) {
	switch k := idleFrames(g.Worst, name); {
	case k != Doubtful:
		return k, true
	case p.whole == p.calls && p.enclosed == 0:
		return Idle, true // it is the thread's whole work, as that of main, which waits for the end
	case p.on&tracelog.WaitListener != 0:
		return Idle, true
	case p.on&tracelog.WaitIncoming != 0 && p.begun == 0:
		return Idle, true
	case p.on&tracelog.WaitIncoming != 0 && 2*p.begun < p.calls:
		return Doubtful, true
	case p.enclosed > 0 && (2*p.begun >= p.calls || p.on&tracelog.WaitOutgoing != 0):
		return Working, true
	}
	return Doubtful, false
}

// byHabit decides by where else the threads are idle, and by how often they wait there.
func (p *place) byHabit(idle map[threadID]bool, spans map[threadID][2]uint64) Idleness {
	const (
		often = 3
		part  = 8 // tenths of the thread's time
	)
	again, elsewhere, mainly := 0, 0, 0
	for t, n := range p.count {
		r := spans[t]
		switch {
		case n >= often:
			again++
		case n > 1 && p.enclosed == 0:
			again++
		}
		if most(p.time[t], since(r[1], r[0]), part) {
			mainly++
		}
		if idle[t] {
			elsewhere++
		}
	}
	n := len(p.count)
	switch {
	case p.enclosed > 0 && 2*elsewhere > n:
		return Working
	case p.enclosed == 0 && 2*again >= n:
		return Idle
	case 2*again >= n && 2*mainly >= n:
		return Idle
	}
	return Doubtful
}

// callerIdleness decides for a caller that did other things as well, and mainly waited: as one round of an event
// loop does.
func (s *Set) callerIdleness(c *call, sp *Spike) Idleness {
	y := sp.Why()
	if !y.mayBeIdle(sp.Peak) {
		return Working
	}
	on := tracelog.WaitFlags(0)
	if y.Wait != nil {
		on = y.Wait.On & kinds
	}
	enclosed, begun := s.surroundings(c)
	for k := c.first; k >= 0 && !begun; k = s.long[k].next {
		g := s.long[k].group
		begun = g != nil && g.waiting && g.Idle == Working
	}
	switch {
	case on&tracelog.WaitListener != 0, on&tracelog.WaitIncoming != 0 && !begun:
		return Idle
	case on&tracelog.WaitIncoming != 0:
		return Doubtful
	case enclosed && (begun || on&tracelog.WaitOutgoing != 0 || s.idleThreads[threadID{c.log, c.tid}]):
		return Working
	}
	return Doubtful
}

// IdleSoFar decides for a spike of a log that is still being written: by what it waited for, or by how often it was
// seen.
func (g *Group) IdleSoFar(sp *Spike, name Namer) Idleness {
	const often = 3
	y := sp.Why()
	if !y.mayBeIdle(sp.Peak) {
		return Working
	}
	if k := idleFrames(sp, name); k != Doubtful {
		return k
	}
	switch w := y.Wait; {
	case w != nil && w.On&accepts != 0, g.Seen >= often && (w == nil || w.On&tracelog.WaitOutgoing == 0):
		return Idle
	case w != nil && w.On&tracelog.WaitOutgoing != 0:
		return Working
	}
	return Doubtful
}

// idleFrames decides by functions of Go's standard library whose only purpose is to wait for work, or for an
// answer. Doubtful: it has none of them.
func idleFrames(sp *Spike, name Namer) Idleness {
	if sp.Wait == nil || sp.Wait.On&tracelog.WaitUnwound == 0 {
		return Doubtful
	}
	for _, a := range sp.waitAddrs {
		loc := name(a, true)
		for _, p := range loc.Places {
			switch symbol := cmp.Or(p.Symbol, p.Function); {
			case slices.Contains(goIdle, symbol):
				return Idle
			case slices.Contains(goAnswer, symbol):
				return Working
			}
		}
	}
	return Doubtful
}

var (
	goIdle = []string{
		"net.(*netFD).accept", "net.(*TCPListener).Accept", "net.(*UnixListener).Accept", "net/http.(*conn).readRequest", "net/http.(*connReader).Read",
		"net/http.(*connReader).backgroundRead", "net/http.(*persistConn).readLoop", "net/http.(*persistConn).writeLoop", "net/http.(*http2serverConn).serve", "os/signal.loop", "net/rpc.(*gobServerCodec).ReadRequestHeader",
	}
	goAnswer = []string{
		"net/http.(*Transport).roundTrip", "net/http.(*persistConn).roundTrip", "database/sql.(*DB).QueryContext", "database/sql.(*DB).ExecContext",
		"net.(*Resolver).lookupIPAddr", "net.(*Resolver).goLookupIPCNAMEOrder", "net.(*sysDialer).dialSingle", "os.(*Process).Wait",
	}
)

// What returns what a wait was for, in words; "" if that is not known.
func (w *waited) what() string {
	if w == nil {
		return ""
	}
	switch on := w.On & kinds; {
	case on&tracelog.WaitListener != 0:
		return "for new connections"
	case on&tracelog.WaitIncoming != 0 && w.Peer != "":
		return "for client " + w.Peer
	case on&tracelog.WaitIncoming != 0:
		return "for clients"
	case w.Peer != "":
		return "for " + w.Peer
	case on&tracelog.WaitOutgoing != 0:
		return "for a connection of its own"
	case on == tracelog.WaitInternal:
		return "for a pipe, an event or a timer"
	case on == tracelog.WaitFile:
		return "for a file"
	}
	return ""
}

// IdleRow is a place at which threads waited for work.
type IdleRow struct {
	Function, Where string // where it waited, and its callers
	Worst           *Spike
	Seen, Sum       uint64 // waits, including those that were only counted, and ns of those in the logs
}

// IdleRows returns where threads waited for work, the most time first.
func (w *Writer) IdleRows() []IdleRow {
	by := make(map[[2]string]*IdleRow)
	var rows []*IdleRow
	for _, g := range slices.Concat(w.Set.Groups, w.Set.Callers) {
		if g.Idle != Idle || len(g.Worst.Addrs) == 0 {
			continue
		}
		loc := w.Name(g.Worst.Addrs[0], g.Worst.isCall(0))
		key := [2]string{report.Printable(loc.Outer().Function), w.chain(g.Worst)}
		r := by[key]
		if r == nil {
			r = &IdleRow{Function: key[0], Where: key[1], Worst: g.Worst}
			by[key] = r
			rows = append(rows, r)
		}
		if g.Worst.Peak.Lo > r.Worst.Peak.Lo {
			r.Worst = g.Worst
		}
		r.Seen, r.Sum = saturate.Add(r.Seen, g.Seen), saturate.Add(r.Sum, g.Sum)
	}
	slices.SortStableFunc(rows, func(a, b *IdleRow) int { return cmp.Compare(b.Sum, a.Sum) })
	out := make([]IdleRow, len(rows))
	for i, r := range rows {
		out[i] = *r
	}
	return out
}

// chain names the callers of a spike, the outermost first.
func (w *Writer) chain(sp *Spike) string {
	const most = 8
	var names []string
	for i := len(sp.Addrs) - 1; i > 0; i-- {
		loc := w.Name(sp.Addrs[i], sp.isCall(i))
		if n := report.Printable(loc.Outer().Function); len(names) == 0 || names[len(names)-1] != n {
			names = append(names, n)
		}
	}
	if n := len(names); n > most {
		names = append([]string{names[0], "..."}, names[n-most+2:]...)
	}
	return strings.Join(names, " > ")
}

// Waiting lists where threads waited for work, one place a line, at most top of them, 0 for all; none if there
// are none.
func (w *Writer) Waiting(top int) []string {
	rows := w.IdleRows()
	if len(rows) == 0 {
		return nil
	}
	lines := []string{"waited for work with nothing begun, and not ranked:"}
	shown := len(rows)
	if top > 0 {
		shown = min(top, shown)
	}
	for _, r := range rows[:shown] {
		text := "  " + r.Function
		if y := r.Worst.Why(); y != nil {
			how := y.in()
			if y.Wait != nil && len(y.Wait.Reasons) > 0 {
				how = y.waited()
			}
			text += " " + strings.TrimSpace(how+" "+y.Wait.what())
		}
		text += fmt.Sprintf(": longest %s", Interval(r.Worst.Peak))
		if r.Seen > 1 {
			text += fmt.Sprintf(", seen %s, %s in all", count(r.Seen, "time", "times"), Duration(r.Sum))
		}
		lines = append(lines, text)
		if r.Where != "" {
			lines = append(lines, "      in "+r.Where)
		}
	}
	if n := len(rows) - shown; n > 0 {
		lines = append(lines, "  "+count(uint64(n), "more place", "more places")+" (--top 0 lists all)")
	}
	return lines
}

// reasonsOf returns the kinds of reasons of a group's spikes with their sums, the most time first.
func (g *Group) reasonsOf() []reason {
	list := slices.Collect(maps.Values(g.reasons))
	slices.SortFunc(list, func(a, b reason) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Text, b.Text))
	})
	return list
}
