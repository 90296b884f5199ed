package mark

import (
	"time"
	_ "unsafe" // for linkname
)

// This file takes the place of off.go in programs of cairn go --mode spike: marks say what they
// say of functions with probes.

const Enabled = true

//go:linkname openMark runtime.cairn_mark_open
func openMark(section bool, name string) uint64

//go:linkname setMark runtime.cairn_mark_set
func setMark(seq uint64, what int, value int64)

//go:linkname overMark runtime.cairn_mark_over
func overMark(seq uint64) bool

//go:linkname textMark runtime.cairn_mark_text
func textMark(seq uint64, kind uint16, text string)

//go:linkname closeMark runtime.cairn_mark_close
func closeMark(seq uint64)

//go:linkname thresholdMark runtime.cairn_mark_threshold
func thresholdMark(ns int64)

//go:linkname labelMark runtime.cairn_mark_label
func labelMark(text string)

//go:linkname frameMark runtime.cairn_mark_frame
func frameMark()

//go:linkname pauseMark runtime.cairn_mark_pause
func pauseMark() uint64

//go:linkname resumeMark runtime.cairn_mark_resume
func resumeMark(id uint64)

//go:linkname channelMark runtime.cairn_mark_channel
func channelMark(name string) uint64

//go:linkname channelsMark runtime.cairn_mark_channels
func channelsMark() uint64

//go:linkname switchMark runtime.cairn_mark_switch
func switchMark(bits uint64, on bool)

//go:linkname snapshotMark runtime.cairn_mark_snapshot
func snapshotMark()

//go:linkname handlerMark runtime.cairn_mark_handler
func handlerMark(f func(*spikeInfo))

// spikeInfo is runtime.cairnSpikeInfo; a Call is what runtime.cairnCallInfo is.
type spikeInfo struct {
	number, frame     uint64
	ago               time.Duration
	lo, hi, threshold time.Duration
	parent            bool
	label, desc       string
	messages          []string
	stack             []Call
}

const (
	own = 1 + iota
	below
	above
	skip
	quiet
	active
)

const (
	description = 1
	message     = 2
)

type Span struct {
	seq  uint64
	desc *func() string
}

//go:noinline
func Func() Span { return Span{seq: openMark(false, ""), desc: new(func() string)} }

//go:noinline
func Section(name string) Span {
	return Span{seq: openMark(true, name), desc: new(func() string)}
}

//go:noinline
func (s Span) End() {
	if s.seq == 0 {
		return
	}
	if s.desc != nil && *s.desc != nil && overMark(s.seq) {
		textMark(s.seq, description, (*s.desc)())
	}
	closeMark(s.seq)
}

func (s Span) If(c bool) Span {
	if c {
		return s
	}
	return Span{}
}

func (s Span) Threshold(d time.Duration)         { setMark(s.seq, own, int64(d)) }
func (s Span) ChildrenThreshold(d time.Duration) { setMark(s.seq, below, int64(d)) }
func (s Span) ParentsThreshold(d time.Duration)  { setMark(s.seq, above, int64(d)) }
func (s Span) Ignore()                           { setMark(s.seq, skip, 0) }
func (s Span) IgnoreChildren()                   { setMark(s.seq, quiet, 0) }

func (s Span) Active(on bool) {
	if on {
		setMark(s.seq, active, 1)
	} else {
		setMark(s.seq, active, -1)
	}
}

func (s Span) Desc(f func() string) {
	if s.desc != nil {
		*s.desc = f
	}
}

//go:noinline
func (s Span) OverTime(f func() string) {
	if s.seq != 0 && overMark(s.seq) {
		textMark(s.seq, message, f())
	}
}

func (s Span) Label(name string) {
	if s.seq != 0 {
		labelMark(name)
	}
}

type Paused struct{ id uint64 }

func Pause() Paused { return Paused{pauseMark()} }

func (p Paused) Resume() {
	if p.id != 0 {
		resumeMark(p.id)
	}
}

type Cond bool

func If(c bool) Cond { return Cond(c) }

//go:noinline
func (c Cond) Func() Span {
	if !c {
		return Span{}
	}
	return Span{seq: openMark(false, ""), desc: new(func() string)}
}

//go:noinline
func (c Cond) Section(name string) Span {
	if !c {
		return Span{}
	}
	return Span{seq: openMark(true, name), desc: new(func() string)}
}

func (c Cond) Pause() Paused {
	if !c {
		return Paused{}
	}
	return Pause()
}

type Bit uint64

func Channel(name string) Bit { return Bit(channelMark(name)) }

func (b Bit) On() bool { return channelsMark()&uint64(b) != 0 }

func (b Bit) Set(on bool) { switchMark(uint64(b), on) }

func Frame() { frameMark() }

func SetThreshold(d time.Duration) { thresholdMark(int64(d)) }

//go:noinline
func Snapshot() { snapshotMark() }

func OnSpike(f func(*Spike)) {
	if f == nil {
		handlerMark(nil)
		return
	}
	handlerMark(func(s *spikeInfo) {
		spike := &Spike{
			Number: s.number, Parent: s.parent, Name: s.stack[0].Name, Time: time.Now().Add(-s.ago), Min: s.lo, Max: s.hi,
			Threshold: s.threshold, Label: s.label, Frame: s.frame, Desc: s.desc, Messages: s.messages,
		}
		if !s.parent {
			spike.Stack = s.stack
		}
		f(spike)
	})
}
