package coverage

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Span is a range of consecutive lines of one file, both ends included.
type Span struct {
	File     string
	From, To int
}

// BlockSpans returns the lines of block b as spans, ascending by file and line.
func (m *Module) BlockSpans(b Block) []Span {
	if m.Lines == nil {
		return nil
	}
	var lines []lineOf
	for file, line := range m.Lines.Lines(b.Lo, b.Hi) {
		lines = append(lines, lineOf{file, line})
	}
	stablesort.Func(lines, func(x, y lineOf) int {
		return cmp.Or(cmp.Compare(x.file, y.file), cmp.Compare(x.line, y.line))
	})
	var spans []Span
	for _, l := range slices.Compact(lines) {
		if k := len(spans) - 1; k >= 0 && spans[k].File == l.file && spans[k].To+1 == l.line {
			spans[k].To = l.line
			continue
		}
		spans = append(spans, Span{l.file, l.line, l.line})
	}
	return spans
}

// SourceFile is the coverage of one source file, line by line.
type SourceFile struct {
	File  string
	Funcs []SourceFunc // ascending by line, then by name
	Lines []Line       // ascending

	Branches []Branch // ascending by line; none of lines in unknown state
	// Unbranched is the number of functions whose branches are not in Branches: their mode has no blocks, or
	// their code is not known.
	Unbranched int
}

// SourceFunc is a function of a source file: all code that the compiler generated for it,
// including the copies in several modules or compilations. Functions with one name that are
// defined on different lines of a file, of which a compilation has one, are different functions.
type SourceFunc struct {
	Name string // mangled
	Line int    // of its definition
	End  int    // its last line with code of its own, at least Line
	Runs uint64 // in which it was entered, by the copy that ran most often: a lower bound
	// Times is how often it was called, in mode edge: a lower bound, without what was inlined.
	Times uint64
	// Unknown is set if it is not known whether it ran: it has no probes, its code is only where it was inlined, or
	// compilers may have computed the results of its calls.
	Unknown bool
	Why     prof.Absence // set if no module has the function
}

// Line is a line that has instructions.
type Line struct {
	Number int
	State  State
	Runs   uint64 // in which it ran, by the code that ran most often
	Times  uint64 // that it ran, in all runs; 0 if that is not recorded (mode edge)
}

// Count returns how often a line that ran did: in executions, or else in runs.
func (l *Line) Count() uint64 { return max(l.Times, l.Runs) }

// Files returns the line coverage of all source files, ascending by name. Functions without a
// known line are omitted; unplaced is their number.
func (a *Analysis) Files() (files []SourceFile, unplaced int) {
	o := a.o
	o.settle()
	o.absent(a.missing)
	byName := map[string]*SourceFile{}
	file := func(name string) *SourceFile {
		if byName[name] == nil {
			byName[name] = &SourceFile{File: name}
		}
		return byName[name]
	}
	funcs, unplaced := a.funcs()
	for name, set := range funcs {
		file(name).Funcs = set.list()
	}
	states, times := o.states(), o.times()
	for at, s := range states {
		f := file(at.file)
		f.Lines = append(f.Lines, Line{at.line, s, o.runs[at], times[at]})
	}
	for name, list := range o.fileBranches(states) {
		file(name).Branches = list
	}
	for name, n := range o.unbranched {
		if byName[name] != nil {
			byName[name].Unbranched = n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		f := byName[name]
		stablesort.Func(f.Lines, func(a, b Line) int { return a.Number - b.Number })
		files = append(files, *f)
	}
	return files, unplaced
}

// funcs returns the functions of each source file: of modules, of none, and inlined everywhere. unplaced is the
// number of those without a known line.
func (a *Analysis) funcs() (files map[string]sourceFuncs, unplaced int) {
	files = map[string]sourceFuncs{}
	add := func(name string, fn SourceFunc) {
		if files[name] == nil {
			files[name] = sourceFuncs{}
		}
		files[name].add(fn)
	}
	for i := range a.modules {
		m := &a.modules[i]
		for _, src := range sourcefunc.Of(&m.Map) {
			first := &m.Funcs[src.Funcs[0]]
			name, line := m.Definition(first)
			if line == 0 {
				unplaced++
				continue
			}
			c := src.Counts(m.Module)
			copies, unsure := a.o.inlinedRuns(m, first)
			runs := max(c.Runs, copies)
			a.o.begin(m, first, runs)
			var times uint64
			if first.Mode.HasEdges() {
				times = c.Calls
			}
			add(name, SourceFunc{Name: src.Name, Line: line, Times: times, End: a.o.end(m, first, line), Runs: runs, Unknown: runs == 0 && !a.o.unrun[name] && (unsure || a.o.returns.computed(i, first))})
		}
	}
	for i := range a.missing {
		fn := &a.missing[i]
		name, line := AbsentSource(fn)
		if line == 0 {
			unplaced++
			continue
		}
		runs, known := a.o.absentRuns(fn)
		add(name, SourceFunc{Name: sourcefunc.Name(fn.Name), Line: line, End: absentEnd(fn), Runs: runs, Unknown: !known, Why: fn.Why})
	}
	for _, fn := range a.o.inlinedFuncs(a.missing) {
		add(fn.File, SourceFunc{Name: fn.Name, Line: fn.Line, End: fn.End, Runs: fn.Runs, Unknown: fn.MaybeCalls})
	}
	return files, unplaced
}

// Definition returns where f is defined, by debug information of functions if there is some, which is the same
// for all compilers, or else by the line table, as Source does.
func (m *Module) Definition(f *prof.Func) (file string, line int) {
	file, line = m.Source(f)
	if m.Code == nil {
		return file, line
	}
	frames := m.Code.Frames(f.Addr())
	if len(frames) == 0 || frames[0].Line == 0 || frames[0].File == "" {
		return file, line
	}
	return frames[0].File, frames[0].Line
}

// sourceFuncs are the functions of a file by name and line.
type sourceFuncs map[sourceFuncKey]SourceFunc

type sourceFuncKey struct {
	name string
	line int
}

// add adds a copy of a function. One run may have entered several copies, so the runs of copies do not add up.
func (s sourceFuncs) add(fn SourceFunc) {
	key := sourceFuncKey{fn.Name, fn.Line}
	old, have := s[key]
	if have && fn.Why != 0 && old.Why == 0 {
		return // a copy of it is linked
	}
	fn.Runs, fn.Times = max(fn.Runs, old.Runs), max(fn.Times, old.Times)
	fn.Unknown = fn.Runs == 0 && (fn.Unknown || old.Unknown)
	fn.End = max(fn.End, old.End)
	s[key] = fn
}

// list returns the functions, ascending by line, then by name.
func (s sourceFuncs) list() []SourceFunc {
	list := slices.Collect(maps.Values(s))
	stablesort.Func(list, func(a, b SourceFunc) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name, b.Name)) })
	return list
}
