package coverage

import (
	"cmp"

	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// InlinedEverywhere is why a function has no code of its own in a program that has it.
const InlinedEverywhere = "inlined everywhere"

// InlinedFunc is a function of the source that has code only where it was inlined.
type InlinedFunc struct {
	Name       string // mangled; the several bodies of a constructor or destructor have one name
	File       string
	Line, End  int
	Runs       uint64 // in which one of its copies ran
	MaybeCalls bool   // no copy ran, but a line that calls it may have: its code may have been removed there
}

// Inlined returns the functions that modules have only where they were inlined, by debug information, ascending by
// file, line and name. Those that are absent are not among them.
func (a *Analysis) Inlined() []InlinedFunc {
	a.o.settle()
	return a.o.inlinedFuncs(a.missing)
}

func (o *observer) inlinedFuncs(missing []prof.Absent) []InlinedFunc {
	absent := map[owner]bool{}
	for i := range missing {
		for _, w := range o.ownersOf(nameOf(&missing[i]), missing[i].Source) {
			absent[w] = true
		}
	}
	var list []InlinedFunc
	for w := range o.callers {
		if o.separate[w] || absent[w] || w.line == 0 || w.file == "" || w.name == "" {
			continue
		}
		runs := o.sure[w]
		list = append(list, InlinedFunc{w.name, w.file, w.line, max(o.ends[w], w.line), runs, runs == 0 && !o.unrun[w.file] && o.maybeCalled(w)})
	}
	stablesort.Func(list, func(a, b InlinedFunc) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name, b.Name))
	})
	return list
}
