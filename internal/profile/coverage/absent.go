package coverage

import (
	"github.com/cairnprof/cairn/internal/profile/absent"
	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
	"github.com/cairnprof/cairn/prof"
)

// Absent returns the functions that were compiled and that none of the modules has.
func Absent(modules []Module) []prof.Absent {
	maps := make([]*prof.Map, len(modules))
	for i := range modules {
		maps[i] = &modules[i].Map
	}
	return absent.Missing(maps)
}

// AbsentFunc is a function that no module has, with the number of runs in which it ran where it was inlined.
type AbsentFunc struct {
	*prof.Absent
	Runs  uint64
	Known bool // there were no other runs
}

// Absent returns the functions that were compiled and that none of the modules has.
func (a *Analysis) Absent() []AbsentFunc {
	a.o.settle()
	list := make([]AbsentFunc, len(a.missing))
	for i := range list {
		fn := &a.missing[i]
		runs, known := a.o.absentRuns(fn)
		list[i] = AbsentFunc{fn, runs, known}
	}
	return list
}

// AbsentSource returns where an absent function is defined: file and line by debug information, or else the file
// that the compiler named and line 0.
func AbsentSource(a *prof.Absent) (file string, line int) {
	if a.Line > 0 {
		return a.Source, int(a.Line)
	}
	return a.File, 0
}

// absentEnd returns the last line that an absent function has in the file of its definition.
func absentEnd(a *prof.Absent) int {
	end := a.Line
	for _, r := range a.Lines {
		if r.File == a.Source {
			end = max(end, r.To)
		}
	}
	return int(end)
}

// absent adds the lines of functions that no module has. It follows all modules: a line that has code in one of
// them is known by that, unless other code of it has no probes. If a function ran where it was inlined, its
// definition did, and lines of which no code is left are unknown.
func (o *observer) absent(list []prof.Absent) {
	for i := range list {
		a := &list[i]
		runs, known := o.absentRuns(a)
		for _, r := range a.Lines {
			for n := r.From; n <= r.To; n++ {
				at := lineOf{r.File, int(n)}
				_, seen := o.runs[at]
				defines := runs > 0 && n == a.Line && r.File == a.Source
				if !seen && runs > 0 && !defines || !known && (a.Why == prof.Unprobed || !seen) {
					o.doubtful[at] = true
				}
				if !defines {
					o.ran(at, 0)
					continue
				}
				o.ran(at, runs)
			}
		}
	}
}

// absentRuns returns the number of runs in which an absent function ran where it was inlined, and whether it is
// known that there were no others.
func (o *observer) absentRuns(a *prof.Absent) (runs uint64, known bool) {
	called, maybe := false, false
	for _, w := range o.ownersOf(nameOf(a), a.Source) {
		runs = max(runs, o.sure[w])
		maybe = maybe || o.entered[w] > 0
		called = called || o.maybeCalled(w)
	}
	switch {
	case runs > 0:
		return runs, true
	case maybe:
		return 0, false
	case o.unrun[a.File] && a.Why != prof.Unprobed:
		return 0, true
	case a.Why == prof.Dropped && a.Inlined && o.frames:
		return 0, !called
	}
	return 0, a.Known()
}

// nameOf returns the name of the function of the source that an absent function is.
func nameOf(a *prof.Absent) string { return sourcefunc.OneBody(sourcefunc.Name(a.Name)) }

// ownersOf returns the functions of the source with a name in a file that debug information has. There the line
// of a definition is that of its name, in line tables that of its body.
func (o *observer) ownersOf(name, file string) []owner {
	if o.owners == nil {
		o.owners = map[[2]string][]owner{}
		add := func(w owner) {
			key := [2]string{w.name, w.file}
			o.owners[key] = append(o.owners[key], w)
		}
		for w := range o.entered {
			add(w)
		}
		for w := range o.callers {
			if o.entered[w] == 0 {
				add(w)
			}
		}
	}
	return o.owners[[2]string{name, file}]
}
