// Package coverlist writes what of a program ran: lists of functions, files, lines, blocks and packages, and the files of
// coverage tools.
package coverlist

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/inputs/sources"
	"github.com/cairnprof/cairn/internal/output"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// Covered is what is listed of which profile, and how.
type Covered struct {
	gather.Choice
	verb.DisplayFlags
	View
	Selection
	FailUnder float64
	Gate      bool // --fail-under is given
	Out       string

	analysis *coverage.Analysis // made when it is first used
	missing  []absentFunc       // functions that no module has, once they are known
	scope    *sources.Scope
}

// View is the form of a list.
type View struct {
	Format                          string
	LineRanges, Paths, Blocks, LCOV bool
	Packages                        bool
	Missed, Unknown                 bool // list these functions, lines or blocks, not those that ran
}

// Selection is what of the profile counts.
type Selection struct {
	Pattern                    string // of names of functions
	Prefixes, Include, Exclude []string
	System                     bool
	Left                       sources.Left
	Diff                       string
}

// The formats that flags of their own select too.
const (
	formatText = "text"
	formatJSON = "json"
	formatLCOV = "lcov"
)

// coveredFormat is what cairn covered knows of a format.
type coveredFormat struct {
	write   func(*lineReport, io.Writer) error // all lines; nil: the view depends on other flags
	changed func(*lineReport, io.Writer) error // those of --diff; nil: not supported
	stmts   bool                               // it has statements of Go in place of lines
}

// Formats is a function, because its rows refer to methods that refer to it.
func Formats() output.Formats[coveredFormat] {
	return output.Formats[coveredFormat]{
		{Name: formatText, Help: "the view that the other flags select; the default", Rules: coveredFormat{changed: (*lineReport).diffText}},
		{Name: formatJSON, Help: "the same as --json", Suffixes: []string{".json"}, Rules: coveredFormat{changed: (*lineReport).diffJSON}},
		{Name: "markdown", Help: "source files with their lines that ran, as a table", Suffixes: []string{".md"}, Rules: coveredFormat{write: (*lineReport).writeMarkdown, changed: (*lineReport).diffMarkdown}},
		{Name: formatLCOV, Help: "a tracefile of lcov", Suffixes: []string{".info", ".lcov"}, Rules: coveredFormat{write: (*lineReport).writeLCOV}},
		{Name: "cobertura", Help: "Cobertura's XML, for Jenkins, GitLab and Azure DevOps", Suffixes: []string{"cobertura.xml", "coverage.xml"}, Rules: coveredFormat{write: (*lineReport).writeCobertura}},
		{Name: "sarif", Help: "SARIF 2.1.0: functions and lines that did not run, for code scanning", Suffixes: []string{".sarif"}, Rules: coveredFormat{write: (*lineReport).writeSARIF, changed: (*lineReport).diffSARIF}},
		{Name: "junit", Help: "JUnit's XML: a test for each file, which fails below --fail-under", Suffixes: []string{"junit.xml"}, Rules: coveredFormat{write: (*lineReport).writeJUnit, changed: (*lineReport).diffJUnit}},
		{Name: "sonarqube", Help: "SonarQube's generic format for coverage", Suffixes: []string{"sonarqube.xml"}, Rules: coveredFormat{write: (*lineReport).writeSonarQube}},
		{Name: "coverprofile", Help: "of Go programs: statements, for go tool cover and services for Go", Suffixes: []string{".coverprofile"}, Rules: coveredFormat{stmts: true}},
	}
}

// coveredView prints one view of a profile, as text or JSON.
type coveredView func(f *Covered, s *verb.Streams, w io.Writer, modules []coverage.Module, style report.Style) error

// view returns the requested view.
func (f *Covered) view() (coveredView, error) {
	view := coveredView((*Covered).writeFuncs)
	for _, v := range []struct {
		on    bool
		write coveredView
	}{
		{f.LineRanges, nil}, // linesView
		{f.Paths, (*Covered).writePaths},
		{f.Blocks, (*Covered).writeBlocks},
		{f.Packages, (*Covered).writePackages},
		{f.LCOV, nil},
	} {
		if v.on {
			view = v.write
		}
	}
	if f.needsLines() && len(f.Debug) == 0 {
		return nil, verb.Usagef("source lines need the debug information of the binary: name it as well, or after cairn go test the directory of the raw files")
	}
	return view, nil
}

// Write writes the view that the fields select, and checks the share of lines that ran.
func (f *Covered) Write(ctx context.Context, s *verb.Streams) error {
	style, err := f.Style(s)
	if err != nil {
		return err
	}
	if err := f.checkFormat(); err != nil {
		return err
	}
	view, err := f.view()
	if err != nil {
		return err
	}
	if f.scope, err = sources.NewScope(s, f.Left); err != nil {
		return err
	}
	modules, err := f.OpenModules(ctx, s)
	if err != nil {
		return err
	}
	for i := range modules {
		if err := gather.NoEstimates(f.Path, modules[i].Module); err != nil {
			return err
		}
	}
	if f.needsLines() && !gather.HasLines(modules) {
		return fmt.Errorf("%s: none of the modules has source lines (name a program that was compiled with -g)", f.Path)
	}
	if f.Out != "-" {
		style = report.Style{}
	}
	r := f.newLineReport(s, modules)
	switch x, err := Formats().Named(f.Format); {
	case err != nil:
		return err
	case f.Diff != "":
		if err := r.compare(ctx); err != nil {
			return err
		}
		r.style = style
		view = r.view(x.Rules.changed)
	case f.LineRanges:
		view = f.linesView(r)
	case x.Rules.stmts:
		view = (*Covered).writeCoverProfile
	case x.Rules.write != nil:
		view = r.view(x.Rules.write)
	}
	if err := verb.WriteFile(s, f.Out, func(w io.Writer) error { return view(f, s, w, modules, style) }); err != nil {
		return err
	}
	if err := f.noteAbsent(s, modules); err != nil {
		return err
	}
	return r.checkGate()
}

// each calls visit for each function that the flags select.
func (f *Covered) each(modules []coverage.Module, names *report.Names, visit func(shownFunc)) error {
	filter, err := verb.NewNameFilter(f.Pattern)
	if err != nil {
		return err
	}
	for i := range modules {
		m := &modules[i]
		for k := range m.Funcs {
			fn := shownFunc{module: m, fn: &m.Funcs[k], counts: &m.Counts[k], name: names.Show(m.Funcs[k].Name)}
			if filter.Match(fn.fn.Name) {
				visit(fn)
			}
		}
	}
	return nil
}

// eachSource calls visit for each function of the source that the flags select.
func (f *Covered) eachSource(modules []coverage.Module, names *report.Names, visit func(sourceFunc)) error {
	filter, err := verb.NewNameFilter(f.Pattern)
	if err != nil {
		return err
	}
	for i := range modules {
		for _, fn := range sourceFuncs(&modules[i], names) {
			if filter.Match(fn.src.Name) || slices.ContainsFunc(fn.parts(), filter.Match) {
				visit(fn)
			}
		}
	}
	return nil
}

// linesView lists ranges of source lines, one on each line so that editors and grep can work with
// them.
func (f *Covered) linesView(r *lineReport) coveredView {
	return func(_ *Covered, _ *verb.Streams, w io.Writer, _ []coverage.Module, _ report.Style) error {
		state := coverage.Ran
		switch {
		case f.Missed:
			state = coverage.Missed
		case f.Unknown:
			state = coverage.Unknown
		}
		spans := r.spans(state)
		if f.Json {
			return report.WriteJSON(w, struct {
				Lines []spanJSON `json:"lines"`
			}{spansJSON(spans)})
		}
		for _, sp := range spans {
			if _, err := fmt.Fprintln(w, spanText(sp)); err != nil {
				return err
			}
		}
		fmt.Fprintf(r.s.Remarks(), "%s: %s\n", f.Path, tallyText(r.tally()))
		return nil
	}
}

// spans returns the lines in a state.
func (r *lineReport) spans(state coverage.State) (spans []coverage.Span) {
	for i := range r.files {
		for _, l := range coverage.Ranges(r.files[i].Lines, state) {
			spans = append(spans, coverage.Span{File: r.files[i].File, From: l.From, To: l.To})
		}
	}
	return spans
}

type spanJSON struct {
	File string `json:"file"`
	From int    `json:"from"`
	To   int    `json:"to"`
}

func spansJSON(spans []coverage.Span) []spanJSON {
	out := make([]spanJSON, len(spans))
	for i, sp := range spans {
		out[i] = spanJSON(sp)
	}
	return out
}

// writePaths lists source files.
func (f *Covered) writePaths(_ *verb.Streams, w io.Writer, modules []coverage.Module, style report.Style) error {
	all := f.analyse(modules).Paths(f.scope.Has)
	f.scope.Say()
	paths := f.Left.Rules.ApplyPaths(all)
	if f.Json {
		type pathJSON struct {
			File      string             `json:"file"`
			Functions coverage.TallyJSON `json:"functions"`
			Blocks    coverage.TallyJSON `json:"blocks"`
			Unknown   int                `json:"unknown_functions,omitempty"`
		}
		out := make([]pathJSON, len(paths))
		for i, p := range paths {
			out[i] = pathJSON{p.File, p.Functions.JSON(), p.Blocks.JSON(), p.Unknown}
		}
		return report.WriteJSON(w, struct {
			Paths []pathJSON `json:"paths"`
		}{out})
	}
	t := report.NewTable("/file", ">functions", ">", ">blocks", ">")
	total := coverage.Path{}
	for _, p := range paths {
		total.Functions, total.Blocks, total.Unknown = total.Functions.Plus(p.Functions), total.Blocks.Plus(p.Blocks), total.Unknown+p.Unknown
	}
	if total.Unknown > 0 {
		t.Head(">unknown functions")
	}
	add := func(name report.Cell, p *coverage.Path) {
		cells := slices.Concat([]report.Cell{name}, tallyCells(p.Functions), tallyCells(p.Blocks))
		if total.Unknown > 0 {
			cells = append(cells, report.Text(report.Count(p.Unknown)))
		}
		t.Add(cells...)
	}
	for i := range paths {
		add(report.Text(cmp.Or(paths[i].File, "(unknown)")), &paths[i])
	}
	if len(paths) > 1 {
		add(report.Cell{Text: "total", Color: report.Bold}, &total)
	}
	return t.Write(w, style)
}

// tallyCells returns "covered/total" and the percentage, coloured by its value; blank if there
// are no elements.
func tallyCells(t coverage.Tally) []report.Cell {
	if t.Total == 0 {
		return []report.Cell{{}, {}}
	}
	color := report.Amber
	switch {
	case t.Covered == t.Total:
		color = report.Green
	case t.Covered == 0:
		color = report.Red
	}
	return []report.Cell{
		report.Text(report.Count(t.Covered) + "/" + report.Count(t.Total)),
		{Text: report.Percent(t.Covered, t.Total), Color: color},
	}
}
