package coverlist

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// Shown is which functions have a paragraph, in which order.
type Shown struct {
	gather.Choice
	verb.DisplayFlags
	Pattern  string
	Sort     string
	Limit    int
	All, Ran bool
}

// shownFunc is a function on its way to the output.
type shownFunc struct {
	module *coverage.Module
	fn     *prof.Func
	counts *prof.Counts
	name   string // as displayed
	// source is its source function, if other functions were generated from it or have its
	// name.
	source *sourceFunc
}

// The keys of --sort. Equal elements are in the order of the profile.
var Orders = map[string]func(a, b shownFunc) int{
	"addr": func(a, b shownFunc) int { return 0 },
	"name": func(a, b shownFunc) int { return cmp.Compare(a.name, b.name) },
	"calls": func(a, b shownFunc) int {
		return cmp.Or(cmp.Compare(b.counts.Calls, a.counts.Calls), cmp.Compare(b.counts.Runs, a.counts.Runs))
	},
	"order": func(a, b shownFunc) int {
		x, y := a.counts.MeanOrder(), b.counts.MeanOrder()
		if (x == 0) != (y == 0) { // functions that never ran come last
			return cmp.Compare(y, x)
		}
		return cmp.Compare(x, y)
	},
}

// Write writes the paragraphs, or JSON.
func (f *Shown) Write(ctx context.Context, s *verb.Streams) error {
	style, err := f.Style(s)
	if err != nil {
		return err
	}
	order, ok := Orders[f.Sort]
	if !ok {
		return verb.Usagef("--sort %s: must be name, calls, order or addr", f.Sort)
	}
	filter, err := verb.NewNameFilter(f.Pattern)
	if err != nil {
		return err
	}
	modules, err := f.OpenModules(ctx, s)
	if err != nil {
		return err
	}
	names := f.Names()
	var funcs []shownFunc
	for i := range modules {
		m := &modules[i]
		sources := sourcesByFunc(m, names)
		for k := range m.Funcs {
			fn, c := &m.Funcs[k], &m.Counts[k]
			if f.Ran && c.Runs == 0 || !filter.Match(fn.Name) {
				continue
			}
			funcs = append(funcs, shownFunc{m, fn, c, names.Show(fn.Name), sources[k]})
		}
	}
	stablesort.Func(funcs, order)
	if f.Limit > 0 && len(funcs) > f.Limit {
		funcs = funcs[:f.Limit]
	}
	if f.Json {
		return showJSON(s.Out, funcs)
	}
	if len(funcs) == 0 {
		verb.Note(s, "no functions to show")
	}
	return showText(s.Out, funcs, style, len(modules) > 1)
}

const splitLegend = ">= of a source function: calls that were inlined and returned there are not counted"

func showText(w io.Writer, funcs []shownFunc, style report.Style, withModule bool) error {
	b := bufio.NewWriter(w)
	inexact, split, estimated := "", "", "" // legends
	for i := range funcs {
		fn := &funcs[i]
		if i > 0 {
			b.WriteByte('\n')
		}
		if err := fn.write(b, style, withModule); err != nil {
			return err
		}
		if inexact == "" && fn.counts.Inexact {
			inexact = coverage.InexactLegend(&fn.module.Map)
		}
		if fn.fn.Mode.Estimated() {
			estimated = estimatedLegend
		}
		if fn.source != nil && fn.source.src.Split && fn.fn.Mode.HasCalls() {
			split = splitLegend
		}
	}
	before := "\n"
	for _, legend := range []string{inexact, split, estimated} {
		if legend != "" {
			fmt.Fprintf(b, "%s%s\n", before, style.Paint(report.Dim, legend))
			before = ""
		}
	}
	return b.Flush()
}

// write prints the paragraph of one function.
func (f *shownFunc) write(w io.Writer, style report.Style, withModule bool) error {
	field := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %s %s\n", style.Paint(report.Dim, name+":"), fmt.Sprintf(format, args...))
	}
	color := report.Bold
	if f.counts.Runs == 0 {
		color = report.Plain
	}
	fmt.Fprintln(w, style.Paint(color, report.Shorten(f.name, style.Width)))
	if withModule {
		field("Module", "%s", report.Printable(f.module.Module.Module))
	}
	if src := report.SourceText(f.module.Definition(f.fn)); src != "" {
		field("Source Info", "%s", src)
	}
	switch {
	case f.fn.Mode.Estimated() && f.counts.Runs == 0:
		field("Call Count", "not sampled")
		return nil
	case f.fn.Mode.Estimated():
		field("Call Count", "%s", f.count(f.counts.Calls))
		return f.writeTimes(w, style)
	case f.fn.Mode.HasCalls():
		field("Call Count", "%s", CallText(f.counts))
	}
	if order := f.counts.MeanOrder(); order > 0 {
		field("Order", "%s", report.Decimal(order))
	}
	field("Runs", "%s of %s", report.Count(f.counts.Runs), report.Count(f.module.RunsOf(f.counts)))
	if f.source != nil {
		field("Source Function", "%s", f.source.text())
	}
	if f.fn.Mode.HasBlocks() {
		t := coverage.FuncBlocks(f.fn, f.counts)
		field("Block Coverage", "%d of %d", t.Covered, t.Total)
		fmt.Fprintln(w, f.heat(style))
	}
	return f.writeTimes(w, style)
}

// sourcesByFunc returns, by function of m, the function of the source that it is
// not all of.
func sourcesByFunc(m *coverage.Module, names *report.Names) map[int]*sourceFunc {
	sources := map[int]*sourceFunc{}
	for _, src := range sourceFuncs(m, names) {
		for _, i := range src.src.Funcs {
			if len(src.parts()) > 0 {
				sources[i] = &src
			}
		}
	}
	return sources
}

// heat returns the row of HOT and COLD words, one for each block, wrapped.
func (f *shownFunc) heat(style report.Style) string {
	words, widths := make([]string, f.fn.NumBlocks()), make([]int, f.fn.NumBlocks())
	for i := range words {
		word, color := "COLD", report.Cold
		if f.counts.Covered(i) {
			word, color = "HOT", report.Hot
		}
		words[i], widths[i] = style.Paint(color, word), len(word)
	}
	limit := 78
	if style.Width > 0 {
		limit = min(limit, style.Width)
	}
	return report.Wrap(words, widths, "    ", limit)
}

// CallText returns a call count with its mark.
func CallText(c *prof.Counts) string { return verb.AtLeast(c.Inexact) + report.Count(c.Calls) }

// funcJSON is a function in the JSON of several verbs. Pointers are nil where
// the mode did not record the value.
type funcJSON struct {
	Name         string      `json:"name"` // symbol
	Demangled    string      `json:"demangled"`
	Source       string      `json:"source_function,omitempty"` // that it is a piece of
	Parts        []string    `json:"parts,omitempty"`           // symbols of its other pieces
	Module       string      `json:"module"`
	BuildID      string      `json:"build_id"`
	Machine      string      `json:"machine,omitempty"`
	File         string      `json:"file,omitempty"`
	Line         int         `json:"line,omitempty"`
	Address      uint64      `json:"address"`
	Size         uint64      `json:"size"`
	Mode         string      `json:"mode"`
	Covered      bool        `json:"covered"`
	Runs         uint64      `json:"runs"`
	Raws         uint64      `json:"raws"`
	Calls        *uint64     `json:"calls,omitempty"`
	CallsInexact bool        `json:"calls_inexact,omitempty"`
	MeanOrder    *float64    `json:"mean_order,omitempty"`
	Blocks       []blockJSON `json:"blocks,omitempty"`

	// Of functions that were compiled and that no module has.
	Absent  string `json:"absent,omitempty"`  // why
	Reason  string `json:"reason,omitempty"`  // more about that
	Unknown bool   `json:"unknown,omitempty"` // it is not known whether it ran
}

type blockJSON struct {
	Address uint64   `json:"address"`
	Covered bool     `json:"covered"`
	Runs    uint64   `json:"runs"`
	Lines   []string `json:"lines,omitempty"`

	// Of mode edge: executions of the block, and where control went from it.
	Times *uint64    `json:"times,omitempty"`
	To    []edgeJSON `json:"to,omitempty"`
}

// edgeJSON is how often control went from a block to another.
type edgeJSON struct {
	Block *uint32 `json:"block,omitempty"` // index of the block; nil: it left the function, or went on in a way that is not known
	Times uint64  `json:"times"`
}

func newFuncJSON(m *coverage.Module, fn *prof.Func, c *prof.Counts, demangled string) funcJSON {
	j := funcJSON{
		Name: fn.Name, Demangled: demangled, Module: m.Module.Module, BuildID: m.BuildID.String(), Machine: m.Machine,
		Address: fn.Addr(), Size: fn.Size(), Mode: fn.Mode.String(),
		Covered: c.Runs > 0, Runs: c.Runs, Raws: m.RunsOf(c), CallsInexact: c.Inexact,
	}
	j.File, j.Line = m.Definition(fn)
	if fn.Mode.HasCalls() {
		j.Calls = &c.Calls
	}
	if order := c.MeanOrder(); order > 0 {
		j.MeanOrder = &order
	}
	return j
}

func showJSON(w io.Writer, funcs []shownFunc) error {
	out := struct {
		Functions []funcJSON `json:"functions"`
	}{make([]funcJSON, len(funcs))}
	for i, f := range funcs {
		j := newFuncJSON(f.module, f.fn, f.counts, f.name)
		if f.fn.Mode.HasBlocks() {
			j.Blocks = blocksJSON(f.fn, f.counts)
		}
		if f.source != nil {
			j.Source = f.source.src.Name
		}
		out.Functions[i] = j
	}
	return report.WriteJSON(w, out)
}

func blocksJSON(fn *prof.Func, c *prof.Counts) []blockJSON {
	blocks := make([]blockJSON, fn.NumBlocks())
	for i := range blocks {
		blocks[i] = blockJSON{Address: fn.BlockAddr(i), Covered: c.Covered(i), Runs: c.Runs}
		if i > 0 && i-1 < len(c.Blocks) {
			blocks[i].Runs = c.Blocks[i-1]
		}
	}
	if fn.Mode.HasEdges() {
		addTimes(blocks, fn, c)
	}
	return blocks
}

// spanText returns a span as file:from-to.
func spanText(sp coverage.Span) string {
	text := strconv.Itoa(sp.From)
	if sp.File != "" {
		text = report.SourceText(sp.File, sp.From)
	}
	if sp.From == sp.To {
		return text
	}
	return fmt.Sprintf("%s-%d", text, sp.To)
}

// spansText joins spans, with a file's name once for consecutive spans.
func spansText(spans []coverage.Span) string {
	var b strings.Builder
	for i, sp := range spans {
		switch {
		case i == 0:
			b.WriteString(spanText(sp))
			continue
		case sp.File != spans[i-1].File:
			b.WriteString(", " + spanText(sp))
			continue
		}
		b.WriteByte(',')
		fmt.Fprintf(&b, "%d", sp.From)
		if sp.To != sp.From {
			fmt.Fprintf(&b, "-%d", sp.To)
		}
	}
	return b.String()
}
