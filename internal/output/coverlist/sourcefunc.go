package coverlist

import (
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// sourceFunc is a function of the source on its way to the output.
type sourceFunc struct {
	module *coverage.Module
	src    sourcefunc.Func
	counts prof.Counts // of all its code
	name   string      // as displayed
}

// sourceFuncs returns the functions of the source that m has.
func sourceFuncs(m *coverage.Module, names *report.Names) []sourceFunc {
	list := sourcefunc.Of(&m.Map)
	out := make([]sourceFunc, len(list))
	for i, src := range list {
		out[i] = sourceFunc{m, src, src.Counts(m.Module), names.Show(src.Name)}
	}
	return out
}

// first returns the function that has the source's line.
func (f *sourceFunc) first() *prof.Func { return &f.module.Funcs[f.src.Funcs[0]] }

// parts returns the symbols of its code other than that with its name.
func (f *sourceFunc) parts() (symbols []string) {
	for _, i := range f.src.Funcs {
		if name := f.module.Funcs[i].Name; name != f.src.Name {
			symbols = append(symbols, name)
		}
	}
	return symbols
}

// json returns f as functions are in JSON.
func (f *sourceFunc) json() funcJSON {
	j := newFuncJSON(f.module, f.first(), &f.counts, f.name)
	j.Name, j.Parts = f.src.Name, f.parts()
	j.CallsInexact = j.CallsInexact || f.src.Split && f.first().Mode.HasCalls()
	j.Size = 0
	for _, i := range f.src.Funcs {
		j.Size += f.module.Funcs[i].Size()
	}
	return j
}

// text describes f as a whole, in one line.
func (f *sourceFunc) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s of %s runs", f.name, report.Count(f.counts.Runs), report.Count(f.module.RunsOf(&f.counts)))
	if f.first().Mode.HasCalls() {
		fmt.Fprintf(&b, ", %s%s calls", verb.AtLeast(f.src.Split || f.counts.Inexact), report.Count(f.counts.Calls))
	}
	return report.Printable(b.String()) + ", with " + report.Printable(strings.Join(f.parts(), ", "))
}
