package coverage

import (
	"slices"
	"strconv"
)

// lcovFunc is a function of a tracefile.
type lcovFunc struct {
	name      string
	line, end int // end is 0 if readers compute it
	runs      uint64
}

// lcovFuncs returns the functions that a tracefile lists, ascending by line, and the number of
// those that it cannot list.
//
// genhtml and lcov 2 check functions against lines (lcovutil.pm, _deriveFunctionEndLines and
// _checkConsistency; genhtml, _countLineTlaData), and reject a file in which a function
//
//   - ran, and none of its lines did, or the other way round,
//   - begins on a line that is not listed: a function begins here on its first line that is,
//   - is defined on two lines, or has two end lines.
//
// Functions on one line are one function for them. A function without an end line has the lines
// up to the function that is listed next. lcov 1 knows no end lines, and reads FN:3,9,f as a
// function with the name 9, so an end line is only given where the check would fail without it: if
// a function that did not run is followed by lines of another function that did, which contains
// it, such as the one around a lambda. Such a function then begins at its first line that did not
// run. Functions whose lines all belong to others as well, or are unknown, and those of which it is
// not known whether they ran cannot be listed.
func lcovFuncs(f *SourceFile) (list []lcovFunc, unlisted int) {
	lines := make([]Line, 0, len(f.Lines))
	for _, l := range f.Lines {
		if l.State != Unknown {
			lines = append(lines, l)
		}
	}
	ran := func(l Line) bool { return l.State == Ran }
	// From the last function to the first, as its lines depend on where the next one begins.
	known := slices.DeleteFunc(slices.Clone(f.Funcs), func(fn SourceFunc) bool { return fn.Unknown })
	unlisted = len(f.Funcs) - len(known)
	for rest := known; len(rest) > 0; {
		at := rest[len(rest)-1].Line
		from := len(rest)
		for from > 0 && rest[from-1].Line == at {
			from--
		}
		group := rest[from:]
		rest = rest[:from]
		first, _ := slices.BinarySearchFunc(lines, at, func(l Line, n int) int { return l.Number - n })
		own := lines[first:]
		hit, any := slices.ContainsFunc(group, func(fn SourceFunc) bool { return fn.Runs > 0 }), slices.ContainsFunc(own, ran)
		begin, end := 0, 0
		switch {
		case !hit && any:
			begin, end = untouched(own, group)
		case len(own) > 0 && hit == any:
			begin = own[0].Number
		}
		if begin == 0 {
			unlisted += len(group)
			continue
		}
		for _, fn := range slices.Backward(group) {
			list = append(list, lcovFunc{oneLine(fn.Name), begin, end, max(fn.Runs, fn.Times)})
		}
		cut, _ := slices.BinarySearchFunc(lines, begin, func(l Line, n int) int { return l.Number - n })
		lines = lines[:cut]
	}
	slices.Reverse(list)
	distinguish(list)
	return list, unlisted
}

// untouched returns the first lines of functions that did not run, begin 0 if there is none.
func untouched(own []Line, group []SourceFunc) (begin, end int) {
	last := 0
	for _, fn := range group {
		last = max(last, fn.End)
	}
	for _, l := range own {
		switch {
		case l.Number > last, l.State == Ran && begin > 0:
			return begin, end
		case l.State == Missed && begin == 0:
			begin, end = l.Number, l.Number
		case l.State == Missed:
			end = l.Number
		}
	}
	return begin, end
}

// distinguish gives functions of one name that begin on different lines different names, in the
// form that demanglers take for a clone.
func distinguish(list []lcovFunc) {
	line := map[string]int{}
	for i := range list {
		fn := &list[i]
		for n, name := 2, fn.name; ; n++ {
			if was, used := line[fn.name]; !used || was == fn.line {
				break
			}
			fn.name = name + "." + strconv.Itoa(n)
		}
		line[fn.name] = fn.line
	}
}
