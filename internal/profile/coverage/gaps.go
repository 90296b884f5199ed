package coverage

import "slices"

// Gap is code that did not run.
type Gap struct {
	Func  *SourceFunc // the function that contains it; nil if it is before all functions of the file
	Whole bool        // the whole function did not run
	Range
}

// Gaps returns the code of a file that did not run: functions that no run entered, and ranges of
// missed lines in others. A function has the lines from its definition to the next one's.
func (f *SourceFile) Gaps() (gaps []Gap) {
	lines := f.Lines
	next := func(before int) (own []Line) {
		n := 0
		for n < len(lines) && lines[n].Number < before {
			n++
		}
		own, lines = lines[:n], lines[n:]
		return own
	}
	const end = int(^uint(0) >> 1)
	for i := -1; i < len(f.Funcs); i++ {
		until := end
		if i+1 < len(f.Funcs) {
			until = f.Funcs[i+1].Line
		}
		own := next(until)
		if i < 0 {
			gaps = append(gaps, missed(nil, own)...)
			continue
		}
		fn := &f.Funcs[i]
		ran := fn.Runs > 0 || fn.Unknown || slices.ContainsFunc(own, func(l Line) bool { return l.State == Ran })
		if ran {
			gaps = append(gaps, missed(fn, own)...)
			continue
		}
		r := Range{fn.Line, fn.Line}
		if len(own) > 0 {
			r.To = own[len(own)-1].Number
		}
		gaps = append(gaps, Gap{fn, true, r})
	}
	return gaps
}

func missed(fn *SourceFunc, lines []Line) (gaps []Gap) {
	for _, r := range Ranges(lines, Missed) {
		gaps = append(gaps, Gap{fn, false, r})
	}
	return gaps
}
