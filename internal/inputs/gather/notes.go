package gather

import (
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// MaxListed is how many complaints of a kind are printed.
const MaxListed = 10

// NoEstimates is the error of a module of a profile whose counts are estimated from samples, for what asks whether code ran.
func NoEstimates(path string, m *prof.Module) error {
	if slices.ContainsFunc(m.Funcs, func(f prof.Func) bool { return f.Mode.Estimated() }) {
		return fmt.Errorf("%s: its counts are estimated from samples: what was not sampled may have run, so it says nothing of coverage; cairn show prints them", path)
	}
	return nil
}

// NoteInexact prints how many counts of m are lower bounds, for outputs that cannot mark each.
func NoteInexact(s *verb.Streams, m *prof.Module) {
	if line := coverage.InexactText(m); line != "" {
		verb.Note(s, "%s", line)
	}
}

// NoteNoLines reports the modules without lines.
func NoteNoLines(s *verb.Streams, modules []coverage.Module) {
	var names []string
	for i := range modules {
		if modules[i].Lines == nil && len(modules[i].Funcs) > 0 {
			names = append(names, modules[i].Module.Module)
		}
	}
	if len(names) > 0 {
		verb.Note(s, "the lines of %s are not counted: no debug information was given for %s", report.First(names, MostNames), report.Plural(len(names), "module"))
	}
}
