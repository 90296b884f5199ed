package layout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/cli/profile"
	"github.com/cairnprof/cairn/internal/export"
	"github.com/cairnprof/cairn/internal/export/deliver"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/output"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// exportFormat is what cairn export knows of a format.
type exportFormat struct {
	// lacks returns the mode that the module would have to be recorded with, or "".
	lacks func(*prof.Module) string
	// binary describes --binary: required, of any build, or not used.
	binary binaryUse
	write  func(*exporter, io.Writer) error
}

type binaryUse uint8

const (
	binaryOptional binaryUse = iota // must be the one that ran
	binaryRan                       // needed, the one that ran
	binaryAny                       // needed, may be of another build
	binaryLinked                    // optional, may be of another build
	binaryUnused                    // names are all that the format has
)

// exportFormats is a function, because its rows refer to methods that refer to it.
func exportFormats() output.Formats[exportFormat] {
	return output.Formats[exportFormat]{
		{Name: "llvm-sample", Help: "LLVM sample profile, for clang -fprofile-sample-use", Rules: exportFormat{lacksCalls, binaryRan, (*exporter).llvmSample}},
		{Name: "bolt", Help: "calls and, in mode edge, branches, for llvm-bolt: orders functions and blocks", Rules: exportFormat{lacksEdges, binaryAny, (*exporter).bolt}},
		{Name: "bolt-blocks", Help: "blocks that ran, for llvm-bolt: splits and orders blocks", Rules: exportFormat{lacksBlocks, binaryRan, (*exporter).boltBlocks}},
		{Name: "pgo", Help: "calls as samples, for go build -pgo (default.pgo)", Rules: exportFormat{lacksCallers, binaryRan, (*exporter).pgo}},
		{Name: "pprof", Help: "calls, for go tool pprof", Rules: exportFormat{lacksCalls, binaryOptional, (*exporter).pprof}},
		{Name: "otlp", Help: "calls or runs, as OpenTelemetry's ProfilesData", Rules: exportFormat{lacksNothing, binaryOptional, (*exporter).otlp}},
		{Name: "chromium", Help: "symbols by first execution, as Chromium's orderfiles", Rules: exportFormat{lacksOrder, binaryLinked, (*exporter).chromium}},
		{Name: "chromium-sections", Help: "the same as sections, for gold", Rules: exportFormat{lacksOrder, binaryLinked, (*exporter).chromiumSections}},
		{Name: "llvm-temporal", Help: "first executions by run, for llvm-profdata and lld", Rules: exportFormat{lacksTraces, binaryUnused, (*exporter).llvmTemporal}},
	}
}

func lacksNothing(*prof.Module) string { return "" }

func lacksCalls(m *prof.Module) string {
	if !export.HasCalls(m) {
		return "call counts: record with --mode count or full"
	}
	return ""
}

func lacksEdges(m *prof.Module) string {
	if !export.HasEdges(m) && (!export.HasCalls(m) || !export.HasCallers(m)) {
		return "call edges: record with --mode full, or edge for branches"
	}
	return ""
}

func lacksBlocks(m *prof.Module) string {
	if !export.HasBlocks(m) {
		return "block coverage: record with --mode block or full"
	}
	return ""
}

func lacksCallers(m *prof.Module) string {
	if m.Go() { // its map has the calls in the code
		if slices.ContainsFunc(m.Funcs, func(f prof.Func) bool { return f.Mode.HasCalls() }) {
			return ""
		}
		return "call counts: record with cairn go --mode count"
	}
	if !export.HasCallers(m) {
		return "callers: record with --mode full, or run the program by cairn order --run"
	}
	return ""
}

func lacksOrder(m *prof.Module) string {
	if !export.HasOrder(m) {
		return "first executions: record with --mode order, count or full"
	}
	return ""
}

func lacksTraces(m *prof.Module) string {
	if len(m.Traces) == 0 {
		return "the orders of runs: record with --mode order, count or full"
	}
	return ""
}

// exportFlags are the flags of cairn export.
type exportFlags struct {
	gather.Choice
	stores                       verb.StoreFlags
	format, binary, out, parquet string
}

// Export returns the command cairn export.
func Export(s *verb.Streams) *cobra.Command {
	var f exportFlags
	formats := exportFormats()
	c := &cobra.Command{
		Use:   "export FILE.mip [BINARY] {--format FORMAT [-o FILE] | --otlp URL | --pyroscope URL | --parca URL | --parquet DIR}",
		Short: "Convert a profile for compilers, linkers, profile stores and databases",
		Long:  fmt.Sprintf(exportLong, formats.Help(), deliver.HeadersVariable),
		Example: `  cairn export app.mip --format llvm-sample app -o app.prof
  clang -O2 -g -fprofile-sample-use=app.prof *.c -o app
  cairn export http://collector:7474/app app --otlp http://localhost:4318
  cairn export http://collector:7474 --parquet fleet
  duckdb -c "SELECT function, sum(runs) FROM 'fleet/functions.parquet' GROUP BY ALL"`,
		Args: profile.Takes(&f.Choice),
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c, s) },
	}
	profile.RegisterProfile(c, &f.Choice)
	formats.Register(c, &f.format, "", "")
	c.Flags().StringVar(&f.binary, "binary", "", "the `binary` that ran, or that the export is for")
	verb.Hide(c, "binary")
	c.Flags().StringVarP(&f.out, "output", "o", "-", "write to this `file`")
	f.stores.Register(c)
	c.Flags().StringVar(&f.parquet, "parquet", "", "write tables for DuckDB, ClickHouse and Spark into this `directory`, or to s3://BUCKET/PREFIX")
	verb.Rules(c, verb.Excludes("parquet", "format", "output", "binary", "otlp", "pyroscope", "parca"))
	return c
}

const exportLong = `export writes a profile in a format that other tools read. Formats:

%s
Data that the profile must have:

  llvm-sample, pprof       call counts: mode count, better full
  bolt                     callers: mode full; with branches: mode edge
  bolt-blocks              block coverage: mode block or full
  pgo                      of Go programs call counts: mode count; of others callers:
                           mode full, or cairn order --run
  chromium, llvm-temporal  the order of first executions: order, count or full

BINARY is the binary that ran, with its debug information, or for a profile of mode
edge a build without probes that has its map beside it (cairn build --map). Only bolt
and chromium accept a binary of any other build: bolt then has the number of calls of each
function, but not their callers. Without it, chromium lists all names unchanged.
llvm-temporal does not use a binary.

Call counts of functions and coverage of blocks are exact, and in mode edge also
executions of blocks, branches and direct calls. Else counts of single blocks
and call sites are not recorded but derived from the call counts, as the guide
explains under "Feeding compilers". The reverse of llvm-temporal is cairn import.

--otlp, --pyroscope and --parca send the profile to a profile store, as format pprof or
otlp has it: the calls of functions, or if they were not counted, the runs in which they
ran. A URL of --otlp without a path gets /v1development/profiles. Headers of the
requests, such as "Authorization=Bearer ...", are in %s, and for OTLP
also in OTEL_EXPORTER_OTLP_HEADERS. cairn convert sends logs of calls, and cairn profgen
samples, with the same flags.

--parquet writes the tables builds, functions, edges, orders, days and spikes as files
NAME.parquet. FILE.mip can be the URL of a collector: the tables then have all its
programs and builds. Days and spikes come only from collectors. With s3://BUCKET/PREFIX the
files go to Amazon S3 or another store with its API; the variables AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and AWS_ENDPOINT_URL have the keys, the
region and the address of another store.`

func (f *exportFlags) run(c *cobra.Command, s *verb.Streams) error {
	if f.parquet != "" {
		return f.tables(c.Context(), s)
	}
	if err := f.stores.Check(c, "format", "output"); err != nil {
		return err
	}
	if f.stores.Given() {
		return f.send(c.Context(), s)
	}
	x, err := exportFormats().Select(f.format, f.out, "")
	if err != nil {
		return err
	}
	return f.write(c.Context(), s, &x.Rules)
}

// open returns the exporter of the profile for a format.
func (f *exportFlags) open(ctx context.Context, s *verb.Streams, x *exportFormat) (e *exporter, err error) {
	if f.binary == "" && len(f.Binaries) > 0 && x.binary != binaryUnused {
		f.binary = f.Binaries[0]
	}
	if f.binary == "" && (x.binary == binaryRan || x.binary == binaryAny) {
		return nil, verb.Usagef("--format %s needs the binary that ran, as an argument", f.format)
	}
	if f.binary != "" && x.binary == binaryUnused {
		return nil, verb.Usagef("--format %s does not use a binary: leave out %s", f.format, f.binary)
	}
	p, err := f.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	m, err := moduleOf(&f.Choice, p, f.binary)
	if err != nil {
		return nil, err
	}
	if what := x.lacks(m); what != "" {
		return nil, fmt.Errorf("%s: %s needs %s", f.Path, f.format, what)
	}
	e = &exporter{streams: s, m: m}
	gather.NoteInexact(s, m)
	if f.binary == "" {
		return e, nil
	}
	if e.bin, err = objfile.Open(f.binary); err != nil {
		return nil, err
	}
	id, err := e.bin.RecordedID()
	if err == nil || errors.Is(err, objfile.ErrNoBuildID) {
		e.same, err = err == nil && id == m.BuildID, nil
	}
	if err == nil && !e.same && export.HasEdges(m) {
		err = e.onPlain(f.binary)
	}
	if err == nil && !e.same && (x.binary == binaryRan || x.binary == binaryOptional) {
		err = fmt.Errorf("%s: its build id differs from that of %s in %s: %s needs the binary that ran", f.binary, m.Module, f.Path, f.format)
	}
	if err != nil {
		return nil, errors.Join(err, e.bin.Close())
	}
	return e, nil
}

// onPlain uses the counts for the binary, if that is a build without probes with a map of its blocks beside it.
func (e *exporter) onPlain(binary string) error {
	path := binary + toolchain.MapExt
	if !toolchain.Exists(path) {
		return nil
	}
	plain, err := gather.ReadMap(e.streams, path)
	if err != nil {
		return err
	}
	if id, err := e.bin.RecordedID(); err != nil || id != plain.BuildID {
		verb.Note(e.streams, "%s is not used: it is the map of another build than %s", path, binary)
		return nil
	}
	of, missing := export.OfPlain(e.m, plain)
	verb.Note(e.streams, "%s is a build without probes: the counts are for its blocks, by %s", binary, path)
	if missing > 0 {
		verb.Note(e.streams, "%s lacks %s that ran: it does not have them, has them with other control flow, or has several of their names and files", binary, report.Plural(missing, "function"))
	}
	e.m, e.same = of, true
	return nil
}

// close closes the binary.
func (e *exporter) close() error {
	if e.bin == nil {
		return nil
	}
	return e.bin.Close()
}

// write writes the profile in a format.
func (f *exportFlags) write(ctx context.Context, s *verb.Streams, x *exportFormat) error {
	e, err := f.open(ctx, s, x)
	if err != nil {
		return err
	}
	// Errors are mostly about the binary: then standard output must be empty, and the message
	// must not refer to the output.
	var text bytes.Buffer
	done := verb.Working(s, "exporting %s", f.Path)
	err = errors.Join(x.write(e, &text), e.close())
	done()
	if err != nil {
		return err
	}
	return verb.WriteFile(s, f.out, func(w io.Writer) error {
		_, err := text.WriteTo(w)
		return err
	})
}

// send sends the profile to the stores.
func (f *exportFlags) send(ctx context.Context, s *verb.Streams) error {
	f.format = "a profile store"
	e, err := f.open(ctx, s, &exportFormat{lacks: lacksNothing})
	if err != nil {
		return err
	}
	p, err := e.store()
	if err = errors.Join(err, e.close()); err != nil {
		return err
	}
	return f.stores.Send(ctx, s, p, e.m.Module, e.m.BuildID.String())
}
