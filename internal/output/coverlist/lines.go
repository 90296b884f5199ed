package coverlist

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/cobertura"
	"github.com/cairnprof/cairn/format/junit"
	"github.com/cairnprof/cairn/format/sarif"
	"github.com/cairnprof/cairn/format/sonarqube"
	"github.com/cairnprof/cairn/internal/inputs/sources"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// checkFormat refuses flags that do not fit together.
func (f *Covered) checkFormat() (err error) {
	if f.Left.Rules, err = coverage.NewPathRules(f.Prefixes, f.Include, f.Exclude); err != nil {
		return verb.Usagef("%w", err)
	}
	f.Left.Rules.System = f.System
	listed := f.LineRanges || f.Paths || f.Blocks || f.Missed || f.Unknown || f.Pattern != ""
	if f.Format == "" {
		switch {
		case f.Json:
			f.Format = formatJSON
		case f.LCOV:
			f.Format = formatLCOV
		case listed || f.Packages:
			f.Format = formatText
		}
	}
	x, err := Formats().Select(f.Format, f.Out, formatText)
	if err != nil {
		return err
	}
	f.Format = x.Name
	switch {
	case f.Json && f.Format != formatJSON:
		return verb.Usagef("--json and --format %s cannot be used together", f.Format)
	case f.LCOV && f.Format != formatLCOV:
		return verb.Usagef("--lcov and --format %s cannot be used together", f.Format)
	}
	f.Json, f.LCOV = f.Format == formatJSON, f.Format == formatLCOV
	if f.Gate && !(f.FailUnder >= 0 && f.FailUnder <= 100) {
		return verb.Usagef("--fail-under %g: must be a percentage", f.FailUnder)
	}
	special := f.Format != formatText && f.Format != formatJSON || f.Diff != ""
	switch {
	case special && listed:
		return verb.Usagef("--lines, --paths, --blocks, --missed, --unknown and -r select what text and JSON list: they cannot be used with --format or --diff")
	case f.Diff != "" && x.Rules.changed == nil:
		return verb.Usagef("--diff supports text, json, markdown, sarif and junit: give %s to a tool that reads whole files", f.Format)
	case strings.HasPrefix(f.Diff, "-") && f.Diff != "-":
		return verb.Usagef("--diff %s: not a revision", f.Diff)
	}
	return nil
}

// needsLines reports whether source lines are used.
func (f *Covered) needsLines() bool {
	return f.LineRanges || f.Format != formatText && f.Format != formatJSON || f.Diff != "" || f.Gate
}

// lineReport is the coverage of source files, or of their changed lines.
type lineReport struct {
	flags   *Covered
	s       *verb.Streams
	files   []coverage.SourceFile
	tops    []string // of the work tree, relative to which names are shown
	base    string   // revision or file that changes are counted from
	style   report.Style
	changed []coverage.ChangedFile
}

// newLineReport returns the report of lines, which is empty if no output needs it.
func (f *Covered) newLineReport(s *verb.Streams, modules []coverage.Module) *lineReport {
	r := &lineReport{flags: f, s: s}
	if !f.needsLines() {
		return r
	}
	done := verb.Working(s, "computing the states of lines")
	files, unplaced := f.analyse(modules).Files()
	done()
	if unplaced > 0 {
		verb.Note(s, "%s without a known source line %s omitted", report.Plural(unplaced, "function"), report.Either(uint64(unplaced), "is", "are"))
	}
	name := func(path string) string { return path }
	if f.Format != formatLCOV && f.Format != formatText && f.Format != formatJSON || f.Diff != "" {
		r.tops = sources.WorkTree()
		name = func(path string) string { return sources.Relative(path, r.tops) }
	}
	r.files = f.scope.Files(files, name)
	f.scope.Say()
	return r
}

// tally counts the lines of the report.
func (r *lineReport) tally() (t coverage.LineTally) {
	if r.flags.Diff != "" {
		for i := range r.changed {
			t = t.Plus(r.changed[i].Tally)
		}
		return t
	}
	for i := range r.files {
		t = t.Plus(r.files[i].Tally())
	}
	return t
}

// checkGate is the check of --fail-under.
func (r *lineReport) checkGate() error {
	f := r.flags
	if !f.Gate {
		return nil
	}
	all := r.tally()
	t := all.Tally()
	what := "lines"
	if f.Diff != "" {
		what = "changed lines"
	}
	switch {
	case t.Total == 0 && f.FailUnder > 0 && (all.Unknown > 0 || f.Diff == ""): // in doubt they did not run
		return fmt.Errorf("--fail-under: there are no %s of which it is known whether they ran, and %s of which it is not", what, report.Plural(all.Unknown, "line"))
	case t.Total == 0:
		verb.Note(r.s, "--fail-under: there are no %s of which it is known whether they ran", what)
	case t.Percent() < f.FailUnder:
		return fmt.Errorf("%s of %s ran, which is less than %g%% (--fail-under)", report.Percent(t.Covered, t.Total), report.Plural(t.Total, strings.TrimSuffix(what, "s")), f.FailUnder)
	}
	return nil
}

// view returns the view that writes the report.
func (r *lineReport) view(write func(*lineReport, io.Writer) error) coveredView {
	return func(_ *Covered, _ *verb.Streams, w io.Writer, _ []coverage.Module, _ report.Style) error {
		return write(r, w)
	}
}

// writeLCOV writes a tracefile of lcov.
func (r *lineReport) writeLCOV(w io.Writer) error {
	r.noteBranches()
	out, err := coverage.WriteLCOV(w, r.files)
	if n := out.Functions; n > 0 {
		verb.Note(r.s, "lcov: %s not listed: whether %s ran is not known, or no line belongs to %s alone",
			report.Plural(n, "function")+report.Either(uint64(n), " is", " are"), report.Either(uint64(n), "it", "they"), report.Either(uint64(n), "it", "one of them"))
	}
	if out.Ways > 0 {
		verb.Note(r.s, "lcov: %s of branches %s not listed, because lcov 2 refuses lines that ran without a way that was taken",
			report.Plural(out.Ways, "way"), report.Either(uint64(out.Ways), "is", "are"))
	}
	return err
}

// noteBranches reports what is not known of branches, for formats that have branches.
func (r *lineReport) noteBranches() {
	var t coverage.BranchTally
	unrecorded := 0
	for i := range r.files {
		t = t.Plus(r.files[i].BranchTally())
		unrecorded += r.files[i].Unbranched
	}
	if t.Unknown > 0 {
		verb.Note(r.s, "branches: of %s of %s it is not known whether they were taken; these are omitted",
			report.Count(t.Unknown), report.Plural(t.Taken+t.Missed+t.Unknown, "way"))
	}
	if unrecorded > 0 {
		verb.Note(r.s, "branches: %s omitted; they are recorded in native code that was built in the modes block, full and edge",
			"those of "+report.Plural(unrecorded, "function")+" are")
	}
}

// branchesOf returns the branches of a line, of which at least one way is known, and removes those up to it from rest.
func branchesOf(rest *[]coverage.Branch, line int) (list []cobertura.Branch) {
	for len(*rest) > 0 && (*rest)[0].Line <= line {
		var t coverage.BranchTally
		t.Add(&(*rest)[0])
		if known := t.Tally(); (*rest)[0].Line == line && known.Total > 0 {
			list = append(list, cobertura.Branch{Taken: known.Covered, Ways: known.Total})
		}
		*rest = (*rest)[1:]
	}
	return list
}

// writeCobertura writes Cobertura's XML. As in lcov's format, lines in unknown state are
// omitted.
func (r *lineReport) writeCobertura(w io.Writer) error {
	r.noteBranches()
	doc := cobertura.Report{Version: verb.Version(), Timestamp: sourceDate().UnixMilli(), Sources: r.tops[:min(1, len(r.tops))]}
	names := r.flags.Names()
	for i := range r.files {
		in := &r.files[i]
		out := cobertura.File{Name: in.File}
		for _, fn := range in.Funcs {
			if fn.Unknown && fn.Runs == 0 {
				continue
			}
			out.Functions = append(out.Functions, cobertura.Function{Name: names.Show(fn.Name), Line: fn.Line, Hits: max(fn.Runs, fn.Times)})
		}
		rest := in.Branches
		for _, l := range in.Lines {
			if l.State != coverage.Unknown {
				out.Lines = append(out.Lines, cobertura.Line{Number: l.Number, Hits: l.Count(), Branches: branchesOf(&rest, l.Number)})
			}
		}
		doc.Files = append(doc.Files, out)
	}
	return cobertura.Write(w, &doc)
}

// writeSonarQube writes SonarQube's generic format. Lines in unknown state are omitted.
func (r *lineReport) writeSonarQube(w io.Writer) error {
	r.noteBranches()
	var files []sonarqube.File
	for i := range r.files {
		in := &r.files[i]
		out := sonarqube.File{Path: in.File}
		rest := in.Branches
		for _, l := range in.Lines {
			if l.State == coverage.Unknown {
				continue
			}
			line := sonarqube.Line{Number: l.Number, Covered: l.State == coverage.Ran}
			for _, b := range branchesOf(&rest, l.Number) {
				line.Branches, line.Taken = line.Branches+b.Ways, line.Taken+b.Taken
			}
			out.Lines = append(out.Lines, line)
		}
		files = append(files, out)
	}
	return sonarqube.Write(w, files)
}

// The rules of SARIF results.
const (
	ruleFunction = iota
	ruleLines
)

func coverageTool() *sarif.Tool {
	return &sarif.Tool{Name: "cairn", Version: verb.Version(), URL: verb.HomePage, Rules: []sarif.Rule{
		ruleFunction: {ID: "function-not-run", Short: "Function that no run entered", Full: "None of the merged runs entered the function."},
		ruleLines:    {ID: "lines-not-run", Short: "Lines that no run reached", Full: "None of the merged runs reached the lines. Lines of which that is not certain are not reported."},
	}}
}

// writeSARIF writes a result for each function and each range of lines that did not run.
func (r *lineReport) writeSARIF(w io.Writer) error {
	x := sarif.NewWriter(w, coverageTool())
	names := r.flags.Names()
	for i := range r.files {
		file := &r.files[i]
		for _, g := range file.Gaps() {
			res := sarif.Result{Rule: ruleLines, Level: sarif.Note, Text: linesText([]coverage.Range{g.Range}) + " did not run."}
			place := sarif.Place{File: file.File, From: g.From, To: g.To}
			if g.Func != nil {
				place.Function = names.Show(g.Func.Name)
				res.Fingerprint = file.File + ":" + g.Func.Name
			}
			if g.Whole {
				res.Rule, res.Text = ruleFunction, place.Function+" did not run."
			}
			res.Places = []sarif.Place{place}
			if err := x.Write(&res); err != nil {
				return err
			}
		}
	}
	return x.Close()
}

// writeJUnit writes a test for each file.
func (r *lineReport) writeJUnit(w io.Writer) error {
	suite := junit.Suite{Name: "coverage of lines"}
	for i := range r.files {
		f := &r.files[i]
		suite.Cases = append(suite.Cases, r.testCase(f.File, coverage.Ranges(f.Lines, coverage.Missed), f.Tally()))
	}
	return junit.Write(w, []junit.Suite{suite})
}

// testCase is the test of a file. It fails if fewer of its lines ran than --fail-under
// requires.
func (r *lineReport) testCase(file string, missed []coverage.Range, tally coverage.LineTally) junit.Case {
	c := junit.Case{Name: file}
	t := tally.Tally()
	switch {
	case t.Total == 0:
		c.Skipped = "no lines of which it is known whether they ran"
	case r.flags.Gate && t.Percent() < r.flags.FailUnder:
		c.Failure = &junit.Failure{Message: fmt.Sprintf("%d of %d lines ran (%s), which is less than %g%%", t.Covered, t.Total, report.Percent(t.Covered, t.Total), r.flags.FailUnder)}
		for _, m := range missed {
			c.Failure.Text += fmt.Sprintf("%s:%d: %s did not run\n", file, m.From, linesText([]coverage.Range{m}))
		}
	}
	return c
}

// writeMarkdown writes a table of files.
func (r *lineReport) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	total := r.tally()
	fmt.Fprintf(&b, "### Coverage: %s\n\n", tallyText(total))
	b.WriteString("| file | lines | functions |\n|---|---:|---:|\n")
	for i := range r.files {
		f := &r.files[i]
		t := f.Tally().Tally()
		funcs := f.FuncTally()
		fmt.Fprintf(&b, "| %s | %s | %s |\n", markdownCode(f.File), shareText(t), shareText(funcs))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// shareText returns "3 of 4 (75.0%)".
func shareText(t coverage.Tally) string {
	if t.Total == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s (%s)", report.Count(t.Covered), report.Count(t.Total), report.Percent(t.Covered, t.Total))
}

// tallyText describes how many lines ran.
func tallyText(t coverage.LineTally) string {
	text := "no lines with code"
	if all := t.Tally(); all.Total > 0 {
		text = shareText(all) + " " + report.Either(uint64(all.Total), "line", "lines") + " ran"
	}
	if t.Unknown > 0 {
		text += fmt.Sprintf("; of %s it is not known", report.Plural(t.Unknown, "line"))
	}
	return text
}

// linesText returns "line 3" or "lines 3-4, 7".
func linesText(ranges []coverage.Range) string {
	if len(ranges) == 1 && ranges[0].From == ranges[0].To {
		return "line " + rangesText(ranges)
	}
	return "lines " + rangesText(ranges)
}

func rangesText(ranges []coverage.Range) string {
	var b strings.Builder
	for i, r := range ranges {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, r.From)
		if r.To > r.From {
			fmt.Fprintf(&b, "-%d", r.To)
		}
	}
	return b.String()
}

// markdownCode returns text as code in a cell of a table.
func markdownCode(text string) string {
	text = strings.ReplaceAll(report.Printable(text), "|", `\|`)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

// compare finds the changed lines.
func (r *lineReport) compare(ctx context.Context) error {
	base, files, err := sources.Changes(ctx, r.s, r.flags.Diff)
	if err != nil {
		return err
	}
	r.base = base
	var order []string
	ranges := map[string][]coverage.Range{}
	for _, file := range files {
		if !r.flags.Left.Rules.Selects(file.Name) {
			continue
		}
		order = append(order, file.Name)
		for _, l := range file.Lines {
			ranges[file.Name] = append(ranges[file.Name], coverage.Range(l))
		}
	}
	r.changed = coverage.Changed(r.files, order, ranges)
	if len(order) > 0 && len(r.files) > 0 && !slices.ContainsFunc(r.changed, func(c coverage.ChangedFile) bool { return c.Known }) {
		verb.Note(r.s, "no changed file is in the profile, which has files such as %s: if they are the same tree, give its place with --prefix-map", r.files[0].File)
	}
	return nil
}
