//go:build cairn

package mark

import (
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/spikes/marklog"
)

// report is the report of the process. Goroutines write to it directly: Go has no hook for the end of a
// program, so writes must not be deferred.
var report = reportState{seen: map[seenKey]*seen{}, rate: 100, budget: 16_666_667}

type reportState struct {
	slow, borderline atomic.Uint64

	mu        sync.Mutex
	log       *marklog.Log // nil if it cannot be written
	shift     int64        // from now() to CLOCK_MONOTONIC
	stderr    bool
	rate      int
	episodes  uint64 // with snapshots
	snapshots uint64
	limited   uint64
	second    int64 // of the rate
	inSecond  int   // spikes
	seen      map[seenKey]*seen
	frames    marklog.Frames
	budget    int64    // of a frame, ns
	written   int64    // when frames were written last
	unwritten bool     // there are frames since
	setting   settings // the last ones written to the log, or the initial ones
	changes   int      // of settings, in the log
}

// settings are changed by the program, or a client of its control socket.
type settings struct {
	threshold, period, rate uint64
	off                     bool
}

// seenKey is a peak and its stack.
type seenKey struct{ pc, hash uint64 }

type seen struct {
	marklog.Seen
	index int
}

// unwritten is set in the number of a spike that was left out, so that its callers are left out too.
const unwritten = 1 << 63

// count counts a spike and returns its number, with unwritten if it is left out: at most rate spikes per second
// are written, and beyond that those whose count is a power of two.
func (r *reportState) count(trail []call, end, lo int64) uint64 {
	h := fnv.New64a()
	for _, c := range trail {
		_, _ = h.Write(strconv.AppendUint(nil, uint64(c.PC), 16))
		_, _ = h.Write([]byte(c.Name))
	}
	key := seenKey{uint64(trail[0].PC), h.Sum64()}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.episodes++
	s := r.seen[key]
	if s == nil && len(r.seen) >= marklog.MaxSeen-1 {
		key = seenKey{} // all others
		s = r.seen[key]
	}
	if s == nil {
		s = &seen{index: len(r.seen)}
		s.PC, s.Hash, s.First = key.pc, key.hash, r.episodes
		r.seen[key] = s
	}
	s.Count++
	s.Sum += uint64(lo)
	s.Worst = max(s.Worst, uint64(lo))
	s.Last = r.monotonic(end)
	if r.log != nil {
		r.log.Seen(s.index, &s.Seen)
	}
	if r.full(end) && r.inSecond&(r.inSecond-1) != 0 {
		r.limited++
		r.trailer()
		return r.episodes | unwritten
	}
	return r.episodes
}

// monotonic converts a time of now() to that of the log.
func (r *reportState) monotonic(t int64) uint64 { return uint64(t + r.shift) }

// frameOf returns the frame id of a span in the log, like the stack pointer in C: outer spans have larger
// numbers.
func frameOf(level int) uint32 { return ^uint32(7) - 8*uint32(level) }

// spike writes a spike of span i to the log and standard error, and calls OnSpike.
func (r *reportState) spike(i int, s *Spike, trail []call, end int64) {
	tid := goid()
	r.mu.Lock()
	if r.log != nil {
		r.record(recorded{uint32(tid), i, s, trail, end}, 0)
		r.trailer()
	}
	r.print(s, tid)
	r.mu.Unlock()
	notify(s)
}

// print writes a spike to standard error, if that is selected.
func (r *reportState) print(s *Spike, tid uint64) {
	if r.stderr {
		_, _ = os.Stderr.WriteString(s.text(tid))
	}
}

// notify calls the function that OnSpike was given.
func notify(s *Spike) {
	if f := callback.Load(); f != nil {
		(*f)(s)
	}
}

// full reports whether the limit of spikes in this second is reached.
func (r *reportState) full(end int64) bool {
	if second := end / int64(time.Second); second != r.second {
		r.second, r.inSecond = second, 0
	}
	r.inSecond++
	return r.inSecond > r.rate
}

// snapshot writes a stack, the innermost open span of which is i.
func (r *reportState) snapshot(i int, s *Spike, trail []call, end int64) {
	tid := goid()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log == nil || r.full(end) {
		return
	}
	r.episodes++
	r.snapshots++
	s.Number = r.episodes
	r.record(recorded{uint32(tid), i, s, trail, end}, wire.EpisodeSnapshot)
	r.trailer()
}

// recorded is a spike, or a snapshot, whose innermost span is level.
type recorded struct {
	tid   uint32
	level int
	spike *Spike
	trail []call
	end   int64
}

// record writes a spike, or with that flag a snapshot, to the log.
func (r *reportState) record(of recorded, flags uint32) {
	tid, i, s, trail, end := of.tid, of.level, of.spike, of.trail, of.end
	at := r.monotonic(end)
	r.name(tid, s.Label, at)
	e := marklog.Episode{
		TID: tid, Number: s.Number, Time: at, Lo: uint64(s.Min), Hi: uint64(s.Max),
		Threshold: uint64(s.Threshold), Frame: s.Frame, Found: uint32(len(trail)), Flags: flags,
		Blind: uint64(lateIn(end-int64(s.Max), end)),
	}
	for _, c := range trail {
		entry := marklog.Entry{PC: uint64(c.PC), Lo: uint64(c.Min), Hi: uint64(c.Max), Flags: wire.EntryNoStamp}
		if c.level >= 0 {
			entry.Flags, entry.SP = 0, frameOf(c.level)
		}
		e.Stack = append(e.Stack, entry)
	}
	for k, c := range s.Children {
		e.Children = append(e.Children, marklog.Entry{
			PC: uint64(c.PC), Lo: uint64(c.Min), Hi: uint64(c.Max), SP: frameOf(i + 1 + k),
		})
	}
	r.log.Episode(&e)
	for _, c := range trail {
		if c.Section {
			r.log.Text(&marklog.Text{TID: tid, Number: s.Number, Time: at, Kind: wire.TextSection, SP: frameOf(c.level), PC: uint64(c.PC), Text: c.Name})
		}
	}
	for k, c := range s.Children {
		if c.Section {
			r.log.Text(&marklog.Text{TID: tid, Number: s.Number, Time: at, Kind: wire.TextSection, SP: frameOf(i + 1 + k), PC: uint64(c.PC), Text: c.Name})
		}
	}
	r.texts(tid, i, s, at, e.Stack[0].PC)
}

// name writes the name of a goroutine.
func (r *reportState) name(tid uint32, label string, at uint64) {
	if label == "" {
		label = "goroutine " + strconv.FormatUint(uint64(tid), 10)
	}
	r.log.Thread(tid, label, at)
}

// texts writes the program's texts about span i.
func (r *reportState) texts(tid uint32, i int, s *Spike, at, pc uint64) {
	t := marklog.Text{TID: tid, Number: s.Number, Time: at, Kind: wire.TextDescription, SP: frameOf(i), PC: pc, Text: s.Desc}
	if s.Desc != "" {
		r.log.Text(&t)
	}
	for _, m := range s.Messages {
		t.Kind, t.Text = wire.TextMessage, m
		r.log.Text(&t)
	}
}

// parent writes the end of span i, which contains a spike.
func (r *reportState) parent(i int, pc uintptr, s *Spike, end int64) {
	tid := goid()
	r.mu.Lock()
	if r.log != nil {
		at := r.monotonic(end)
		r.log.Parent(&marklog.Parent{
			TID: uint32(tid), Number: s.Number, Time: at, Lo: uint64(s.Min), Hi: uint64(s.Max),
			Threshold: uint64(s.Threshold), PC: uint64(pc), SP: frameOf(i),
		})
		r.texts(uint32(tid), i, s, at, uint64(pc))
		r.trailer()
	}
	r.print(s, tid)
	r.mu.Unlock()
	notify(s)
}

// update writes what changes without spikes.
func (r *reportState) update() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trailer()
}

// frame adds a frame that ended. Its time is written soon.
func (r *reportState) frame(number uint64, end, took int64) {
	const pause = int64(100 * time.Millisecond)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unwritten = true
	r.frames.Add(number, r.monotonic(end), uint64(took), uint64(r.budget))
	if r.log != nil && end-r.written > pause {
		r.written = end
		r.writeFrames()
	}
}

// writeFrames writes the frames if there are new ones. The caller holds the lock.
func (r *reportState) writeFrames() {
	if r.unwritten {
		r.log.Frames(&r.frames)
	}
	r.unwritten = false
}

// told writes the current settings if they were changed, preceded by the former ones if those are not in the
// log.
func (r *reportState) told(now settings, at uint64) {
	const most = 1000 // limit for a program that changes them endlessly
	was := r.setting
	r.setting = now
	if was == (settings{}) || was == now || r.changes == most {
		return
	}
	if r.changes++; r.changes == 1 {
		r.log.Setting(r.log.Monotonic, was.threshold, was.period, was.rate, was.off)
	}
	r.log.Setting(at, now.threshold, now.period, now.rate, now.off)
}

// trailer writes the summary of the log, and stalls of the clock. The caller holds the lock.
func (r *reportState) trailer() {
	if r.log == nil {
		return
	}
	clock.mu.Lock()
	stalls := clock.stalls
	clock.stalls = nil
	t := marklog.Trailer{
		Ticks: uint64(clock.head), Blind: uint64(clock.blind), Late: uint64(clock.late),
		WorstGap: uint64(clock.worst), Period: uint64(clock.period), Low: uint64(clock.low.Load()),
	}
	clock.mu.Unlock()
	t.Time = r.monotonic(now())
	t.Off = off.Load()
	t.Borderline, t.Slow = r.borderline.Load(), r.slow.Load()
	t.Limited, t.Episodes = r.limited, r.episodes-r.snapshots
	t.Threshold = uint64(thresholds.global.Load())
	r.writeFrames()
	r.told(settings{t.Threshold, t.Period, uint64(r.rate), t.Off}, t.Time)
	for _, s := range stalls {
		r.log.Stall(r.monotonic(s.from), r.monotonic(s.to))
	}
	r.log.Trailer(&t)
	if err := r.log.Err(); err != nil {
		fmt.Fprintf(os.Stderr, "cairn: writing %s: %v\n", r.log.Name(), err)
		r.log = nil
	}
}
