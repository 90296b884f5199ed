package profile

import (
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// noteSystem reports, once, what is left out because it is of the compiler or the system.
func (f *coveredFlags) noteSystem(s *verb.Streams, n coverage.LeftOut) {
	if n.Files == 0 || f.saidSystem {
		return
	}
	f.saidSystem = true
	what := report.Plural(n.Functions, "function")
	if n.Lines > 0 {
		what = report.Plural(n.Lines, "line")
	}
	verb.Note(s, "%s of the compiler or the system, with %s, %s left out (--system-headers includes %s)",
		report.Plural(n.Files, "file"), what, report.Either(uint64(n.Files), "is", "are"), report.Either(uint64(n.Files), "it", "them"))
}

// funcFilter selects the functions of views by the files that define them.
type funcFilter struct {
	rules *coverage.PathRules
	files map[string]bool // left out because they are the system's
	left  coverage.LeftOut
}

func (f *coveredFlags) newFuncFilter() *funcFilter {
	return &funcFilter{rules: f.rules, files: map[string]bool{}}
}

// place returns where fn is defined, by its name in the report, and whether the report has it.
func (f *funcFilter) place(m *coverage.Module, fn *prof.Func) (name string, line int, ok bool) {
	file, line := m.Source(fn)
	name, ok = f.rules.Path(file)
	if !f.rules.System && coverage.SystemFile(file) {
		f.left.Functions++
		if !f.files[file] {
			f.files[file] = true
			f.left.Files++
		}
	}
	return name, line, ok
}
