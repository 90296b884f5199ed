package profile

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/output"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

type coveredFlags struct {
	ProfileFlags
	verb.DisplayFlags
	pattern                    string
	missed, unknown            bool
	lines, paths, blocks, lcov bool
	packages                   bool
	format                     string
	prefixes, include, exclude []string
	system                     bool
	excludeLines               []string
	excludeBranches            []string
	noMarkers                  bool
	analysis                   *coverage.Analysis // made when it is first used
	missing                    []absentFunc       // functions that no module has, once they are known
	scope                      *scope
	rules                      *coverage.PathRules
	diff                       string
	failUnder                  float64
	gate                       bool // --fail-under is given
	out                        string
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

// coveredFormats is a function, because its rows refer to methods that refer to it.
func coveredFormats() output.Formats[coveredFormat] {
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

var coveredHelp = `covered lists the functions that ran in any of the merged runs. A function that the
compiler split or cloned counts as one: it ran if any of its parts did. Other views
are source files (--paths), source lines (--lines), blocks (--blocks), packages with
the bytes of their code that did not run (--packages) and an lcov tracefile for
genhtml and editors (--lcov). Lines need the binaries.

An INPUT is a profile (.mip), raw files, a binary or its debug file, or a directory of
such files; they are merged, and binaries give source lines. A URL is the profile of a
collector.

--format selects other outputs:
` + coveredFormats().Help() + `
--diff REVISION limits the report to lines that were changed since the last commit that
HEAD and the git revision have in common, uncommitted changes included. In place of a
revision it takes a unified diff: a file, or - for standard input. Names in the debug
information are made relative to the top of the git work tree; --prefix-map does the
same for trees that were compiled elsewhere. json, markdown, sarif and junit support
--diff, and so does text.

--fail-under N makes the exit code 1 if less than N percent of the lines ran. In
optimised code it cannot be determined for every line whether it ran. Such lines are
listed as unknown and count neither as covered nor as missed.

--include and --exclude select source files by patterns: * stands for any characters
but /, ** for any characters. A pattern also matches the part of a name after any /,
and a pattern of a directory matches all files in it. Headers of the compiler and the
system (/usr/include, sysroots) are left out, in all views and in --fail-under, unless
--system-headers is given. Markers in the source exclude lines, as lcov and gcovr read
them: LCOV_EXCL_LINE, LCOV_EXCL_START to LCOV_EXCL_STOP, GCOVR_EXCL_FUNCTION on the line
of a function's definition, and LCOV_EXCL_BR_LINE and others for branches only.`

// Covered returns the command cairn covered.
func Covered(s *verb.Streams) *cobra.Command {
	var f coveredFlags
	c := &cobra.Command{
		Use:   "covered INPUT... [flags]",
		Short: "List covered functions, files, lines or blocks",
		Long:  coveredHelp,
		Example: `  cairn covered app raws --missed
  cairn covered app.mip app --diff origin/main --fail-under 80
  cairn covered app.mip app --lcov -o app.info && genhtml app.info -o html
  cairn covered app.mip app --format cobertura --exclude third_party -o coverage.xml
  cairn covered app.mip app --diff origin/main --format markdown
  cairn covered app.mip --packages`,
		Args: f.Args,
		RunE: func(c *cobra.Command, _ []string) error {
			f.gate = c.Flags().Changed("fail-under")
			return f.run(c.Context(), s)
		},
	}
	f.ProfileFlags.Register(c)
	f.registerDebug(c)
	f.DisplayFlags.Register(c)
	verb.RegisterRegexp(c, &f.pattern, "only functions whose name (mangled or demangled) matches this `pattern`")
	f.complete(c)
	c.Flags().BoolVar(&f.missed, "missed", false, "list what did not run")
	c.Flags().BoolVar(&f.unknown, "unknown", false, "list functions, or with --lines lines, that may or may not have run")
	c.Flags().BoolVar(&f.lines, "lines", false, "list ranges of source lines")
	c.Flags().BoolVar(&f.paths, "paths", false, "list source files with their covered functions and blocks")
	c.Flags().BoolVar(&f.packages, "packages", false, "list packages of Go, or directories of sources, with the code that did not run")
	c.Flags().BoolVar(&f.blocks, "blocks", false, "list the blocks of each function, as source lines")
	c.Flags().BoolVar(&f.lcov, "lcov", false, "write an lcov tracefile")
	c.Flags().StringVarP(&f.out, "output", "o", "-", "write to this `file`")
	coveredFormats().Register(c, &f.format, "", " (default by the file's name, else text)")
	c.Flags().StringVar(&f.diff, "diff", "", "only lines changed since this git `revision`, or by this unified diff (a file, or -)")
	c.Flags().Float64Var(&f.failUnder, "fail-under", 0, "exit with 1 if fewer than `n` percent of the lines ran")
	c.Flags().StringArrayVar(&f.include, "include", nil, "only source files that match this `pattern`; repeatable")
	c.Flags().StringArrayVar(&f.exclude, "exclude", nil, "omit source files that match this `pattern`; repeatable")
	c.Flags().BoolVar(&f.system, "system-headers", false, "also count the headers of the compiler and the system")
	c.Flags().StringArrayVar(&f.excludeLines, "exclude-lines", nil, "omit source lines that match this regular `expression`; repeatable")
	c.Flags().StringArrayVar(&f.excludeBranches, "exclude-branches", nil, "omit branches of source lines that match this regular `expression`; repeatable")
	c.Flags().BoolVar(&f.noMarkers, "no-markers", false, "ignore markers in the source that exclude lines (LCOV_EXCL_LINE, GCOVR_EXCL_START and others)")
	c.Flags().StringArrayVar(&f.prefixes, "prefix-map", nil, "replace the beginning of names of source files: `from=to`; repeatable")
	const listsMissed = "that always lists what did not run"
	verb.Rules(c, verb.OnlyOne("missed", "unknown"), verb.OnlyOne("lines", "paths", "packages", "blocks", "lcov"),
		verb.Excludes("lcov", "json", "missed", "regexp"),
		verb.Excludes("regexp", "lines", "paths").Because("it selects functions"),
		verb.Excludes("unknown", "paths", "packages", "blocks", "lcov").Because("it lists functions, or with --lines lines"),
		verb.Excludes("missed", "packages", "paths").Because(listsMissed))
	return c
}

// coveredView prints one view of a profile, as text or JSON.
type coveredView func(f *coveredFlags, s *verb.Streams, w io.Writer, modules []coverage.Module, style report.Style) error

// view returns the requested view.
func (f *coveredFlags) view() (coveredView, error) {
	view := coveredView((*coveredFlags).writeFuncs)
	for _, v := range []struct {
		on    bool
		write coveredView
	}{
		{f.lines, nil}, // linesView
		{f.paths, (*coveredFlags).writePaths},
		{f.blocks, (*coveredFlags).writeBlocks},
		{f.packages, (*coveredFlags).writePackages},
		{f.lcov, nil},
	} {
		if v.on {
			view = v.write
		}
	}
	if f.needsLines() && len(f.debug) == 0 {
		return nil, verb.Usagef("source lines need the debug information of the binary: name it as well, or after cairn go test the directory of the raw files")
	}
	return view, nil
}

func (f *coveredFlags) run(ctx context.Context, s *verb.Streams) error {
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
	if f.scope, err = f.newScope(s); err != nil {
		return err
	}
	modules, err := f.openModules(ctx, s)
	if err != nil {
		return err
	}
	for i := range modules {
		if err := gather.NoEstimates(f.Path, modules[i].Module); err != nil {
			return err
		}
	}
	if f.needsLines() && !hasLines(modules) {
		return fmt.Errorf("%s: none of the modules has source lines", f.Path)
	}
	if f.out != "-" {
		style = report.Style{}
	}
	r := f.newLineReport(s, modules)
	switch x, err := coveredFormats().Named(f.format); {
	case err != nil:
		return err
	case f.diff != "":
		if err := r.compare(ctx); err != nil {
			return err
		}
		r.style = style
		view = r.view(x.Rules.changed)
	case f.lines:
		view = f.linesView(r)
	case x.Rules.stmts:
		view = (*coveredFlags).writeCoverProfile
	case x.Rules.write != nil:
		view = r.view(x.Rules.write)
	}
	if err := verb.WriteFile(s, f.out, func(w io.Writer) error { return view(f, s, w, modules, style) }); err != nil {
		return err
	}
	if err := f.noteAbsent(s, modules); err != nil {
		return err
	}
	return r.checkGate()
}

// each calls visit for each function that the flags select.
func (f *coveredFlags) each(modules []coverage.Module, names *report.Names, visit func(shownFunc)) error {
	filter, err := verb.NewNameFilter(f.pattern)
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
func (f *coveredFlags) eachSource(modules []coverage.Module, names *report.Names, visit func(sourceFunc)) error {
	filter, err := verb.NewNameFilter(f.pattern)
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
func (f *coveredFlags) linesView(r *lineReport) coveredView {
	return func(_ *coveredFlags, _ *verb.Streams, w io.Writer, _ []coverage.Module, _ report.Style) error {
		state := coverage.Ran
		switch {
		case f.missed:
			state = coverage.Missed
		case f.unknown:
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
func (f *coveredFlags) writePaths(_ *verb.Streams, w io.Writer, modules []coverage.Module, style report.Style) error {
	all := f.analyse(modules).Paths(f.scope.has)
	f.scope.say()
	paths := f.rules.ApplyPaths(all)
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
	t := report.Table{Columns: []report.Column{
		{Title: "file", Shrink: report.ShortenPath},
		{Title: "functions", Align: report.Right},
		{Align: report.Right},
		{Title: "blocks", Align: report.Right},
		{Align: report.Right},
	}}
	total := coverage.Path{}
	for _, p := range paths {
		total.Functions, total.Blocks, total.Unknown = total.Functions.Plus(p.Functions), total.Blocks.Plus(p.Blocks), total.Unknown+p.Unknown
	}
	if total.Unknown > 0 {
		t.Columns = append(t.Columns, report.Column{Title: "unknown functions", Align: report.Right})
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
