package gobuild_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// suites are modules with large test suites of their own.
var suites = []struct {
	module, version string
	packages        []string
}{
	{"github.com/itchyny/gojq", "v0.12.17", []string{"./..."}},
	{"github.com/evanw/esbuild", "v0.28.2", []string{"./internal/...", "./pkg/..."}},
	{"mvdan.cc/sh/v3", "v3.12.0", []string{"./pattern", "./expand", "./fileutil", "./syntax/..."}},
	{"github.com/mikefarah/yq/v4", "v4.47.2", []string{"./..."}},
}

// TestRealSuites runs the tests of modules with probes in them: each test has the result that it
// has without.
func TestRealSuites(t *testing.T) {
	if !*real {
		t.Skip("needs -real")
	}
	cairn, err := cairnProgram()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range suites {
		t.Run(nameOf(s.module), func(t *testing.T) {
			dir := fetch(t, s.module, s.version)
			want := results(t, dir, nil, "go", append([]string{"test", "-json", "-count=1"}, s.packages...)...)
			passed := 0
			for _, r := range want {
				if r == "pass" {
					passed++
				}
			}
			if passed < 100 {
				t.Fatalf("only %d of %d tests pass without probes", passed, len(want))
			}
			t.Logf("%d of %d tests and packages pass without probes", passed, len(want))
			for _, mode := range []string{"cover", "count", "spike", "stacks"} {
				t.Run(mode, func(t *testing.T) { compareSuite(t, cairn, dir, mode, s.packages, want) })
			}
		})
	}
}

// compareSuite runs the tests of packages with probes of a mode, and compares their results.
func compareSuite(t *testing.T, cairn, dir, mode string, packages []string, want map[string]string) {
	t.Helper()
	raws := t.TempDir()
	args := append([]string{"go", "--mode", mode, "test", "-json", "-count=1"}, packages...)
	got := results(t, dir, []string{"CAIRN_DIR=" + raws}, cairn, args...)
	for test, r := range want {
		if got[test] != r {
			t.Errorf("%s: %q, without probes %q", test, got[test], r)
		}
	}
	for test := range got {
		if want[test] == "" {
			t.Errorf("%s is not among the tests without probes", test)
		}
	}
	files, err := filepath.Glob(filepath.Join(raws, "*.[cm][ai]*")) // .mipraw, .cairnlog
	if err != nil || len(files) == 0 {
		t.Errorf("nothing was recorded, %v", err)
	}
	t.Logf("%d tests and packages; %d files", len(got), len(files))
}

// results runs tests and returns what became of each, by package and name; the name of a package
// itself is empty.
func results(t *testing.T, dir string, env []string, name string, args ...string) map[string]string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run() // a test may fail without probes as well
	list := map[string]string{}
	for line := range bytes.Lines(out.Bytes()) {
		var e struct{ Action, Package, Test string }
		if json.Unmarshal(line, &e) != nil {
			continue // not of a test
		}
		switch e.Action {
		case "pass", "fail", "skip":
			list[e.Package+" "+e.Test] = e.Action
		}
	}
	if err != nil {
		t.Logf("%s %s: %v\n%s", name, strings.Join(args, " "), err, errs.String()[max(0, errs.Len()-2000):])
	}
	return list
}
