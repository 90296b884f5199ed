//go:build linux && amd64

package oracle

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// stateSample is a set of small programs. Their states of lines and functions are compared together.
type stateSample struct {
	name     string
	files    []txtar.File
	programs []sampleProgram
}

type sampleProgram struct {
	name    string
	sources []string
}

// lineStates are the lines and functions of which something says that they ran or did not.
type lineStates struct {
	lines   map[sourceLine]bool
	funcs   map[sourceFunc]bool
	unknown []sourceLine
}

// sourceFunc is a function of a file, by its mangled name.
type sourceFunc struct{ file, name string }

// TestStates compares the states of lines and functions of small programs with gcov, which counts in the source
// without optimisation, and after every call. The comment of a sample has a line for each program, with its sources.
func TestStates(t *testing.T) {
	t.Parallel()
	mustHave(t, "gcov")
	files, err := filepath.Glob("testdata/states/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, file := range files {
		s := readSample(t, file)
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			truth := s.gcov(t)
			for i, v := range []variant{{"gcc", "-O0"}, {"clang-22", "-O0"}, {"gcc", "-O2"}, {"clang-22", "-O2"}, {"gcc", "-O2 -flto"}, {"clang-22", "-O2 -flto -fuse-ld=lld"}, {"gcc", "-Og"}} {
				t.Run(v.compiler+v.flags, func(t *testing.T) {
					if i > 2 {
						skipLong(t)
					}
					t.Parallel()
					mustHave(t, v.compiler)
					s.judge(t, truth, s.covered(t, v), v)
				})
			}
		})
	}
}

func readSample(t *testing.T, file string) *stateSample {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &stateSample{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), files: archive.Files}
	for line := range strings.Lines(string(archive.Comment)) {
		name, sources, ok := strings.Cut(line, ": ")
		if ok && !strings.HasPrefix(line, "#") {
			s.programs = append(s.programs, sampleProgram{name, strings.Fields(sources)})
		}
	}
	return s
}

// unpack writes the sources to a directory of the test.
func (s *stateSample) unpack(t *testing.T) string {
	t.Helper()
	dir := realPath(t.TempDir())
	for _, f := range s.files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// driver is the command that compiles a program's language.
func (p *sampleProgram) driver(compiler string) string {
	if !strings.HasSuffix(p.sources[0], ".cc") {
		return compiler
	}
	return strings.NewReplacer("gcc", "g++", "clang", "clang++").Replace(compiler)
}

// exits runs a program that may end with any status, but by no signal except that of abort.
func exits(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() < 0 && !strings.Contains(err.Error(), "abort")) {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// gcov returns what gcov says of the programs.
func (s *stateSample) gcov(t *testing.T) *lineStates {
	t.Helper()
	got := &lineStates{lines: map[sourceLine]bool{}, funcs: map[sourceFunc]bool{}}
	s.eachGcov(t, func(dir, text string) { got.readGcov(t, dir, text) })
	return got
}

// eachGcov runs the programs and calls visit with what gcov says of each, and the directory of its sources.
func (s *stateSample) eachGcov(t *testing.T, visit func(dir, text string)) {
	t.Helper()
	for _, p := range s.programs {
		dir := s.unpack(t)
		args := append([]string{"-std=gnu++20", "-O0", "-g", "--coverage", "-o", p.name}, p.sources...)
		if p.driver("gcc") == "gcc" {
			args = args[1:]
		}
		cmd := command(t, p.driver("gcc"), args...)
		cmd.Dir = dir
		output(t, cmd)
		cmd = command(t, "./"+p.name)
		cmd.Dir = dir
		exits(t, cmd)
		counts, err := filepath.Glob(filepath.Join(dir, "*.gcda"))
		if err != nil || len(counts) == 0 {
			t.Fatalf("gcov has no counts of the run: %v", err)
		}
		cmd = command(t, "gcov", append([]string{"--json-format", "--branch-probabilities", "--stdout"}, counts...)...)
		cmd.Dir = dir
		visit(dir, output(t, cmd))
	}
}

// readGcov adds the JSON of gcov. Names of files are relative to dir.
func (l *lineStates) readGcov(t *testing.T, dir, text string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	for {
		var report struct {
			Files []struct {
				File      string
				Functions []struct {
					Name  string
					Count uint64 `json:"execution_count"`
				}
				Lines []struct {
					Number int    `json:"line_number"`
					Count  uint64 `json:"count"`
				}
			}
		}
		if err := d.Decode(&report); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Files {
			if filepath.IsAbs(f.File) && !strings.HasPrefix(f.File, dir) {
				continue // of the system
			}
			name := within(dir, f.File)
			for _, fn := range f.Functions {
				k := sourceFunc{name, fn.Name}
				l.funcs[k] = l.funcs[k] || fn.Count > 0
			}
			for _, n := range f.Lines {
				at := sourceLine{name, n.Number}
				l.lines[at] = l.lines[at] || n.Count > 0
			}
		}
	}
}

// within returns the name of a file relative to dir.
func within(dir, file string) string { return strings.TrimPrefix(strings.TrimPrefix(file, dir), "/") }

// covered returns what covered says of the programs, which are merged into one profile.
func (s *stateSample) covered(t *testing.T, v variant) *lineStates {
	t.Helper()
	run := s.run(t, v)
	got := &lineStates{lines: map[sourceLine]bool{}, funcs: map[sourceFunc]bool{}}
	got.readTracefile(t, run("--lcov"))
	got.readUnknown(run("--lines", "--unknown"))
	return got
}

// readUnknown adds the unknown lines of files that have relative names.
func (l *lineStates) readUnknown(text string) {
	for line := range strings.Lines(text) {
		file, lines, ok := strings.Cut(strings.TrimSpace(line), ":")
		from, to, more := strings.Cut(lines, "-")
		if !more {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if !ok || err != nil || err2 != nil || filepath.IsAbs(file) {
			continue
		}
		for n := first; n <= last; n++ {
			l.unknown = append(l.unknown, sourceLine{file, n})
		}
	}
}

// tracefile returns the tracefile of the programs.
func (s *stateSample) tracefile(t *testing.T, v variant) string {
	t.Helper()
	return s.run(t, v)("--lcov")
}

// run builds and runs the programs, and returns the command covered for their profile, with arguments.
func (s *stateSample) run(t *testing.T, v variant) func(args ...string) string {
	t.Helper()
	dir := s.unpack(t)
	merge := []string{"merge", "--strict", "-o", "all.mip"}
	ask := []string{"covered", "-p", "all.mip"}
	for _, p := range s.programs {
		args := []string{"cc", "--mode", "block", p.driver(v.compiler), "-g", "-o", p.name}
		if p.driver("gcc") == "g++" {
			args = append(args, "-std=gnu++20")
		}
		cmd := command(t, cairn, append(append(args, strings.Fields(v.flags)...), p.sources...)...)
		cmd.Dir = dir
		output(t, cmd)
		cmd = command(t, "./"+p.name)
		cmd.Dir, cmd.Env = dir, append(cmd.Env, "CAIRN_DIR="+filepath.Join(dir, "raws"))
		exits(t, cmd)
		merge, ask = append(merge, p.name), append(ask, "--debug", p.name)
	}
	ask = append(ask, "--prefix-map", dir+"=.")
	run := func(args ...string) string {
		cmd := command(t, cairn, args...)
		cmd.Dir = dir
		return output(t, cmd)
	}
	run(append(merge, "raws")...)
	return func(args ...string) string { return run(append(ask, args...)...) }
}

// readTracefile adds the files of an lcov tracefile that have relative names.
func (l *lineStates) readTracefile(t *testing.T, text string) {
	t.Helper()
	for at, ran := range readLCOV(t, text) {
		if !filepath.IsAbs(at.file) {
			l.lines[at] = ran
		}
	}
	file := ""
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		if name, ok := strings.CutPrefix(s.Text(), "SF:"); ok {
			file = name
		}
		if rest, ok := strings.CutPrefix(s.Text(), "FNDA:"); ok && !filepath.IsAbs(file) {
			runs, name, _ := strings.Cut(rest, ",")
			l.funcs[sourceFunc{file, name}] = l.funcs[sourceFunc{file, name}] || runs != "0"
		}
	}
}

// text returns a line of a source.
func (s *stateSample) text(at sourceLine) string {
	for _, f := range s.files {
		if f.Name == at.file {
			return strings.TrimSpace(strings.Split(string(f.Data), "\n")[at.line-1])
		}
	}
	return ""
}

// judge compares what covered says with gcov. Without optimisation nothing is unknown, and functions and lines are
// the same. What compilers add to the end of a block, such as destructors, differs. Lines with the comment "lost" may be
// unknown, if gcc compiled them.
func (s *stateSample) judge(t *testing.T, truth, got *lineStates, v variant) {
	t.Helper()
	plain := v.flags == "-O0"
	told := 0
	if len(got.lines) == 0 {
		t.Errorf("covered says nothing of the files")
	}
	for at, ran := range truth.lines {
		if v.compiler != "gcc" && strings.HasPrefix(s.text(at), "}") {
			continue
		}
		is, known := got.lines[at]
		if known && is && !ran && !plain && s.name != "left" && s.name != "moved" {
			t.Logf("%s:%d: an optimiser runs code of it ahead of a test", at.file, at.line)
		} else if known && is != ran {
			t.Errorf("%s:%d: ran is %v, and covered says %v", at.file, at.line, ran, is)
		}
		if known {
			told++
		}
	}
	for fn, ran := range truth.funcs {
		is, known := got.funcs[fn]
		if known && is != ran && (plain || ran || s.name == "moved") || plain && !known {
			t.Errorf("%s: %s: ran is %v, and covered says %v (known: %v)", fn.file, fn.name, ran, is, known)
		}
	}
	if plain {
		for _, at := range got.unknown {
			lost := v.compiler == "gcc" && strings.HasSuffix(s.text(at), "// lost")
			if !lost && (v.compiler == "gcc" || !strings.HasPrefix(s.text(at), "}")) {
				t.Errorf("%s:%d is unknown", at.file, at.line)
			}
		}
		// The name of a function and the brace after it have one line of code together.
		if told < len(truth.lines)*2/3 {
			t.Errorf("%d of %d lines of gcov are there", told, len(truth.lines))
		}
	}
	t.Logf("%d of %d lines of gcov are known, %d of covered, %d ranges unknown", told, len(truth.lines), len(got.lines), len(got.unknown))
}
