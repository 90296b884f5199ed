package coverage

import (
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// Range is a range of lines, both ends included.
type Range struct{ From, To int }

// ChangedFile is the coverage of the changed lines of a source file.
type ChangedFile struct {
	File  string
	Known bool   // the profile has the file
	Lines []Line // changed lines with code, ascending
	Tally LineTally

	changed []Range // ascending, with unchanged lines between any two
}

// Changed returns the coverage of changed lines, in the order of the changed files. It leaves out lines without
// code, such as comments.
func Changed(files []SourceFile, order []string, changed map[string][]Range) []ChangedFile {
	byName := make(map[string]*SourceFile, len(files))
	for i := range files {
		byName[files[i].File] = &files[i]
	}
	out := make([]ChangedFile, 0, len(order))
	for _, name := range order {
		c := ChangedFile{File: name}
		if f := byName[name]; f != nil {
			c.Known = true
			c.changed = join(changed[name])
			for _, l := range f.Lines {
				if slices.ContainsFunc(c.changed, func(r Range) bool { return r.From <= l.Number && l.Number <= r.To }) {
					c.Lines = append(c.Lines, l)
					c.Tally.Add(l.State)
				}
			}
		}
		out = append(out, c)
	}
	return out
}

// join returns the same lines as ranges that do not touch, ascending.
func join(ranges []Range) (joined []Range) {
	ranges = slices.Clone(ranges)
	stablesort.Func(ranges, func(a, b Range) int { return a.From - b.From })
	for _, r := range ranges {
		if n := len(joined); n > 0 && r.From <= joined[n-1].To+1 {
			joined[n-1].To = max(joined[n-1].To, r.To)
		} else {
			joined = append(joined, r)
		}
	}
	return joined
}

// Ranges returns the changed lines in a state as ranges, which contain no unchanged line.
func (c *ChangedFile) Ranges(state State) (ranges []Range) {
	rest := c.Lines
	for _, r := range c.changed {
		n := 0
		for n < len(rest) && rest[n].Number <= r.To {
			n++
		}
		ranges = append(ranges, Ranges(rest[:n], state)...)
		rest = rest[n:]
	}
	return ranges
}

// Ranges returns the lines in a state as ranges. There is no line in another state between two
// lines of a range.
func Ranges(lines []Line, state State) (ranges []Range) {
	open := false
	for _, l := range lines {
		switch {
		case l.State != state:
			open = false
		case open:
			ranges[len(ranges)-1].To = l.Number
		default:
			ranges, open = append(ranges, Range{l.Number, l.Number}), true
		}
	}
	return ranges
}
