package callfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"path/filepath"
	"strconv"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/chrometrace"
	"github.com/cairnprof/cairn/format/firefoxprofile"
	"github.com/cairnprof/cairn/format/perfetto"
	"github.com/cairnprof/cairn/format/speedscope"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// manyCalls is the number of calls from which on a browser is slow.
const manyCalls = 5_000_000

// eventWriter writes the events of threads, one thread after the other. Times are relative to
// the start of the trace.
type eventWriter interface {
	Thread(pid, tid uint32, process, thread string) error
	Begin(at uint64, fn int, args []uint64) error
	End(at uint64) error
	Instant(at uint64, kind calllog.Kind, p *calllog.Payload) error
	Close() error
}

func (v *converter) chrome(ctx context.Context, w io.Writer) error {
	start := v.start()
	meta := []chrometrace.Meta{{Key: "start", Value: strconv.FormatUint(start, 10)}, {Key: "unit", Value: v.set.Clock.Unit()}}
	if p := verb.Program(); p != "cairn" {
		meta = append(meta, chrometrace.Meta{Key: "writer", Value: p})
	}
	for i, log := range v.set.Logs {
		key := "log"
		if len(v.set.Logs) > 1 {
			key = fmt.Sprintf("log %d", i+1)
		}
		meta = append(meta, chrometrace.Meta{Key: key, Value: log.Info().File})
	}
	out := chrometrace.NewWriter(w, meta)
	return v.events(ctx, out, func(id calllog.FuncID) int { return out.Function(v.set.Name(id)) })
}

func (v *converter) perfetto(ctx context.Context, w io.Writer) error {
	clock := perfetto.Boottime
	if v.set.Clock.Epoch {
		clock = perfetto.Realtime
	}
	out := perfetto.NewWriter(w, v.start(), clock)
	return v.events(ctx, out, func(id calllog.FuncID) int { return out.Function(v.set.Name(id)) })
}

func (v *converter) speedscope(ctx context.Context, w io.Writer) error {
	if v.Summed {
		return v.speedscopeSums(w)
	}
	out := &scopeEvents{Writer: speedscope.NewWriter(w, v.set.Title(), verb.Program()), unit: v.scopeUnit()}
	err := v.events(ctx, out, func(id calllog.FuncID) int { return out.Function(v.frame(id)) })
	if err == nil && out.instants > 0 {
		verb.Note(v.set.Streams, "%s omitted: speedscope cannot represent custom and typed events", report.Plural(out.instants, "event"))
	}
	return err
}

func (v *converter) frame(id calllog.FuncID) speedscope.Frame {
	fn := v.set.Funcs[id]
	return speedscope.Frame{Name: v.set.Name(id), File: fn.File, Line: fn.Line}
}

func (v *converter) scopeUnit() speedscope.Unit {
	if v.set.Clock.Hz == 0 {
		return speedscope.None
	}
	return speedscope.Nanoseconds
}

// scopeEvents writes threads as speedscope's profiles.
type scopeEvents struct {
	*speedscope.Writer
	unit     speedscope.Unit
	threads  int
	instants int
}

func (x *scopeEvents) Thread(_, _ uint32, process, thread string) error {
	if x.threads++; x.threads > 1 {
		if err := x.EndEvented(); err != nil {
			return err
		}
	}
	return x.Evented(thread+" of "+process, x.unit)
}

func (x *scopeEvents) Begin(at uint64, fn int, _ []uint64) error { return x.Writer.Begin(at, fn) }

func (x *scopeEvents) Instant(uint64, calllog.Kind, *calllog.Payload) error {
	x.instants++
	return nil
}

func (x *scopeEvents) Close() error {
	if x.threads == 0 { // a file needs at least one profile
		x.Evented("no threads", x.unit)
	}
	return errors.Join(x.EndEvented(), x.Writer.Close())
}

// events writes all that the threads did.
func (v *converter) events(ctx context.Context, out eventWriter, function func(calllog.FuncID) int) error {
	opt, err := v.set.WithTails(ctx, v.Options)
	if err != nil {
		return err
	}
	logs, stop := v.set.Watch()
	e := &eventCopy{out: out, function: function, functions: make(map[calllog.FuncID]int)}
	origins, pids := v.origins(), processIDs(v.set.Logs)
	results := make([]*account.Result, len(logs))
	for i, log := range logs {
		results[i] = &account.Result{}
		for t, th := range log.Threads() {
			pid := pids[i][th.PID]
			if err := out.Thread(pid, trackOf(th), processName(log, th, pid), logset.ThreadLabel(th)); err != nil {
				stop()
				return err
			}
			replay := account.NewReplay(log, t, opt)
			damage, err := e.copy(replay.Steps(ctx), origins[i])
			if err != nil {
				stop()
				return err
			}
			results[i].Threads = append(results[i].Threads, replay.Thread())
			results[i].Damage = append(results[i].Damage, damage...)
		}
	}
	stop()
	for i, r := range results {
		v.set.NoteResult(logs[i].Info(), r)
	}
	v.set.NoteNames(results)
	if _, small := out.(*perfetto.Writer); !small && e.calls > manyCalls {
		verb.Note(v.set.Streams, "%s: may be too large for a browser; --format perfetto writes a smaller file, and --format speedscope --sums only the stacks", report.Plural(e.calls, "call"))
	}
	return out.Close()
}

// An eventCopy hands steps to a writer.
type eventCopy struct {
	out       eventWriter
	function  func(calllog.FuncID) int
	functions map[calllog.FuncID]int // the current function
	calls     int
}

// copy writes the steps of a thread, relative to origin.
func (e *eventCopy) copy(steps iter.Seq2[*account.Step, error], origin uint64) (damage []*calllog.Damage, err error) {
	for s, err := range steps {
		if d := (*calllog.Damage)(nil); errors.As(err, &d) {
			damage = append(damage, d)
			continue
		}
		if err != nil {
			return nil, err
		}
		at := calllog.Since(s.At, origin)
		switch s.What {
		case account.Begins:
			err = e.out.Begin(at, e.number(s.Call.Func), s.Call.Args)
		case account.Ends:
			e.calls++
			err = e.out.End(at)
		case account.Happened:
			p := s.Payload
			if p == nil {
				p = &calllog.Payload{}
			}
			err = e.out.Instant(at, s.Kind, p)
		}
		if err != nil {
			return nil, err
		}
	}
	return damage, nil
}

func (e *eventCopy) number(id calllog.FuncID) int {
	n, ok := e.functions[id]
	if !ok {
		n = e.function(id)
		e.functions[id] = n
	}
	return n
}

// origins returns the origins of the times of each log.
func (v *converter) origins() []uint64 {
	origins, _ := calllog.Origins(v.set.Logs)
	return origins
}

// start returns the time of the beginning of the output, by the clock of the first log, or by
// that of the system if all logs have it.
func (v *converter) start() uint64 {
	return v.origins()[0] + v.set.Logs[0].Info().Clock.Base
}

// processIDs returns, for each log, the number to show for each of its processes. This is its
// id, but viewers identify processes by it: if two logs have the same id the second gets
// another number, and so do ids that viewers do not accept.
func processIDs(logs []calllog.Log) []map[uint32]uint32 {
	used := make(map[uint32]bool)
	shown := make([]map[uint32]uint32, len(logs))
	next := uint32(1)
	for i, log := range logs {
		shown[i] = make(map[uint32]uint32)
		for _, th := range log.Threads() {
			if _, ok := shown[i][th.PID]; !ok && !used[th.PID] && th.PID > 0 && th.PID <= math.MaxInt32 {
				used[th.PID], shown[i][th.PID] = true, th.PID
				next = max(next, th.PID+1)
			}
		}
	}
	for i, log := range logs {
		for _, th := range log.Threads() {
			if _, ok := shown[i][th.PID]; ok {
				continue
			}
			for used[next] || next == 0 || next > math.MaxInt32 {
				next = (next + 1) % math.MaxInt32
			}
			used[next], shown[i][th.PID] = true, next
		}
	}
	return shown
}

// processName returns the name of a thread's process, which is shown as pid.
func processName(log calllog.Log, th calllog.Thread, pid uint32) string {
	name := filepath.Base(log.Info().File)
	if th.PID != pid && th.PID != 0 {
		name += fmt.Sprintf(" (process %d)", th.PID)
	}
	return name
}

// trackOf returns the number of the track for one stack of a thread: that of the thread for
// its own stack. The kernel's thread ids have 22 bits.
func trackOf(th calllog.Thread) uint32 { return th.TID + th.Stack<<22 }

// firefox writes a profile for the Firefox Profiler.
func (v *converter) firefox(ctx context.Context, w io.Writer) error {
	meta := firefoxprofile.Meta{Product: v.set.Title(), Program: verb.Program()}
	if v.set.Clock.Epoch {
		meta.Start = v.origins()[0]
	}
	out := firefoxEvents{firefoxprofile.NewWriter(w, meta)}
	return v.events(ctx, out, func(id calllog.FuncID) int {
		fn := v.set.Funcs[id]
		return out.Function(firefoxprofile.Function{Name: v.set.Name(id), File: fn.File, Line: fn.Line})
	})
}

// firefoxEvents writes calls without their arguments, and events as markers.
type firefoxEvents struct{ *firefoxprofile.Writer }

func (x firefoxEvents) Begin(at uint64, fn int, _ []uint64) error { return x.Writer.Begin(at, fn) }

func (x firefoxEvents) Instant(at uint64, kind calllog.Kind, _ *calllog.Payload) error {
	return x.Marker(at, kind.String())
}
