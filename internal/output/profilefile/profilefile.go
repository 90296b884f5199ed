// Package profilefile writes a profile in the formats of compilers, linkers, other profilers and databases.
package profilefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/export"
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
	// Binary describes --binary: required, of any build, or not used.
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

// Formats is a function, because its rows refer to methods that refer to it.
func Formats() output.Formats[exportFormat] {
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

// Choice is which profile is written, in which format, and to whom it is sent.
type Choice struct {
	gather.Choice
	Stores                       verb.StoreFlags
	Format, Binary, Out, Parquet string
}

// Write writes the profile, its tables, or sends it.
func (f *Choice) Write(ctx context.Context, s *verb.Streams) error {
	if f.Parquet != "" {
		return f.tables(ctx, s)
	}
	if f.Stores.Given() {
		return f.send(ctx, s)
	}
	x, err := Formats().Select(f.Format, f.Out, "")
	if err != nil {
		return err
	}
	return f.write(ctx, s, &x.Rules)
}

// open returns the exporter of the profile for a format.
func (f *Choice) open(ctx context.Context, s *verb.Streams, x *exportFormat) (e *exporter, err error) {
	if f.Binary == "" && len(f.Binaries) > 0 && x.binary != binaryUnused {
		f.Binary = f.Binaries[0]
	}
	if f.Binary == "" && (x.binary == binaryRan || x.binary == binaryAny) {
		return nil, verb.Usagef("--format %s needs the binary that ran, as an argument", f.Format)
	}
	if f.Binary != "" && x.binary == binaryUnused {
		return nil, verb.Usagef("--format %s does not use a binary: leave out %s", f.Format, f.Binary)
	}
	p, err := f.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	m, err := f.ModuleOf(p, f.Binary)
	if err != nil {
		return nil, err
	}
	if what := x.lacks(m); what != "" {
		return nil, fmt.Errorf("%s: %s needs %s", f.Path, f.Format, what)
	}
	e = &exporter{streams: s, m: m}
	gather.NoteInexact(s, m)
	if f.Binary == "" {
		return e, nil
	}
	if e.bin, err = objfile.Open(f.Binary); err != nil {
		return nil, err
	}
	id, err := e.bin.RecordedID()
	if err == nil || errors.Is(err, objfile.ErrNoBuildID) {
		e.same, err = err == nil && id == m.BuildID, nil
	}
	if err == nil && !e.same && export.HasEdges(m) {
		err = e.onPlain(f.Binary)
	}
	if err == nil && !e.same && (x.binary == binaryRan || x.binary == binaryOptional) {
		err = fmt.Errorf("%s: its build id differs from that of %s in %s: %s needs the binary that ran", f.Binary, m.Module, f.Path, f.Format)
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
func (f *Choice) write(ctx context.Context, s *verb.Streams, x *exportFormat) error {
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
	return verb.WriteFile(s, f.Out, func(w io.Writer) error {
		_, err := text.WriteTo(w)
		return err
	})
}

// send sends the profile to the stores.
func (f *Choice) send(ctx context.Context, s *verb.Streams) error {
	f.Format = "a profile store"
	e, err := f.open(ctx, s, &exportFormat{lacks: lacksNothing})
	if err != nil {
		return err
	}
	p, err := e.store()
	if err = errors.Join(err, e.close()); err != nil {
		return err
	}
	return f.Stores.Send(ctx, s, p, e.m.Module, e.m.BuildID.String())
}
