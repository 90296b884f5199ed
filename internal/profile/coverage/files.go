package coverage

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
)

// PathRules select the source files of a report, and determine their names in it.
type PathRules struct {
	// System includes the files of the compiler and the system, see SystemFile.
	System bool

	prefixes         [][2]string
	include, exclude []*regexp.Regexp
}

// NewPathRules returns the rules of FROM=TO prefix maps and of patterns of paths.
//
// The last prefix map that matches a path applies, and the last = separates its parts, as with the compilers'
// -ffile-prefix-map; it applies only at the end of a directory name. In patterns * matches any characters but /, ** any
// characters, and ? one character but /. A pattern matches a path if it matches all of it, or
// the part after one of its slashes, and a pattern that matches a directory matches all files
// below it. A file is in the report if an include pattern matches, or there is none, and no
// exclude pattern does. Files of the compiler and the system are in no report unless System is
// set.
func NewPathRules(prefixMaps, include, exclude []string) (*PathRules, error) {
	r := &PathRules{}
	for _, text := range prefixMaps {
		at := strings.LastIndexByte(text, '=')
		if at < 1 {
			return nil, fmt.Errorf("prefix map %q: must be FROM=TO", text)
		}
		r.prefixes = append(r.prefixes, [2]string{text[:at], text[at+1:]})
	}
	for _, list := range []struct {
		patterns []string
		to       *[]*regexp.Regexp
	}{{include, &r.include}, {exclude, &r.exclude}} {
		for _, p := range list.patterns {
			re, err := pathPattern(p)
			if err != nil {
				return nil, err
			}
			*list.to = append(*list.to, re)
		}
	}
	return r, nil
}

func pathPattern(pattern string) (*regexp.Regexp, error) {
	p := strings.TrimSuffix(pattern, "/")
	if p == "" {
		return nil, fmt.Errorf("pattern %q matches nothing", pattern)
	}
	var b strings.Builder
	switch {
	case strings.HasPrefix(p, "/"):
		b.WriteString("^")
	default:
		b.WriteString("(^|/)")
	}
	for i := 0; i < len(p); i++ {
		switch {
		case strings.HasPrefix(p[i:], "**/"):
			b.WriteString("(.*/)?")
			i += 2
		case strings.HasPrefix(p[i:], "**"):
			b.WriteString(".*")
			i++
		case p[i] == '*':
			b.WriteString("[^/]*")
		case p[i] == '?':
			b.WriteString("[^/]")
		default:
			j := i
			for j+1 < len(p) && !strings.ContainsRune("*?", rune(p[j+1])) {
				j++
			}
			b.WriteString(regexp.QuoteMeta(p[i : j+1]))
			i = j
		}
	}
	b.WriteString("(/|$)")
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, err) // it is not UTF-8
	}
	return re, nil
}

// Path returns a source file's name in the report, and whether the report includes it.
func (r *PathRules) Path(path string) (string, bool) {
	name := r.Rename(path)
	return name, !r.omitsSystem(path) && r.Selects(name)
}

// Rename applies the prefix maps to a path.
func (r *PathRules) Rename(path string) string {
	for _, p := range slices.Backward(r.prefixes) {
		from := strings.TrimSuffix(p[0], "/")
		rest, ok := strings.CutPrefix(path, from)
		if !ok || rest != "" && !strings.HasPrefix(rest, "/") {
			continue
		}
		if to := strings.TrimSuffix(p[1], "/"); to != "" && to != "." {
			return to + rest
		}
		return strings.TrimPrefix(rest, "/")
	}
	return path
}

// Selects reports whether the report has a file, by its name in it.
func (r *PathRules) Selects(path string) bool {
	fits := func(re *regexp.Regexp) bool { return re.MatchString(path) }
	return (len(r.include) == 0 || slices.ContainsFunc(r.include, fits)) && !slices.ContainsFunc(r.exclude, fits)
}

// Apply returns the files of the report, under their names in it. Files that get the same name
// are merged: a line ran if it ran in any of them.
func (r *PathRules) Apply(files []SourceFile) []SourceFile {
	return r.ApplyBelow(files, func(path string) string { return path })
}

// ApplyBelow is Apply, with names that relative returns after the prefix maps.
func (r *PathRules) ApplyBelow(files []SourceFile, relative func(string) string) []SourceFile {
	byName := map[string]*SourceFile{}
	for i := range files {
		name := relative(r.Rename(files[i].File))
		if r.omitsSystem(files[i].File) || !r.Selects(name) {
			continue
		}
		f := files[i]
		f.File = name
		if old := byName[name]; old != nil {
			f = joinFiles(old, &f)
		}
		byName[name] = &f
	}
	var out []SourceFile
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, *byName[name])
	}
	return out
}

func joinFiles(a, b *SourceFile) SourceFile {
	f := SourceFile{File: a.File}
	funcs := sourceFuncs{}
	for _, fn := range slices.Concat(a.Funcs, b.Funcs) {
		funcs.add(fn)
	}
	f.Funcs = funcs.list()
	lines := map[int]Line{}
	for _, l := range slices.Concat(a.Lines, b.Lines) {
		if old, ok := lines[l.Number]; ok {
			l.State, l.Runs = max(l.State, old.State), max(l.Runs, old.Runs)
		}
		lines[l.Number] = l
	}
	for _, n := range slices.Sorted(maps.Keys(lines)) {
		f.Lines = append(f.Lines, lines[n])
	}
	f.Branches = joinBranches(a.Branches, b.Branches)
	f.Unbranched = a.Unbranched + b.Unbranched
	return f
}

// LineTally counts lines by their state.
type LineTally struct {
	Ran, Missed, Unknown int
}

// Add counts a line.
func (t *LineTally) Add(s State) {
	switch s {
	case Ran:
		t.Ran++
	case Missed:
		t.Missed++
	case Unknown:
		t.Unknown++
	}
}

// Tally returns the lines of which it is known whether they ran. Unknown lines are neither covered nor missed:
// they are not in the total.
func (t LineTally) Tally() Tally { return Tally{t.Ran, t.Ran + t.Missed} }

// Plus returns the sum of two tallies.
func (t LineTally) Plus(u LineTally) LineTally {
	return LineTally{t.Ran + u.Ran, t.Missed + u.Missed, t.Unknown + u.Unknown}
}

// Tally counts the lines of a file.
func (f *SourceFile) Tally() (t LineTally) {
	for _, l := range f.Lines {
		t.Add(l.State)
	}
	return t
}

// FuncTally tallies the functions of which it is known whether they ran. The bodies of a constructor or destructor are
// one function.
func (f *SourceFile) FuncTally() (t Tally) {
	ran := map[sourceFuncKey]bool{}
	for i := range f.Funcs {
		if fn := &f.Funcs[i]; fn.Runs > 0 || !fn.Unknown {
			key := sourceFuncKey{sourcefunc.OneBody(fn.Name), fn.Line}
			ran[key] = ran[key] || fn.Runs > 0
		}
	}
	for _, any := range ran {
		t.add(any)
	}
	return t
}

// ApplyPaths is Apply for tallies of files.
func (r *PathRules) ApplyPaths(paths []Path) []Path {
	byName := map[string]Path{}
	for _, p := range paths {
		name, ok := r.Path(p.File)
		if !ok {
			continue
		}
		old := byName[name]
		byName[name] = Path{name, old.Functions.Plus(p.Functions), old.Blocks.Plus(p.Blocks), old.Unknown + p.Unknown}
	}
	out := make([]Path, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, byName[name])
	}
	return out
}
