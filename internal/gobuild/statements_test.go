package gobuild_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/coverprofile/coverprofiletest"
)

// counted are modules with test suites that leave functions and packages out: programs without tests, generic
// functions without instances, cgo.
var counted = []struct {
	module, version string
	least           int // statements
}{
	{"github.com/gorilla/mux", "v1.8.1", 500},
	{"github.com/emirpasic/gods/v2", "v2.0.0-alpha", 3000},
	{"github.com/tdewolff/parse/v2", "v2.8.20", 6000},
	{"github.com/pelletier/go-toml/v2", "v2.2.4", 2800},
	{"github.com/DataDog/zstd", "v1.5.7", 200},
}

// TestRealStatements runs the tests of modules with probes in mode block. What ran is, statement by statement and
// function by function, what go test -coverpkg=./... -coverprofile says, which has zeros for all that no test
// reached; and so are the percentages of go tool cover.
func TestRealStatements(t *testing.T) {
	if !*real {
		t.Skip("needs -real")
	}
	cairn, err := cairnProgram()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range counted {
		t.Run(nameOf(m.module), func(t *testing.T) {
			dir := fetch(t, m.module, m.version)
			tmp := t.TempDir()
			theirs, ours, profile, raws := filepath.Join(tmp, "go.out"), filepath.Join(tmp, "our.out"), filepath.Join(tmp, "t.mip"), filepath.Join(tmp, "raws")
			// Tests may fail without probes as well.
			try(t, dir, nil, "go", "test", "-count=1", "-coverpkg=./...", "-coverprofile="+theirs, "./...")
			try(t, dir, []string{"CAIRN_DIR=" + raws}, cairn, "go", "--mode", "block", "test", "-count=1", "./...")
			do(t, dir, "", nil, cairn, "merge", "-o", profile, raws)
			do(t, dir, "", nil, cairn, "covered", profile, "--debug", raws, "--format", "coverprofile", "-o", ours)
			want, got := coverprofiletest.Ran(t, theirs), coverprofiletest.Ran(t, ours)
			n, wrong := 0, 0
			for _, u := range slices.Sorted(maps.Keys(union(want, got))) {
				w, inGo := want[u]
				g, here := got[u]
				if w != g || inGo != here {
					if wrong++; wrong < 20 {
						t.Errorf("%s: ran %v (listed %v), go test -coverprofile has %v (%v)", u, g, here, w, inGo)
					}
				}
				statements, err := strconv.Atoi(u[strings.LastIndexByte(u, ' ')+1:])
				if err != nil {
					t.Fatal(err)
				}
				n += statements
			}
			if wrong > 0 || n < m.least {
				t.Errorf("%d of %d units differ, of %d statements", wrong, len(want), n)
			}
			table := do(t, dir, "", nil, "go", "tool", "cover", "-func", theirs)
			if here := do(t, dir, "", nil, "go", "tool", "cover", "-func", ours); here != table {
				t.Errorf("go tool cover -func prints\n%s\nof Go's own profile\n%s", here, table)
			}
			funcs := compareFuncs(t, cairn, dir, profile, raws, theirs)
			lines := strings.Split(strings.TrimSpace(table), "\n")
			t.Logf("%d units, %d statements, %d functions; %s", len(want), n, funcs, strings.Join(strings.Fields(lines[len(lines)-1]), " "))
		})
	}
}

func union[K comparable, V any](a, b map[K]V) map[K]V {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// try runs a command whose failure is not one of the test.
func try(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Logf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out[max(0, len(out)-1000):])
	}
}

// compareFuncs compares the functions that covered lists, as run and as missed, with the entry blocks of Go's profile,
// and returns their number.
func compareFuncs(t *testing.T, cairn, dir, profile, raws, coverage string) int {
	t.Helper()
	module := strings.TrimSpace(do(t, dir, "", nil, "go", "list", "-m"))
	// Of a unit there is a row for each test program.
	merged := filepath.Join(t.TempDir(), "merged.out")
	var text strings.Builder
	for u, ran := range coverprofiletest.Ran(t, coverage) {
		fmt.Fprintln(&text, u, map[bool]int{true: 1}[ran])
	}
	if err := os.WriteFile(merged, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	want := entryCounts(t, dir, module, merged)
	type list struct {
		Functions []struct {
			Name, File string
			Line       int
		}
	}
	n := 0
	for _, flag := range []string{"--missed=false", "--missed"} {
		var l list
		if err := json.Unmarshal([]byte(do(t, dir, "", nil, cairn, "covered", profile, "--debug", raws, "--json", flag)), &l); err != nil {
			t.Fatal(err)
		}
		for _, f := range l.Functions {
			rel, err := filepath.Rel(dir, f.File)
			if err != nil {
				t.Fatal(err)
			}
			at := place{rel, f.Line}
			ran, ok := want[at]
			switch {
			case !ok:
				continue // it has no statements, or is a function literal
			case (ran > 0) != (flag != "--missed"):
				t.Errorf("%s %s:%d is listed with %s", f.Name, rel, f.Line, flag)
			}
			n++
			delete(want, at)
		}
	}
	for at := range want {
		t.Errorf("%s:%d: no function is listed", at.file, at.line)
	}
	return n
}
