package coverlist

import (
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// absentFunc is a function that no module has code of its own of, on its way to the output.
type absentFunc struct {
	symbol, name string // mangled, and as displayed
	source       string // file of its definition, as the report names it
	line         int
	runs         uint64       // in which it ran where it was inlined
	unknown      bool         // whether it ran is not known
	absence      prof.Absence // 0 if it is in the modules, but only inlined
	why, note    string
}

// absent returns the functions that no module has, and with debug information those that are only
// where they were inlined, as far as the flags select them.
func (f *Covered) absent(modules []coverage.Module, names *report.Names) (list []absentFunc, err error) {
	if f.missing != nil {
		return f.missing, nil
	}
	filter, err := verb.NewNameFilter(f.Pattern)
	if err != nil {
		return nil, err
	}
	add := func(a absentFunc, file string) {
		if !filter.Match(a.symbol) || !f.scope.Has(file, a.line) {
			return
		}
		a.source = f.Left.Rules.Rename(file)
		if a.name = names.Show(a.symbol); a.symbol == "" {
			a.name = "(all functions)"
		}
		list = append(list, a)
	}
	for _, a := range f.analyse(modules).Absent() {
		file, line := coverage.AbsentSource(a.Absent)
		why := a.Why.String()
		if a.Why == prof.Dropped && a.Inlined {
			why += ", and inlined elsewhere"
		}
		add(absentFunc{symbol: a.Name, line: line, runs: a.Runs, unknown: a.Runs == 0 && !a.Known, absence: a.Why, why: why, note: a.Note}, file)
	}
	if len(f.Debug) > 0 {
		for _, fn := range f.analyse(modules).Inlined() {
			add(absentFunc{symbol: fn.Name, line: fn.Line, runs: fn.Runs, unknown: fn.MaybeCalls, why: coverage.InlinedEverywhere}, fn.File)
		}
	}
	f.missing = list
	return list, nil
}

// analyse returns what the code of the modules tells, which all views share.
func (f *Covered) analyse(modules []coverage.Module) *coverage.Analysis {
	if f.analysis == nil {
		f.analysis = coverage.Analyse(modules)
	}
	return f.analysis
}

// reason says why a function is absent.
func (a *absentFunc) reason() string {
	if a.note != "" {
		return a.why + ": " + a.note
	}
	return a.why
}

func (a *absentFunc) json() funcJSON {
	return funcJSON{
		Name: a.symbol, Demangled: a.name, File: a.source, Line: a.line, Covered: a.runs > 0, Runs: a.runs, Absent: a.why, Reason: a.note, Unknown: a.unknown,
	}
}

// noteAbsent reports, once, how many functions no module has, and what they count as.
func (f *Covered) noteAbsent(s *verb.Streams, modules []coverage.Module) error {
	if len(coverage.Absent(modules)) == 0 {
		return nil // views that do not need it spare the analysis of all code
	}
	list, err := f.absent(modules, f.Names())
	if err != nil {
		return err
	}
	var known [prof.Optimised + 1]int
	missed, unprobed, inlined, optimised := 0, 0, 0, 0
	for i := range list {
		switch a := &list[i]; {
		case a.runs > 0 || a.absence == 0:
		case !a.unknown:
			known[a.absence]++
			missed++
		case a.absence == prof.Unprobed:
			unprobed++
		case a.absence == prof.Optimised:
			optimised++
		default:
			inlined++
		}
	}
	if missed > 0 {
		var why []string
		for reason, n := range known {
			if n > 0 {
				why = append(why, fmt.Sprintf("%s %s", report.Count(uint64(n)), prof.Absence(reason)))
			}
		}
		verb.Note(s, "%s compiled and not in the program (%s): %s as not run", report.Plural(missed, "function"), strings.Join(why, ", "),
			report.Either(uint64(missed), "it counts", "they count"))
	}
	if unprobed > 0 {
		verb.Note(s, "%s compiled without probes: whether %s ran is not known (--unknown lists %s)", report.Plural(unprobed, "function"),
			report.Either(uint64(unprobed), "it", "they"), report.Either(uint64(unprobed), "it", "them"))
	}
	if optimised > 0 {
		verb.Note(s, "%s inlined or removed by link-time optimisation: whether %s ran is not known (--unknown lists %s)", report.Plural(optimised, "function"),
			report.Either(uint64(optimised), "it", "they"), report.Either(uint64(optimised), "it", "them"))
	}
	if inlined > 0 && len(f.Debug) == 0 {
		verb.Note(s, "%s removed by the linker and inlined elsewhere: with the program cairn covered shows whether %s ran there", report.Plural(inlined, "function"),
			report.Either(uint64(inlined), "it", "they"))
	}
	return nil
}
