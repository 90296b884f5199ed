package gobuild_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
}

// verdict is a line of go test about a package.
var verdict = regexp.MustCompile(`(?m)^(ok|FAIL|---|\?)\s+(\S+)`)

// TestRealSuites runs the tests of modules with probes in them: the verdicts are those
// without.
func TestRealSuites(t *testing.T) {
	if !*real {
		t.Skip("needs -real")
	}
	cairn, err := cairnProgram()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range suites {
		t.Run(filepath.Base(strings.TrimSuffix(s.module, "/v3")), func(t *testing.T) {
			dir := fetch(t, s.module, s.version)
			want := verdicts(t, dir, nil, "go", append([]string{"test", "-count=1"}, s.packages...)...)
			if len(want) == 0 {
				t.Fatal("go test says nothing")
			}
			for _, mode := range []string{"count", "spike", "stacks"} {
				raws := t.TempDir()
				args := append([]string{"go", "--mode", mode, "test", "-count=1"}, s.packages...)
				got := verdicts(t, dir, []string{"CAIRN_DIR=" + raws}, cairn, args...)
				for pkg, v := range want {
					if got[pkg] != v {
						t.Errorf("mode %s: %s: %q, without probes %q", mode, pkg, got[pkg], v)
					}
				}
				files, err := filepath.Glob(filepath.Join(raws, "*.[cm][ai]*")) // .mipraw, .cairnlog
				if err != nil || len(files) == 0 {
					t.Errorf("mode %s: nothing was recorded, %v", mode, err)
				}
				t.Logf("mode %s: %d packages, %d files", mode, len(got), len(files))
			}
		})
	}
}

// verdicts runs tests and returns what was said of each package.
func verdicts(t *testing.T, dir string, env []string, name string, args ...string) map[string]string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run() // a test may fail without probes as well
	list := map[string]string{}
	for _, m := range verdict.FindAllStringSubmatch(out.String(), -1) {
		list[m[2]] = m[1]
	}
	if err != nil {
		t.Logf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out.String()[max(0, out.Len()-2000):])
	}
	return list
}
