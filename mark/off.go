//go:build !cairn

package mark

import "time"

// Enabled reports whether the program was built with the tag "cairn".
const Enabled = false

// A Span is the time from a mark to its End. The zero Span does nothing.
type Span struct{}

// Func opens a span for the function that calls it: s := mark.Func(); defer s.End().
func Func() Span { return Span{} }

// Section opens a span for a part of a function, with its own name.
func Section(name string) Span { return Span{} }

// End ends the span. It must be called on the goroutine that opened it.
func (s Span) End() {}

// If returns the span if c holds, and otherwise one that does nothing:
// s.If(quick).Ignore().
func (s Span) If(c bool) Span { return s }

// Threshold sets the duration from which this span is a spike.
func (s Span) Threshold(d time.Duration) {}

// ChildrenThreshold sets it for all spans below that have none of their own.
func (s Span) ChildrenThreshold(d time.Duration) {}

// ParentsThreshold replaces the thresholds of the spans that are open around this one. For example, a level
// that is loaded within a tick is then no spike of the tick.
func (s Span) ParentsThreshold(d time.Duration) {}

// Desc sets the span's description in the log. f is called in End, and only if the span is logged.
func (s Span) Desc(f func() string) {}

// OverTime adds a message if the span has already reached its threshold. Only then is f called, at once.
func (s Span) OverTime(f func() string) {}

// Active switches reports of the goroutine off, or on again, until the span ends.
func (s Span) Active(on bool) {}

// Label names the goroutine in the log until the span ends.
func (s Span) Label(name string) {}

// Ignore excludes the span from reports. Spans around it and below it are reported.
func (s Span) Ignore() {}

// IgnoreChildren excludes all spans below this one from reports.
func (s Span) IgnoreChildren() {}

// A Paused is a pause of a goroutine's spans. The zero Paused does nothing.
type Paused struct{}

// Pause stops the clock of all open spans of the goroutine until Resume. Pauses
// nest.
func Pause() Paused { return Paused{} }

// Resume starts the clock again. It must be called on the same goroutine.
func (p Paused) Resume() {}

// A Cond opens spans, and pauses, only if it is true.
type Cond bool

// If returns the condition c.
func If(c bool) Cond { return false }

// Func is Func if c holds.
func (c Cond) Func() Span { return Span{} }

// Section is Section if c holds.
func (c Cond) Section(name string) Span { return Span{} }

// Pause is Pause if c holds.
func (c Cond) Pause() Paused { return Paused{} }

// A Bit is a channel: a group of marks that is switched on and off together.
type Bit uint64

// Channel returns the channel of that name. There are up to 64; those beyond share
// the last one. All are on, unless CAIRN_SPIKE=channels=ai+net lists those that are:
//
//	var ai = mark.Channel("ai")
//	s := mark.If(ai.On()).Func()
func Channel(name string) Bit { return 0 }

// On reports whether the channel is on.
func (b Bit) On() bool { return false }

// Set switches the channel.
func (b Bit) Set(on bool) {}

// Frame ends a frame: call it once per frame. Spikes have the number of preceding frames, and the log has the
// durations of frames.
func Frame() {}

// SetThreshold sets the duration from which a span without its own threshold is a spike. The initial value is
// 10 ms, or that of CAIRN_SPIKE.
func SetThreshold(d time.Duration) {}

// Snapshot writes the stack of the goroutine to the log, with the times so far of its open spans. It is not a
// spike.
func Snapshot() {}

// OnSpike registers f, which is called for each logged spike, on its goroutine, at the end of the span. The
// time of f is not counted. Marks in f do nothing. nil removes f.
func OnSpike(f func(*Spike)) {}
