// Package absent finds the functions that a build compiled and that its programs lack: members of archives that
// no link took, functions that a linker removed, objects of no program, and code without probes. Without them,
// the share of code that ran would be of the code that was linked. It is pure.
package absent

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// key identifies a function of the source in all objects of a build.
type key struct{ file, name string }

// keyOf returns the key of an absent function. Of a shared one, linkers keep the copy of any object.
func keyOf(a *prof.Absent) key {
	if a.Shared {
		return key{"", nameOf(a.Name)}
	}
	return key{a.File, nameOf(a.Name)}
}

// nameOf returns the name of a function of the source, whatever compilers made of it.
func nameOf(symbol string) string {
	return sourcefunc.OneBody(sourcefunc.Name(linkerSuffix().ReplaceAllString(symbol, "")))
}

// present are the keys of functions that have a record.
type present map[key]bool

func (p present) add(funcs []prof.Func) {
	for i := range funcs {
		name := nameOf(funcs[i].Name)
		p[key{funcs[i].File, name}], p[key{"", name}] = true, true
		if m := mergedSuffix().FindStringSubmatch(name); m != nil {
			p[key{funcs[i].File, m[1]}] = true
		}
	}
}

// Of returns the functions of a module's units that are not among its functions, in the order of maps.
// symbols are the names of the module's symbols, nil if they are not known: a function without a probe that is
// not among them is not in the module.
func Of(units []prof.Unit, funcs []prof.Func, symbols map[string]bool) []prof.Absent {
	have := present{}
	have.add(funcs)
	linked := map[string]bool{} // files of units that the module was linked from
	for i := range units {
		if !units[i].Unlinked {
			linked[units[i].File] = true
		}
	}
	optimised := optimisedOf(units, funcs)
	var found list
	for i := range units {
		u := &units[i]
		for k := range u.Funcs {
			a := u.Funcs[k]
			switch {
			case a.Name != "" && (have[keyOf(&a)] || (u.LTO || a.File == artificial) && have.somewhere(&a)):
				continue
			case a.Why == prof.Unprobed && (symbols == nil || a.Name == "" || symbols[a.Name]):
			case u.Unlinked && !linked[u.File]:
				a.Why = prof.NotLinked
			default:
				a.Why, a.Note = prof.Dropped, ""
				if u.LTO {
					a.Why, a.Inlined = optimised.why(&a)
				}
			}
			found.add(&a)
		}
	}
	return found.sorted()
}

// Unlinked returns the functions of units of objects that are neither in any of the maps nor known to be absent
// from one, in the order of maps.
func Unlinked(units []prof.Unit, maps []*prof.Map) []prof.Absent {
	have, unprobed := present{}, map[string]bool{}
	for _, m := range maps {
		have.add(m.Funcs)
		for i := range m.Absent {
			a := &m.Absent[i]
			have[keyOf(a)] = true
			if a.Why == prof.Unprobed {
				unprobed[a.Name] = true
			}
		}
	}
	var found list
	for i := range units {
		for _, a := range units[i].Funcs {
			// What does not name its source has the name of its object, or of a member of an archive.
			if have[keyOf(&a)] || units[i].LTO && have.somewhere(&a) || a.Why == prof.Unprobed && a.Source == "" && unprobed[a.Name] {
				continue
			}
			if a.Why != prof.Unprobed {
				a.Why = prof.NoProgram
			} else {
				unprobed[a.Name] = true
			}
			found.add(&a)
		}
	}
	return found.sorted()
}

// Missing returns the functions that are absent from some of the maps and in none of them, each once, in the
// order of maps.
func Missing(maps []*prof.Map) []prof.Absent {
	have := present{}
	for _, m := range maps {
		have.add(m.Funcs)
	}
	var found list
	for _, m := range maps {
		for i := range m.Absent {
			if a := &m.Absent[i]; a.Name == "" || !have[keyOf(a)] {
				found.add(a)
			}
		}
	}
	return found.sorted()
}

// Join returns the functions that are absent from any of two modules of one build, in the order of maps. The
// map of either may come from a file that does not have them.
func Join(a, b []prof.Absent) []prof.Absent {
	switch {
	case len(b) == 0 || len(a) > 0 && &a[0] == &b[0]:
		return a
	case len(a) == 0:
		return b
	}
	return prof.SortAbsent(slices.Concat(a, b))
}

// list collects absent functions, each once.
type list struct {
	funcs []prof.Absent
	index map[key]int
}

// rank orders reasons: of several for one function, the first counts. What is linked without probes may run.
var rank = [...]int{prof.Unprobed: 0, prof.Optimised: 1, prof.Dropped: 2, prof.NotLinked: 3, prof.NoProgram: 4}

func (l *list) add(a *prof.Absent) {
	k := keyOf(a)
	i, seen := l.index[k]
	if !seen {
		if l.index == nil {
			l.index = map[key]int{}
		}
		l.index[k] = len(l.funcs)
		l.funcs = append(l.funcs, *a)
		return
	}
	old := &l.funcs[i]
	lines := joinLines(old.Lines, a.Lines)
	if cmp.Or(cmp.Compare(rank[a.Why], rank[old.Why]), a.Compare(old)) < 0 {
		*old = *a
	}
	old.Lines = lines
}

func (l *list) sorted() []prof.Absent { return prof.SortAbsent(l.funcs) }

// joinLines returns the lines of two lists, in their order.
func joinLines(a, b []prof.LineRange) []prof.LineRange {
	if len(b) == 0 || slices.Equal(a, b) {
		return a
	}
	all := slices.Concat(a, b)
	stablesort.Func(all, func(x, y prof.LineRange) int { return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.From, y.From)) })
	return prof.JoinRanges(all)
}
