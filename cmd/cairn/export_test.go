package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// goProgram has a function heavy whose body is too expensive for the compiler to inline, unless
// a profile says that it is hot.
const goProgram = `package main

import "os"

type table struct{ cells [64]int }

//go:noinline
func (t *table) drive(n int) int {
	s := 0
	for i := range n {
		s += t.heavy(i)
	}
	return s
}

func (t *table) heavy(n int) int {
	s := n
	for i := range t.cells {
		if t.cells[i]&1 == 0 {
			s += t.cells[i] * n
		} else {
			s ^= t.cells[i] << 2
		}
		t.cells[i] = s & 0xff
		if s > 1000 {
			s -= len(os.Args)
		}
		if s < -1000 {
			s = n*3 + len(os.Args)
		}
	}
	for i := range t.cells {
		s += t.cells[i] % 7
		if s&3 == 0 {
			s += t.cells[(i*5)&63] - t.cells[(i*3)&63]
		}
	}
	return s
}

func main() {
	var t table
	if t.drive(1000) == 0 {
		println("zero")
	}
}
`

// TestExportGoPGO makes a profile of a Go program as a tracer would, with one
// caller, and gives it to the Go compiler: it inlines the call that is hot.
func TestExportGoPGO(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeTestFile(t, filepath.Join(dir, "main.go"), []byte(goProgram))
	writeTestFile(t, filepath.Join(dir, "go.mod"), []byte("module example.org/hot\n\ngo 1.26\n"))
	build := func(args ...string) string {
		t.Helper()
		// Without -trimpath the profile, and with it every package built by
		// it, would be another each time.
		cmd := exec.Command("go", append([]string{"build", "-trimpath"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go build %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	const inlines = "inlining call to (*table).heavy"
	if out := build("-o", "app", "-pgo=off", "-gcflags=-m"); strings.Contains(out, inlines) {
		t.Fatalf("inlined without a profile:\n%s", out)
	}
	app, profile, pgo := filepath.Join(dir, "app"), filepath.Join(dir, "app.mip"), filepath.Join(dir, "default.pgo")
	writeTestProfile(t, profile, hotModule(t, app, "main.(*table).drive", "main.(*table).heavy"))

	var errs bytes.Buffer
	s := verb.Streams{In: os.Stdin, Out: &errs, Err: &errs}
	if code := execute(context.Background(), []string{"cairn", "export", "-p", profile, "--format", "pgo", "--binary", app, "-o", pgo}, s); code != 0 {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	out := build("-o", "hot", "-gcflags=-m -d=pgodebug=1")
	for _, want := range []string{inlines, "hot-budget check allows inlining for call main.(*table).heavy", "hot-node enabled increased budget"} {
		if !strings.Contains(out, want) {
			t.Errorf("the compiler does not say %q:\n%s", want, out)
		}
	}
	top, err := exec.Command("go", "tool", "pprof", "-top", pgo).CombinedOutput()
	if err != nil || !strings.Contains(string(top), "1000 99.90% 99.90%       1000 99.90%  main.(*table).heavy") {
		t.Errorf("go tool pprof: %v\n%s", err, top)
	}
}

// hotModule returns a profile of the binary at path: caller ran once, and
// callee in a thousand runs, each time called from caller.
func hotModule(t *testing.T, path, caller, callee string) *prof.Module {
	t.Helper()
	f, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mp, err := f.FunctionMap()
	if err != nil {
		t.Fatal(err)
	}
	code, err := f.Code()
	if err != nil {
		t.Fatal(err)
	}
	m := &prof.Module{Map: *mp, Raws: 1000, Counts: make([]prof.Counts, len(mp.Funcs))}
	from, to := -1, -1
	for i := range mp.Funcs {
		switch mp.Funcs[i].Name {
		case caller:
			from = i
		case callee:
			to = i
		}
	}
	if from < 0 || to < 0 {
		t.Fatalf("%s: %s is %d, %s is %d", path, caller, from, callee, to)
	}
	var back uint64
	lo := mp.Funcs[from].Addr()
	body := code.Bytes(lo, lo+mp.Funcs[from].Size())
	for i := 0; i+5 <= len(body); i++ {
		next := lo + uint64(i) + 5
		if body[i] == 0xe8 && next+uint64(int64(int32(binary.LittleEndian.Uint32(body[i+1:])))) == mp.Funcs[to].Addr() {
			back = next
		}
	}
	if back == 0 {
		t.Fatalf("%s does not call %s", caller, callee)
	}
	m.Counts[from] = prof.Counts{Runs: 1}
	m.Counts[to] = prof.Counts{Runs: 1000, Callers: []prof.Site{{Addr: back, Runs: 1000}}}
	return m
}

func writeTestProfile(t *testing.T, path string, m *prof.Module) {
	t.Helper()
	var b bytes.Buffer
	if err := mip.WriteProfile(&b, &prof.Profile{Modules: []prof.Module{*m}}); err != nil {
		t.Fatal(err)
	}
	writeTestFile(t, path, b.Bytes())
}
