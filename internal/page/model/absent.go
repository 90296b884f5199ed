package model

import (
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/prof"
)

// absent adds the functions that were compiled and that no module has. Of those that may have run, the report
// says so.
func (b *builder) absent() {
	rules := coverage.PathRules{System: b.in.System}
	var count [prof.Optimised + 1]int // of those that did not run, or of which that is not known
	inlined := 0
	for _, a := range b.analysis.Absent() {
		file, line := coverage.AbsentSource(a.Absent)
		path, ok := rules.Path(file)
		if !ok {
			continue
		}
		f := Function{
			Symbol: sourcefunc.Name(a.Name), Module: -1, File: b.file(path), Line: line, Runs: a.Runs,
			Absent: a.Why.String(), Note: a.Note, Unknown: a.Runs == 0 && !a.Known,
		}
		if f.Symbol == "" {
			f.Symbol = "(functions of " + path + ")"
		}
		b.add(f)
		switch {
		case a.Runs > 0:
		case f.Unknown && a.Why == prof.Dropped:
			inlined++
		default:
			count[a.Why]++
		}
		b.absents.Total++
		switch {
		case f.Unknown:
			b.absents.Unknown++
		case a.Runs > 0:
			b.absents.Ran++
		}
	}
	var reasons []string
	missed := 0
	for why, n := range count {
		if n > 0 && prof.Absence(why) != prof.Unprobed && prof.Absence(why) != prof.Optimised {
			reasons = append(reasons, fmt.Sprintf("%s %s", report.Count(uint64(n)), prof.Absence(why)))
			missed += n
		}
	}
	if missed > 0 {
		b.m.Limits = append(b.m.Limits, fmt.Sprintf("%s compiled and left out of the program (%s): %s as not run.", report.Plural(missed, "function"), strings.Join(reasons, ", "),
			report.Either(uint64(missed), "it counts", "they count")))
	}
	if n := count[prof.Unprobed]; n > 0 {
		b.m.Uncertain = append(b.m.Uncertain, fmt.Sprintf("%s compiled without probes: it is not known whether %s ran.", report.Plural(n, "function"), report.Either(uint64(n), "it", "they")))
	}
	if n := count[prof.Optimised]; n > 0 {
		b.m.Uncertain = append(b.m.Uncertain, fmt.Sprintf("%s inlined or removed by link-time optimisation: it is not known whether %s ran.", report.Plural(n, "function"), report.Either(uint64(n), "it", "they")))
	}
	if inlined > 0 {
		b.m.Uncertain = append(b.m.Uncertain, fmt.Sprintf("%s removed by the linker may have run where %s inlined.", report.Plural(inlined, "function"), report.Either(uint64(inlined), "it was", "they were")))
	}
}

// inlinedOnly adds the functions that modules have only where they were inlined.
func (b *builder) inlinedOnly() {
	rules := coverage.PathRules{System: b.in.System}
	for _, f := range b.analysis.Inlined() {
		path, ok := rules.Path(f.File)
		if !ok {
			continue
		}
		b.add(Function{Symbol: f.Name, Module: -1, File: b.file(path), Line: f.Line, Runs: f.Runs, Absent: coverage.InlinedEverywhere, Unknown: f.MaybeCalls})
		b.absents.Total++
		switch {
		case f.Runs > 0:
			b.absents.Ran++
		case f.MaybeCalls:
			b.absents.Unknown++
		}
	}
}
