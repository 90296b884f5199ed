//go:build cairn

package mark

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// mine returns the stack of spans of this goroutine, or nil if it has none.
func mine() *stack {
	if off.Load() {
		return nil
	}
	id := self()
	if portable {
		id = uintptr(goid())
	}
	st := find(id)
	if st == nil || st.busy {
		return nil
	}
	acquire(st)
	return st
}

// A Paused is a pause of a goroutine's spans. The zero Paused does nothing.
type Paused struct{ st *stack }

// Pause stops the clock of all open spans of the goroutine until Resume. Pauses
// nest.
func Pause() Paused {
	st := mine()
	if st == nil || len(st.spans) == 0 {
		return Paused{}
	}
	if st.pauses++; st.pauses == 1 {
		st.pausedAt = now()
	}
	return Paused{st}
}

// Resume starts the clock again. It must be called on the same goroutine.
func (p Paused) Resume() {
	st := p.st
	if st == nil || st.pauses == 0 || !portable && self() != st.id {
		return
	}
	if st.pauses--; st.pauses == 0 {
		st.paused += now() - st.pausedAt
	}
	release(st)
}

// A Cond opens spans, and pauses, only if it is true.
type Cond bool

// If returns the condition c.
func If(c bool) Cond { return Cond(c) }

// Func is Func if c holds.
//
//go:noinline
func (c Cond) Func() Span {
	if !bool(c) || off.Load() {
		return Span{}
	}
	id, depth, pc := here()
	if portable {
		id, depth, pc = hereSlowly()
	}
	return open(id, depth, pc, "")
}

// Section is Section if c holds.
//
//go:noinline
func (c Cond) Section(name string) Span {
	if !bool(c) || off.Load() {
		return Span{}
	}
	id, depth, pc := here()
	if portable {
		id, depth, pc = hereSlowly()
	}
	return open(id, depth, pc, name)
}

// Pause is Pause if c holds.
func (c Cond) Pause() Paused {
	if !c {
		return Paused{}
	}
	return Pause()
}

// A Bit is a channel: a group of marks that is switched on and off together.
type Bit uint64

var channels channelSet

type channelSet struct {
	on    atomic.Uint64
	mu    sync.Mutex
	names []string
	words []string // words about channels that are created later
}

// Channel returns the channel of that name. There are up to 64; those beyond share
// the last one. All are on, unless CAIRN_SPIKE=channels=ai+net lists those that are:
//
//	var ai = mark.Channel("ai")
//	s := mark.If(ai.On()).Func()
func Channel(name string) Bit {
	channels.mu.Lock()
	defer channels.mu.Unlock()
	for i, n := range channels.names {
		if n == name {
			return 1 << i
		}
	}
	if len(channels.names) == 64 {
		return 1 << 63
	}
	bit := Bit(1) << len(channels.names)
	channels.names = append(channels.names, name)
	bit.Set(true)
	for _, w := range channels.words {
		if on, about := says(w, name); about {
			bit.Set(on)
		}
	}
	return bit
}

// On reports whether the channel is on.
func (b Bit) On() bool { return channels.on.Load()&uint64(b) != 0 }

// Set switches the channel.
func (b Bit) Set(on bool) {
	if on {
		channels.on.Or(uint64(b))
	} else {
		channels.on.And(^uint64(b))
	}
}

var frames atomic.Uint64

// Frame ends a frame: call it once per frame. Spikes have the number of preceding frames, and the log has the
// durations of frames.
func Frame() {
	number := frames.Add(1) - 1
	if off.Load() {
		frameEnd.Store(0)
		return
	}
	begin()
	end := max(now(), 1)
	if last := frameEnd.Swap(end); number > 0 && last > 0 && end > last {
		report.frame(number, end, end-last)
	}
}

// frameEnd is when the last frame ended, 0 if none did.
var frameEnd atomic.Int64

// limits are the thresholds in use.
type limits struct {
	mu       sync.Mutex
	global   atomic.Int64
	shortest atomic.Int64 // that a span ever had for itself
	period   int64        // requested period, 0: from the thresholds
}

var thresholds limits

// least records a threshold of a span.
func (l *limits) least(d int64) {
	d = max(d, 1)
	if l.shortest.Load() <= d {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shortest.Store(min(d, l.shortest.Load()))
	setPace(min(l.global.Load(), l.shortest.Load()), l.period)
}

// SetThreshold sets the duration from which a span without its own threshold is a spike. The initial value is
// 10 ms, or that of CAIRN_SPIKE.
func SetThreshold(d time.Duration) {
	thresholds.mu.Lock()
	defer thresholds.mu.Unlock()
	thresholds.global.Store(max(int64(d), 1))
	setPace(min(thresholds.global.Load(), thresholds.shortest.Load()), thresholds.period)
}

// Snapshot writes the stack of the goroutine to the log, with the times so far of its open spans. It is not a
// spike.
func Snapshot() {
	if off.Load() {
		return
	}
	begin()
	id := self()
	if portable {
		id = uintptr(goid())
	}
	st := find(id)
	switch {
	case st == nil:
		st = &stack{} // it has no spans
	case st.busy:
		return
	default:
		acquire(st)
		defer release(st)
	}
	end := now()
	st.ours(end, func() { st.snapshot(end) })
}

func (st *stack) snapshot(end int64) {
	calls := callers()
	for len(calls) > 0 && strings.HasPrefix(calls[0].Name, "github.com/cairnprof/cairn/mark.") {
		calls = calls[1:]
	}
	i := len(st.spans) - 1
	trail := st.match(calls, i, end, true)
	if len(trail) == 0 {
		return
	}
	s := &Spike{
		Min: trail[0].Min, Max: trail[0].Max, Threshold: time.Duration(thresholds.global.Load()), Frame: frames.Load(), Label: st.label(),
	}
	report.snapshot(max(i, 0), s, trail, end)
}

var callback atomic.Pointer[func(*Spike)]

// OnSpike registers f, which is called for each logged spike, on its goroutine, at the end of the span. The
// time of f is not counted. Marks in f do nothing. nil removes f.
func OnSpike(f func(*Spike)) {
	if f == nil {
		callback.Store(nil)
		return
	}
	callback.Store(&f)
}
