package sampleset

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/export"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// Stacks are stacks that were sampled, with names to show.
type Stacks struct {
	*profgen.Stacks
	Names *report.Names
	Of    *pipeline.Result
}

// NewStacks returns the stacks of a result.
func NewStacks(r *pipeline.Result, names *report.Names) Stacks { return Stacks{r.Stacks, names, r} }

// Show returns a symbol as it is displayed: the suffix of a restored frame is kept.
func (w Stacks) Show(symbol string) string {
	marks := ""
	for _, mark := range []string{profgen.InferredSuffix, profgen.InlinedSuffix, profgen.KernelSuffix} {
		if name, ok := strings.CutSuffix(symbol, mark); ok {
			symbol, marks = name, mark+marks
		}
	}
	return w.Names.Show(symbol) + marks
}

// Name returns the name of a function as it is displayed.
func (w Stacks) Name(id calllog.FuncID) string {
	if id == export.LeftOut {
		return export.LeftOutName
	}
	return w.Show(w.Funcs.Name(id))
}

// Kind returns what code a function is, which its suffix says.
func (w Stacks) Kind(id calllog.FuncID) flamegraph.Kind {
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

// Drawing returns the flame graph of the stacks.
func (w Stacks) Drawing() *flamegraph.Profile {
	doc := &flamegraph.Profile{
		Unit: flamegraph.Samples, Sampled: true, Name: w.Name, Kind: w.Kind, Groups: []flamegraph.Group{{Trie: w.Merged()}},
		Notes: []string{report.Count(w.Samples) + " samples."},
	}
	for i, p := range w.Of.Programs {
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
