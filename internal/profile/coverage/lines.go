package coverage

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cairnprof/cairn/internal/saturate"

	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
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
	slices.SortFunc(lines, func(x, y lineOf) int {
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

// StateSpans returns the lines of all modules together that are in a state.
func StateSpans(modules []Module, state State) []Span {
	o := newObserver()
	for i := range modules {
		o.module(&modules[i])
	}
	set := map[string]map[int]State{}
	for at, s := range o.states() {
		if set[at.file] == nil {
			set[at.file] = map[int]State{}
		}
		set[at.file][at.line] = s
	}
	return spans(set, state)
}

// SourceFile is the coverage of one source file, line by line.
type SourceFile struct {
	File  string
	Funcs []SourceFunc // ascending by line, then by name
	Lines []Line       // ascending
}

// SourceFunc is a function of a source file: all code that the compiler generated for it,
// including the copies in several modules or compilations.
type SourceFunc struct {
	Name string // mangled
	Line int
	Runs uint64 // in which it was entered, a lower bound
}

// Line is a line that has instructions.
type Line struct {
	Number int
	State  State
	Runs   uint64 // in which it ran, by the code that ran most often
}

// Files returns the line coverage of all source files, ascending by name. Functions without a
// known line are omitted; unplaced is their number.
func Files(modules []Module) (files []SourceFile, unplaced int) {
	o := newObserver()
	for i := range modules {
		o.module(&modules[i])
	}
	byName := map[string]*SourceFile{}
	file := func(name string) *SourceFile {
		if byName[name] == nil {
			byName[name] = &SourceFile{File: name}
		}
		return byName[name]
	}
	funcs := map[string]map[string]*SourceFunc{}
	for i := range modules {
		m := &modules[i]
		for _, src := range sourcefunc.Of(&m.Map) {
			first := &m.Funcs[src.Funcs[0]]
			name, line := m.Source(first)
			if line == 0 {
				unplaced++
				continue
			}
			if funcs[name] == nil {
				funcs[name] = map[string]*SourceFunc{}
			}
			c := src.Counts(m.Module)
			addFunc(funcs[name], src.Name, line, max(c.Runs, o.inlined(m, first)))
		}
	}
	for name, list := range funcs {
		f := file(name)
		for _, fn := range list {
			f.Funcs = append(f.Funcs, *fn)
		}
		slices.SortFunc(f.Funcs, func(a, b SourceFunc) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name, b.Name))
		})
	}
	for at, s := range o.states() {
		f := file(at.file)
		f.Lines = append(f.Lines, Line{at.line, s, o.runs[at]})
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		f := byName[name]
		slices.SortFunc(f.Lines, func(a, b Line) int { return a.Number - b.Number })
		files = append(files, *f)
	}
	return files, unplaced
}

func addFunc(funcs map[string]*SourceFunc, name string, line int, runs uint64) {
	f := funcs[name]
	if f == nil {
		funcs[name] = &SourceFunc{name, line, runs}
		return
	}
	f.Line = min(f.Line, line)
	f.Runs = saturate.Add(f.Runs, runs)
}

// spans joins the lines in a state, file by file. A line without instructions between
// two lines does not part them; a line in another state does.
func spans(set map[string]map[int]State, state State) []Span {
	var spans []Span
	for _, file := range slices.Sorted(maps.Keys(set)) {
		open := false
		for _, n := range slices.Sorted(maps.Keys(set[file])) {
			switch {
			case set[file][n] != state:
				open = false
			case open:
				spans[len(spans)-1].To = n
			default:
				spans, open = append(spans, Span{file, n, n}), true
			}
		}
	}
	return spans
}
