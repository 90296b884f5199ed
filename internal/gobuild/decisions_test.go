package gobuild

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/gobuild/rewrite"
	"github.com/cairnprof/cairn/prof"
)

// directives has functions below line directives of each form. Those named small can be
// inlined, also the literals; long cannot.
const directives = `package p

func small0(x int) int { return x + 1 }

//line gram.y:7
func small1(x int) int { return x + 1 }

func long1(f func()) { defer f() }

//line gram.y:70:3
func small2(x int) int { return x + 1 }; func long2(f func()) { defer f() }

//line :90
func long3(f func()) { defer f() }

var x = func() int { return 1 }

//go:noinline
func long4(seq func(func(int) bool)) int {
	for i := range seq {
		if recover() != nil {
			return i
		}
	}
	return 0
}
`

// TestDecisionLines compiles a file with line directives. It checks that the compiler's
// decisions about functions after them are found, and that functions have the lines of the
// directives.
func TestDecisionLines(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "env", "GOTOOLDIR").Output()
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "gram.go")
	if err := os.WriteFile(path, []byte(directives), 0o666); err != nil {
		t.Fatal(err)
	}
	tl := &tool{ctx: t.Context(), path: filepath.Join(strings.TrimSpace(string(out)), "compile"), args: []string{"-o", filepath.Join(dir, "p.o"), "-p", "p", path}}
	inlinable, closures, ok := tl.decisions(filepath.Join(dir, "p.o"))
	if !ok {
		t.Fatal("the compiler fails")
	}
	r := rewrite.New(rewrite.Options{Mode: prof.ModeStacks, Inlinable: inlinable, Closures: closures})
	text, err := r.File(path, []byte(directives))
	if err != nil {
		t.Fatal(err)
	}
	if r.Inlinable != 4 {
		t.Errorf("%d functions can be inlined: %v", r.Inlinable, inlinable)
	}
	want := []struct {
		name string
		line int
		file string
	}{{"long1", 9, "gram.y"}, {"long2", 70, "gram.y"}, {"long3", 90, ""}, {"long4", 95, ""}}
	if len(r.Funcs) != len(want) {
		t.Fatalf("%+v\n%s", r.Funcs, text)
	}
	for i, w := range want {
		if f := r.Funcs[i]; f.Name != w.name || f.Line != w.line || w.file != "" && filepath.Base(f.File) != w.file {
			t.Errorf("%s at %s:%d, want %+v", f.Name, f.File, f.Line, w)
		}
	}
	// A return from the body of a range over a function is a closure's.
	if _, long4, _ := strings.Cut(string(text), "func long4"); !strings.Contains(long4, "defer _cairn_ended(_cairn_enter())") {
		t.Errorf("%s", text)
	}
}
