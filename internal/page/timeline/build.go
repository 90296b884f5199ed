package timeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/report/webpage"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Source is logs of calls whose functions have common numbers.
type Source struct {
	Logs []calllog.Log
	// Name returns the name of a function.
	Name func(calllog.FuncID) string
	// Threads returns the name of a thread, "" if it has none. It may be nil.
	Threads func(log int, t calllog.Thread) string
	// Options are how calls without an end are counted.
	Options account.Options
	// End is how long the time line is at least.
	End uint64

	sweep int // after how many records tracks are swept, 0 to choose
}

// Build writes the index of logs. Damage in them is skipped.
func Build(ctx context.Context, w io.Writer, src *Source) error {
	b := builder{src: src, out: newWriter(w), numbers: make(map[calllog.FuncID]uint32), texts: make(map[string]uint32)}
	origins, common := calllog.Origins(src.Logs)
	if !common {
		b.notes = append(b.notes, "The clocks of these logs cannot be compared: each begins at 0.")
	}
	if len(src.Logs) > 0 {
		b.unit = src.Logs[0].Info().Clock.Unit()
	}
	for _, p := range src.order() {
		if err := b.lane(ctx, p, origins[p.log]); err != nil {
			return fmt.Errorf("%s: %w", src.Logs[p.log].Info().File, err)
		}
	}
	for i, log := range src.Logs {
		step := func(l calllog.Log) uint64 { return l.Info().Clock.Step }
		if s := step(log); s > 0 && !slices.ContainsFunc(src.Logs[:i], func(l calllog.Log) bool { return step(l) == s }) {
			b.notes = append(b.notes, fmt.Sprintf("The clock advanced every %s: calls begin and end within that time, as the pale parts of their bars show.", report.Duration(s, b.unit)))
		}
	}
	b.end = min(max(b.end, src.End), maxTime)
	if b.broken > 0 {
		b.notes = append(b.notes, report.Count(b.broken)+" damaged places of logs are left out.")
	}
	return b.out.finish(&b.header)
}

// builder builds an index.
type builder struct {
	header
	src     *Source
	out     *writer
	numbers map[calllog.FuncID]uint32
	texts   map[string]uint32 // functions that represent events
	broken  uint64
}

// laneThreads are the threads of a log that form one lane: the windows around spikes are
// threads of their log, and all windows of one thread are one lane.
type laneThreads struct {
	log     int
	lane    Lane
	first   calllog.Thread
	threads []int
}

// order returns the lanes in the order of the page: by log, ascending as in the log. If one of
// several logs names its threads, as those of Go do, threads with the same number are
// adjacent, because they are the same goroutine: first its calls, then its states.
func (s *Source) order() []laneThreads {
	var list []laneThreads
	for log := range s.Logs {
		for i, th := range s.Logs[log].Threads() {
			lane := laneOf(log, th)
			if n := len(list); n > 0 && list[n-1].lane == lane {
				list[n-1].threads = append(list[n-1].threads, i)
				continue
			}
			list = append(list, laneThreads{log, lane, th, []int{i}})
		}
	}
	if len(s.Logs) > 1 && slices.ContainsFunc(list, func(l laneThreads) bool { return l.first.Name != "" }) {
		stablesort.Func(list, func(a, b laneThreads) int {
			return cmp.Or(cmp.Compare(a.lane.TID, b.lane.TID), cmp.Compare(min(1, len(a.first.Name)), min(1, len(b.first.Name))))
		})
	}
	return list
}

// lane adds a lane.
func (b *builder) lane(ctx context.Context, of laneThreads, origin uint64) error {
	x := b.newLane(of.lane, of.first)
	for _, i := range of.threads {
		if err := x.thread(ctx, i, origin); err != nil {
			return err
		}
	}
	b.endLane(x)
	return b.out.err
}

// laneBuilder adds the calls of a thread.
type laneBuilder struct {
	*builder
	Lane
	calls, events track
}

func (b *builder) newLane(lane Lane, th calllog.Thread) *laneBuilder {
	lane.Name = fmt.Sprintf("thread %d", th.TID)
	if th.Name != "" {
		lane.Name, th.Stack = report.Printable(th.Name), 0
	} else if b.src.Threads != nil {
		if name := b.src.Threads(lane.Log, th); name != "" {
			lane.Name = report.Printable(name)
			if number := fmt.Sprintf(" %d", th.TID); !strings.HasSuffix(name, number) { // goroutines have it already
				lane.Name += number
			}
		}
	}
	if th.Stack > 0 {
		lane.Name += fmt.Sprintf(", stack %d", th.Stack)
	}
	lane.First, lane.Step = math.MaxUint64, b.src.Logs[lane.Log].Info().Clock.Step
	of := track{lane: len(b.lanes), out: b.out, every: cmp.Or(b.src.sweep, sweep)}
	x := &laneBuilder{builder: b, Lane: lane, calls: of, events: of}
	x.events.events = true
	return x
}

// thread adds the calls of a thread of the log. Calls at times that another thread of the lane
// covers are skipped.
func (x *laneBuilder) thread(ctx context.Context, thread int, origin uint64) error {
	log := x.src.Logs[x.Log]
	clock := log.Info().Clock
	opt := x.src.Options
	opt.CallsOnly, opt.MaxNodes = true, 1<<12 // the trie is not used
	before := x.calls.now
	replay := account.NewReplay(&eventLog{Log: log, seen: func(e *calllog.Event, p *calllog.Payload) {
		at := since(e.Time, origin, clock)
		x.events.add(Record{Start: at, End: at, Func: x.event(e, p)})
		x.Events++
	}}, thread, opt)
	for c, err := range replay.All(ctx) {
		switch damage := (*calllog.Damage)(nil); {
		case errors.As(err, &damage):
			x.broken++
			continue
		case err != nil:
			return err
		}
		start := calllog.Since(c.Start, origin)
		if before > 0 && start < before {
			continue
		}
		x.Calls++
		if c.Depth > maxTrackDepth {
			x.Deeper++
			continue
		}
		if c.Depth == 1 {
			x.Busy += c.Duration
		}
		r := Record{Depth: c.Depth, Start: start, End: start + c.Duration, Func: x.number(c.Func)}
		if c.End >= account.Deduced {
			r.Kind = NoExit
		}
		x.calls.add(r)
	}
	done := replay.Thread()
	x.First = min(x.First, calllog.Since(done.First, origin))
	x.Last = max(x.Last, calllog.Since(done.Last, origin))
	return nil
}

func (b *builder) endLane(x *laneBuilder) {
	x.calls.finish()
	x.events.finish()
	x.First = min(x.First, x.Last)
	x.Depth = max(0, len(x.calls.depths)-1)
	b.end = min(max(b.end, x.Last, x.calls.now, x.events.now), maxTime)
	b.lanes = append(b.lanes, x.Lane)
}

// since is a time of a clock on the time line.
func since(ticks, origin uint64, c calllog.Clock) uint64 {
	return calllog.Since(c.Nanoseconds(ticks), origin)
}

// number returns the index of a function.
func (b *builder) number(fn calllog.FuncID) uint32 {
	n, ok := b.numbers[fn]
	if !ok {
		n = b.function(b.src.Name(fn))
		b.numbers[fn] = n
	}
	return n
}

func (b *builder) function(name string) uint32 {
	name = report.Printable(name)
	b.names = append(b.names, name[:min(len(name), maxText)])
	b.shades = append(b.shades, uint8(webpage.Shade(name)))
	return uint32(len(b.names) - 1)
}

// Events are distinguished by their data if there are few.
const maxEventTexts, maxEventText = 4096, 120

// event returns the index of the function that represents an event.
func (b *builder) event(e *calllog.Event, p *calllog.Payload) uint32 {
	kind := e.Kind.String()
	text := kind
	if p != nil {
		if e.Kind == calllog.Typed {
			kind = fmt.Sprintf("%s %d", kind, p.Type)
			text = kind
		}
		if len(p.Data) > 0 {
			text = kind + ": " + eventText(p.Data)
		}
	}
	n, ok := b.texts[text]
	if !ok && len(b.texts) >= maxEventTexts {
		text = kind
		n, ok = b.texts[text]
	}
	if !ok {
		n = b.function(text)
		b.texts[text] = n
	}
	return n
}

// eventText returns the data of an event as text if it is printable, otherwise in hexadecimal.
func eventText(data []byte) string {
	cut := data[:min(len(data), maxEventText)]
	for _, c := range cut {
		if c < ' ' && c != '\t' && c != '\n' || c > '~' {
			return fmt.Sprintf("%x", cut)
		}
	}
	return string(cut)
}

// eventLog shows the events of a log that are no calls.
type eventLog struct {
	calllog.Log
	seen func(*calllog.Event, *calllog.Payload)
}

// Batches implements calllog.Log.
func (l *eventLog) Batches(thread, from, to int) iter.Seq2[*calllog.Batch, error] {
	return func(yield func(*calllog.Batch, error) bool) {
		for b, err := range l.Log.Batches(thread, from, to) {
			if b != nil && err == nil {
				l.look(b)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

func (l *eventLog) look(b *calllog.Batch) {
	for i := range b.Events {
		e := &b.Events[i]
		if e.Kind != calllog.Custom && e.Kind != calllog.Typed {
			continue
		}
		var p *calllog.Payload
		if n := int(e.Payload); n > 0 && n <= len(b.Payloads) {
			p = &b.Payloads[n-1]
		}
		l.seen(e, p)
	}
}
