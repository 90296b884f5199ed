package coverage

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tracefile is a file of a tracefile, as lcov 2 reads it.
type tracefile struct {
	lines  []int // ascending
	hits   map[int]int
	starts map[int]*traceFunc
	names  map[string]*traceFunc
}

type traceFunc struct {
	name      string
	line, end int // end is 0 if it is not known
	hits      int
}

// readTracefile reads one file as lcov 2.0 to 2.5 do (lcovutil.pm: _read_info, and define_function and
// add_count of FunctionMap), and fails where they do.
func readTracefile(text string) (*tracefile, error) {
	f := &tracefile{hits: map[int]int{}, starts: map[int]*traceFunc{}, names: map[string]*traceFunc{}}
	for _, row := range strings.Split(text, "\n") {
		key, rest, _ := strings.Cut(row, ":")
		switch key {
		case "DA":
			at, hits, _ := strings.Cut(rest, ",")
			line, _ := strconv.Atoi(at)
			n, _ := strconv.Atoi(hits)
			f.lines = append(f.lines, line)
			f.hits[line] += n
		case "FN":
			if err := f.function(rest); err != nil {
				return nil, err
			}
		case "FNDA":
			hits, name, _ := strings.Cut(rest, ",")
			fn := f.names[name]
			if fn == nil {
				return nil, fmt.Errorf("unknown function '%s'", name)
			}
			n, _ := strconv.Atoi(hits)
			fn.hits += n
		}
	}
	slices.Sort(f.lines)
	return f, nil
}

// function reads what follows FN:.
func (f *tracefile) function(rest string) error {
	at, name, _ := strings.Cut(rest, ",")
	line, _ := strconv.Atoi(at)
	end := 0
	if number, tail, ok := strings.Cut(name, ","); ok {
		if n, err := strconv.Atoi(number); err == nil {
			end, name = n, tail
		}
	}
	if fn := f.names[name]; fn != nil && fn.line != line {
		return fmt.Errorf("duplicate function '%s' starts on line %d but previous definition started on %d", name, line, fn.line)
	}
	fn := f.starts[line]
	switch {
	case fn == nil:
		fn = &traceFunc{name: name, line: line, end: end}
		f.starts[line] = fn
	case fn.end != end:
		return fmt.Errorf("mismatched end line for %s at %d: %d -> %d", name, line, fn.end, end)
	}
	f.names[name] = fn
	return nil
}

// sorted returns the functions, ascending by line.
func (f *tracefile) sorted() (list []*traceFunc) {
	for _, fn := range f.starts {
		list = append(list, fn)
	}
	slices.SortFunc(list, func(a, b *traceFunc) int { return a.line - b.line })
	return list
}

// derive is _deriveFunctionEndLines.
func (f *tracefile) derive() error {
	funcs, lines, at := f.sorted(), f.lines, 0
	if len(lines) > 0 {
		at, lines = lines[0], lines[1:]
	}
next:
	for i, fn := range funcs {
		for fn.line > at {
			if len(lines) == 0 {
				if fn.end == 0 {
					return fmt.Errorf("function %s found on line %d but no corresponding 'line' coverage data point", fn.name, fn.line)
				}
				continue next
			}
			if lines[0] > fn.line {
				break
			}
			at, lines = lines[0], lines[1:]
		}
		if fn.end != 0 {
			continue
		}
		switch {
		case len(lines) > 0 && i+1 < len(funcs):
			for len(lines) > 0 && lines[0] < funcs[i+1].line {
				at, lines = lines[0], lines[1:]
			}
		case len(lines) > 0:
			at = lines[len(lines)-1]
		}
		if at < fn.line {
			return fmt.Errorf("function %s end line %d less than start line %d", fn.name, at, fn.line)
		}
		fn.end = at
	}
	return nil
}

// check is _checkConsistency.
func (f *tracefile) check() error {
	lines, at := f.lines, 0
	if len(lines) > 0 {
		at, lines = lines[0], lines[1:]
	}
	for _, fn := range f.sorted() {
		for fn.line > at {
			if len(lines) == 0 {
				return fmt.Errorf("line %d: file linecov does not match function cov data", fn.line)
			}
			at, lines = lines[0], lines[1:]
		}
		hit := false
		for fn.end >= at {
			if f.hits[at] > 0 {
				if hit = true; fn.hits == 0 {
					return fmt.Errorf("line %d: function '%s' is not hit but line %d is", fn.line, fn.name, at)
				}
				break
			}
			if len(lines) == 0 {
				break
			}
			at, lines = lines[0], lines[1:]
		}
		if fn.hits > 0 && !hit {
			return fmt.Errorf("line %d: function '%s' is hit but no contained lines are hit", fn.line, fn.name)
		}
	}
	return nil
}

// checkTracefile checks a tracefile of one source file by the rules of lcov 2.
func checkTracefile(text string) error {
	f, err := readTracefile(text)
	if err != nil {
		return err
	}
	for _, fn := range f.sorted() {
		if _, ok := f.hits[fn.line]; !ok { // 2.0 to 2.2 cannot derive an end line then
			return fmt.Errorf("unexpected category UNK for line %d", fn.line)
		}
	}
	if err := f.derive(); err != nil {
		return err
	}
	return f.check()
}

// TestRulesOfLCOV checks that the rules reject what genhtml 2 rejects.
func TestRulesOfLCOV(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"FN:1,f\nFNDA:1,f\nDA:1,1\nDA:2,0", ""},
		{"FN:1,f\nFNDA:0,f\nDA:1,0\nDA:2,1", "not hit but line 2 is"},
		{"FN:1,f\nFNDA:1,f\nDA:1,0\nDA:2,0", "hit but no contained lines"},
		{"FN:3,f\nFNDA:0,f\nDA:1,0\nDA:2,0", "category UNK for line 3"},
		{"FN:1,f\nFN:4,g\nFNDA:1,f\nFNDA:0,g\nDA:1,1\nDA:4,0", ""},
		{"FN:2,f\nFN:4,g\nFNDA:0,f\nFNDA:0,g\nDA:1,0\nDA:5,0", "category UNK for line 2"},
		{"FN:1,9,f\nFN:4,g\nFNDA:0,f\nFNDA:1,g\nDA:1,0\nDA:4,1", "'f' is not hit but line 4 is"},
		{"FN:1,f\nFN:4,f\nDA:1,0\nDA:5,0", "duplicate function"},
		{"FN:1,f\nFN:1,3,g\nDA:1,0", "mismatched end line"},
		{"FNDA:0,f", "unknown function"},
		{"FN:1,f\nFN:3,3,l\nFNDA:1,f\nFNDA:0,l\nDA:1,1\nDA:3,0\nDA:4,1", ""},
		{"FN:1,f\nFN:3,l\nFNDA:1,f\nFNDA:0,l\nDA:1,1\nDA:3,0\nDA:4,1", "'l' is not hit but line 4 is"},
	} {
		got := ""
		if err := checkTracefile(c.text); err != nil {
			got = err.Error()
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// anyFile draws a source file, with functions in functions, on one line, of one name, and without
// lines.
func anyFile(t *rapid.T) *SourceFile {
	f := &SourceFile{File: "a.c"}
	for n := 1; n < 24; n++ {
		switch s := State(rapid.IntRange(0, 4).Draw(t, "state")); s {
		case Ran:
			f.Lines = append(f.Lines, Line{n, Ran, 1, 0})
		case Missed, Unknown:
			f.Lines = append(f.Lines, Line{n, s, 0, 0})
		}
	}
	set := sourceFuncs{}
	for range rapid.IntRange(0, 8).Draw(t, "functions") {
		line := rapid.IntRange(1, 26).Draw(t, "line")
		set.add(SourceFunc{
			Name: string(rapid.ByteRange('a', 'e').Draw(t, "name")), Line: line, End: line + rapid.IntRange(0, 9).Draw(t, "more"),
			Runs: uint64(rapid.IntRange(0, 1).Draw(t, "runs")),
		})
	}
	f.Funcs = set.list()
	return f
}

// TestLCOVIsConsistent checks that lcov 2 accepts every tracefile, and that lcov 1 reads the same
// functions if none of them has an end line.
func TestLCOVIsConsistent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := anyFile(t)
		var b bytes.Buffer
		unlisted, err := WriteLCOV(&b, []SourceFile{*f})
		if err != nil {
			t.Fatal(err)
		}
		if err := checkTracefile(b.String()); err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
		if n := strings.Count(b.String(), "\nFNDA:"); n+unlisted.Functions != len(f.Funcs) {
			t.Fatalf("%d functions listed and %d not, of %d", n, unlisted.Functions, len(f.Funcs))
		}
	})
}

// TestLCOVFuncs checks which functions are listed, and how.
func TestLCOVFuncs(t *testing.T) {
	t.Parallel()
	ran := func(lines ...int) (list []Line) {
		for _, n := range lines {
			if n < 0 {
				list = append(list, Line{-n, Missed, 0, 0})
			} else {
				list = append(list, Line{n, Ran, 1, 0})
			}
		}
		return list
	}
	for _, c := range []struct {
		name     string
		funcs    []SourceFunc
		lines    []Line
		want     []lcovFunc
		unlisted int
	}{
		{"one after the other", []SourceFunc{{Name: "f", Line: 1, End: 3, Runs: 1}, {Name: "g", Line: 5, End: 7, Runs: 0}}, ran(1, 2, -3, -5, -7), []lcovFunc{{"f", 1, 0, 1}, {"g", 5, 0, 0}}, 0},
		{"no lines", []SourceFunc{{Name: "f", Line: 1, End: 3, Runs: 1}, {Name: "g", Line: 5, End: 7, Runs: 0}}, ran(1, 2), []lcovFunc{{"f", 1, 0, 1}}, 1},
		{"a lambda that did not run", []SourceFunc{{Name: "f", Line: 1, End: 9, Runs: 1}, {Name: "l", Line: 4, End: 6, Runs: 0}}, ran(1, 4, -5, -6, 7), []lcovFunc{{"f", 1, 0, 1}, {"l", 5, 6, 0}}, 0},
		{"a lambda on a line that ran", []SourceFunc{{Name: "f", Line: 1, End: 9, Runs: 1}, {Name: "l", Line: 4, End: 4, Runs: 0}}, ran(1, 4, 7), []lcovFunc{{"f", 1, 0, 1}}, 1},
		{"a lambda that ran", []SourceFunc{{Name: "f", Line: 1, End: 9, Runs: 1}, {Name: "l", Line: 4, End: 6, Runs: 1}}, ran(1, 4, 5, -7), []lcovFunc{{"f", 1, 0, 1}, {"l", 4, 0, 1}}, 0},
		{"one name twice", []SourceFunc{{Name: "f", Line: 1, End: 2, Runs: 1}, {Name: "f", Line: 4, End: 5, Runs: 0}}, ran(1, -4), []lcovFunc{{"f", 1, 0, 1}, {"f.2", 4, 0, 0}}, 0},
		{"templates", []SourceFunc{{Name: "f<int>", Line: 1, End: 2, Runs: 1}, {Name: "f<char>", Line: 1, End: 2, Runs: 0}}, ran(1, 2), []lcovFunc{{"f<int>", 1, 0, 1}, {"f<char>", 1, 0, 0}}, 0},
	} {
		got, unlisted := lcovFuncs(&SourceFile{Funcs: c.funcs, Lines: c.lines})
		if !slices.Equal(got, c.want) || unlisted != c.unlisted {
			t.Errorf("%s: %v and %d, want %v and %d", c.name, got, unlisted, c.want, c.unlisted)
		}
	}
}

// TestGenhtml runs the installed genhtml on drawn files.
func TestGenhtml(t *testing.T) {
	t.Parallel()
	genhtml, err := exec.LookPath("genhtml")
	if err != nil {
		t.Skip("lcov is not installed")
	}
	dir := t.TempDir()
	var files []SourceFile
	for i := range 40 {
		f := rapid.Custom(anyFile).Example(i)
		f.File = filepath.Join(dir, fmt.Sprintf("%d.c", i))
		if err := os.WriteFile(f.File, []byte(strings.Repeat("x;\n", 40)), 0o666); err != nil {
			t.Fatal(err)
		}
		if len(f.Lines) > 0 {
			files = append(files, *f)
		}
	}
	var b bytes.Buffer
	if _, err := WriteLCOV(&b, files); err != nil {
		t.Fatal(err)
	}
	info := filepath.Join(dir, "all.info")
	if err := os.WriteFile(info, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(genhtml, "--quiet", "--output-directory", filepath.Join(dir, "html"), info).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
