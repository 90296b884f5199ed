package spikes

import (
	"cmp"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Timeline is the data of a picture of the calls around a spike. The recorder's clock moves in steps, and
// nearly all calls begin and end within one. The few that were running when it moved are kept.
type Timeline struct {
	Names []string `json:"names"`
	Bars  []Bar    `json:"bars"` // the longest, if there are too many
	From  int64    `json:"from"` // ns before the end of the peak (negative) or after it
	To    int64    `json:"to"`
	Calls uint64   `json:"calls"`
	Left  int      `json:"left"` // number of bars left out
	// Step is the step of the recorder's clock in ns, 0 if it is not known: a bar begins and ends less than a step
	// after its times.
	Step uint64 `json:"step,omitempty"`
}

// Bar is a call, or calls of one function at one depth in a row, each of which was
// running when the clock moved.
type Bar struct {
	Name  int    `json:"n"` // index into the names
	Depth int    `json:"d"`
	From  int64  `json:"a"`
	To    int64  `json:"z"`
	Calls uint64 `json:"c"`
}

// Bounds of a timeline: the number of bars, and the depth.
const maxBars, maxBarDepth = 4000, 200

// NewTimeline makes the timeline of a thread of a log; end is the end of the peak.
func NewTimeline(log calllog.Log, thread int, end uint64, name func(calllog.FuncID) string) (*Timeline, error) {
	b := timeline{of: &Timeline{Step: log.Info().Clock.Step}, names: make(map[calllog.FuncID]int), name: name, end: end}
	begin := true
	var last uint64
	for it, err := range calllog.Events(log, thread) {
		if err != nil {
			return nil, err
		}
		last = max(last, it.Time)
		if begin {
			b.of.From, begin = b.since(it.Time), false
		}
		if it.Kind.IsEnter() {
			b.of.Calls++
			b.stack = append(b.stack, it.Event)
		} else if n := len(b.stack); n > 0 {
			b.close(last)
		}
	}
	for len(b.stack) > 0 {
		b.close(last)
	}
	b.of.To = b.since(last)
	for _, bar := range b.open {
		b.keep(bar)
	}
	t := b.of
	stablesort.Func(t.Bars, func(x, y Bar) int { return cmp.Or(cmp.Compare(y.To-y.From, x.To-x.From), cmp.Compare(x.From, y.From)) })
	if len(t.Bars) > maxBars {
		t.Left, t.Bars = len(t.Bars)-maxBars, t.Bars[:maxBars]
	}
	stablesort.Func(t.Bars, func(x, y Bar) int { return cmp.Or(cmp.Compare(x.Depth, y.Depth), cmp.Compare(x.From, y.From)) })
	return t, nil
}

// timeline makes a Timeline.
type timeline struct {
	of    *Timeline
	names map[calllog.FuncID]int
	name  func(calllog.FuncID) string
	end   uint64
	stack []calllog.Event
	open  []Bar // the last bar of each depth; without calls: none
}

func (b *timeline) since(t uint64) int64 { return int64(t - b.end) }

// close ends the innermost call.
func (b *timeline) close(now uint64) {
	depth := len(b.stack) - 1
	e := b.stack[depth]
	b.stack = b.stack[:depth]
	if now <= e.Time || depth >= maxBarDepth {
		return
	}
	for len(b.open) <= depth {
		b.open = append(b.open, Bar{})
	}
	bar := Bar{Name: b.number(e.Func), Depth: depth, From: b.since(e.Time), To: b.since(now), Calls: 1}
	if o := &b.open[depth]; o.Calls > 0 && o.Name == bar.Name && o.To >= bar.From {
		o.To = max(o.To, bar.To)
		o.Calls++
		return
	}
	b.keep(b.open[depth])
	b.open[depth] = bar
}

func (b *timeline) keep(bar Bar) {
	if bar.Calls > 0 {
		b.of.Bars = append(b.of.Bars, bar)
	}
}

func (b *timeline) number(fn calllog.FuncID) int {
	n, ok := b.names[fn]
	if !ok {
		n = len(b.of.Names)
		b.names[fn] = n
		b.of.Names = append(b.of.Names, b.name(fn))
	}
	return n
}
