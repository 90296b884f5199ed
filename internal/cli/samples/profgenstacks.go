package samples

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/fdata"
	"github.com/cairnprof/cairn/format/folded"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/export"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/samples/tailcall"
	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/sample"
)

// The forms that are not profiles for compilers.
const (
	formatFolded = "folded"
	formatPprof  = "pprof"
	FormatFlame  = "flame"
	formatFdata  = "fdata"
)

func (f *ProfgenFlags) forCompilers() bool {
	return f.Format == formatText || f.Format == formatExtBinary
}

// ofStacks reports whether it is the stacks of samples that are written.
func (f *ProfgenFlags) ofStacks() bool {
	return f.Format == formatFolded || f.Format == formatPprof || f.Format == FormatFlame
}

// checkForm finds what does not go with --format.
func (f *ProfgenFlags) checkForm() error {
	switch {
	case !f.forCompilers() && !f.ofStacks() && !f.ofCalls() && f.Format != formatFdata:
		return verb.Usagef("--format %s: there are text and extbinary for compilers, and folded, pprof, flame, fdata, callgraph, dot and mermaid", f.Format)
	case f.minPercent != 0 && !f.ofCalls():
		return verb.Usagef("--min-percent is for call graphs: --format callgraph, dot and mermaid")
	case !(f.minPercent >= 0 && f.minPercent <= 100):
		return verb.Usagef("--min-percent %v is not between 0 and 100", f.minPercent)
	case f.inlines && f.Format != formatFolded && f.Format != FormatFlame:
		return verb.Usagef("--inlines is for --format folded and flame: %s has what was inlined, or cannot have it", f.Format)
	case f.Format != formatText && f.onlyCount:
		return verb.Usagef("--skip-symbolization writes text, and no %s", f.Format)
	case f.forCompilers():
		return nil
	case f.explained:
		return verb.Usagef("--explain is about profiles for compilers, and --format %s is none", f.Format)
	case f.nested || f.mergeCold || f.trimCold || f.contextDepth != -1:
		return verb.Usagef("--format %s: options for contexts are about profiles for compilers", f.Format)
	case f.Format == formatFdata && len(f.Binaries) > 1:
		return verb.Usagef("--format fdata: it is of one binary, not of %d", len(f.Binaries))
	case f.ofStacks() && f.ignoreStacks:
		return verb.Usagef("--format %s: it is made of stacks, and --ignore-stack-samples leaves none", f.Format)
	case f.ofStacks() && f.unsymbolized != "":
		return verb.Usagef("--format %s: it is made of stacks, and %s has counts", f.Format, f.unsymbolized)
	}
	return nil
}

// lacks says why an input is of no use.
func (f *ProfgenFlags) lacks(in *sample.Info) error {
	switch {
	case in.Kind == sample.Nothing:
		return fmt.Errorf("%s: it has no samples (cairn samples tells what is in it)", in.File)
	case f.ofStacks() && in.Kind != sample.Stacks && in.Kind != sample.Hybrid:
		return fmt.Errorf("%s: it has %v, and no stacks: record it with perf record --call-graph fp, or with cairn record --lbr", in.File, in.Kind)
	case in.Kind == sample.Stacks && (f.explained || f.onlyCount || f.Format == formatFdata):
		return fmt.Errorf("%s: it has %v, and no branches: record it with perf record -b, or with cairn record --lbr", in.File, in.Kind)
	}
	return nil
}

// loadSymbols makes the code of the binaries, with symbols as its functions: what
// is read by people needs no debug information, but takes lines from it.
func (r *ProfgenRun) loadSymbols(s *verb.Streams, files []*objfile.File) (err error) {
	for _, p := range r.programs {
		p.Ranges = nil
	}
	if r.code, err = machinecode.NewSet(r.programs...); err == nil && (r.Format == formatPprof || r.inlines) {
		r.source, err = readSource(r.code, files)
	}
	for i, f := range files {
		if err == nil && r.inlines && !r.source.HasLines(i) {
			verb.Note(s, "%s: it has no debug information: what was inlined is part of its functions", f.Path())
		}
	}
	return err
}

// sampled returns what writes a form that is not for compilers.
func (r *ProfgenRun) sampled(s *verb.Streams, counts *unwind.Result) (func(io.Writer) error, error) {
	if r.Format == formatFdata {
		return r.fdata(counts)
	}
	if r.ofCalls() {
		return r.calls(s, counts)
	}
	if r.Format == formatPprof {
		if err := verb.NotOnTerminal(s, r.out, "pprof", "-o"); err != nil {
			return nil, err
		}
	}
	w, err := r.stacks(s, counts)
	if err != nil {
		return nil, err
	}
	switch r.Format {
	case formatFolded:
		return w.folded, nil
	case formatPprof:
		return w.pprof, nil
	}
	return w.flame, nil
}

// ReadStacks returns the stacks of samples, without a check of the flags.
func (r *ProfgenRun) ReadStacks(ctx context.Context, s *verb.Streams, files []string) (stackWriter, error) {
	if err := r.loadBinaries(s); err != nil {
		return stackWriter{}, err
	}
	counts, err := r.count(ctx, s, files)
	if err != nil {
		return stackWriter{}, err
	}
	return r.stacks(s, counts)
}

// stacks returns the stacks that were sampled, with frames restored.
func (r *ProfgenRun) stacks(s *verb.Streams, counts *unwind.Result) (stackWriter, error) {
	by, err := r.stackInferrer(counts)
	if err != nil {
		return stackWriter{}, err
	}
	opt := profgen.StackOptions{Inferrer: by, Source: r.source}
	switch {
	case r.Format == formatPprof:
		opt.Detail = profgen.Addresses
	case r.inlines:
		opt.Detail = profgen.Inlined
	}
	stacks := profgen.SampledStacks(counts, r.code, opt)
	if stacks.Inferred > 0 {
		verb.Note(s, "samples with restored frames: %s (%s)", report.Count(stacks.Inferred), report.Share(stacks.Inferred, stacks.Samples))
	}
	return stackWriter{stacks, r.Names.Names(), r.programs, r.source}, nil
}

// stackInferrer returns what finds missing frames, nil if nothing is to.
func (r *ProfgenRun) stackInferrer(counts *unwind.Result) (tailcall.Inferrer, error) {
	if r.Infer == inferNone {
		return nil, nil
	}
	var place func(machinecode.Ref) uint64
	if r.withoutProbes() == "" {
		probes, err := profgen.ReadProbes(r.code, r.programs, nil)
		if err != nil {
			return nil, err
		}
		place = probes.Place
	}
	return r.inferrer(tailcall.NewGraph(r.code, counts.Contexts), place), nil
}

// stackWriter writes stacks that were sampled.
type stackWriter struct {
	*profgen.Stacks
	names    *report.Names
	programs []*objfile.Program
	source   *profgen.Source // nil if it was not read
}

// show returns a symbol as it is displayed: what is said of a frame stays behind it.
func (w stackWriter) show(symbol string) string {
	marks := ""
	for _, mark := range []string{profgen.InferredSuffix, profgen.InlinedSuffix} {
		if name, ok := strings.CutSuffix(symbol, mark); ok {
			symbol, marks = name, mark+marks
		}
	}
	return w.names.Show(symbol) + marks
}

func (w stackWriter) name(id calllog.FuncID) string {
	if id == export.LeftOut {
		return export.LeftOutName
	}
	return w.show(w.Funcs.Name(id))
}

func (w stackWriter) folded(out io.Writer) error {
	lines := folded.NewWriter(out)
	var names []string
	err := export.EachStack(w.Merged(), export.MaxFrames, func(stack []calllog.FuncID, n *calltrie.Node) error {
		names = names[:0]
		for _, fn := range stack {
			names = append(names, w.name(fn))
		}
		return lines.Write(names, n.Self)
	})
	if err != nil {
		return err
	}
	return lines.Flush()
}

func (w stackWriter) flame(out io.Writer) error {
	_, err := flamegraph.WriteHTML(out, w.Drawing(), flamegraph.Options{})
	return err
}

// Drawing returns what a flame graph shows.
func (w stackWriter) Drawing() *flamegraph.Profile {
	doc := &flamegraph.Profile{
		Unit: flamegraph.Samples, Name: w.name, Groups: []flamegraph.Group{{Trie: w.Merged()}},
		Notes: []string{report.Count(w.Samples) + " samples."},
	}
	for i, p := range w.programs {
		if i > 0 {
			doc.Title += ", "
		}
		doc.Title += filepath.Base(p.Path)
	}
	if w.Inferred > 0 {
		doc.Notes = append(doc.Notes, fmt.Sprintf("Frames that tail calls erased were restored in %s of them.", report.Count(w.Inferred)))
	}
	return doc
}

// fdata returns what writes the branches for llvm-bolt.
func (r *ProfgenRun) fdata(counts *unwind.Result) (func(io.Writer) error, error) {
	bin, err := objfile.Open(r.Binaries[0])
	if err != nil {
		return nil, err
	}
	defer bin.Close()
	symbols, err := verb.BoltSymbols(bin)
	if err != nil {
		return nil, err
	}
	branches := export.BoltSamples(r.branches(counts), symbols)
	return func(w io.Writer) error { return fdata.WriteBranches(w, branches) }, nil
}

// branches returns the branches of all contexts, by their addresses. Where control
// went on to another block without a jump there is a branch as well, to the next
// instruction: BOLT takes what no line has for code that did not run.
func (r *ProfgenRun) branches(counts *unwind.Result) []export.Branch {
	type edge struct{ from, to machinecode.Ref }
	sums := map[edge]uint64{}
	targets := r.targets(counts)
	for _, c := range counts.Contexts {
		for _, b := range c.Branches {
			sums[edge{b.From, b.To}] += b.Count
		}
		for _, run := range c.Ranges {
			for at := run.From; at < run.To; at++ {
				if r.code.Class(at) == machinecode.Conditional || targets[at+1] {
					sums[edge{at, at + 1}] += run.Count
				}
			}
		}
	}
	out := make([]export.Branch, 0, len(sums))
	for e, n := range sums {
		x := export.Branch{To: r.code.Address(e.to), Count: n}
		if e.from.IsInstruction() {
			x.From = r.code.Address(e.from)
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b export.Branch) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return out
}

// targets returns the instructions that jumps go to, direct ones and those that were
// seen: blocks begin there.
func (r *ProfgenRun) targets(counts *unwind.Result) []bool {
	is := make([]bool, r.code.Len()+1)
	b := r.code.Binaries()[0]
	for at := b.First; at < b.End; at++ {
		switch r.code.Class(at) {
		case machinecode.Jump, machinecode.Conditional:
			if to, ok := r.code.Target(at); ok {
				is[b.At(to)] = true
			}
		}
	}
	for _, c := range counts.Contexts {
		for _, x := range c.Branches {
			if r.code.Class(x.From) == machinecode.IndirectJump {
				is[x.To] = true
			}
		}
	}
	return is
}
