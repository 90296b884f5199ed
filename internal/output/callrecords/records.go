// Package callrecords prints the records of logs of calls in the order of the file, and what is damaged at its place.
package callrecords

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// Choice is which records of which logs are printed, and how.
type Choice struct {
	logset.Choice
	verb.DisplayFlags
	From, To string
	Summary  bool

	first, last int64 // offsets, as parsed
}

func (f *Choice) parse() (err error) {
	if f.first, err = parseOffset("from", f.From, 0); err != nil {
		return err
	}
	f.last, err = parseOffset("to", f.To, math.MaxInt64)
	return err
}

// parseOffset returns the value of a flag that is an offset in a file.
func parseOffset(flag, text string, otherwise int64) (int64, error) {
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil || n < 0 {
		return 0, verb.Usagef("--%s %s: must be a number such as 4096 or 0x1000", flag, text)
	}
	return n, nil
}

// Write prints the records of the logs among args, or a summary of each.
func (f *Choice) Write(ctx context.Context, s *verb.Streams, args []string) error {
	if err := f.parse(); err != nil {
		return err
	}
	if f.Lines && f.Summary {
		return verb.Usagef("dump: --jsonl is for lists of records: --summary has --json")
	}
	style, err := f.Style(s)
	if err != nil {
		return err
	}
	args, named := logset.SplitNames(args)
	f.Maps = append(f.Maps, named...)
	paths, err := logset.Expand(args, isDumped)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(s.Out, 1<<16)
	p := &recordPrinter{
		out: out, json: f.Objects(out), several: len(paths) > 1,
		set: logset.New(s, f.Names()),
	}
	var summaries []*logSummary
	for _, path := range paths {
		sum, err := f.file(ctx, s, path, p)
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		sum.finish()
		summaries = append(summaries, sum)
	}
	if p.wanted == 0 {
		verb.Note(s, "no records to show")
	}
	switch {
	case f.Summary && f.Json:
		return report.WriteJSON(s.Out, map[string]any{"logs": summaries})
	case f.Summary:
		for i, sum := range summaries {
			if i > 0 {
				fmt.Fprintln(s.Out)
			}
			if err := sum.print(s.Out, style); err != nil {
				return err
			}
		}
		return nil
	case f.Json:
		if err := p.json.Close(); err != nil {
			return err
		}
	}
	return out.Flush()
}

// isDumped reports whether dump reads a kind of file.
func isDumped(k kind.Kind) bool {
	return k.IsCalls() && k != kind.WindowLog && k != kind.GoTrace
}

// file prints a log, or returns its summary.
func (f *Choice) file(ctx context.Context, s *verb.Streams, path string, p *recordPrinter) (*logSummary, error) {
	file, err := logset.OpenFile(s, path, "not a log of calls", isDumped)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if kind.Of(file.Head(logfile.HeadSize)) == kind.StacksLog {
		return f.stacks(file, p)
	}
	log, err := p.open(file, f.Maps)
	if err != nil {
		return nil, err
	}
	p.log = log
	sum := newLogSummary(log)
	var progress func(int64)
	if f.Summary {
		var stop func()
		progress, stop = (&logset.Set{Streams: s, Logs: []calllog.Log{log.Log}}).Progress()
		defer stop()
	} else if f.first == 0 && len(f.Threads)+len(f.PIDs) == 0 {
		p.header(f.Json)
	}
	return sum, f.records(ctx, log, p, sum, progress)
}

// records iterates over the selected records.
func (f *Choice) records(ctx context.Context, log *dumpLog, p *recordPrinter, sum *logSummary, progress func(int64)) error {
	n := 0
	var r xray.Record // one for all: it would be on the heap each time
	for next, err := range log.records(f.first) {
		r = next
		if n++; n%(1<<16) == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if progress != nil {
				progress(r.Offset)
			}
		}
		damage, err := asDamage(err)
		if err != nil {
			return err
		}
		if r.Offset >= f.last {
			break
		}
		if r.Offset < f.first || !f.Wants(r.PID, r.TID) {
			continue
		}
		if err := f.put(&r, damage, p, sum); err != nil {
			return err
		}
	}
	return nil
}

// put prints a record or damage, or counts it.
func (f *Choice) put(r *xray.Record, damage *calllog.Damage, p *recordPrinter, sum *logSummary) error {
	p.wanted++
	switch {
	case f.Summary:
		sum.add(r, damage)
		return nil
	case f.Json:
		return p.object(r, damage)
	}
	return p.line(r, damage)
}

// asDamage parts damage from errors that end a log.
func asDamage(err error) (*calllog.Damage, error) {
	if err == nil {
		return nil, nil
	}
	var damage *calllog.Damage
	if errors.As(err, &damage) {
		return damage, nil
	}
	return nil, err
}

// recordPrinter prints the records of logs.
type recordPrinter struct {
	out     *bufio.Writer
	json    *report.Objects
	several bool
	wanted  int // number of selected records
	log     *dumpLog
	set     *logset.Set
	mapped  bool // set has the functions of all logs of XRay
	scratch []byte
}

// header prints the log's header. A write error is detected with the first record, or at the
// end.
func (p *recordPrinter) header(asJSON bool) {
	info, h := p.log.Info(), p.log.about
	if asJSON {
		p.json.Encode(jsonRecord{File: info.File, Size: 32, Kind: "header", Format: info.Format, Hz: &h.Hz, Buffer: h.Buffer})
		return
	}
	if p.several {
		fmt.Fprintf(p.out, "%s:\n", info.File)
	}
	fmt.Fprintf(p.out, "%#08x  %-12s  %s, %d ticks per second", 0, "-", info.Format, h.Hz)
	if h.FDR {
		fmt.Fprintf(p.out, ", buffers of %d bytes", h.Buffer)
	}
	fmt.Fprintln(p.out)
}

// line prints a record as text.
func (p *recordPrinter) line(r *xray.Record, damage *calllog.Damage) error {
	b := p.scratch[:0]
	b = fmt.Appendf(b, "%#08x  ", r.Offset)
	at := len(b)
	switch {
	case r.TID == 0 && r.PID == 0:
		b = append(b, '-')
	case r.PID == 0:
		b = strconv.AppendUint(b, uint64(r.TID), 10)
	default:
		b = strconv.AppendUint(b, uint64(r.PID), 10)
		b = append(b, '/')
		b = strconv.AppendUint(b, uint64(r.TID), 10)
	}
	for len(b) < at+14 {
		b = append(b, ' ')
	}
	if damage != nil {
		b = fmt.Appendf(b, "DAMAGED: %s; %s", damage.What, report.Plural(int(damage.Size), "byte"))
	} else {
		b = p.words(b, r)
	}
	b = append(b, '\n')
	p.scratch = b
	_, err := p.out.Write(b)
	return err
}

// words appends the content of a record.
func (p *recordPrinter) words(b []byte, r *xray.Record) []byte {
	switch r.Kind {
	case xray.Extents:
		return fmt.Appendf(b, "block of %d bytes", r.Value)
	case xray.NewBuffer:
		return fmt.Appendf(b, "new buffer of thread %d", r.TID)
	case xray.WallTime:
		return fmt.Appendf(b, "wall time %d.%06d s", r.Seconds, r.Micros)
	case xray.Process:
		return fmt.Appendf(b, "process %d", r.PID)
	case xray.NewCPU:
		return fmt.Appendf(b, "CPU %d, time %d", r.CPU, r.Time)
	case xray.ClockWrap:
		return fmt.Appendf(b, "time %d", r.Time)
	case xray.Call:
		b = append(b, r.Event.String()...)
		b = append(b, ' ')
		b = append(b, p.set.Name(r.Func)...)
		b = p.time(b, r)
		if !p.log.about.FDR {
			b = append(b, " on CPU "...)
			b = strconv.AppendUint(b, uint64(r.CPU), 10)
		}
		return b
	case xray.Argument:
		return fmt.Appendf(b, "argument %d (%#x)", r.Value, r.Value)
	case xray.CustomData:
		b = p.time(append(b, "custom event"...), r)
		return fmt.Appendf(b, ", %s: %q", report.Plural(len(r.Data), "byte"), r.Data)
	case xray.TypedData:
		b = p.time(fmt.Appendf(b, "typed event of type %d", r.Type), r)
		return fmt.Appendf(b, ", %s: %q", report.Plural(len(r.Data), "byte"), r.Data)
	case xray.EndBuffer:
		return append(b, "end of buffer"...)
	case xray.Padding:
		return fmt.Appendf(b, "%s of padding", report.Plural(int(r.Size), "byte"))
	}
	return append(b, r.Kind.String()...)
}

// time appends the time of a record, or if the file stores that, the time since the previous
// record.
func (p *recordPrinter) time(b []byte, r *xray.Record) []byte {
	b = append(b, " at "...)
	b = strconv.AppendUint(b, r.Time, 10)
	if h := p.log.about; h.FDR && (r.Kind == xray.Call || h.Version >= 5) {
		b = fmt.Appendf(b, " (%+d)", r.Delta)
	}
	return b
}

// jsonRecord is a record as an object. Fields that do not apply to a kind are omitted.
type jsonRecord struct {
	File    string  `json:"file,omitempty"`
	Offset  int64   `json:"offset"`
	Size    int64   `json:"size"`
	Kind    string  `json:"kind"`
	Process *uint32 `json:"process,omitempty"`
	Thread  *uint32 `json:"thread,omitempty"`
	CPU     *uint16 `json:"cpu,omitempty"`
	Time    *uint64 `json:"time,omitempty"`
	Delta   *int64  `json:"delta,omitempty"`
	Event   string  `json:"event,omitempty"`
	Func    *uint32 `json:"function,omitempty"`
	Name    string  `json:"name,omitempty"`
	Value   *uint64 `json:"value,omitempty"`
	Seconds *int64  `json:"seconds,omitempty"`
	Micros  *int32  `json:"microseconds,omitempty"`
	Type    *uint16 `json:"type,omitempty"`
	Data    *[]byte `json:"data,omitempty"`
	Damage  string  `json:"damage,omitempty"`

	Format string  `json:"format,omitempty"`
	Hz     *uint64 `json:"hz,omitempty"`
	Buffer uint64  `json:"buffer,omitempty"`
}

// object prints a record as JSON on a line.
func (p *recordPrinter) object(r *xray.Record, damage *calllog.Damage) error {
	o := jsonRecord{Offset: r.Offset, Size: r.Size, Kind: r.Kind.String()}
	if p.several {
		o.File = p.log.Info().File
	}
	if r.PID != 0 || r.TID != 0 {
		o.Process, o.Thread = &r.PID, &r.TID
	}
	if damage != nil {
		o.Kind, o.Damage = "damage", damage.What
		return p.json.Encode(&o)
	}
	fdr := p.log.about.FDR
	switch r.Kind {
	case xray.Call:
		id := uint32(r.Func)
		o.Event, o.Func, o.CPU, o.Time = r.Event.String(), &id, &r.CPU, &r.Time
		if fn, ok := p.set.Funcs[r.Func]; ok {
			o.Name = fn.Name
		}
		if fdr {
			o.Delta = &r.Delta
		}
	case xray.CustomData, xray.TypedData:
		o.CPU, o.Time, o.Data = &r.CPU, &r.Time, &r.Data
		if r.Kind == xray.TypedData {
			o.Type = &r.Type
		}
		if p.log.about.Version >= 5 {
			o.Delta = &r.Delta
		}
	case xray.NewCPU:
		o.CPU, o.Time = &r.CPU, &r.Time
	case xray.ClockWrap:
		o.Time = &r.Time
	case xray.WallTime:
		o.Seconds, o.Micros = &r.Seconds, &r.Micros
	case xray.Argument, xray.Extents:
		o.Value = &r.Value
	}
	return p.json.Encode(&o)
}
