// Package callfile writes logs of calls in the formats of other tools: viewers, profilers, databases and LLVM.
package callfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/format/xrayyaml"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calldb"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/output"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// Rules is what cairn convert knows of a format.
type Rules struct {
	content logContent
	threads threadForm
	weighed bool // --by selects the weight of its stacks
	binary  bool // it is no text
	packed  bool // it is compressed by gzip itself
	write   func(*converter, context.Context, io.Writer) error
}

// logContent is what a file of a format has.
type logContent int

const (
	everyCall logContent = iota
	everyRow             // every call, with the sums of all
	stackSums            // an entry for each stack
	oneLog               // the records of a log
)

// threadForm is how a format has the threads of a log.
type threadForm int

const (
	alwaysApart threadForm = iota
	byFlag                 // apart with --per-thread
	byTime                 // together, in the order of time
)

// Formats is a function, because its rows refer to methods that refer to it.
func Formats() output.Formats[Rules] {
	return output.Formats[Rules]{
		{Name: "chrome", Help: "JSON for ui.perfetto.dev and chrome://tracing", Suffixes: []string{".json"}, Rules: Rules{write: (*converter).chrome}},
		{
			Name: "perfetto", Help: "for ui.perfetto.dev and trace_processor, a sixth of the size of chrome", Suffixes: []string{".perfetto-trace", ".pftrace", ".perfetto"},
			Rules: Rules{binary: true, write: (*converter).perfetto},
		},
		{Name: "speedscope", Help: "for speedscope.app", Suffixes: []string{".speedscope.json", ".speedscope"}, Rules: Rules{write: (*converter).speedscope}},
		{Name: "firefox", Help: "for profiler.firefox.com", Suffixes: []string{".firefox.json", ".gecko.json"}, Rules: Rules{write: (*converter).firefox}},
		{
			Name: "pprof", Help: "calls and times by stack, for go tool pprof", Suffixes: []string{".pb", ".pprof"},
			Rules: Rules{content: stackSums, threads: byFlag, binary: true, packed: true, write: (*converter).pprof},
		},
		{
			Name: "otlp", Help: "the same as OpenTelemetry's ProfilesData", Suffixes: []string{".otlp"},
			Rules: Rules{content: stackSums, threads: byFlag, binary: true, write: (*converter).otlp},
		},
		{
			Name: "folded", Help: "a line for each stack, for flamegraph.pl and others", Suffixes: []string{".folded", ".txt"},
			Rules: Rules{content: stackSums, threads: byFlag, weighed: true, write: (*converter).folded},
		},
		{
			Name: "parquet", Help: "a row for each call, for DuckDB, ClickHouse and Spark", Suffixes: []string{".parquet"},
			Rules: Rules{content: everyRow, binary: true, write: (*converter).parquet},
		},
		{
			Name: "yaml", Help: "the records as llvm-xray convert -f yaml writes them", Suffixes: []string{".yaml", ".yml"},
			Rules: Rules{content: oneLog, threads: byFlag, write: (*converter).yaml},
		},
		{
			Name: "raw", Help: "a basic log of XRay, as llvm-xray convert -f raw writes it", Suffixes: []string{".xray"},
			Rules: Rules{content: oneLog, threads: byTime, binary: true, write: (*converter).raw},
		},
	}
}

// sums is speedscope with --sums.
func (x Rules) sums() *Rules {
	x.content, x.threads, x.weighed = stackSums, byFlag, true
	return &x
}

// summed reports whether the calls of the logs are summed for a format.
func (x *Rules) summed() bool { return x.content == stackSums || x.content == everyRow }

// Choice is which logs are written, and in which format.
type Choice struct {
	logset.Choice
	Names       verb.DisplayFlags
	Stores      verb.StoreFlags
	To, Out, By string
	PerThread   bool
	Summed      bool // speedscope with sums of stacks
}

// Format returns the format that --format or the suffix of the file names.
func (f *Choice) Format() (*output.Format[Rules], error) {
	if f.Stores.Given() {
		return Formats().Named("pprof")
	}
	return Formats().Select(f.To, f.Out, "")
}

// Check refuses flags that the format has no use for, and returns the form of it that they select.
func (f *Choice) Check(x *Rules, byGiven bool) (*Rules, error) {
	if f.By == "time" { // the former name
		f.By = "self"
	}
	if f.Summed && f.To != "speedscope" {
		return nil, verb.Usagef("--sums needs --format speedscope, not %s", f.To)
	}
	if f.Summed {
		x = x.sums()
	}
	switch {
	case f.By != "self" && f.By != "calls":
		return nil, verb.Usagef("--by %s: must be self or calls", f.By)
	case byGiven && !x.weighed:
		return nil, verb.Usagef("--by needs --format folded, or speedscope with --sums, not %s", f.To)
	case f.PerThread && x.threads == byTime:
		return nil, verb.Usagef("--per-thread: not supported for %s, which has the records of all threads in time order", f.To)
	case f.PerThread && x.threads == alwaysApart:
		return nil, verb.Usagef("--per-thread: not needed for %s, which always separates threads", f.To)
	}
	return x, nil
}

// converter writes the logs of one command.
type converter struct {
	*Choice
	set     *logset.Set
	results []*account.Result // of each log, if the format has sums
}

// Write writes the logs among args, in the form of the format that Check returned.
func (f *Choice) Write(ctx context.Context, s *verb.Streams, x *Rules, args []string) error {
	if x.binary && !f.Stores.Given() {
		if err := verb.NotOnTerminal(s, f.Out, f.To, "-o"); err != nil {
			return err
		}
	}
	names := f.Names.Names()
	names.LLVM = f.To == "yaml"
	f.Sums = x.content == stackSums
	set, err := f.Open(s, args, names)
	if err != nil {
		return err
	}
	defer set.Close()
	if len(set.Logs) > 1 && x.content == oneLog {
		return fmt.Errorf("%s files contain one log, not %d: convert them one by one", f.To, len(set.Logs))
	}
	if !x.summed() {
		if err := set.NeedCalls(f.To); err != nil {
			return err
		}
	}
	if f.By == "self" && x.weighed {
		f.By = set.Known(f.By)
	}
	v := &converter{Choice: f, set: set}
	if x.summed() {
		if v.results, err = set.Account(ctx, f.Options); err != nil {
			return err
		}
	}
	if f.Stores.Given() {
		return v.send(ctx)
	}
	return verb.WriteFile(s, f.Out, func(w io.Writer) error {
		z, err := logfile.Compress(w, f.packing(x))
		if err != nil {
			return err
		}
		return errors.Join(x.write(v, ctx, z), z.Close())
	})
}

// packing returns the path whose suffix determines the compression of the file. Formats that
// are compressed themselves are not compressed again.
func (f *Choice) packing(x *Rules) string {
	if x.packed && strings.EqualFold(logfile.Suffix(f.Out), ".gz") {
		return ""
	}
	return f.Out
}

func (v *converter) parquet(ctx context.Context, w io.Writer) error {
	return WriteCalls(ctx, v.set, w, Database(v.set, v.results), v.Options)
}

func (v *converter) yaml(ctx context.Context, w io.Writer) error {
	logs, stop := v.set.Watch()
	defer stop()
	out := xrayyaml.NewWriter(w, yamlHeader(v.set.Logs[0]), v.set.Name)
	if v.PerThread {
		logs = singleThreads(logs[0])
	}
	for _, log := range logs {
		if err := v.records(ctx, out, log); err != nil {
			return err
		}
	}
	return out.Close()
}

// raw writes a basic log.
func (v *converter) raw(ctx context.Context, w io.Writer) error {
	logs, stop := v.set.Watch()
	defer stop()
	version, hz := 3, v.set.Clock.Hz
	if h := yamlHeader(v.set.Logs[0]); h.Version > 0 {
		hz = h.Hz
		if h.Type == 0 {
			version = min(version, int(h.Version))
		}
	}
	out := xray.NewRawWriter(w, version, hz)
	if err := v.records(ctx, out, logs[0]); err != nil {
		return err
	}
	if out.Left > 0 {
		verb.Note(v.set.Streams, "raw cannot represent arguments and events: %s omitted", report.Count(uint64(out.Left)))
	}
	return out.Close()
}

// recordWriter takes records one by one.
type recordWriter interface {
	Write(pid, tid uint32, e *calllog.Event, data *calllog.Payload) error
}

// singleThreads returns each thread of a log as a separate log.
func singleThreads(log calllog.Log) []calllog.Log {
	var logs []calllog.Log
	for i := range log.Threads() {
		n := -1
		logs = append(logs, calllog.Only(log, func(calllog.Thread) bool { n++; return n == i }))
	}
	return logs
}

// records writes the records of a log in the order of time.
func (v *converter) records(ctx context.Context, out recordWriter, log calllog.Log) error {
	threads := log.Threads()
	for it, err := range calllog.ByTime(log) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if damage := (*calllog.Damage)(nil); errors.As(err, &damage) {
			verb.Note(v.set.Streams, "%v", damage)
			continue
		}
		if err != nil {
			return err
		}
		th := &threads[it.Thread]
		if err := out.Write(th.PID, th.TID, &it.Event, it.Data); err != nil {
			return err
		}
	}
	return nil
}

// yamlHeader returns the header of a log. The flags of the clock are set in all logs, on any
// machine.
func yamlHeader(log calllog.Log) xrayyaml.Header {
	for {
		part, ok := log.(interface{ Unwrap() calllog.Log })
		if !ok {
			break
		}
		log = part.Unwrap()
	}
	out := xrayyaml.Header{ConstantTSC: true, NonstopTSC: true}
	if x, ok := log.(*xray.Log); ok {
		h := x.About()
		out.Version, out.Hz = uint16(h.Version), h.Hz
		if h.FDR {
			out.Type = 1
		}
	}
	return out
}

// Database returns the inputs of the database and of the Parquet file of a set.
func Database(t *logset.Set, results []*account.Result) *calldb.Data {
	data := &calldb.Data{Funcs: t.Funcs, Show: t.Names.Show}
	for i, log := range t.Logs {
		data.Sources = append(data.Sources, calldb.Source{Log: log, Result: results[i], SumsOnly: logset.SumsOf(log) != nil})
	}
	return data
}

// WriteCalls writes every call as Parquet, with progress.
func WriteCalls(ctx context.Context, t *logset.Set, w io.Writer, data *calldb.Data, opt account.Options) error {
	opt, err := t.WithTails(ctx, opt)
	if err != nil {
		return err
	}
	var stop func()
	opt.Progress, stop = t.Progress()
	defer stop()
	_, err = calldb.WriteCalls(ctx, w, data, opt)
	return err
}
