package coverage

import (
	"cmp"
	"path/filepath"

	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
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
	for w := range o.computedFuncs(missing) {
		list = append(list, InlinedFunc{Name: w.name, File: w.file, Line: w.line, End: w.line, MaybeCalls: !o.unrun[w.file]})
	}
	stablesort.Func(list, func(a, b InlinedFunc) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// computedFuncs returns the functions that were inlined and of which no module has any code: compilers computed all their
// calls. Nothing tells whether these were reached.
func (o *observer) computedFuncs(missing []prof.Absent) map[owner]bool {
	known := knownNames{files: map[[2]string]bool{}, bases: map[[2]string]bool{}, dirs: map[string]bool{}, anywhere: map[string]bool{}}
	for w := range o.separate {
		known.add(w.name, w.file)
	}
	for w := range o.callers {
		known.add(w.name, w.file)
	}
	for i := range missing {
		known.add(nameOf(&missing[i]), missing[i].Source)
	}
	for i := range o.returns.modules {
		m := &o.returns.modules[i]
		for k := range m.Funcs {
			f := &m.Funcs[k]
			known.add(sourcefunc.OneBody(sourcefunc.Name(f.Name)), m.frames(f)[0].File)
		}
	}
	funcs := map[owner]bool{}
	for i := range o.returns.modules {
		c, ok := o.returns.modules[i].Code.(Inlines)
		if !ok {
			continue
		}
		for f := range c.AllInlined() {
			if w := f.owner(); w.line > 0 && w.file != "" && !known.has(&w) {
				funcs[w] = true
			}
		}
	}
	return funcs
}

// knownNames are the names of the functions that have code, or a record of the build, by file. Lines do not tell them
// apart: clang's lists have the line of the body.
type knownNames struct {
	files    map[[2]string]bool // names with paths
	bases    map[[2]string]bool // names with the last parts of paths
	dirs     map[string]bool    // directories of the paths
	anywhere map[string]bool    // names of which no file is known
}

func (k *knownNames) add(name, file string) {
	if file == "" {
		k.anywhere[name] = true
		return
	}
	k.files[[2]string{name, file}] = true
	k.bases[[2]string{name, filepath.Base(file)}] = true
	k.dirs[filepath.Dir(file)] = true
}

// has reports whether a function is among them. clang's lists may have another name of a directory, as through a symbolic
// link: in one that nothing else names, any file of that base name may be the same.
func (k *knownNames) has(w *owner) bool {
	return k.anywhere[w.name] || k.files[[2]string{w.name, w.file}] ||
		!k.dirs[filepath.Dir(w.file)] && k.bases[[2]string{w.name, filepath.Base(w.file)}]
}
