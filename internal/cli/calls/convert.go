package calls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/format/xrayyaml"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/output"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// logFormat is what cairn convert knows of a format.
type logFormat struct {
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

// logFormats is a function, because its rows refer to methods that refer to it.
func logFormats() output.Formats[logFormat] {
	return output.Formats[logFormat]{
		{Name: "chrome", Help: "JSON for ui.perfetto.dev and chrome://tracing", Suffixes: []string{".json"}, Rules: logFormat{write: (*converter).chrome}},
		{
			Name: "perfetto", Help: "for ui.perfetto.dev and trace_processor, a sixth of the size of chrome", Suffixes: []string{".perfetto-trace", ".pftrace", ".perfetto"},
			Rules: logFormat{binary: true, write: (*converter).perfetto},
		},
		{Name: "speedscope", Help: "for speedscope.app", Suffixes: []string{".speedscope.json", ".speedscope"}, Rules: logFormat{write: (*converter).speedscope}},
		{Name: "firefox", Help: "for profiler.firefox.com", Suffixes: []string{".firefox.json", ".gecko.json"}, Rules: logFormat{write: (*converter).firefox}},
		{
			Name: "pprof", Help: "calls and times by stack, for go tool pprof", Suffixes: []string{".pb", ".pprof"},
			Rules: logFormat{content: stackSums, threads: byFlag, binary: true, packed: true, write: (*converter).pprof},
		},
		{
			Name: "otlp", Help: "the same as OpenTelemetry's ProfilesData", Suffixes: []string{".otlp"},
			Rules: logFormat{content: stackSums, threads: byFlag, binary: true, write: (*converter).otlp},
		},
		{
			Name: "folded", Help: "a line for each stack, for flamegraph.pl and others", Suffixes: []string{".folded", ".txt"},
			Rules: logFormat{content: stackSums, threads: byFlag, weighed: true, write: (*converter).folded},
		},
		{
			Name: "parquet", Help: "a row for each call, for DuckDB, ClickHouse and Spark", Suffixes: []string{".parquet"},
			Rules: logFormat{content: everyRow, binary: true, write: (*converter).parquet},
		},
		{
			Name: "yaml", Help: "the records as llvm-xray convert -f yaml writes them", Suffixes: []string{".yaml", ".yml"},
			Rules: logFormat{content: oneLog, threads: byFlag, write: (*converter).yaml},
		},
		{
			Name: "raw", Help: "a basic log of XRay, as llvm-xray convert -f raw writes it", Suffixes: []string{".xray"},
			Rules: logFormat{content: oneLog, threads: byTime, binary: true, write: (*converter).raw},
		},
	}
}

// sums is speedscope with --sums.
func (x logFormat) sums() *logFormat {
	x.content, x.threads, x.weighed = stackSums, byFlag, true
	return &x
}

// summed reports whether the calls of the logs are summed for a format.
func (x *logFormat) summed() bool { return x.content == stackSums || x.content == everyRow }

type convertFlags struct {
	logset.Choice
	names           verb.DisplayFlags
	stores          verb.StoreFlags
	to, out, by     string
	perThread, sums bool
}

// Convert returns the command cairn convert.
func Convert(s *verb.Streams) *cobra.Command {
	var f convertFlags
	formats := logFormats()
	c := &cobra.Command{
		Use:   "convert LOG... {-o FILE | --otlp URL | --pyroscope URL | --parca URL}",
		Short: "Convert logs of calls to formats of other tools",
		Long: `convert writes logs of calls in another format, selected by the suffix of FILE or by
--format; a further suffix .gz or .zst compresses the file.

` + formats.Help() + `
The first four contain every call, to the nanosecond; chrome and perfetto also contain
arguments and custom and typed events, firefox the names of the events. Calls without
an exit end as in cairn stacks. Browsers get slow with some millions of calls: perfetto
can handle the most, and speedscope with --sums has the stacks of a log of any length.

pprof, otlp, folded and --sums contain one entry per stack: the number of calls and the
time spent in the innermost function itself. In stacks deeper than 512 the middle is
omitted.

yaml and raw contain one log, record by record in time order, with the log's ticks;
raw has no arguments and events.

--otlp, --pyroscope and --parca send what pprof contains to a profile store; see
cairn export -h.`,
		Example: `  cairn convert ./app xray-log.app.* -o app.json.gz
  cairn convert ./app log -o app.pb.gz && go tool pprof -http : app.pb.gz
  cairn convert ./app log --format folded | flamegraph.pl > app.svg`,
		Args: verb.ExactFiles("convert", "a log", 1, -1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.stores.Check(c, "format", "output"); err != nil {
				return err
			}
			found, err := f.format()
			if err != nil {
				return err
			}
			f.to = found.Name
			x, err := f.check(c, &found.Rules)
			if err != nil {
				return err
			}
			return f.run(c.Context(), s, x, args)
		},
	}
	RegisterLogs(c, &f.Choice)
	formats.Register(c, &f.to, "", "")
	c.Flags().StringVarP(&f.out, "output", "o", "-", "write to this `file`")
	c.Flags().StringVar(&f.by, "by", "self", "folded and --sums: weight of stacks: `key` is self or calls")
	verb.Values(c, "by", "self", "calls")
	c.Flags().BoolVar(&f.sums, "sums", false, "speedscope: write sums of stacks instead of every call")
	c.Flags().BoolVar(&f.perThread, "per-thread", false, "separate threads. pprof, otlp: as labels; folded: as the outermost frame;\n--sums: as profiles; yaml: one after the other")
	f.names.RegisterNames(c)
	f.stores.Register(c)
	return c
}

// format returns the format that --format or the suffix of the file names.
func (f *convertFlags) format() (*output.Format[logFormat], error) {
	if f.stores.Given() {
		return logFormats().Named("pprof")
	}
	return logFormats().Select(f.to, f.out, "")
}

// check refuses flags that the format has no use for, and returns the form of it that they select.
func (f *convertFlags) check(c *cobra.Command, x *logFormat) (*logFormat, error) {
	if f.by == "time" { // the former name
		f.by = "self"
	}
	if f.sums && f.to != "speedscope" {
		return nil, verb.Usagef("--sums needs --format speedscope, not %s", f.to)
	}
	if f.sums {
		x = x.sums()
	}
	switch {
	case f.by != "self" && f.by != "calls":
		return nil, verb.Usagef("--by %s: must be self or calls", f.by)
	case c.Flags().Changed("by") && !x.weighed:
		return nil, verb.Usagef("--by needs --format folded, or speedscope with --sums, not %s", f.to)
	case f.perThread && x.threads == byTime:
		return nil, verb.Usagef("--per-thread: not supported for %s, which has the records of all threads in time order", f.to)
	case f.perThread && x.threads == alwaysApart:
		return nil, verb.Usagef("--per-thread: not needed for %s, which always separates threads", f.to)
	}
	return x, nil
}

// converter writes the logs of one command.
type converter struct {
	*convertFlags
	set     *logset.Set
	results []*account.Result // of each log, if the format has sums
}

func (f *convertFlags) run(ctx context.Context, s *verb.Streams, x *logFormat, args []string) error {
	if x.binary && !f.stores.Given() {
		if err := verb.NotOnTerminal(s, f.out, f.to, "-o"); err != nil {
			return err
		}
	}
	names := f.names.Names()
	names.LLVM = f.to == "yaml"
	f.Sums = x.content == stackSums
	set, err := f.Open(s, args, names)
	if err != nil {
		return err
	}
	defer set.Close()
	if len(set.Logs) > 1 && x.content == oneLog {
		return fmt.Errorf("%s files contain one log, not %d: convert them one by one", f.to, len(set.Logs))
	}
	if !x.summed() {
		if err := set.NeedCalls(f.to); err != nil {
			return err
		}
	}
	if f.by == "self" && x.weighed {
		f.by = set.Known(f.by)
	}
	v := &converter{convertFlags: f, set: set}
	if x.summed() {
		if v.results, err = set.Account(ctx, f.Options); err != nil {
			return err
		}
	}
	if f.stores.Given() {
		return v.send(ctx)
	}
	return verb.WriteFile(s, f.out, func(w io.Writer) error {
		z, err := logfile.Compress(w, f.packing(x))
		if err != nil {
			return err
		}
		return errors.Join(x.write(v, ctx, z), z.Close())
	})
}

// packing returns the path whose suffix determines the compression of the file. Formats that
// are compressed themselves are not compressed again.
func (f *convertFlags) packing(x *logFormat) string {
	if x.packed && strings.EqualFold(logfile.Suffix(f.out), ".gz") {
		return ""
	}
	return f.out
}

func (v *converter) parquet(ctx context.Context, w io.Writer) error {
	return writeCalls(ctx, v.set, w, database(v.set, v.results), v.Options)
}

func (v *converter) yaml(ctx context.Context, w io.Writer) error {
	logs, stop := v.set.Watch()
	defer stop()
	out := xrayyaml.NewWriter(w, yamlHeader(v.set.Logs[0]), v.set.Name)
	if v.perThread {
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
