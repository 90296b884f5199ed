package coverage

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

	"github.com/cairnprof/cairn/internal/lazyregexp"
)

// Markers are what the author of a source file excludes from coverage, by comments in it or by
// regular expressions.
type Markers struct {
	// Lines and Branches are the excluded lines, and those whose branches are.
	Lines, Branches []Range
	// Functions and BranchFunctions are the lines of markers that exclude a function defined
	// there.
	Functions, BranchFunctions []int
	// Unreachable are lines that are excluded as long as they do not run.
	Unreachable []Range
	// Problems are messages about markers without effect.
	Problems []string
}

// marker matches the markers of lcov and gcovr. A marker counts in any text of a line.
var marker = lazyregexp.New(`\b(?:(LCOV|GCOVR?)_EXCL_(BR_)?(LINE|START|STOP|FUNCTION)|(LCOV)_UNREACHABLE_(LINE|START|STOP))\b`)

// ReadMarkers finds the markers in the text of a source file. Lines that match one of the
// expressions lines or branches are excluded as if they had a marker. Without comments, only the
// expressions count.
//
// The rules are those of gcovr (https://gcovr.com/en/stable/guide/exclusion-markers.html), of which
// lcov's (geninfo(1)) are a part: LINE excludes its line, START all lines from its own up to
// the one before STOP, and FUNCTION the function that is defined on its line. BR_ excludes branches
// only. A START without STOP excludes nothing, as in gcovr. UNREACHABLE, of lcov 2.1 and later, excludes what did not
// run.
func ReadMarkers(text []byte, comments bool, lines, branches []*regexp.Regexp) *Markers {
	m := &Markers{}
	var open [3]regions
	open[0].into, open[1].into, open[2].into = &m.Lines, &m.Branches, &m.Unreachable
	functions := [2]*[]int{&m.Functions, &m.BranchFunctions}
	n := 0
	for row := range bytes.Lines(text) {
		n++
		row = bytes.TrimRight(row, "\r\n")
		var found [][][]byte
		if comments && (bytes.Contains(row, []byte("_EXCL_")) || bytes.Contains(row, []byte("_UNREACHABLE_"))) {
			found = marker().FindAllSubmatch(row, -1)
		}
		for _, in := range found {
			kind, what := 0, string(in[3])
			switch {
			case len(in[4]) > 0:
				kind, what = 2, string(in[5])
			case len(in[2]) > 0:
				kind = 1
			}
			if what == "FUNCTION" {
				*functions[kind] = append(*functions[kind], n)
				continue
			}
			open[kind].mark(m, string(in[0]), string(in[1])+string(in[4]), what, n)
		}
		for kind, list := range [2][]*regexp.Regexp{lines, branches} {
			if slices.ContainsFunc(list, func(re *regexp.Regexp) bool { return re.Match(row) }) {
				*open[kind].into = append(*open[kind].into, Range{n, n})
			}
		}
	}
	for kind := range open {
		for _, s := range open[kind].starts {
			m.problem(s.line, "%s has no STOP: it excludes nothing", s.text)
		}
	}
	m.Lines, m.Branches, m.Unreachable = join(m.Lines), join(m.Branches), join(m.Unreachable)
	return m
}

func (m *Markers) problem(line int, format string, args ...any) {
	m.Problems = append(m.Problems, fmt.Sprintf("line %d: ", line)+fmt.Sprintf(format, args...))
}

// regions are regions from START to STOP.
type regions struct {
	starts []start // without STOP so far
	into   *[]Range
}

// start is a marker START.
type start struct {
	text, prefix string
	line         int
}

// mark adds a marker of a line.
func (r *regions) mark(m *Markers, text, prefix, what string, line int) {
	last := len(r.starts) - 1
	switch {
	case what == "LINE":
		if last >= 0 {
			m.problem(line, "%s is in the region that begins on line %d", text, r.starts[last].line)
		}
		*r.into = append(*r.into, Range{line, line})
	case what == "START":
		r.starts = append(r.starts, start{text, prefix, line})
	case last < 0:
		m.problem(line, "%s has no START", text)
	default:
		s := r.starts[last]
		r.starts = r.starts[:last]
		if s.prefix != prefix {
			m.problem(line, "%s ends the region of %s of line %d", text, s.text, s.line)
		}
		if s.line < line {
			*r.into = append(*r.into, Range{s.line, line - 1})
		}
	}
}

// Excluded counts what markers excluded.
type Excluded struct {
	Lines, Functions, Branches int
}

// Plus returns the sum of two counts.
func (e Excluded) Plus(f Excluded) Excluded {
	return Excluded{e.Lines + f.Lines, e.Functions + f.Functions, e.Branches + f.Branches}
}

// Exclude returns the file without what the markers exclude, and its amount. Markers of functions
// that the file does not have are added to the problems.
func (m *Markers) Exclude(f *SourceFile) (kept SourceFile, n Excluded) {
	kept.File, kept.Unbranched = f.File, f.Unbranched
	lines, branches := slices.Clone(m.Lines), slices.Clone(m.Branches)
	lines = append(lines, m.functions(f, m.Functions)...)
	branches = append(branches, m.functions(f, m.BranchFunctions)...)
	reached := 0
	for _, l := range f.Lines {
		if within(lines, l.Number) {
			n.Lines++
			continue
		}
		if within(m.Unreachable, l.Number) {
			if l.State != Ran {
				n.Lines++
				lines = append(lines, Range{l.Number, l.Number})
				continue
			}
			if reached++; reached == 1 {
				m.problem(l.Number, "it ran, and a marker says that it is unreachable")
			}
		}
		kept.Lines = append(kept.Lines, l)
	}
	for _, fn := range f.Funcs {
		if within(lines, fn.Line) {
			n.Functions++
			continue
		}
		kept.Funcs = append(kept.Funcs, fn)
	}
	for i := range f.Branches {
		b := &f.Branches[i]
		if within(lines, b.Line) || within(branches, b.Line) {
			n.Branches += len(b.Ways)
			continue
		}
		kept.Branches = append(kept.Branches, *b)
	}
	return kept, n
}

// Statements reports whether all lines with text of a range of Go's statements are excluded: those between its braces
// that are not blank or comments. rows are the lines of the file, and column, in bytes from 1, is where the range
// begins.
func (m *Markers) Statements(rows [][]byte, from, column, to int, ran bool) bool {
	any := false
	for n := from; n <= min(to, len(rows)); n++ {
		row := rows[n-1]
		if n == from {
			row = row[min(max(column-1, 0), len(row)):]
		}
		row = bytes.TrimSpace(row)
		if code, _, _ := bytes.Cut(row, []byte("//")); len(bytes.Trim(code, " \t{}")) == 0 {
			continue
		}
		if !within(m.Lines, n) && (ran || !within(m.Unreachable, n)) {
			return false
		}
		any = true
	}
	return any
}

// Function reports whether a function that is defined on a line is excluded.
func (m *Markers) Function(line int) bool {
	return within(m.Lines, line) || slices.Contains(m.Functions, line)
}

// functions returns the lines of the functions that are defined on the lines of markers.
func (m *Markers) functions(f *SourceFile, marks []int) (list []Range) {
	for _, at := range marks {
		found := false
		for _, fn := range f.Funcs {
			if fn.Line == at {
				list, found = append(list, Range{fn.Line, fn.End}), true
			}
		}
		if !found {
			m.problem(at, "EXCL_FUNCTION is on no line on which a function with code is defined")
		}
	}
	return list
}

func within(ranges []Range, line int) bool {
	return slices.ContainsFunc(ranges, func(r Range) bool { return r.From <= line && line <= r.To })
}
