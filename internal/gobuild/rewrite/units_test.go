package rewrite

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// TestUnits compares the units of files with those of go tool cover, in every mode that has units.
func TestUnits(t *testing.T) {
	t.Parallel()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip(err)
	}
	files := []string{"testdata/units.go.txt"}
	patterns := []string{"strconv/[di]*.go"}
	if !testing.Short() {
		patterns = []string{"net/http/*.go", "go/types/*.go", "go/printer/*.go", "encoding/*/*.go", "cmd/compile/internal/ssa/[a-qs-z]*.go", "text/*/*.go", "cmd/cgo/*.go"}
	}
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", p))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", p, err)
		}
		files = append(files, found...)
	}
	units := 0
	for _, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := coverUnits(t, path)
		for _, mode := range []prof.Mode{prof.ModeBlock, prof.ModeCover} {
			r := New(Options{Mode: mode})
			if _, err := r.File(path, src); err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range r.Funcs {
				for _, u := range r.Funcs[i].Units {
					got = append(got, fmt.Sprintf("%d.%d,%d.%d %d", u.FromLine, u.FromColumn, u.ToLine, u.ToColumn, u.Statements))
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s, mode %s: units differ from those of go tool cover:\n%s", path, mode, difference(got, want))
			}
			units += len(got)
		}
	}
	t.Logf("%d units of %d files", units, len(files))
}

var (
	coverPosition = regexp.MustCompile(`(?m)^\t\t(\d+), (\d+), (0x[0-9a-f]+), // \[\d+\]$`)
	coverCount    = regexp.MustCompile(`(?m)^\t\t(\d+), // \d+$`)
)

// coverUnits returns the units of go tool cover, sorted.
func coverUnits(t *testing.T, path string) (units []string) {
	t.Helper()
	out, err := exec.Command("go", "tool", "cover", "-mode=set", "-var=CoverVar", path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	counts := coverCount.FindAllStringSubmatch(string(out), -1)
	for i, m := range coverPosition.FindAllStringSubmatch(string(out), -1) {
		columns, err := strconv.ParseUint(m[3], 0, 32)
		if err != nil {
			t.Fatal(err)
		}
		units = append(units, fmt.Sprintf("%s.%d,%s.%d %s", m[1], columns&0xffff, m[2], columns>>16, counts[i][1]))
	}
	slices.Sort(units)
	return units
}

// difference returns what only one of two sorted lists has.
func difference(got, want []string) string {
	var b strings.Builder
	for _, x := range got {
		if !slices.Contains(want, x) {
			fmt.Fprintln(&b, "only here:", x)
		}
	}
	for _, x := range want {
		if !slices.Contains(got, x) {
			fmt.Fprintln(&b, "not here:", x)
		}
	}
	return b.String()
}
