package spikes

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Blame describes a caller that took too long, apart from its callees.
type Blame struct {
	// Own is its time outside all calls that took too long.
	Own tracelog.Interval
	// Unexplained is its time outside those calls that took a noticeable part of its time.
	Unexplained tracelog.Interval
	Below       []Below // the most time first
}

// Below are the calls of one function below a caller, direct or not.
type Below struct {
	At      Address
	isCall  bool
	Calls   uint64
	Time    tracelog.Interval // of all
	Longest tracelog.Interval
}

// Lasting is a call that contains all the work of a thread, such as main: it is not ranked.
type Lasting struct {
	At   Address
	Log  int
	TID  uint32
	Time tracelog.Interval
}

// Settle finds, after all spikes and callers were added, the calls whose callees do not explain why they took
// too long. each iterates over the episodes again.
func (s *Set) Settle(name Namer, each func(func(log int, e *tracelog.Episode) error) error) error {
	s.nest()
	s.findLasting()
	s.thaw()
	s.resume()
	s.judge(name)
	type key struct {
		log    int
		number uint64
	}
	wanted := make(map[key][]int32)
	for i := range s.long {
		if c := &s.long[i]; c.listed() {
			k := key{c.log, c.episode}
			wanted[k] = append(wanted[k], int32(i))
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	g := callerGroups{set: s, name: name, byStack: make(map[string]*Group)}
	err := each(func(log int, e *tracelog.Episode) error {
		k := key{log, e.Number}
		if e.Flags&tracelog.Snapshot != 0 || wanted[k] == nil {
			return nil
		}
		sp := s.Spike(log, e)
		for _, i := range slices.Backward(wanted[k]) { // the outermost first
			g.add(i, sp)
		}
		delete(wanted, k)
		return nil
	})
	if err != nil {
		return err
	}
	// The remaining ones have no stack in the logs.
	rest := slices.Concat(slices.Collect(maps.Values(wanted))...)
	slices.Sort(rest)
	for _, i := range rest {
		g.add(i, nil)
	}
	for _, group := range s.Callers {
		g.below(group)
	}
	return nil
}

// findLasting finds the calls that contain all the work of a thread: main, and loops in main. They last nearly
// as long as the process, or contain spikes of several frames of the program.
func (s *Set) findLasting() {
	const (
		part  = 10  // part of the process's lifetime that they may lack
		frame = 4   // the part of it from which a call with several frames counts as a loop around frames
		long  = 1e9 // ns, of a call that is in another one
	)
	several := s.severalFrames()
	for i := range slices.Backward(s.long) { // callers come first
		c := &s.long[i]
		t := s.Logs[c.log].Trailer
		if c.peak || t == nil || c.parent >= 0 && !s.long[c.parent].lasting {
			continue
		}
		life := since(t.Time, s.Logs[c.log].Header.Monotonic)
		all := c.time.Lo >= life-life/part && (c.parent < 0 || c.time.Lo >= long)
		if !all && !(several[i] && c.time.Lo >= life/frame) {
			continue
		}
		c.lasting = true
		const most = 1000
		if len(s.Lasting) < most {
			s.Lasting = append(s.Lasting, Lasting{c.at, c.log, c.tid, c.time})
		}
	}
}

// severalFrames reports for each call whether it contains spikes of several frames.
func (s *Set) severalFrames() []bool {
	frames, several := make([]uint64, len(s.long)), make([]bool, len(s.long))
	for i := range s.long { // callees come first
		c := &s.long[i]
		if c.peak {
			frames[i] = c.frame
		}
		if p := c.parent; p >= 0 && frames[i] != 0 {
			several[p] = several[p] || several[i] || frames[p] != 0 && frames[p] != frames[i]
			frames[p] = frames[i]
		}
	}
	return several
}

// callerGroups groups callers by stack.
type callerGroups struct {
	set     *Set
	name    Namer
	byStack map[string]*Group
	key     []byte
}

// add adds a caller, which is on the stack of an episode, or is known only by itself.
func (g *callerGroups) add(i int32, in *Spike) {
	s := g.set
	c := &s.long[i]
	sp := g.spike(c, in)
	loc := g.name(c.at, !c.exact)
	f := functionOf(&loc)
	g.key = append(append(append(g.key[:0], f.module...), 0), f.name...)
	g.key = append(append(append(g.key, 0), f.file...), 0)
	idle := s.callerIdleness(c, sp)
	g.key = append(g.key, byte(idle))
	for _, a := range sp.Addrs[1:] {
		g.key = binary.AppendVarint(g.key, int64(a.Module))
		g.key = binary.AppendUvarint(g.key, a.Offset)
	}
	group := g.byStack[string(g.key)]
	if group == nil {
		if len(s.Callers) == maxGroups {
			s.Ungrouped++
			return
		}
		group = &Group{Number: len(s.Groups) + len(s.Callers), Worst: sp, Last: sp, of: i, Idle: idle}
		s.Callers = append(s.Callers, group)
		g.byStack[string(g.key)] = group
	}
	group.Seen++
	group.Written++
	group.Sum = saturate.Add(group.Sum, c.blame.Lo)
	if s.waitedForThreads(sp) {
		group.others++
	}
	group.explain(sp.Why(), sp.alive())
	if c.blame.Lo >= group.Limit {
		group.Limit, group.Worst, group.of = c.blame.Lo, sp, i
	}
	if s.wall(sp) >= s.wall(group.Last) {
		group.Last = sp
	}
}

// spike represents a caller as a spike: it is the first on its stack.
func (g *callerGroups) spike(c *call, in *Spike) *Spike {
	sp := &Spike{Log: c.log, Blame: &Blame{Own: c.own, Unexplained: c.blame}}
	sp.Episode = tracelog.Episode{
		TID: c.tid, Number: c.episode, Time: c.end, Peak: c.time, Threshold: c.threshold, Usage: c.usage, Wait: c.wait, Suspended: c.suspended,
		Stack: []tracelog.Entry{{PC: 0, Time: c.time, SP: c.sp}}, Flags: tracelog.Cut,
	}
	sp.Addrs = []Address{c.at}
	sp.waitAddrs = g.set.waitAddresses(c.log, c.wait, c.end)
	sp.Frozen = c.frozen
	if in == nil {
		return sp
	}
	k := in.entryOf(c.sp)
	if k < 0 {
		return sp
	}
	sp.Flags = in.Flags & (tracelog.Cut | tracelog.NoUnwinder | tracelog.CallerOnly | tracelog.BeforeFork)
	sp.Frame, sp.Found = in.Frame, in.Found-min(in.Found, uint32(k))
	after := since(c.end, in.Time)
	for _, f := range in.Stack[k+1:] {
		if f.Timed() {
			f.Time = plus(f.Time, exact(after))
		}
		sp.Stack = append(sp.Stack, f)
	}
	sp.Addrs = append(sp.Addrs, in.Addrs[k+1:]...)
	for _, p := range in.Parents {
		if in.entryOf(p.SP) > k {
			sp.Parents = append(sp.Parents, p)
		}
	}
	for _, t := range in.Texts {
		if in.entryOfAny(t.SP) >= k {
			sp.Texts = append(sp.Texts, t)
		}
	}
	return sp
}

// entryOfAny returns the index in the stack of the call with a stack pointer, -1 if none.
func (sp *Spike) entryOfAny(pointer uint32) int {
	return slices.IndexFunc(sp.Stack, func(e tracelog.Entry) bool { return e.Timed() && e.SP == pointer })
}

// below sums up the callees of the worst of a group of callers, by function.
func (g *callerGroups) below(group *Group) {
	s := g.set
	rows := make(map[function]*Below)
	var list []*Below
	for k := s.long[group.of].first; k >= 0; k = s.long[k].next {
		d := &s.long[k]
		loc := g.name(d.at, !d.exact)
		b := rows[functionOf(&loc)]
		if b == nil {
			b = &Below{At: d.at, isCall: !d.exact}
			rows[functionOf(&loc)] = b
			list = append(list, b)
		}
		b.Calls++
		time := ran(d.time, d.suspended)
		b.Time = plus(b.Time, time)
		if time.Lo >= b.Longest.Lo {
			b.Longest = time
		}
	}
	stablesort.Func(list, func(a, b *Below) int {
		return cmp.Or(cmp.Compare(b.Time.Lo, a.Time.Lo), cmp.Compare(b.Calls, a.Calls))
	})
	const most = 8
	for _, b := range list[:min(most, len(list))] {
		group.Worst.Blame.Below = append(group.Worst.Blame.Below, *b)
	}
}

// Lasting names the calls that contain all the work of a thread, in a sentence; "" if there are none.
func (w *Writer) Lasting() string {
	var names []string
	seen := make(map[function]bool)
	for i := range w.Set.Lasting {
		l := &w.Set.Lasting[i]
		loc := w.Name(l.At, true)
		if f := functionOf(&loc); !seen[f] {
			seen[f] = true
			names = append(names, report.Printable(loc.Outer().Function)+" "+Interval(l.Time))
		}
	}
	const most = 6
	if n := len(names); n > most {
		names = append(names[:most], count(uint64(n-most), "more function", "more functions"))
	}
	if len(names) == 0 {
		return ""
	}
	return "enclosing all other calls, and not ranked: " + strings.Join(names, ", ")
}
