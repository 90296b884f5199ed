package coverage

import (
	"slices"

	"github.com/cairnprof/cairn/prof"
)

// Optimised code that did not run is no evidence of its lines, since other code of them may have run: copies that were
// inlined, and calls of which the compiler computed the results. But a program or library without runs ran none of its
// code, and of a source file that was compiled only for such modules nothing can have run.

// unrun are the source files that were compiled only for modules without runs.
type unrun map[string]bool

// idle reports whether no run of a module was merged.
func (m *Module) idle() bool {
	return m.Raws == 0 && !slices.ContainsFunc(m.Counts, func(c prof.Counts) bool { return c.Runs > 0 })
}

// observe adds the lines of all modules. Those without runs are last.
func (o *observer) observe() {
	modules := o.returns.modules
	var idle []int
	for i := range modules {
		if modules[i].idle() {
			idle = append(idle, i)
		} else {
			o.module(i)
		}
	}
	if len(idle) > 0 {
		o.unrun = o.withoutRuns(idle)
	}
	for _, i := range idle {
		o.module(i)
	}
}

// withoutRuns returns the files of the compilations of idle modules, without those that the others have anything of.
// Headers are not among them: nothing need be left where they were compiled.
func (o *observer) withoutRuns(idle []int) unrun {
	files := unrun{}
	for _, i := range idle {
		m := &o.returns.modules[i]
		for k := range m.Funcs {
			files[m.Funcs[k].File] = true
		}
		for k := range m.Absent {
			files[m.Absent[k].File] = true
		}
	}
	for at := range o.runs {
		delete(files, at.file)
	}
	for w := range o.entered {
		delete(files, w.file)
	}
	for w := range o.callers {
		delete(files, w.file)
	}
	for i := range o.returns.modules {
		m := &o.returns.modules[i]
		if slices.Contains(idle, i) {
			continue
		}
		for k := range m.Funcs {
			delete(files, m.Funcs[k].File)
		}
		for k := range m.Absent {
			a := &m.Absent[k]
			delete(files, a.File)
			delete(files, a.Source)
			for _, r := range a.Lines {
				delete(files, r.File)
			}
		}
	}
	return files
}
