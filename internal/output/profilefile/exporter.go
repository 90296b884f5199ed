package profilefile

import (
	"bufio"
	"errors"
	"io"
	"iter"

	"github.com/cairnprof/cairn/format/pprof"

	"github.com/cairnprof/cairn/format/fdata"
	"github.com/cairnprof/cairn/format/profdata"
	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/export"
	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/profile/callgraph"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

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

// source returns the source locations of the binary that ran, with a note if there are lines
// but no information about inlined functions.
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
	if export.HasEdges(e.m) {
		code, err := instructions(e.bin)
		if err != nil {
			return err
		}
		return fdata.WriteBranches(w, export.BoltEdges(e.m, symbols, code))
	}
	sites, err := e.sites()
	if err != nil {
		return err
	}
	return fdata.WriteBranches(w, export.Bolt(e.m, symbols, sites))
}

// instructions returns the instructions of a binary.
func instructions(bin *objfile.File) (export.Instructions, error) {
	code, err := bin.Code()
	if err != nil {
		return nil, err
	}
	arch, err := machinecode.For(code.Machine())
	if err != nil {
		return nil, err
	}
	return func(lo, hi uint64) iter.Seq[export.Inst] {
		return func(yield func(export.Inst) bool) {
			text := code.Bytes(lo, hi)
			for len(text) > 0 {
				in, err := arch.Decode(text, lo)
				if err != nil || int(in.Len) > len(text) {
					return
				}
				x := export.Inst{Addr: lo, Next: lo + uint64(in.Len), Calls: in.Class == controlflow.Call, Mayjump: in.Class == controlflow.Conditional}
				if in.Class.IsDirect() {
					x.Target = in.Target
				}
				if !yield(x) {
					return
				}
				text, lo = text[in.Len:], x.Next
			}
		}
	}, nil
}

// warnRewriting prints a note if BOLT cannot rewrite the binary that ran: probes of first
// executions read the instructions around them, which BOLT moves.
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

func (e *exporter) pgo(w io.Writer) error {
	p, err := e.asPprof("samples", nil)
	if err != nil {
		return err
	}
	return p.Write(w)
}

func (e *exporter) pprof(w io.Writer) error {
	p, err := e.store()
	if err != nil {
		return err
	}
	return p.Write(w)
}

func (e *exporter) otlp(w io.Writer) error {
	p, err := e.store()
	if err != nil {
		return err
	}
	return export.WriteOTLP(w, p, export.Resource{Service: e.m.Module, BuildID: e.m.BuildID.String(), Writer: verb.Program()})
}

// store returns the profile in the form for profile stores.
func (e *exporter) store() (*pprof.Profile, error) {
	var names report.Names
	what := "calls"
	if !export.HasCalls(e.m) {
		what = "runs"
	}
	return e.asPprof(what, names.Show)
}

func (e *exporter) asPprof(sampleType string, show func(string) string) (*pprof.Profile, error) {
	var src export.Source
	if e.bin != nil {
		var err error
		if src, err = e.source(); err != nil {
			return nil, err
		}
	}
	sites, err := e.sites()
	if err != nil {
		return nil, err
	}
	p := export.Pprof(e.m, src, sites, sampleType, show)
	return p, p.CheckValid()
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
	scopes *objfile.ScopeTable // nil if there is no such information
	// If scopes is nil, these determine the function at an address.
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

// flat returns the frame of a row if it is in the file in which its function is defined.
// Without information about inlined functions, lines of other files are from them.
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
