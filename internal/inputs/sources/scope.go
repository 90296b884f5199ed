// Package sources reads the sources of programs: which of their lines markers and patterns leave out, and which lines
// changed, by git.
package sources

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/sourcename"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// maxSource limits the size of a source file that is searched for markers.
const maxSource = 32 << 20

// Scope is what a report leaves out: files that are not selected, those of the compiler
// and the system, and what markers in the sources exclude. It counts what it leaves out.
type Scope struct {
	rules     *coverage.PathRules
	noMarkers bool
	s         *verb.Streams
	tops      []string // directories below which sources are, besides where debug information says

	lines, branches []*regexp.Regexp // of the flags

	system      coverage.LeftOut
	systemFiles map[string]bool
	// library are functions of the C++ library, by symbol, of modules without debug information.
	library map[string]bool

	markers  map[string]*coverage.Markers // by the name in debug information; nil if there is no text
	excluded coverage.Excluded
	touched  map[string]bool // files of which something is excluded
	unread   int             // files without text
	missing  string          // why the first of them has none
	said     bool
}

// Left is what a report leaves out besides files of the system.
type Left struct {
	Rules         *coverage.PathRules
	Lines         []string // regular expressions of lines of source
	Branches      []string // and of those whose branches are left out
	IgnoreMarkers bool
}

// NewScope returns the scope of a report.
func NewScope(s *verb.Streams, f Left) (*Scope, error) {
	sc := &Scope{rules: f.Rules, noMarkers: f.IgnoreMarkers, s: s, systemFiles: map[string]bool{}, library: map[string]bool{}, markers: map[string]*coverage.Markers{}, touched: map[string]bool{}}
	for _, list := range []struct {
		flag  string
		texts []string
		to    *[]*regexp.Regexp
	}{{"--exclude-lines", f.Lines, &sc.lines}, {"--exclude-branches", f.Branches, &sc.branches}} {
		for _, text := range list.texts {
			re, err := regexp.Compile(text)
			if err != nil {
				return nil, verb.Usagef("%s: %w", list.flag, err)
			}
			*list.to = append(*list.to, re)
		}
	}
	return sc, nil
}

// Files returns the files of the report, with names that relative returns after the prefix maps.
func (sc *Scope) Files(files []coverage.SourceFile, relative func(string) string) []coverage.SourceFile {
	sc.system = sc.rules.LeftOut(files)
	var kept []coverage.SourceFile
	for i := range files {
		f := files[i]
		if !sc.rules.System && coverage.SystemFile(f.File) || !sc.rules.Selects(relative(sc.rules.Rename(f.File))) {
			continue
		}
		if m := sc.Of(f.File); m != nil {
			var n coverage.Excluded
			before := len(m.Problems)
			f, n = m.Exclude(&f)
			sc.count(f.File, n)
			sc.problems(f.File, m.Problems[before:])
		}
		kept = append(kept, f)
	}
	return sc.rules.ApplyBelow(kept, relative)
}

// count adds what is excluded of a file.
func (sc *Scope) count(file string, n coverage.Excluded) {
	if n != (coverage.Excluded{}) {
		sc.excluded = sc.excluded.Plus(n)
		sc.touched[file] = true
	}
}

// Place returns where fn is defined, by its name in the report, and whether the report has it.
func (sc *Scope) Place(m *coverage.Module, fn *prof.Func) (name string, line int, ok bool) {
	file, line := m.Definition(fn)
	ok = sc.Has(file, line)
	if ok && m.Lines == nil && !sc.rules.System && libraryName().MatchString(fn.Name) {
		sc.library[fn.Name] = true
	}
	return sc.rules.Rename(file), line, ok
}

// libraryName matches symbols of functions of the C++ library: in the namespaces std and __gnu_cxx.
var libraryName = lazyregexp.New(`^_Z(N[VK]*)?(St|S[absiod]|9__gnu_cxx)`)

// Has reports whether the report has the function that is defined on a line of a file, 0 if the line is not
// known, and counts it if it is left out.
func (sc *Scope) Has(file string, line int) bool {
	if !sc.rules.System && coverage.SystemFile(file) {
		sc.system.Functions++
		if !sc.systemFiles[file] {
			sc.systemFiles[file] = true
			sc.system.Files++
		}
	}
	if _, ok := sc.rules.Path(file); !ok {
		return false
	}
	if line > 0 {
		if m := sc.Of(file); m != nil && m.Function(line) {
			sc.count(file, coverage.Excluded{Functions: 1})
			return false
		}
	}
	return true
}

// inCompiler reports whether a compiler names a file, in the manner of "<built-in>", that only it has.
func inCompiler(file string) bool {
	base := filepath.Base(file)
	return strings.HasPrefix(base, "<") && strings.HasSuffix(base, ">")
}

// Of returns the markers of a source file, nil if there are none or the file cannot be read.
func (sc *Scope) Of(file string) *coverage.Markers {
	if sc.noMarkers && len(sc.lines)+len(sc.branches) == 0 {
		return nil
	}
	m, ok := sc.markers[file]
	if ok || inCompiler(file) {
		return m
	}
	text, err := sc.Text(file)
	if err != nil {
		if sc.unread++; sc.unread == 1 {
			sc.missing = err.Error()
		}
	} else {
		m = coverage.ReadMarkers(text, !sc.noMarkers, sc.lines, sc.branches)
		sc.problems(file, m.Problems)
	}
	sc.markers[file] = m
	return m
}

func (sc *Scope) problems(file string, list []string) {
	for _, p := range list {
		verb.Note(sc.s, "%s: %s", report.Printable(sc.rules.Rename(file)), p)
	}
}

// Text reads a source file, from where debug information says that it is, or from below the work
// tree under its name in the report.
func (sc *Scope) Text(file string) ([]byte, error) {
	if sc.tops == nil {
		sc.tops = append(WorkTree(), "")
	}
	text, err := readSource(file)
	if err == nil {
		return text, nil
	}
	if name := sc.rules.Rename(file); name != file || !sourcename.IsAbs(file) {
		for _, top := range sc.tops {
			if text, err := readSource(filepath.Join(top, name)); err == nil {
				return text, nil
			}
		}
	}
	return nil, err
}

func readSource(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch st, err := f.Stat(); {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case st.Size() > maxSource:
		return nil, fmt.Errorf("%s is larger than %d MB", path, maxSource>>20)
	}
	return io.ReadAll(f)
}

// Say reports, once, what is left out.
func (sc *Scope) Say() {
	if sc.said {
		return
	}
	sc.said = true
	is := func(n int) string { return report.Either(uint64(n), "is", "are") }
	if n := sc.system; n.Files > 0 {
		what := report.Plural(n.Functions, "function")
		if n.Lines > 0 {
			what = report.Plural(n.Lines, "line")
		}
		verb.Note(sc.s, "%s of the compiler or the system, with %s, %s left out (--system-headers includes %s)",
			report.Plural(n.Files, "file"), what, is(n.Files), report.Either(uint64(n.Files), "it", "them"))
	}
	if n := len(sc.library); n > 0 {
		verb.Note(sc.s, "%s of the C++ library %s counted: which files functions are of is known with debug information alone (--debug)",
			report.Plural(n, "function"), is(n))
	}
	if n := sc.excluded; n != (coverage.Excluded{}) {
		what := ""
		add := func(n int, one string) {
			if n > 0 {
				if what != "" {
					what += ", "
				}
				what += report.Plural(n, one)
			}
		}
		add(n.Lines, "line")
		add(n.Functions, "function")
		if n.Branches > 0 {
			add(n.Branches, "way")
			what += " of branches"
		}
		verb.Note(sc.s, "%s of %s %s excluded by markers in the source (--no-markers) or by patterns",
			what, report.Plural(len(sc.touched), "file"), is(n.Lines+n.Functions+n.Branches))
	}
	if sc.unread > 0 {
		verb.Note(sc.s, "%s %s not searched for markers that exclude lines: %s (--prefix-map names another place)",
			report.Plural(sc.unread, "source file"), report.Either(uint64(sc.unread), "was", "were"), sc.missing)
	}
}
