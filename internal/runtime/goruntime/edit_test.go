package goruntime

import (
	"bytes"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// roots returns the directories of the Go releases that are installed here.
func roots(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		t.Skip(err)
	}
	dirs := strings.Fields(string(out))
	more, err := filepath.Glob(filepath.Join(dirs[1], "golang.org", "toolchain@v0.0.1-go1.2[56]*"))
	if err != nil {
		t.Fatal(err)
	}
	return append(more, dirs[0])
}

// TestEdit checks that every place that the modes edit is found in the sources of Go, and that
// the edits keep the line numbers.
func TestEdit(t *testing.T) {
	t.Parallel()
	linux, windows := Target{GOOS: "linux"}, Target{GOOS: "windows"}
	for _, root := range roots(t) {
		for _, row := range []struct {
			target Target
			mode   prof.Mode
		}{{linux, prof.ModeCount}, {linux, prof.ModeSpike}, {linux, prof.ModeStacks}, {linux, prof.ModeTrace}, {windows, prof.ModeCount}, {windows, prof.ModeSpike}} {
			target, mode := row.target, row.mode
			for _, name := range target.Edited(mode) {
				path := filepath.Join(root, "src", "runtime", name)
				src, err := os.ReadFile(path)
				if err != nil {
					t.Skip(err)
				}
				text, err := target.Edit(mode, name, path, src)
				if err != nil {
					t.Errorf("mode %s: %v", mode, err)
					continue
				}
				if bytes.Count(text, []byte("\n")) != bytes.Count(src, []byte("\n"))+1 {
					t.Errorf("%s: mode %s: lines were added", path, mode)
				}
				if _, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution); err != nil {
					t.Errorf("mode %s: %v", mode, err)
				}
			}
		}
	}
}

func TestEditRefuses(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"package runtime\n", "package runtime\nfunc f() { checkfds(); checkfds() }\n"} {
		if _, err := (Target{}).Edit(prof.ModeCount, "proc.go", "proc.go", []byte(src)); err == nil {
			t.Errorf("%q was edited", src)
		}
	}
}

// TestFiles checks that what is added parses, and is formatted.
func TestFiles(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"go1.25.1", "go1.26.8"} {
		for _, system := range []string{"linux", "darwin"} {
			for _, arch := range []string{"amd64", "arm64"} {
				for _, mode := range []prof.Mode{prof.ModeCount, prof.ModeSpike} {
					target := Target{Version: version, GOOS: system, GOARCH: arch}
					if err := target.Check(); err != nil {
						t.Fatal(err)
					}
					checkFiles(t, target, mode)
				}
			}
		}
	}
}

func checkFiles(t *testing.T, target Target, mode prof.Mode) {
	t.Helper()
	added, err := Files(target, mode)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range added {
		if _, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments); err != nil {
			t.Error(err)
		}
		want, err := format.Source(text)
		if err == nil && !bytes.Equal(text, want) {
			t.Errorf("%s is not formatted", name)
		}
	}
}
