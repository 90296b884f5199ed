// Package spikes converts the logs of mode spike to reports: single spikes with their stacks, the functions in
// which they occur, and suggestions for thresholds of calls that are expected to take long. It reads no files;
// a function that the caller provides names addresses.
//
// Durations are intervals, because the clock that probes read moves in steps: see package tracelog. Sums and
// rankings are of lower bounds.
package spikes

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/calls/quantile"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Log describes one log, except for its episodes.
type Log struct {
	Name    string
	Header  tracelog.Header
	Threads map[uint32]string // names by id
	Trailer *tracelog.Trailer // nil if there is none
	Stalls  []tracelog.Stall  // ascending
	Freezes []tracelog.Freeze // ascending
	Frames  *tracelog.Frames  // nil if the program counts none
	// Settings are ascending, none if nothing was changed at run time.
	Settings []tracelog.Setting
	Lost     int64 // bytes that are damaged
	// Windows describes the known calls around spikes, by their numbers.
	Windows map[uint64]Window
}

// Window is the range of a thread's known calls before the end of a spike and within it.
type Window struct {
	Calls    uint64
	From, To uint64 // ns of CLOCK_MONOTONIC
}

// Address is a place in the code, the same in every run of a build.
type Address struct {
	Module int    // number of the caller's, -1 for none
	Offset uint64 // link-time address in it; without a module, the address itself
}

// Place is a function and a line in it.
type Place struct {
	Symbol   string // "" if not known
	Function string // the symbol for display, or what stands for it
	File     string
	Line     int // 0 if not known
	// Opening is the line that the function begins on, 0 if not known.
	Opening int
}

// Location is where an address is in the source.
type Location struct {
	Module string // path of the program or shared object, "" for none
	// Places are the function and what was inlined into it, outermost first.
	// There is at least one.
	Places []Place
}

// Outer is the function whose code it is.
func (l Location) Outer() Place { return l.Places[0] }

// Namer returns the name of an address. Call is set for a return address, which belongs to the instruction
// before it.
type Namer func(a Address, call bool) Location

// Spike is an episode of a log.
type Spike struct {
	Log int // index
	tracelog.Episode
	// Addrs are the addresses of Stack.
	Addrs []Address
	// Frozen is the part of its time in which the whole process stood still, and Awaited that in which its thread waited
	// for work with nothing begun, if it then waited for a processor for its threshold.
	Frozen, Awaited uint64
	// Blame is set for a caller that took too long itself: then it is the peak here, and its callees are no
	// children.
	Blame *Blame

	waitAddrs []Address // of Wait
	idle      Idleness  // of an open call
	alike     int       // of an open call: others with the same stack
}

// isCall reports whether the address of a stack entry is a return address.
func (sp *Spike) isCall(i int) bool { return sp.Stack[i].Flags&tracelog.Exact == 0 }

// Group is all spikes with one stack.
type Group struct {
	Number  int    // in order of appearance
	Seen    uint64 // number of spikes, including those that were only counted
	Written uint64 // in the logs
	Blind   uint64 // ns of the logged spikes' time in which the clock was late
	Sum     uint64 // ns, lower bounds of those in the logs
	// Worst is the longest spike, Last the one that ended last.
	Worst, Last *Spike
	// Limit is the greatest lower bound of all, including those that were only counted, for which it is all
	// that is known. For callers it is the time that no callee explains.
	Limit uint64

	// Idle is whether its spikes only waited for work.
	Idle Idleness

	froze     uint64 // spikes that would be none if the process had not stood still
	others    uint64 // spikes that waited for other threads of the process
	thawed    bool   // the process stood still in one of them, its stack was suspended, or it waited for work
	waiting   bool   // its spikes only waited, as for work
	suspended bool   // its spikes were too long only since their stack was suspended
	twin      *Group // of the spikes with the same stack that did the other
	reasons   map[string]reason
	explained uint64 // spikes with a reason
	of        int32  // of callers: index of the call in Worst
}

// Memory is bounded by the number of different stacks and of their calls: further stacks are only counted.
const maxGroups, maxKept = 100_000, 2_000_000

// Set is the spikes of some logs. Fill it with Add.
type Set struct {
	Logs     []Log
	Groups   []*Group
	Episodes uint64
	// Callers are the calls whose callees do not explain why they took too long, by stack, and Lasting those
	// that contain all work; Settle finds them.
	Callers []*Group
	Lasting []Lasting
	// Unranked are calls beyond the number for which callers are sought.
	Unranked uint64
	// Snapshots are stacks that the programs requested. They are no spikes.
	Snapshots []*Spike
	open      []*Spike // calls that have not ended
	// Ungrouped are episodes with stacks beyond the number that is kept.
	Ungrouped uint64
	// Uncounted are spikes that were only counted, with a stack that no log contains.
	Uncounted uint64

	byStack map[string]*Group
	shares  map[*Group][]*share
	firsts  map[episodeID]*share
	calls   map[Address]*durations
	address Addresser
	idle    idlePlaces

	long []call // that took too long, peaks and callers
	key  []byte
	kept int // entries of the groups' first episodes

	late lateCalls
}

// Addresser resolves an address of a process at a given time.
type Addresser func(log int, pc, time uint64) Address

type episodeID struct {
	log    int
	number uint64
}

// share is the part of a group in one log.
type share struct {
	group   *Group
	log     int
	written uint64
	first   episodeID // the first in the log, by which the log counts those of the stack
	order   uint64    // its place there
}

// durations are those of calls that ended too late at one place.
type durations struct {
	asPeak   uint64
	asParent uint64          // half as long again as the peak, or longer
	times    quantile.Sketch // lower bounds
}

// New returns an empty set. address resolves the addresses of processes.
func New(logs []Log, address Addresser) *Set {
	return &Set{
		Logs: logs, address: address, byStack: make(map[string]*Group), calls: make(map[Address]*durations),
		shares: make(map[*Group][]*share), firsts: make(map[episodeID]*share),
	}
}

// addresses returns those of an episode's stack.
func (s *Set) addresses(log int, e *tracelog.Episode) []Address {
	addrs := make([]Address, len(e.Stack))
	for i, f := range e.Stack {
		addrs[i] = s.address(log, f.PC, e.Time)
	}
	return addrs
}

// stackKey returns a key that is equal for episodes of one group.
func (s *Set) stackKey(addrs []Address) []byte {
	s.key = s.key[:0]
	for _, a := range addrs {
		s.key = binary.AppendVarint(s.key, int64(a.Module))
		s.key = binary.AppendUvarint(s.key, a.Offset)
	}
	return s.key
}

// spikeKey is that of a spike's group: those that were too long only since their stack was suspended have their own.
func (s *Set) spikeKey(sp *Spike) []byte {
	key := s.stackKey(sp.Addrs)
	if sp.wasSuspended() {
		key = append(key, 0)
	}
	return key
}

// Spike returns an episode of a log with its addresses.
func (s *Set) Spike(log int, e *tracelog.Episode) *Spike {
	sp := &Spike{Log: log, Episode: *e, Addrs: s.addresses(log, e)}
	sp.waitAddrs = s.waitAddresses(log, e.Wait, e.Time)
	sp.Frozen = s.frozenIn(log, e.Time, e.Peak)
	sp.Awaited = s.awaited(sp)
	return sp
}

// waitAddresses returns those of a wait.
func (s *Set) waitAddresses(log int, w *tracelog.Wait, time uint64) []Address {
	if w == nil {
		return nil
	}
	list := make([]Address, len(w.Addrs))
	for i, pc := range w.Addrs {
		list[i] = s.address(log, pc, time)
	}
	return list
}

// Snapshot reports whether it is not a spike, but a stack that the program requested.
func (sp *Spike) Snapshot() bool { return sp.Flags&tracelog.Snapshot != 0 }

// Alone returns a group of one spike that is in none, such as a snapshot.
func Alone(sp *Spike) *Group {
	return &Group{Number: -1, Seen: 1, Written: 1, Sum: sp.Peak.Lo, Limit: sp.Peak.Lo, Worst: sp, Last: sp}
}

// GroupOf returns the group that an episode was added to, nil if to none.
func (s *Set) GroupOf(log int, e *tracelog.Episode) *Group {
	sp := s.Spike(log, e)
	g := s.byStack[string(s.spikeKey(sp))]
	if g != nil && g.waiting != sp.Why().mayBeIdle(sp.alive(), sp.Threshold) {
		return g.twin
	}
	return g
}

// Add adds an episode and keeps a reference to it.
func (s *Set) Add(log int, e *tracelog.Episode) {
	sp := s.Spike(log, e)
	if sp.Snapshot() {
		const most = 10_000
		if len(s.Snapshots) < most {
			s.Snapshots = append(s.Snapshots, sp)
		}
		return
	}
	s.Episodes++
	s.count(sp)
	s.keepLate(sp)
	y := sp.Why()
	g := s.groupFor(sp, y.mayBeIdle(sp.alive(), sp.Threshold))
	s.peak(sp, g)
	if g == nil {
		s.Ungrouped++
		return
	}
	g.Seen++
	g.Written++
	g.explain(y, sp.alive())
	g.Sum = saturate.Add(g.Sum, e.Peak.Lo)
	g.Blind = saturate.Add(g.Blind, e.Blind)
	g.Limit = max(g.Limit, sp.own())
	g.thawed = g.thawed || sp.Frozen > 0 || sp.Awaited > 0 || sp.Suspended.Hi > 0 && !g.suspended
	if sp.stood() {
		g.froze++
	}
	if s.waitedForThreads(sp) {
		g.others++
	}
	if sp.own() > g.Worst.own() || g.suspended && sp.Peak.Lo > g.Worst.Peak.Lo {
		g.Worst = sp
	}
	if s.wall(sp) >= s.wall(g.Last) {
		g.Last = sp
	}
}

// groupFor returns the group of a spike, nil if there is no room for another. Spikes with one stack make two
// groups, if some only waited as for work.
func (s *Set) groupFor(sp *Spike, waiting bool) *Group {
	key := s.spikeKey(sp)
	base := s.byStack[string(key)]
	g := base
	if base != nil && base.waiting != waiting {
		g = base.twin
	}
	if g == nil {
		if len(s.Groups) == maxGroups || s.kept > maxKept {
			return nil
		}
		s.kept += len(sp.Stack) + len(sp.Children) + len(sp.Parents)
		g = &Group{Number: len(s.Groups), Worst: sp, Last: sp, waiting: waiting, suspended: sp.wasSuspended()}
		s.Groups = append(s.Groups, g)
		if base == nil {
			base = g
			s.byStack[string(key)] = g
		} else {
			base.twin, g.twin = g, base
		}
	}
	s.share(base, sp.Log, &sp.Episode).written++ // logs count spikes by their stacks
	return g
}

// share returns the share of a log in a group, of which e is an episode.
func (s *Set) share(g *Group, log int, e *tracelog.Episode) *share {
	i := slices.IndexFunc(s.shares[g], func(sh *share) bool { return sh.log == log })
	if i < 0 {
		i = len(s.shares[g])
		s.shares[g] = append(s.shares[g], &share{group: g, log: log, order: math.MaxUint64})
	}
	sh := s.shares[g][i]
	if e.Order < sh.order { // threads' episodes arrive when they are complete
		delete(s.firsts, sh.first)
		sh.first, sh.order = episodeID{log, e.Number}, e.Order
		s.firsts[sh.first] = sh
	}
	return sh
}

// count records how long the calls of the episode's functions took.
func (s *Set) count(sp *Spike) {
	const most = 1 << 16 // places in the code; a program has some hundred
	at := func(a Address) *durations {
		d := s.calls[a]
		if d == nil && len(s.calls) < most {
			d = new(durations)
			s.calls[a] = d
		}
		return d
	}
	if len(sp.Addrs) > 0 {
		if d := at(sp.Addrs[0]); d != nil {
			d.asPeak++
			d.times.Add(sp.Peak.Lo)
		}
	}
	// In a recursion the outermost call counts, which ends last. A caller that took hardly longer than the peak
	// only leads to it.
	last := make(map[Address]*tracelog.Parent)
	for i := range sp.Parents {
		p := &sp.Parents[i]
		last[s.address(sp.Log, p.PC, sp.Time)] = p
	}
	for a, p := range last {
		if p.Time.Lo/3 < sp.Peak.Lo/2 {
			continue
		}
		if d := at(a); d != nil {
			d.asParent++
			d.times.Add(p.Time.Lo)
		}
	}
}

// Count adds how often a stack was seen, which logs record separately. Call it after all episodes of the log
// were added.
func (s *Set) Count(log int, n *tracelog.Seen) {
	sh := s.firsts[episodeID{log, n.Episode}]
	if sh == nil || n.PC == 0 {
		s.Uncounted = saturate.Add(s.Uncounted, n.Count)
		return
	}
	// Logs count both groups of a stack together: those that are in no log are of the larger one.
	g := sh.group
	if t := g.twin; t != nil && t.Written > g.Written {
		g = t
	}
	g.Seen = saturate.Add(g.Seen, since(n.Count, sh.written))
	if g.thawed || g.twin != nil && (g.twin.thawed || n.Worst <= g.twin.Limit) {
		return // it is known; and the log counts with the time of freezes and suspensions
	}
	g.Limit = max(g.Limit, n.Worst)
}

// wall returns when a spike ended, in nanoseconds since 1970, so that the logs of several processes have one
// order.
func (s *Set) wall(sp *Spike) uint64 {
	h := &s.Logs[sp.Log].Header
	return saturate.Add(h.Realtime, since(sp.Time, h.Monotonic))
}

// At returns when a spike ended, in nanoseconds since its log began.
func (s *Set) At(sp *Spike) uint64 { return since(sp.Time, s.Logs[sp.Log].Header.Monotonic) }

// Thread returns the name of a spike's thread, "" if it has none.
func (s *Set) Thread(sp *Spike) string { return s.Logs[sp.Log].Threads[sp.TID] }

// WorstText formats the duration of the longest of a group.
func (g *Group) WorstText() string {
	if g.Worst.Blame == nil && g.Limit > g.Worst.Peak.Lo {
		return "at least " + Interval(exact(g.Limit))
	}
	return Interval(g.Worst.Ran())
}

// Order is the order of groups.
type Order string

// The orders: the longest first, the most frequent first, the last first.
const (
	ByWorst Order = "worst"
	BySeen  Order = "seen"
	ByTime  Order = "time"
)

// Unranked reports whether a group is listed after the ranking.
func (g *Group) Unranked() bool {
	return (g.Idle == Idle || g.suspended) && len(g.Worst.Addrs) > 0 || g.frozen()
}

// Ranked returns the groups in a total order: those of peaks, and those of callers that took too long
// themselves. Groups that only waited for work, or took too long since the process stood still or their stack was
// suspended, are not ranked. By time, those that waited for other threads of their process are behind the rest.
func (s *Set) Ranked(by Order) []*Group {
	key := func(g *Group) uint64 { return g.Limit }
	last := func(g *Group) bool { return by == ByWorst && g.Behind() }
	switch by {
	case BySeen:
		key = func(g *Group) uint64 { return g.Seen }
	case ByTime:
		key = func(g *Group) uint64 { return s.wall(g.Last) }
	}
	ranked := slices.DeleteFunc(slices.Concat(s.Groups, s.Callers), (*Group).Unranked)
	return stablesort.Sorted(slices.Values(ranked), func(a, b *Group) int {
		return cmp.Or(behind(last(a), last(b)), cmp.Compare(key(b), key(a)), cmp.Compare(b.Limit, a.Limit), cmp.Compare(a.Number, b.Number))
	})
}
