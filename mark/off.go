//go:build !cairn

package mark

import "time"

// Enabled reports whether the program was built with the tag "cairn".
const Enabled = false

// A Span is the time from a mark to its End. The zero Span does nothing.
type Span struct{}

// Func opens a span for the function that calls it: s := mark.Func(); defer s.End().
func Func() Span { return Span{} }

// Section opens a span for a part of a function, with a name of its own.
func Section(name string) Span { return Span{} }

// End ends the span. It must be called on the goroutine that opened it.
func (s Span) End() {}

// If returns the span if c holds, and otherwise one that does nothing:
// s.If(quick).Ignore().
func (s Span) If(c bool) Span { return s }

// Threshold sets from what time on this one span is a spike.
func (s Span) Threshold(d time.Duration) {}

// ChildrenThreshold sets it for all spans below that have none of their own.
func (s Span) ChildrenThreshold(d time.Duration) {}

// ParentsThreshold sets it for the spans around this one, as they are now: it
// replaces what they had. A level that is loaded below a tick is no spike of it.
func (s Span) ParentsThreshold(d time.Duration) {}

// Desc sets what the log says about the span. f is called in End, and only if the
// span is logged.
func (s Span) Desc(f func() string) {}

// OverTime adds a message if the span has lasted as long as its threshold already.
// f is called at once, and only then.
func (s Span) OverTime(f func() string) {}

// Active switches reports of the goroutine off, or on again, until the span ends.
func (s Span) Active(on bool) {}

// Label names the goroutine in the log until the span ends.
func (s Span) Label(name string) {}

// Ignore has the span never reported. Spans around it and below are.
func (s Span) Ignore() {}

// IgnoreChildren has no span below this one reported.
func (s Span) IgnoreChildren() {}

// A Paused is a pause of a goroutine's spans. The zero Paused does nothing.
type Paused struct{}

// Pause stops the clock of all open spans of the goroutine until Resume. Pauses
// nest.
func Pause() Paused { return Paused{} }

// Resume starts the clock again. It must be called on the same goroutine.
func (p Paused) Resume() {}

// A Cond opens spans, and pauses, if it is true.
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

// Frame ends a frame: call it once for each. Spikes have the number of those before,
// and the log how long the frames took.
func Frame() {}

// SetThreshold sets from what time on a span without a threshold of its own is a
// spike. It is 10 ms at the start, or what CAIRN_SPIKE says.
func SetThreshold(d time.Duration) {}

// Snapshot writes the stack of the goroutine to the log, with how long its open spans
// have lasted. It is no spike.
func Snapshot() {}

// OnSpike has f called for each spike that is logged, on its goroutine, at the end
// of the span. The time that f takes is not counted. Marks in f do nothing. nil
// takes f away.
func OnSpike(f func(*Spike)) {}
