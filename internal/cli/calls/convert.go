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
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// logFormat is a format of cairn convert.
type logFormat struct {
	name, help string
	suffixes   []string
	content    logContent
	threads    threadForm
	weighed    bool // --by selects the weight of its stacks
	binary     bool // it is no text
	packed     bool // it is compressed by gzip itself
	write      func(*converter, context.Context, io.Writer) error
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
func logFormats() []logFormat {
	return []logFormat{
		{name: "chrome", help: "JSON for ui.perfetto.dev and chrome://tracing", suffixes: []string{".json"}, write: (*converter).chrome},
		{
			name: "perfetto", help: "for ui.perfetto.dev and trace_processor, a sixth of the size of chrome",
			suffixes: []string{".perfetto-trace", ".pftrace", ".perfetto"}, binary: true, write: (*converter).perfetto,
		},
		{name: "speedscope", help: "for speedscope.app", suffixes: []string{".speedscope.json", ".speedscope"}, write: (*converter).speedscope},
		{name: "firefox", help: "for profiler.firefox.com", suffixes: []string{".firefox.json", ".gecko.json"}, write: (*converter).firefox},
		{
			name: "pprof", help: "calls and times by stack, for go tool pprof", suffixes: []string{".pb", ".pprof"},
			content: stackSums, threads: byFlag, binary: true, packed: true, write: (*converter).pprof,
		},
		{
			name: "otlp", help: "the same as OpenTelemetry's ProfilesData", suffixes: []string{".otlp"},
			content: stackSums, threads: byFlag, binary: true, write: (*converter).otlp,
		},
		{
			name: "folded", help: "a line for each stack, for flamegraph.pl and others", suffixes: []string{".folded", ".txt"},
			content: stackSums, threads: byFlag, weighed: true, write: (*converter).folded,
		},
		{
			name: "parquet", help: "a row for each call, for DuckDB, ClickHouse and Spark", suffixes: []string{".parquet"},
			content: everyRow, binary: true, write: (*converter).parquet,
		},
		{
			name: "yaml", help: "the records as llvm-xray convert -f yaml writes them", suffixes: []string{".yaml", ".yml"},
			content: oneLog, threads: byFlag, write: (*converter).yaml,
		},
		{
			name: "raw", help: "a basic log of XRay, as llvm-xray convert -f raw writes it", suffixes: []string{".xray"},
			content: oneLog, threads: byTime, binary: true, write: (*converter).raw,
		},
	}
}

// sumsOf is speedscope with --sums.
func (x logFormat) sumsOf() *logFormat {
	x.content, x.threads, x.weighed = stackSums, byFlag, true
	return &x
}

// summed reports whether the calls of the logs are summed for a format.
func (x *logFormat) summed() bool { return x.content == stackSums || x.content == everyRow }

type convertFlags struct {
	LogFlags
	names           verb.DisplayFlags
	stores          verb.StoreFlags
	to, out, by     string
	perThread, sums bool
}

// Convert returns the command cairn convert.
func Convert(s *verb.Streams) *cobra.Command {
	var f convertFlags
	var formats strings.Builder
	var names []string
	for _, x := range logFormats() {
		names = append(names, x.name)
		fmt.Fprintf(&formats, "  %-11s %s (%s)\n", x.name, x.help, strings.Join(x.suffixes, ", "))
	}
	c := &cobra.Command{
		Use:   "convert LOG... {-o FILE | --otlp URL | --pyroscope URL | --parca URL}",
		Short: "Convert logs of calls to formats of other tools",
		Long: `convert writes logs of calls in another format, selected by the suffix of FILE or by
--format; a further suffix .gz or .zst compresses the file.

` + formats.String() + `
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
			x, err := f.format()
			if err != nil {
				return err
			}
			if x, err = f.check(c, x); err != nil {
				return err
			}
			return f.run(c.Context(), s, x, args)
		},
	}
	f.Register(c)
	c.Flags().StringVar(&f.to, "format", "", "`format` to write: "+strings.Join(names, ", "))
	verb.Values(c, "format", names...)
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
func (f *convertFlags) format() (*logFormat, error) {
	var known []string
	var found *logFormat
	longest := 0
	if f.stores.Given() {
		f.to = "pprof"
	}
	path := strings.ToLower(strings.TrimSuffix(f.out, logfile.Suffix(f.out)))
	for _, x := range logFormats() {
		if x.name == f.to {
			return &x, nil
		}
		known = append(known, x.name)
		for _, suffix := range x.suffixes {
			if strings.HasSuffix(path, suffix) && len(suffix) > longest {
				found, longest = &x, len(suffix)
			}
		}
	}
	switch {
	case f.to != "":
		return nil, verb.Usagef("--format %s: must be one of %s", f.to, strings.Join(known, ", "))
	case found == nil:
		return nil, verb.Usagef("no format given; use --format with one of %s, or -o FILE with a known suffix", strings.Join(known, ", "))
	}
	return found, nil
}

// check refuses flags that the format has no use for, and returns the form of it that they select.
func (f *convertFlags) check(c *cobra.Command, x *logFormat) (*logFormat, error) {
	if f.by == "time" { // the former name
		f.by = "self"
	}
	if f.sums && x.name != "speedscope" {
		return nil, verb.Usagef("--sums needs --format speedscope, not %s", x.name)
	}
	if f.sums {
		x = x.sumsOf()
	}
	switch {
	case f.by != "self" && f.by != "calls":
		return nil, verb.Usagef("--by %s: must be self or calls", f.by)
	case c.Flags().Changed("by") && !x.weighed:
		return nil, verb.Usagef("--by needs --format folded, or speedscope with --sums, not %s", x.name)
	case f.perThread && x.threads == byTime:
		return nil, verb.Usagef("--per-thread: not supported for %s, which has the records of all threads in time order", x.name)
	case f.perThread && x.threads == alwaysApart:
		return nil, verb.Usagef("--per-thread: not needed for %s, which always separates threads", x.name)
	}
	return x, nil
}

// converter writes the logs of one command.
type converter struct {
	*convertFlags
	set     *LogSet
	results []*account.Result // of each log, if the format has sums
}

func (f *convertFlags) run(ctx context.Context, s *verb.Streams, x *logFormat, args []string) error {
	if x.binary && !f.stores.Given() {
		if err := verb.NotOnTerminal(s, f.out, x.name, "-o"); err != nil {
			return err
		}
	}
	names := f.names.Names()
	names.LLVM = x.name == "yaml"
	f.Sums = x.content == stackSums
	set, err := f.Open(s, args, names)
	if err != nil {
		return err
	}
	defer set.Close()
	if len(set.Logs) > 1 && x.content == oneLog {
		return fmt.Errorf("%s files contain one log, not %d: convert them one by one", x.name, len(set.Logs))
	}
	if !x.summed() {
		if err := set.noEvents(x.name); err != nil {
			return err
		}
	}
	if f.by == "self" && x.weighed {
		f.by = set.Known(f.by)
	}
	v := &converter{convertFlags: f, set: set}
	if x.summed() {
		if v.results, err = set.Account(ctx, f.Options()); err != nil {
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
	return v.set.writeCalls(ctx, w, v.set.database(v.results), v.Options())
}

func (v *converter) yaml(ctx context.Context, w io.Writer) error {
	logs, stop := v.set.watch()
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
	logs, stop := v.set.watch()
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
