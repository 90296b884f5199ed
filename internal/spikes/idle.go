package spikes

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/lazyregexp"
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

// forWork are the system calls in which programs wait for work, and forClient those in which they do if it is
// for a client that has connected. In those of forSignal, which are in forWork, they wait for a signal, and in sleeps
// for nothing.
var (
	forWork = setOf("poll", "ppoll", "select", "pselect6", "pause", "accept", "accept4", "wait4", "waitid", "rt_sigtimedwait", "rt_sigsuspend",
		"epoll_wait", "epoll_pwait", "epoll_pwait2", "io_uring_enter",
		"NtUserGetMessage", "NtUserWaitMessage", "NtUserMsgWaitForMultipleObjectsEx", "NtRemoveIoCompletion", "NtRemoveIoCompletionEx",
		"NtWaitForWorkViaWorkerFactory", "NtReplyWaitReceivePort", "NtReplyWaitReceivePortEx")
	forSignal = setOf("pause", "rt_sigtimedwait", "rt_sigsuspend")
	sleeps    = setOf("nanosleep", "clock_nanosleep", "NtDelayExecution")
	forClient = setOf("read", "readv", "recvfrom", "recvmsg", "recvmmsg")
)

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

const (
	accepts = tracelog.WaitListener | tracelog.WaitIncoming
	kinds   = accepts | tracelog.WaitOutgoing | tracelog.WaitInternal | tracelog.WaitFile | tracelog.WaitUnknown | tracelog.WaitThread
)

// mayBeIdle reports whether a call over a threshold only waited in a way in which programs also wait for work. In some of
// the samples it may have waited for a processor: without that wait it was under its threshold.
func (y *Why) mayBeIdle(time tracelog.Interval, threshold uint64) bool {
	if y == nil || !most(y.Slept.Lo, time.Lo, 8) {
		return false
	}
	if w := y.Wait; w != nil && len(w.Reasons) > 0 {
		return w.forWork()
	}
	in := forWork[y.Usage.Call] || forClient[y.Usage.Call] && y.Wait != nil && y.Wait.On&accepts != 0
	if !in || y.InCall == 0 {
		return false
	}
	part, all := uint64(y.InCall), uint64(y.Waits)
	rest := time.Hi - min(time.Hi, y.inCall())
	return 4*part >= 3*all || 2*part >= all && rest < threshold
}

// inCall returns for how long a call was in the system call that it waited in most.
func (y *Why) inCall() uint64 {
	if y.Waits == 0 {
		return 0
	}
	return uint64(float64(y.Slept.Lo) * float64(y.InCall) / float64(y.Waits))
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

// idlePlaces is where threads are idle, once all spikes are judged.
type idlePlaces struct {
	threads map[threadID]bool // those that have a place at which they are idle
	chains  map[string]bool   // of functions that end in a wait for work, as chainKey has them
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
	s.idle.threads = make(map[threadID]bool)
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
			s.idle.threads[t] = s.idle.threads[t] || g.Idle == Idle
		}
	}
	for _, g := range open {
		g.Idle = places[g].byHabit(s.idle.threads, spans)
	}
	s.idle.chains = make(map[string]bool)
	for g := range places {
		if g.Idle == Idle {
			s.idle.chains[s.chainKey(g.Worst, name)] = true
		}
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
	if !y.mayBeIdle(sp.Peak, sp.Threshold) {
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
	case enclosed && (begun || on&tracelog.WaitOutgoing != 0 || s.idle.threads[threadID{c.log, c.tid}]):
		return Working
	}
	return Doubtful
}

// waitsFor matches the functions of C libraries in which threads wait for conditions and other threads.
var waitsFor = lazyregexp.New(`^_*(pthread_cond_(timed|clock)?wait|pthread_(timed|clock|try)?join|cnd_(timed)?wait|thrd_join|sem_(timed|clock)?wait)`)

// openIdleness decides for a call that has not ended, by the same rules.
func (s *Set) openIdleness(sp *Spike, name Namer) Idleness {
	o := sp.Open
	begins, all := s.containsAll(sp)
	inner := make([]Address, 0, len(o.Inner)+len(sp.Addrs))
	for _, f := range slices.Backward(o.Inner) {
		inner = append(inner, s.address(sp.Log, f.PC, o.Found))
	}
	if o.Runs && begins && (betweenWaits(inner, name) || o.Awoke && sp.waitsForWork(true)) {
		return Idle
	}
	if !sp.openForWork(begins, all, inner, name) {
		return Working
	}
	if o.Waits {
		if k := idleNames(append(inner, sp.Addrs...), name); k != Doubtful {
			return k
		}
	}
	enclosed, begun, nested := s.openSurroundings(sp)
	switch {
	case begins || o.On&tracelog.WaitListener != 0:
		return Idle
	case o.On&tracelog.WaitIncoming != 0 && !begun:
		return Idle
	case enclosed && begun, nested && o.On&tracelog.WaitOutgoing != 0:
		return Working
	case s.idle.chains[s.chainKey(sp, name)]:
		return Idle
	case enclosed || o.Waits || sp.awaitsSignal() && sp.belowTop():
		return Doubtful
	}
	return Idle // in a loop around all work
}

// betweenWaits reports whether a goroutine was seen at the end of a wait for work, as for connections: its innermost
// function is idle, or waits for the network and is in none that waits for an answer.
func betweenWaits(inner []Address, name Namer) bool {
	k := idleNames(inner, name)
	return k == Idle || k == Doubtful && slices.ContainsFunc(inner, func(a Address) bool {
		loc := name(a, true)
		return slices.ContainsFunc(loc.Places, func(p Place) bool { return cmp.Or(p.Symbol, p.Function) == "internal/poll.runtime_pollWait" })
	})
}

// openForWork reports whether an open call waits in a way in which programs also wait for work: in a system call for
// that, or for a channel or the network; or, if it contains all the work of its thread, for a condition, another thread,
// a signal, or the end of a sleep.
func (sp *Spike) openForWork(begins, all bool, inner []Address, name Namer) bool {
	o := sp.Open
	if o.Waits {
		return sp.waitsForWork(begins || all)
	}
	if forWork[o.Call] {
		return true
	}
	if !begins && !all {
		return false
	}
	for i, a := range inner {
		loc := name(a, o.Inner[len(inner)-1-i].Flags&tracelog.Exact == 0)
		if waitsFor().MatchString(loc.Outer().Function) {
			return true
		}
	}
	// A thread that begins with it and has run since: a round of its loop ends with a sleep.
	return begins && sleeps[o.Call] && 2*(o.Until-min(o.Until, o.Since)) < sp.Peak.Lo
}

// waitsForWork reports whether the goroutine of an open call waits as it would for work; outermost says whether the call contains
// all that it does.
func (sp *Spike) waitsForWork(outermost bool) bool {
	switch sp.Open.Reason {
	case tracelog.ReasonChannel, tracelog.ReasonNetwork:
		return true
	case tracelog.ReasonSleep, tracelog.ReasonCond, tracelog.ReasonGroup, tracelog.ReasonOther, tracelog.ReasonSystem:
		return outermost
	}
	return false
}

// containsAll reports whether an open call contains all the work of its thread: whether the thread begins with it, and
// whether it lasts nearly as long as the process.
func (s *Set) containsAll(sp *Spike) (begins, all bool) {
	for i := 1; i < len(sp.Stack); i++ {
		if sp.Stack[i].Timed() {
			return false, s.lastsOn(sp, sp.Peak.Lo)
		}
	}
	return len(sp.Stack) <= 1+starters, false
}

// awaitsSignal reports whether an open call waits for a signal. The loop of a thread does so for its next work; a function
// below that may have lost one, and then waits for ever.
func (sp *Spike) awaitsSignal() bool { return forSignal[sp.Open.Call] }

// belowTop reports whether a call is enclosed by another than the one that its thread begins with, with or without
// a probe.
func (sp *Spike) belowTop() bool {
	top := 0
	for i := range sp.Stack {
		if sp.Stack[i].Timed() {
			top = i
		}
	}
	if top == 0 { // main has no probe
		top = len(sp.Stack) - 1 - starters
	}
	return top > 1
}

const starters = 3 // calls of the C library, or of Go's runtime, outside of main

// lastsOn reports whether a duration until an open call was last seen is nearly that of the process.
func (s *Set) lastsOn(sp *Spike, time uint64) bool {
	const part, start = 10, 10e9 // ns
	life := since(sp.Time, s.Logs[sp.Log].Header.Monotonic)
	return time >= life-min(life/part, start)
}

// openSurroundings reports whether a call that does not contain all the work of its thread encloses an open call, and
// whether one had begun before it; and whether any had that is not the one that the thread begins with.
func (s *Set) openSurroundings(sp *Spike) (enclosed, begun, nested bool) {
	outer := 0 // the call that the thread begins with
	for i := range sp.Stack {
		if sp.Stack[i].Timed() {
			outer = i
		}
	}
	for i := 1; i < len(sp.Stack); i++ {
		f := &sp.Stack[i]
		if !f.Timed() || i == outer && len(sp.Stack)-i <= 1+starters {
			continue
		}
		before := since(f.Time.Lo, sp.Peak.Hi) >= max(1, sp.Threshold/8)
		nested = nested || before
		if !s.lastsOn(sp, f.Time.Lo) {
			enclosed, begun = true, begun || before
		}
	}
	return enclosed, begun, nested
}

// IdleSoFar decides for a spike of a log that is still being written: by what it waited for, or by how often it was
// seen.
func (g *Group) IdleSoFar(sp *Spike, name Namer) Idleness {
	const often = 3
	y := sp.Why()
	if !y.mayBeIdle(sp.Peak, sp.Threshold) {
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
	return idleNames(sp.waitAddrs, name)
}

// idleNames decides by the functions of a stack, the innermost first.
func idleNames(addrs []Address, name Namer) Idleness {
	for _, a := range addrs {
		loc := name(a, true)
		for _, p := range loc.Places {
			switch symbol := cmp.Or(p.Symbol, p.Function); {
			case slices.Contains(goIdle, symbol):
				return Idle
			case slices.Contains(goAnswer, symbol), strings.HasPrefix(symbol, goResolver):
				return Working
			}
		}
	}
	return Doubtful
}

const goResolver = "net.(*Resolver)." // any of its look-ups, by C or in Go

var (
	goIdle = []string{
		"net.(*netFD).accept", "net.(*TCPListener).Accept", "net.(*UnixListener).Accept", "net/http.(*conn).readRequest", "net/http.(*connReader).Read",
		"net/http.(*connReader).backgroundRead", "net/http.(*persistConn).readLoop", "net/http.(*persistConn).writeLoop", "net/http.(*http2serverConn).serve", "os/signal.loop", "net/rpc.(*gobServerCodec).ReadRequestHeader",
	}
	goAnswer = []string{
		"net/http.(*Transport).roundTrip", "net/http.(*persistConn).roundTrip", "database/sql.(*DB).QueryContext", "database/sql.(*DB).ExecContext",
		"net.(*sysDialer).dialSingle", "net.doBlockingWithCtx", "os.(*Process).Wait",
		"net/http.serverHandler.ServeHTTP", // in a request
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
	case on == tracelog.WaitThread:
		return "for the end of another thread"
	}
	return ""
}
