package samples

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/folded"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/export"
	"github.com/cairnprof/cairn/internal/page/single"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/internal/verb"
)

// ofStacks returns a function that writes the stacks of samples.
func (f *profgenFlags) ofStacks(s *verb.Streams, r *pipeline.Result) (func(io.Writer) error, error) {
	w := stackWriter{r.Stacks, f.names.Names(), r}
	switch f.format {
	case formatFolded:
		return w.folded, nil
	case formatPprof:
		return w.pprof, verb.NotOnTerminal(s, f.out, "pprof", "-o")
	case formatOTLP:
		return w.otlp, verb.NotOnTerminal(s, f.out, "otlp", "-o")
	}
	return func(out io.Writer) error {
		_, err := single.Flame(out, w.drawing(), flamegraph.Options{})
		return err
	}, nil
}

// stackWriter writes stacks that were sampled.
type stackWriter struct {
	*profgen.Stacks
	names *report.Names
	of    *pipeline.Result
}

// show returns a symbol as it is displayed: the suffix of a restored frame is kept.
func (w stackWriter) show(symbol string) string {
	marks := ""
	for _, mark := range []string{profgen.InferredSuffix, profgen.InlinedSuffix, profgen.KernelSuffix} {
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

// kind returns what code a function is, which its suffix says.
func (w stackWriter) kind(id calllog.FuncID) flamegraph.Kind {
	switch symbol := w.Funcs.Name(id); {
	case strings.HasSuffix(symbol, profgen.InferredSuffix):
		return flamegraph.Restored
	case strings.HasSuffix(symbol, profgen.InlinedSuffix):
		return flamegraph.Inlined
	case strings.HasSuffix(symbol, profgen.KernelSuffix), symbol == unwind.KernelName:
		return flamegraph.Kernel
	}
	return flamegraph.Plain
}

func (w stackWriter) folded(out io.Writer) error {
	lines := folded.NewWriter(out)
	var names []string
	shown := map[calllog.FuncID]string{} // to show a name takes longer than to write it
	err := export.EachStack(w.Merged(), export.MaxFrames, func(stack []calllog.FuncID, n *calltrie.Node) error {
		names = names[:0]
		for _, fn := range stack {
			name, ok := shown[fn]
			if !ok {
				name = w.name(fn)
				shown[fn] = name
			}
			names = append(names, name)
		}
		return lines.Write(names, n.Self)
	})
	if err != nil {
		return err
	}
	return lines.Flush()
}

// Drawing returns the flame graph of the stacks of samples.
func Drawing(r *pipeline.Result, names *report.Names) *flamegraph.Profile {
	return stackWriter{r.Stacks, names, r}.drawing()
}

func (w stackWriter) drawing() *flamegraph.Profile {
	doc := &flamegraph.Profile{
		Unit: flamegraph.Samples, Sampled: true, Name: w.name, Kind: w.kind, Groups: []flamegraph.Group{{Trie: w.Merged()}},
		Notes: []string{report.Count(w.Samples) + " samples."},
	}
	for i, p := range w.of.Programs {
		if i > 0 {
			doc.Title += ", "
		}
		doc.Title += filepath.Base(p.Path)
	}
	if w.Inferred > 0 {
		doc.Notes = append(doc.Notes, fmt.Sprintf("Frames that tail calls erased were restored in %s of them.", report.Count(w.Inferred)))
	}
	doc.Notes = append(doc.Notes, w.Notes...)
	return doc
}
