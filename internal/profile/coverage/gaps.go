package coverage

import (
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// Gap is code that did not run.
type Gap struct {
	Func  *SourceFunc // the function that contains it; nil if it is in none
	Whole bool        // the whole function did not run
	Range
}

// Gaps returns the code of a file that did not run, ascending by line: functions that no run entered, and ranges
// of missed lines in others. A line belongs to the function that begins last of those around it. Of functions of
// which it is not known whether they ran, only lines are gaps.
func (f *SourceFile) Gaps() (gaps []Gap) {
	own := make([][]Line, len(f.Funcs)+1) // at last, those of no function
	for _, l := range f.Lines {
		at := len(f.Funcs)
		after, _ := slices.BinarySearchFunc(f.Funcs, l.Number+1, func(fn SourceFunc, n int) int { return fn.Line - n })
		for i := after - 1; i >= 0; i-- {
			if f.Funcs[i].End >= l.Number {
				at = i
				break
			}
		}
		own[at] = append(own[at], l)
	}
	gaps = missed(nil, own[len(f.Funcs)])
	for i := range f.Funcs {
		fn, lines := &f.Funcs[i], own[i]
		if fn.Runs > 0 || fn.Unknown || slices.ContainsFunc(lines, func(l Line) bool { return l.State == Ran }) {
			gaps = append(gaps, missed(fn, lines)...)
			continue
		}
		r := Range{fn.Line, fn.Line}
		if len(lines) > 0 {
			r.To = max(r.To, lines[len(lines)-1].Number)
		}
		gaps = append(gaps, Gap{fn, true, r})
	}
	stablesort.Func(gaps, func(a, b Gap) int { return a.From - b.From })
	return gaps
}

func missed(fn *SourceFunc, lines []Line) (gaps []Gap) {
	for _, r := range Ranges(lines, Missed) {
		gaps = append(gaps, Gap{fn, false, r})
	}
	return gaps
}
