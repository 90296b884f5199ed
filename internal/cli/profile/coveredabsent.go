package profile

import (
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// absentFunc is a function that no module has, on its way to the output.
type absentFunc struct {
	coverage.AbsentFunc
	name   string // as displayed
	source string // file of its definition, as the report names it
	line   int
}

// absent returns the functions that no module has and that the flags select.
func (f *coveredFlags) absent(modules []coverage.Module, names *report.Names) (list []absentFunc, err error) {
	filter, err := verb.NewNameFilter(f.pattern)
	if err != nil {
		return nil, err
	}
	for _, a := range coverage.AbsentFuncs(modules) {
		file, line := coverage.AbsentSource(a.Absent)
		if !filter.Match(a.Name) || !f.scope.has(file, line) {
			continue
		}
		source := f.rules.Rename(file)
		name := names.Show(a.Name)
		if a.Name == "" {
			name = "(all functions)"
		}
		list = append(list, absentFunc{a, name, source, line})
	}
	return list, nil
}

// unknown reports whether it is not known whether the function ran.
func (a *absentFunc) unknown() bool { return a.Runs == 0 && !a.Known }

// reason says why a function is absent.
func (a *absentFunc) reason() string {
	switch {
	case a.Why == prof.Dropped && a.Inlined:
		return a.Why.String() + ", and inlined elsewhere"
	case a.Note != "":
		return a.Why.String() + ": " + a.Note
	}
	return a.Why.String()
}

func (a *absentFunc) json() funcJSON {
	return funcJSON{
		Name: a.Name, Demangled: a.name, File: a.source, Line: a.line, Covered: a.Runs > 0, Runs: a.Runs, Absent: a.Why.String(), Reason: a.Note, Unknown: a.unknown(),
	}
}

// noteAbsent reports, once, how many functions no module has, and what they count as.
func (f *coveredFlags) noteAbsent(s *verb.Streams, modules []coverage.Module) error {
	list, err := f.absent(modules, f.Names())
	if err != nil {
		return err
	}
	var known [prof.Unprobed + 1]int
	missed, unprobed, inlined := 0, 0, 0
	for i := range list {
		switch a := &list[i]; {
		case a.Runs > 0:
		case a.Known:
			known[a.Why]++
			missed++
		case a.Why == prof.Unprobed:
			unprobed++
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
	if inlined > 0 && len(f.debug) == 0 {
		verb.Note(s, "%s removed by the linker and inlined elsewhere: --debug shows whether %s ran there", report.Plural(inlined, "function"),
			report.Either(uint64(inlined), "it", "they"))
	}
	return nil
}
