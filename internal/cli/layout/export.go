package layout

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/format/fdata"
	"github.com/cairnprof/cairn/format/profdata"
	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/cli/profile"
	"github.com/cairnprof/cairn/internal/export"
	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/profile/callgraph"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// exportFormat is a format of cairn export.
type exportFormat struct {
	name, help string
	// lacks returns what the module would have to be recorded with, or "".
	lacks func(*prof.Module) string
	// binary says what --binary is: needed, of any build, or of no use.
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

// exportFormats is a function, for its rows refer to methods that refer to it.
func exportFormats() []exportFormat {
	return []exportFormat{
		{"llvm-sample", "LLVM sample profile, for clang -fprofile-sample-use", lacksCalls, binaryRan, (*exporter).llvmSample},
		{"bolt", "calls as branches, for llvm-bolt: orders functions", lacksEdges, binaryAny, (*exporter).bolt},
		{"bolt-blocks", "blocks that ran, for llvm-bolt: splits and orders blocks", lacksBlocks, binaryRan, (*exporter).boltBlocks},
		{"pgo", "calls as samples, for go build -pgo (default.pgo)", lacksCallers, binaryRan, (*exporter).pgo},
		{"pprof", "calls, for go tool pprof", lacksCalls, binaryOptional, (*exporter).pprof},
		{"chromium", "symbols by first execution, as Chromium's orderfiles", lacksOrder, binaryLinked, (*exporter).chromium},
		{"chromium-sections", "the same as sections, for gold", lacksOrder, binaryLinked, (*exporter).chromiumSections},
		{"llvm-temporal", "first executions by run, for llvm-profdata and lld", lacksTraces, binaryUnused, (*exporter).llvmTemporal},
	}
}

func lacksCalls(m *prof.Module) string {
	if !export.HasCalls(m) {
		return "call counts: record with --mode count or full"
	}
	return ""
}

func lacksEdges(m *prof.Module) string {
	if !export.HasCalls(m) || !export.HasCallers(m) {
		return "call edges: record with --mode full"
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
	if !export.HasCallers(m) {
		return "callers: record with --mode full, or trace the program with cairn order --run"
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
		return "traces of runs: record with --mode order, count or full"
	}
	return ""
}

// Export returns the command cairn export.
func Export(s *verb.Streams) *cobra.Command {
	var f profile.ProfileFlags
	var format, binary, out string
	var formats strings.Builder
	var names []string
	for _, x := range exportFormats() {
		names = append(names, x.name)
		fmt.Fprintf(&formats, "  %-18s %s\n", x.name, x.help)
	}
	c := &cobra.Command{
		Use:   "export FILE.mip --format FORMAT [--binary BIN] [-o FILE]",
		Short: "Write a profile for compilers, linkers and other profilers",
		Long: `export writes a profile in a format that other tools read. Formats:

` + formats.String() + `
Data that the profile must have:

  llvm-sample, pprof       call counts: mode count, better full
  bolt                     callers: mode full
  bolt-blocks              block coverage: mode block or full
  pgo                      callers: mode full, or cairn order --run
  chromium, llvm-temporal  the order of first executions: order, count or full

--binary is the binary that ran, with its debug information. Only bolt and
chromium accept a binary of another build: bolt then has the number of calls of each
function, but not their callers. Without --binary, chromium lists all names unchanged.
llvm-temporal does not use a binary.

Call counts of functions and coverage of blocks are exact. Counts of single blocks
and call sites are not recorded but derived from the call counts, as the guide
explains under "Feeding compilers". The reverse of llvm-temporal is cairn import.`,
		Example: `  cairn export app.mip --format llvm-sample --binary app -o app.prof
  clang -O2 -g -fprofile-sample-use=app.prof *.c -o app`,
		Args: f.Args,
		RunE: func(*cobra.Command, []string) error {
			var known []string
			for _, x := range exportFormats() {
				if x.name == format {
					return runExport(s, &f, &x, binary, out)
				}
				known = append(known, x.name)
			}
			if format == "" {
				return verb.Usagef("no format given; use --format with one of %s", strings.Join(known, ", "))
			}
			return verb.Usagef("--format %s: must be one of %s", format, strings.Join(known, ", "))
		},
	}
	f.Register(c)
	c.Flags().StringVar(&format, "format", "", "`format` to write, one of the above")
	verb.Values(c, "format", names...)
	c.Flags().StringVar(&binary, "binary", "", "the `binary` that ran, or that the export is for")
	c.Flags().StringVarP(&out, "output", "o", "-", "write to this `file`")
	return c
}

func runExport(s *verb.Streams, f *profile.ProfileFlags, x *exportFormat, binary, out string) error {
	if binary == "" && (x.binary == binaryRan || x.binary == binaryAny) {
		return verb.Usagef("--format %s needs --binary", x.name)
	}
	if binary != "" && x.binary == binaryUnused {
		return verb.Usagef("--format %s cannot be used with --binary", x.name)
	}
	p, err := f.Open()
	if err != nil {
		return err
	}
	m, err := onlyModule(f, p)
	if err != nil {
		return err
	}
	if what := x.lacks(m); what != "" {
		return fmt.Errorf("%s: %s needs %s", f.Path, x.name, what)
	}
	e := &exporter{streams: s, m: m}
	profile.NoteInexact(s, m)
	if binary != "" {
		if e.bin, err = objfile.Open(binary); err != nil {
			return err
		}
		defer e.bin.Close()
		id, err := e.bin.BuildID()
		if err != nil && !errors.Is(err, objfile.ErrNoBuildID) {
			return err
		}
		e.same = err == nil && id == m.BuildID
		if !e.same && (x.binary == binaryRan || x.binary == binaryOptional) {
			return fmt.Errorf("%s: its build id differs from that of %s in %s: %s needs the binary that ran", binary, m.Module, f.Path, x.name)
		}
	}
	// What goes wrong is mostly about the binary: standard output is to have
	// nothing of it then, and the message not to be about the output.
	var text bytes.Buffer
	if err := x.write(e, &text); err != nil {
		return err
	}
	return verb.WriteFile(s, out, func(w io.Writer) error {
		_, err := text.WriteTo(w)
		return err
	})
}

// exporter writes one module.
type exporter struct {
	streams *verb.Streams
	m       *prof.Module
	bin     *objfile.File // nil if none was given
	same    bool          // bin is the binary that ran
}

// sites returns the places of calls, as the code of the binary that ran has them.
func (e *exporter) sites() ([]export.Site, error) {
	if !e.same {
		return nil, nil
	}
	code, err := e.bin.Code()
	if err != nil {
		return nil, err
	}
	return export.Sites(e.m, code), nil
}

// source returns the source places of the binary that ran, with a note if there
// are lines but nothing to tell what was inlined.
func (e *exporter) source() (export.Source, error) {
	lines, err := e.bin.Lines()
	if err != nil {
		return nil, err
	}
	scopes, err := e.bin.Scopes()
	if errors.Is(err, objfile.ErrNoScopes) {
		verb.Note(e.streams, "%v: inlined lines are omitted", err)
		return &binarySource{lines, nil, e.m, callgraph.NewCodeIndex(e.m.Funcs)}, nil
	}
	if err != nil {
		return nil, err
	}
	if m := e.bin.MissingSplit(); m.Units > 0 {
		verb.Note(e.streams, "%s: %s: inlined lines of these units are omitted", e.bin.Path(), m)
	}
	return &binarySource{lines: lines, scopes: scopes}, nil
}

// symbols returns the function symbols of the binary.
func (e *exporter) symbols() ([]export.Symbol, error) {
	return verb.BoltSymbols(e.bin)
}

func (e *exporter) llvmSample(w io.Writer) error {
	src, err := e.source()
	if err != nil {
		return err
	}
	sites, err := e.sites()
	if err != nil {
		return err
	}
	return sampleprof.Write(w, export.LLVMSample(e.m, src, sites))
}

func (e *exporter) bolt(w io.Writer) error {
	symbols, err := e.symbols()
	if err != nil {
		return err
	}
	if !e.same {
		branches, missing := export.BoltEntries(e.m, symbols)
		verb.Note(e.streams, "%s is not the binary that ran: calls are written without callers", e.bin.Path())
		if missing > 0 {
			verb.Note(e.streams, "%s lacks %s that ran", e.bin.Path(), report.Plural(missing, "function"))
		}
		return fdata.WriteBranches(w, branches)
	}
	e.warnRewriting()
	sites, err := e.sites()
	if err != nil {
		return err
	}
	return fdata.WriteBranches(w, export.Bolt(e.m, symbols, sites))
}

// warnRewriting notes if BOLT cannot rewrite the binary that ran: probes of
// first executions look at the instructions around them, which BOLT moves.
func (e *exporter) warnRewriting() {
	for i := range e.m.Funcs {
		if mode := e.m.Funcs[i].Mode; mode.HasOrder() {
			verb.Note(e.streams, "BOLT breaks programs with probes of mode %s; apply the profile to a build without probes or of mode block", mode)
			return
		}
	}
}

func (e *exporter) boltBlocks(w io.Writer) error {
	symbols, err := e.symbols()
	if err != nil {
		return err
	}
	e.warnRewriting()
	sites, err := e.sites()
	if err != nil {
		return err
	}
	return fdata.WriteSamples(w, "cairn", export.BoltBlocks(e.m, symbols, sites))
}

func (e *exporter) pgo(w io.Writer) error { return e.writePprof(w, "samples", nil) }

func (e *exporter) pprof(w io.Writer) error {
	var names report.Names
	return e.writePprof(w, "calls", names.Show)
}

func (e *exporter) writePprof(w io.Writer, sampleType string, show func(string) string) error {
	var src export.Source
	if e.bin != nil {
		var err error
		if src, err = e.source(); err != nil {
			return err
		}
	}
	sites, err := e.sites()
	if err != nil {
		return err
	}
	p := export.Pprof(e.m, src, sites, sampleType, show)
	if err := p.CheckValid(); err != nil {
		return err
	}
	return p.Write(w)
}

func (e *exporter) chromium(w io.Writer) error {
	names, err := e.firstExecuted()
	if err != nil {
		return err
	}
	return writeLines(w, names)
}

func (e *exporter) chromiumSections(w io.Writer) error {
	names, err := e.firstExecuted()
	if err != nil {
		return err
	}
	return writeLines(w, export.OrderSections(names))
}

func (e *exporter) llvmTemporal(w io.Writer) error {
	return profdata.Write(w, profdata.FromModule(e.m))
}

// firstExecuted returns the names of an orderfile.
func (e *exporter) firstExecuted() ([]string, error) {
	alg := order.Mean
	if len(e.m.Traces) > 0 {
		alg = order.First
	}
	r, err := order.Compute(order.FromModule(e.m, nil), alg, order.Options{})
	if err != nil {
		return nil, err
	}
	names := order.Symbols(e.m, r.Order[:r.Placed()])
	if e.bin == nil {
		return names, nil
	}
	symbols, err := e.symbols()
	if err != nil {
		return nil, err
	}
	return export.Orderfile(names, symbols), nil
}

func writeLines(w io.Writer, lines []string) error {
	b := bufio.NewWriter(w)
	for _, l := range lines {
		b.WriteString(l)
		b.WriteByte('\n')
	}
	return b.Flush()
}

// binarySource joins lines and scopes of a binary.
type binarySource struct {
	lines  *objfile.LineTable
	scopes *objfile.ScopeTable // nil if it does not say
	// Where scopes is nil, these tell what function an address is in.
	m     *prof.Module
	index *callgraph.CodeIndex
}

func (b *binarySource) Rows(lo, hi uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for r := range b.lines.Rows(lo, hi) {
			if !yield(r.Addr) {
				return
			}
		}
	}
}

func (b *binarySource) Entry(addr uint64) (file string, line int) {
	file, line, _ = b.lines.Entry(addr)
	return file, line
}

func (b *binarySource) Frames(addr uint64) []export.Frame {
	var at objfile.Row
	for r := range b.lines.Rows(addr, addr+1) {
		at = r
	}
	if b.scopes == nil {
		return b.flat(addr, at)
	}
	scopes := b.scopes.At(addr)
	frames := make([]export.Frame, len(scopes))
	for i, s := range scopes {
		frames[i] = export.Frame{Func: s.Name, Start: s.Line}
		if i > 0 {
			frames[i-1].Line, frames[i-1].Discriminator = s.CallLine, s.CallDiscriminator
		}
		if i == len(scopes)-1 {
			frames[i].File, frames[i].Line, frames[i].Discriminator = at.File, at.Line, at.Discriminator
		}
	}
	return frames
}

// flat returns the frame of a row if it is of the file that its function is
// defined in. Where nothing says what was inlined, other files' lines are.
func (b *binarySource) flat(addr uint64, r objfile.Row) []export.Frame {
	fn, _, ok := b.index.Find(addr)
	if !ok {
		return nil
	}
	file, start := b.Entry(b.m.Funcs[fn].Addr())
	if r.File != file || r.Line < start {
		return nil
	}
	return []export.Frame{{File: file, Start: start, Line: r.Line, Discriminator: r.Discriminator}}
}
