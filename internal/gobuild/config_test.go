package gobuild

import (
	"reflect"
	"testing"
	"time"

	"github.com/cairnprof/cairn/internal/runtime/goruntime"
	"github.com/cairnprof/cairn/prof"
)

func TestSelects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"example.com/a/...", "example.com/a", true},
		{"example.com/a/...", "example.com/a/b", true},
		{"example.com/a/...", "example.com/ab", false},
		{"example.com/a/...", "example.com/a [example.com/a.test]", true},
		{"example.com/a", "example.com/a/b", false},
		{"example.com/.../x", "example.com/a/b/x", true},
		{"example.com/.../x", "example.com/a/b/xy", false},
		{"std", "net/http", true},
		{"std", "example.com/a", false},
		{"std", "runtime", false},
		{"all", "internal/abi", false},
		{"all", "example.com/a", true},
		{"example.com/a", "command-line-arguments", true},
	} {
		cfg := Config{Only: []string{c.pattern}}
		if got := cfg.Selects(c.path); got != c.want {
			t.Errorf("%s selects %s: %v", c.pattern, c.path, got)
		}
	}
}

func TestArgs(t *testing.T) {
	t.Parallel()
	want := Config{Mode: prof.ModeCount, Atomic: true, Only: []string{"a.b/c/...", "std"}}
	got, rest, err := ParseArgs(append(want.Args()[1:], "/go/compile", "-V=full"))
	if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(rest, []string{"/go/compile", "-V=full"}) {
		t.Errorf("got %+v, %q, %v", got, rest, err)
	}
	want = Config{Mode: prof.ModeSpike, Threshold: 5 * time.Millisecond, Small: 7, Only: []string{"a"}}
	if got, _, err := ParseArgs(append(want.Args()[1:], "/go/link")); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, args := range [][]string{{}, {"--mode=full", "--only=a", "compile"}, {"--mode=cover", "compile"}, {"--x", "compile"}, {"--mode=cover", "--atomic", "--only=a", "compile"}} {
		if _, _, err := ParseArgs(args); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}

func TestTrimPath(t *testing.T) {
	t.Parallel()
	const rules = "/tmp/b001=>;/src/m=>example.com/m@v1;/old"
	for path, want := range map[string]string{
		"/src/m/a.go": "example.com/m@v1/a.go", "/src/mm/a.go": "/src/mm/a.go", "/tmp/b001/x.go": "x.go", "/old/x.go": "x.go",
	} {
		if got := trimPath(path, rules); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version, os, arch string
		ok                bool
	}{
		{"go1.26.8", "linux", "amd64", true},
		{"go1.25", "linux", "arm64", true},
		{"go1.26.8-X:nodwarf5", "linux", "amd64", true},
		{"go1.27.0", "linux", "amd64", false},
		{"go1.26rc1", "linux", "amd64", false},
		{"devel go1.27-abc", "linux", "amd64", false},
		{"go1.24.9", "linux", "amd64", false},
		{"go1.26.8", "darwin", "arm64", true},
		{"go1.25.1", "darwin", "amd64", true},
		{"go1.26.8", "ios", "arm64", false},
		{"go1.26.8", "linux", "386", false},
		{"go1.26.8", "windows", "amd64", true},
		{"go1.25.1", "windows", "amd64", true},
		{"go1.26.8", "windows", "arm64", true},
		{"go1.26.8", "windows", "386", false},
	} {
		target := goruntime.Target{Version: c.version, GOOS: c.os, GOARCH: c.arch}
		if err := target.Check(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", target, err)
		}
	}
}
