//go:build !cairn

package mark

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestTagged runs the tests that need the build tag.
func TestTagged(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	runs := [][]string{{"test", "-count=1", "-tags", "cairn", "."}}
	if _, err := exec.LookPath("gcc"); err == nil {
		runs = append(runs, []string{"test", "-count=1", "-race", "-tags", "cairn", "."})
	}
	for _, args := range runs {
		// The tests sleep and time it. A host that stalls makes spikes of its own.
		var out []byte
		var err error
		for range 3 {
			if out, err = exec.Command("go", args...).CombinedOutput(); err == nil {
				break
			}
			t.Logf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		if err != nil {
			t.Errorf("go %s: %v", strings.Join(args, " "), err)
		}
	}
}

// exported returns the exported declarations, with their comments, of the files
// that are built with or without the tag.
func exported(t *testing.T, tagged bool) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	found := map[string]string{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		expr, err := constraint.Parse(first)
		if strings.HasSuffix(name, "_test.go") || err != nil || expr.Eval(func(tag string) bool {
			return tag == "cairn" && tagged || tag == "gc" || tag == "amd64"
		}) == false || strings.Contains(first, "cairn") == false {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.IsExported() {
				var b strings.Builder
				signature := *fn
				signature.Body, signature.Doc = nil, nil
				if err := printer.Fprint(&b, fset, &signature); err != nil {
					t.Fatal(err)
				}
				found[b.String()] = fn.Doc.Text()
			}
		}
	}
	return found
}

// TestSameAPI checks that the package has the same declarations and documentation with and
// without the tag.
func TestSameAPI(t *testing.T) {
	t.Parallel()
	with, without := exported(t, true), exported(t, false)
	if len(without) < 20 {
		t.Fatalf("%d functions", len(without))
	}
	for _, name := range slices.Sorted(maps.Keys(without)) {
		if doc, ok := with[name]; !ok || doc != without[name] {
			t.Errorf("%s: in both builds %v, docs %q and %q", name, ok, doc, without[name])
		}
	}
	if len(with) != len(without) {
		t.Errorf("%d functions with the tag, %d without", len(with), len(without))
	}
}

// marked uses every verb of the package. bare is the same code without marks.
const marked = `package main

import (
	"os"
	"strconv"
	"time"

	"github.com/cairnprof/cairn/mark"
)

var ai = mark.Channel("ai")

//go:noinline
func work(n int) int {
	s := mark.Func()
	s.Threshold(time.Second)
	s.ChildrenThreshold(time.Second)
	s.ParentsThreshold(time.Second)
	s.Desc(func() string { return strconv.Itoa(n) })
	s.OverTime(func() string { return strconv.Itoa(n) })
	s.If(n > 1).Ignore()
	s.IgnoreChildren()
	s.Active(false)
	s.Label("worker")
	part := mark.If(ai.On()).Section("part")
	pause := mark.Pause()
	mark.Frame()
	mark.Snapshot()
	n *= 3
	pause.Resume()
	part.End()
	s.End()
	return n
}

func main() {
	mark.SetThreshold(time.Second)
	mark.OnSpike(func(s *mark.Spike) { println(s.Name) })
	os.Exit(work(len(os.Args)))
}
`

// TestNothingIsLeft checks that without the tag a marked function has the code of one without
// marks, and the program contains nothing of the package.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	bare := `package main

import "os"

//go:noinline
func work(n int) int {
	n *= 3
	return n
}

func main() { os.Exit(work(len(os.Args))) }
`
	var code []string
	for _, source := range []string{marked, bare} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "main.go"), source)
		write(t, filepath.Join(dir, "go.mod"), "module example.org/game\n\ngo 1.26\n\n"+
			"require github.com/cairnprof/cairn v0.0.0\n\nreplace github.com/cairnprof/cairn => "+root+"\n")
		run(t, dir, "go", "build", "-mod=mod", "-o", "game", ".")
		if symbols := run(t, dir, "go", "tool", "nm", "game"); strings.Contains(symbols, "cairn/mark.") {
			t.Errorf("the program has symbols of package mark:\n%s", grep(symbols, "cairn/mark."))
		}
		var instructions []string
		for line := range strings.Lines(run(t, dir, "go", "tool", "objdump", "-s", "^main.work$", "game")) {
			if f := strings.Fields(line); len(f) > 3 && strings.HasPrefix(f[0], "main.go:") {
				instructions = append(instructions, strings.Join(f[2:], " "))
			}
		}
		code = append(code, strings.Join(instructions, "\n"))
	}
	if code[0] != code[1] || code[0] == "" {
		t.Errorf("with marks:\n%s\nwithout:\n%s", code[0], code[1])
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func grep(text, what string) string {
	var found []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, what) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "")
}

// BenchmarkOff measures the cost of marks without the tag, which is that of defer.
func BenchmarkOff(b *testing.B) {
	b.Run("plain", func(b *testing.B) {
		for i := range b.N {
			plain(i)
		}
	})
	b.Run("End", func(b *testing.B) {
		for i := range b.N {
			ended(i)
		}
	})
	b.Run("deferred", func(b *testing.B) {
		for i := range b.N {
			deferred(i)
		}
	})
}

//go:noinline
func plain(n int) int { return n * 3 }

//go:noinline
func ended(n int) int {
	s := Func()
	s.Threshold(time.Second)
	n *= 3
	s.End()
	return n
}

//go:noinline
func deferred(n int) int {
	s := Func()
	defer s.End()
	return n * 3
}
