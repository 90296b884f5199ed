package absent

import (
	"slices"

	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/prof"
)

// A linker that makes the code of a program inlines functions across objects, computes their results, and removes
// those that nothing needs then. Of a function that the program lacks it is not recorded which of these happened.
// It did not run if no code of the program comes from it: nothing that the program has refers to it, directly or
// through other functions that are absent, and no line of it has code. Otherwise it may have run.
//
// A function of the linker's code has the file "<artificial>" in its own record, and may have a suffix.

// artificial is what gcc names as the source of code that the linker made it compile.
const artificial = "<artificial>"

// linkerSuffix matches what compilers append to names of static functions so that all objects can refer to them.
var linkerSuffix = lazyregexp.New(`\.(?:lto_priv|llvm)\.\d+`)

// mergedSuffix matches the number that LLVM's linker appends to a second static function of a name.
var mergedSuffix = lazyregexp.New(`^(.+)\.\d+$`)

// somewhere reports whether a function of which the file is not known may be a.
func (p present) somewhere(a *prof.Absent) bool {
	name := nameOf(a.Name)
	return p[key{a.File, name}] || p[key{artificial, name}] || (a.Shared || a.File == artificial) && p[key{"", name}]
}

// optimised is what is known of the code that a linker made.
type optimised struct {
	reached map[string]bool // names to which the program's functions refer, also through others
	copies  map[place]bool  // definitions of functions of which other functions may have lines
	lines   map[place]bool  // that code has
}

// place is where a function is defined.
type place struct {
	file string
	line uint32
}

func optimisedOf(units []prof.Unit, funcs []prof.Func) *optimised {
	if !slices.ContainsFunc(units, func(u prof.Unit) bool { return u.LTO }) {
		return nil
	}
	o := &optimised{reached: map[string]bool{}, copies: map[place]bool{}, lines: map[place]bool{}}
	refs := map[string][]string{}
	var defined, code []prof.Absent
	for i := range units {
		u := &units[i]
		switch {
		case u.LTO:
			defined = append(defined, u.Funcs...)
		case !u.Unlinked:
			code = append(code, u.Funcs...)
		}
		for _, r := range u.Refs {
			name := nameOf(r.From)
			refs[name] = append(refs[name], r.To...)
		}
	}
	for i := range defined {
		defined[i].Inlined = false
	}
	prof.MarkInlined(defined, code)
	for i := range code {
		for _, r := range code[i].Lines {
			for line := r.From; line <= r.To; line++ {
				o.lines[place{r.File, line}] = true
			}
		}
	}
	for i := range defined {
		if a := &defined[i]; a.Inlined {
			o.copies[place{a.Source, a.Line}] = true
		}
	}
	var next []string
	for i := range funcs {
		next = append(next, nameOf(funcs[i].Name))
	}
	for seen := map[string]bool{}; len(next) > 0; {
		name := next[len(next)-1]
		if next = next[:len(next)-1]; seen[name] {
			continue
		}
		seen[name] = true
		for _, to := range refs[name] {
			to = nameOf(to)
			o.reached[to] = true
			next = append(next, to)
		}
	}
	return o
}

// why returns why the program lacks a function, and whether it has code of its lines.
func (o *optimised) why(a *prof.Absent) (why prof.Absence, inlined bool) {
	inlined = a.Line > 0 && o.copies[place{a.Source, a.Line}] && o.hasLines(a)
	if inlined || a.Inlined || o.reached[nameOf(a.Name)] {
		return prof.Optimised, inlined
	}
	return prof.Dropped, false
}

// hasLines reports whether code of the program has a line of a function.
func (o *optimised) hasLines(a *prof.Absent) bool {
	for _, r := range a.Lines {
		if r.File != a.Source {
			continue
		}
		for line := max(r.From, a.Line); line <= r.To; line++ {
			if o.lines[place{r.File, line}] {
				return true
			}
		}
	}
	return false
}

// NameSources sets the source files of functions of which the compiler did not know them, as the linker started it.
func NameSources(units []prof.Unit, funcs []prof.Func) {
	if !slices.ContainsFunc(funcs, func(f prof.Func) bool { return f.File == artificial }) {
		return
	}
	compiled, places := map[string][]*prof.Absent{}, map[string]place{}
	for i := range units {
		u := &units[i]
		for k := range u.Funcs {
			a := &u.Funcs[k]
			if u.LTO {
				name := nameOf(a.Name)
				compiled[name] = append(compiled[name], a)
			} else if a.Line > 0 {
				places[a.Name] = place{a.Source, a.Line}
			}
		}
	}
	for i := range funcs {
		f := &funcs[i]
		if f.File != artificial {
			continue
		}
		list := compiled[nameOf(f.Name)]
		if at, ok := places[f.Name]; ok && len(list) > 1 {
			list = slices.DeleteFunc(slices.Clone(list), func(a *prof.Absent) bool { return a.Line > 0 && place{a.Source, a.Line} != at })
		}
		if len(list) > 0 && !slices.ContainsFunc(list, func(a *prof.Absent) bool { return a.File != list[0].File && !a.Shared }) {
			f.File = list[0].File
		}
	}
}
