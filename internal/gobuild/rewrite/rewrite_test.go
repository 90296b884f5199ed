package rewrite

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/golden"
	"github.com/cairnprof/cairn/prof"
)

var variants = []struct {
	name string
	opts Options
}{
	{"cover", Options{Mode: prof.ModeCover}},
	{"block", Options{Mode: prof.ModeBlock}},
	{"count", Options{Mode: prof.ModeCount}},
	{"countown", Options{Mode: prof.ModeCount, Wide: true}},
	{"countarm64", Options{Mode: prof.ModeCount, LoadOnce: true}},
	{"atomic", Options{Mode: prof.ModeCount, Atomic: true}},
	{"order", Options{Mode: prof.ModeOrder}},
	{"race", Options{Mode: prof.ModeCover, Race: true}},
	{"racecount", Options{Mode: prof.ModeCount, Race: true}},
	{"raceorder", Options{Mode: prof.ModeOrder, Race: true}},
	{"spike", Options{Mode: prof.ModeSpike, Inlinable: map[Place]bool{{"timed.go", 7, 6}: true, {"timed.go", 87, 6}: true}, Closures: map[Place]bool{{"timed.go", 90, 2}: true}}},
	{"trace", Options{Mode: prof.ModeTrace, Inlinable: map[Place]bool{{"timed.go", 7, 6}: true, {"timed.go", 87, 6}: true}, Closures: map[Place]bool{{"timed.go", 90, 2}: true}}},
	{"stacks", Options{Mode: prof.ModeStacks, Inlinable: map[Place]bool{{"timed.go", 7, 6}: true, {"timed.go", 87, 6}: true}, Closures: map[Place]bool{{"timed.go", 90, 2}: true}}},
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		name := "all.go"
		if v.opts.Mode.Timed() {
			name = "timed.go"
		}
		src, err := os.ReadFile("testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		r := New(v.opts)
		text, err := r.File("/src/"+name, src)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		fmt.Fprintf(&got, "%s\n-- generated --\n%s-- functions --\n", text, r.Generated("p", true))
		for _, f := range r.Funcs {
			fmt.Fprintf(&got, "%d %s %s:%d generic %v %v %v\n", f.Element, f.Name, f.File, f.Line, f.Generic, f.Blocks, f.Rest)
		}
		for _, s := range r.Skipped {
			fmt.Fprintf(&got, "skipped %s\n", s)
		}
		golden.Compare(t, "testdata/"+v.name+".golden", got.Bytes())
	}
}

// FuzzFile checks that what is rewritten parses, has as many lines, and has the tokens of
// the original in order.
func FuzzFile(f *testing.F) {
	src, err := os.ReadFile("testdata/all.go.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(src)
	if src, err = os.ReadFile("testdata/timed.go.txt"); err != nil {
		f.Fatal(err)
	}
	f.Add(src)
	if src, err = os.ReadFile("testdata/units.go.txt"); err != nil {
		f.Fatal(err)
	}
	f.Add(src)
	f.Add([]byte("package p\nfunc f() (_, a int) { return\n}\nfunc g() (x struct{ n int }) { L: return x }"))
	f.Add([]byte("package p\nfunc f() { return(0) }"))
	f.Add([]byte("package p\nfunc f() { if x { L: for { break L }; return }; go func() {}() }"))
	f.Add([]byte("package p\nfunc f() { switch { case true: fallthrough; default: }; { }; L: { goto L } }"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if bytes.Contains(src, []byte("\n//line")) || bytes.Contains(src, []byte("/*line")) {
			return // lines are what directives say
		}
		fset := token.NewFileSet()
		before, err := parser.ParseFile(fset, "a.go", src, 0)
		if err != nil {
			return
		}
		for _, v := range variants {
			text, err := New(v.opts).File("/a.go", src)
			if err != nil || text == nil {
				continue
			}
			after, err := parser.ParseFile(fset, "a.go", text, 0)
			if err != nil {
				t.Fatalf("%s: %v\n%s", v.name, err, text)
			}
			if a, b := lines(fset, before), lines(fset, after); a != b {
				t.Fatalf("%s: functions at %s, before at %s", v.name, b, a)
			}
			if n := bytes.Count(text, []byte("\n")); n != bytes.Count(src, []byte("\n"))+1 {
				t.Fatalf("%s: %d lines", v.name, n)
			}
		}
	})
}

// lines returns the lines of the declarations of a file.
func lines(fset *token.FileSet, f *ast.File) string {
	var b strings.Builder
	for _, d := range f.Decls {
		fmt.Fprintf(&b, "%d-%d ", fset.Position(d.Pos()).Line, fset.Position(d.End()).Line)
	}
	return b.String()
}
