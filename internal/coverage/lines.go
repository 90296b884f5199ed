package coverage

import (
	"maps"
	"slices"

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
	set := lineSet{}
	for file, line := range m.Lines.Lines(b.Lo, b.Hi) {
		set.add(file, line, 0)
	}
	var spans []Span
	for _, file := range slices.Sorted(maps.Keys(set)) {
		for _, n := range slices.Sorted(maps.Keys(set[file])) {
			if k := len(spans) - 1; k >= 0 && spans[k].File == file && spans[k].To+1 == n {
				spans[k].To = n
				continue
			}
			spans = append(spans, Span{file, n, n})
		}
	}
	return spans
}

// CoveredSpans returns the lines that were hit, or with missed those that were
// not, of all modules together.
func CoveredSpans(modules []Module, missed bool) []Span {
	set := lineSet{}
	for i := range modules {
		set.addModule(&modules[i])
	}
	return set.spans(func(n uint64) bool { return (n > 0) != missed })
}

// SourceFile is what was covered of one source file, line by line.
type SourceFile struct {
	File  string
	Funcs []SourceFunc // ascending by line, then by name
	Lines []Line       // ascending
}

// SourceFunc is a function as its source file shows it: the copies that several
// modules or compilations have of it are one.
type SourceFunc struct {
	Name string // mangled
	Line int
	Hits uint64 // calls if they were counted, else runs
}

// Line is a line that has instructions.
type Line struct {
	Number int
	Hits   uint64 // the most that any of its blocks ran
}

// Files returns the line coverage of all source files, ascending by name.
// Functions without a known line are left out; unplaced says how many.
func Files(modules []Module) (files []SourceFile, unplaced int) {
	set := lineSet{}
	funcs := map[string]map[string]*SourceFunc{}
	for i := range modules {
		m := &modules[i]
		set.addModule(m)
		for k := range m.Funcs {
			file, line := m.Source(&m.Funcs[k])
			if line == 0 {
				unplaced++
				continue
			}
			if funcs[file] == nil {
				funcs[file] = map[string]*SourceFunc{}
			}
			addFunc(funcs[file], m.Funcs[k].Name, line, hits(&m.Counts[k], 0))
		}
	}
	for file := range funcs {
		set.file(file)
	}
	for _, file := range slices.Sorted(maps.Keys(set)) {
		sf := SourceFile{File: file}
		for _, f := range funcs[file] {
			sf.Funcs = append(sf.Funcs, *f)
		}
		slices.SortFunc(sf.Funcs, func(a, b SourceFunc) int {
			if a.Line != b.Line {
				return a.Line - b.Line
			}
			if a.Name < b.Name {
				return -1
			}
			return 1
		})
		for _, n := range slices.Sorted(maps.Keys(set[file])) {
			sf.Lines = append(sf.Lines, Line{n, set[file][n]})
		}
		files = append(files, sf)
	}
	return files, unplaced
}

func addFunc(funcs map[string]*SourceFunc, name string, line int, n uint64) {
	f := funcs[name]
	if f == nil {
		funcs[name] = &SourceFunc{name, line, n}
		return
	}
	f.Line = min(f.Line, line)
	f.Hits = saturate(f.Hits, n)
}

// lineSet holds hits by file and line.
type lineSet map[string]map[int]uint64

func (s lineSet) file(name string) map[int]uint64 {
	lines := s[name]
	if lines == nil {
		lines = map[int]uint64{}
		s[name] = lines
	}
	return lines
}

func (s lineSet) add(file string, line int, n uint64) {
	lines := s.file(file)
	lines[line] = max(lines[line], n)
}

func (s lineSet) addModule(m *Module) {
	if m.Lines == nil {
		return
	}
	for i := range m.Funcs {
		s.addFunc(m.Lines, &m.Funcs[i], &m.Counts[i])
	}
}

func (s lineSet) addFunc(lines Lines, f *prof.Func, c *prof.Counts) {
	for b := range Blocks(f) {
		n := hits(c, b.Index)
		for file, line := range lines.Lines(b.Lo, b.Hi) {
			s.add(file, line, n)
		}
	}
}

// spans joins the lines that keep accepts, file by file. A line without
// instructions between two lines does not part them; a line that keep rejects
// does.
func (s lineSet) spans(keep func(uint64) bool) []Span {
	var spans []Span
	for _, file := range slices.Sorted(maps.Keys(s)) {
		open := false
		for _, n := range slices.Sorted(maps.Keys(s[file])) {
			switch {
			case !keep(s[file][n]):
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
