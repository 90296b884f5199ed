package gobuild_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cairnprof/cairn/format/golines"
	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/gobuild/elfimage"
	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/prof"
)

var real = flag.Bool("real", false, "build real programs from the module proxy")

// guest is a real program with something for it to do.
type guest struct {
	module, version, pkg string
	args                 []string // @FILE is a file of the module
	input                string
}

var guests = []guest{
	{"github.com/itchyny/gojq", "v0.12.17", "./cmd/gojq", []string{"-n", `[range(3000) | {a: ., b: (. * 2 | tostring)}] | map(select(.a % 7 == 0)) | group_by(.a % 3) | map(length)`}, ""},
	{"mvdan.cc/sh/v3", "v3.12.0", "./cmd/shfmt", []string{"-i", "2"}, "if true; then for i in 1 2 3; do echo \"$i\" | cat; done; fi\ncase $x in a) f ;; *) g; esac\n"},
	{"github.com/evanw/esbuild", "v0.28.2", "./cmd/esbuild", []string{"--minify", "--bundle", "--format=esm", "--loader=ts", "--outdir=out", "--entry-names=[hash]", "--log-level=error"}, "class A<T> { private x: T[] = []; get y() { return this.x?.length ?? 0 } }\nexport const f = async (a: number) => { for await (const b of g(a)) console.log(`${b}`) }\n"},
	{"github.com/junegunn/fzf", "v0.65.2", ".", []string{"--filter=mai", "--no-sort"}, "main.go\nmail\nother\nmmaaii\n"},
	{"github.com/mikefarah/yq/v4", "v4.47.2", ".", []string{"-P", "--no-colors", `.a[] |= (select(.b > 1) | .c = (.b * 2)) | .d = (.a | map(.b) | sort | join("-")) | .e = (.a | to_entries | length) | sort_keys(..)`}, "# yaml\na:\n  - b: 1\n    x: &k [1, 2]\n  - b: 3\n    x: *k\n  - b: 2 # two\nt: 2001-12-14t21:59:43.10-05:00\n"},
}

// builtDir has the programs that several tests start, once one is built.
var builtDir string

var sharedDir = sync.OnceValues(func() (dir string, err error) {
	builtDir, err = os.MkdirTemp("", "cairn-real-")
	return builtDir, err
})

var cairnProgram = sync.OnceValues(func() (string, error) {
	dir, err := sharedDir()
	if err != nil {
		return "", err
	}
	return shorttest.Cairn(dir)
})

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if builtDir != "" {
		os.RemoveAll(builtDir)
	}
	os.Exit(code)
}

// fetch returns a copy of a module's sources.
func fetch(t *testing.T, module, version string) string {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-json", module+"@"+version).Output()
	if err != nil {
		t.Skipf("%s@%s cannot be downloaded: %v", module, version, err)
	}
	var info struct{ Dir string }
	if err := json.Unmarshal(out, &info); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(info.Dir)); err != nil {
		t.Fatal(err)
	}
	// Files of the module cache may not be written to.
	if out, err := exec.Command("chmod", "-R", "u+w", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// do runs a command and returns its standard output.
func do(t *testing.T, dir, input string, env []string, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir, c.Stdin, c.Env = dir, strings.NewReader(input), append(os.Environ(), env...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// nameOf returns the last element of a module's path that is not its major version.
func nameOf(module string) string {
	return path.Base(regexp.MustCompile(`/v[0-9]+$`).ReplaceAllString(module, ""))
}

// place is where a function is declared.
type place struct {
	file string
	line int
}

// TestRealCounts compares counts of calls with those of go build -covermode=atomic,
// function by function.
func TestRealCounts(t *testing.T) {
	compareReal(t, "atomic", prof.ModeCount)
}

// TestRealAtomic does the same with atomic instructions.
func TestRealAtomic(t *testing.T) {
	compareReal(t, "atomic", prof.ModeCount, "--atomic")
}

// TestRealCovered compares which functions ran with what go tool covdata says of go build
// -cover, function by function.
func TestRealCovered(t *testing.T) {
	compareReal(t, "set", prof.ModeCover)
}

// compareReal compares what real programs record in a mode, with more flags of cairn go, with
// Go's own coverage.
func compareReal(t *testing.T, coverMode string, mode prof.Mode, flags ...string) {
	if !*real {
		t.Skip("needs -real")
	}
	cairn, err := cairnProgram()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range guests {
		t.Run(nameOf(g.module), func(t *testing.T) {
			dir := fetch(t, g.module, g.version)
			modulePath := strings.TrimSpace(do(t, dir, "", nil, "go", "list", "-m"))
			covered := filepath.Join(t.TempDir(), "covered")
			do(t, dir, "", nil, "go", "build", "-cover", "-covermode="+coverMode, "-coverpkg="+modulePath+"/...", "-o", covered, g.pkg)
			oracle, want := oracleCounts(t, dir, modulePath, covered, g)

			app, raws := filepath.Join(t.TempDir(), "app"), t.TempDir()
			args := append([]string{"go", "--mode", mode.String()}, flags...)
			do(t, dir, "", nil, cairn, append(args, "build", "-o", app, g.pkg)...)
			if got := do(t, dir, g.input, []string{"CAIRN_DIR=" + raws, bySystemCall}, app, g.args...); got != want {
				t.Errorf("output %q, without probes %q", got, want)
			}
			profile := filepath.Join(t.TempDir(), "app.mip")
			do(t, dir, "", nil, cairn, "merge", "-o", profile, app, raws)
			compareCounts(t, profileCounts(t, dir, app, profile, mode), oracle)
		})
	}
}

// oracleCounts runs a program that was built with -cover, and returns the counts of functions
// and the output. Functions whose counts are not the same in several runs are left out: what
// sorting calls, for one, depends on the order in which a map was ranged over.
func oracleCounts(t *testing.T, dir, modulePath, program string, g guest) (counts map[place]uint64, out string) {
	t.Helper()
	for range 10 {
		covdir, text := t.TempDir(), filepath.Join(t.TempDir(), "cover.txt")
		out = do(t, dir, g.input, []string{"GOCOVERDIR=" + covdir}, program, g.args...)
		do(t, dir, "", nil, "go", "tool", "covdata", "textfmt", "-i="+covdir, "-o="+text)
		again := entryCounts(t, dir, modulePath, text)
		if counts == nil {
			counts = again
		}
		for at, n := range counts {
			if again[at] != n {
				t.Logf("%s:%d: not compared: %d in one run, %d in another", at.file, at.line, n, again[at])
				delete(counts, at)
			}
		}
	}
	return counts, out
}

// compareCounts compares what was recorded of functions.
func compareCounts(t *testing.T, ours, oracle map[place]uint64) {
	t.Helper()
	compared, ran := 0, 0
	for at, n := range ours {
		other, ok := oracle[at]
		if !ok {
			continue // a function without statements
		}
		compared++
		if n > 0 {
			ran++
		}
		if n != other {
			t.Errorf("%s:%d: %d, go build -cover has %d", at.file, at.line, n, other)
		}
	}
	for at, n := range oracle {
		if _, ok := ours[at]; !ok && n > 0 {
			t.Errorf("%s:%d: not in the map, but it ran (%d)", at.file, at.line, n)
		}
	}
	if compared < 100 || ran < 20 {
		t.Errorf("only %d functions were compared, %d of which ran", compared, ran)
	}
	t.Logf("%d functions compared, %d ran", compared, ran)
}

// readImage reads a linked program.
func readImage(t *testing.T, path string) *elfimage.File {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	image, err := elfimage.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// readProfile reads a profile.
func readProfile(t *testing.T, path string) *prof.Profile {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := mip.ReadProfile(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// profileCounts returns the calls of each function, by its declaration; in mode cover 1 for
// those that ran.
func profileCounts(t *testing.T, dir, app, profile string, mode prof.Mode) map[place]uint64 {
	t.Helper()
	lines, err := golines.Read(readImage(t, app).Content(golines.Section))
	if err != nil {
		t.Fatal(err)
	}
	p := readProfile(t, profile)
	counts := map[place]uint64{}
	for i := range p.Modules[0].Funcs {
		f, c := &p.Modules[0].Funcs[i], &p.Modules[0].Counts[i]
		if f.Mode != mode || c.Inexact {
			t.Errorf("%s: mode %s, inexact %v", f.Name, f.Mode, c.Inexact)
		}
		file, line, ok := lines.Entry(f.Addr())
		if !ok {
			t.Errorf("%s: no line", f.Name)
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			t.Fatal(err)
		}
		counts[place{rel, line}] = c.Calls
		if mode == prof.ModeCover {
			counts[place{rel, line}] = min(c.Runs, 1)
		}
	}
	return counts
}

// entryCounts returns the counts of the entry blocks in a text profile of go tool cover.
func entryCounts(t *testing.T, dir, module, path string) map[place]uint64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	blocks := map[string]uint64{} // by file:line.column of their start
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		where, rest, ok := strings.Cut(lines.Text(), ",")
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		n, err := strconv.ParseUint(fields[len(fields)-1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		blocks[strings.TrimPrefix(where, module+"/")] = n
	}
	counts := map[place]uint64{}
	parsed := map[string]bool{}
	for start := range blocks {
		file, _, _ := strings.Cut(start, ":")
		if parsed[file] {
			continue
		}
		parsed[file] = true
		fset := token.NewFileSet()
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil || !strings.HasSuffix(file, ".go") {
			continue // what a line directive names, as the source of a parser
		}
		tree, err := parser.ParseFile(fset, filepath.Join(dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			at := fset.Position(fn.Body.Lbrace)
			if n, ok := blocks[fmt.Sprintf("%s:%d.%d", file, at.Line, at.Column)]; ok {
				counts[place{file, fset.Position(fn.Pos()).Line}] = n
			} else if n, ok := blocks[fmt.Sprintf("%s:%d.%d", file, at.Line, at.Column+1)]; ok {
				counts[place{file, fset.Position(fn.Pos()).Line}] = n
			}
		}
	}
	return counts
}
