package goruntime

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// TestTypes checks the types of package runtime with what each mode edits and adds, for every release of
// Go that is installed, each system and processor.
func TestTypes(t *testing.T) {
	t.Parallel()
	for _, root := range roots(t) {
		version, err := os.ReadFile(filepath.Join(root, "VERSION"))
		if err != nil {
			t.Skip(err)
		}
		release, _, _ := strings.Cut(string(version), "\n")
		for _, system := range []string{"linux", "darwin", "windows"} {
			for _, arch := range []string{"amd64", "arm64"} {
				if arch != runtime.GOARCH && testing.Short() {
					continue // only the numbers of system calls differ
				}
				target := Target{Version: release, GOOS: system, GOARCH: arch}
				if target.Check() != nil {
					continue
				}
				t.Run(release+"/"+system+"/"+arch, func(t *testing.T) {
					t.Parallel()
					checkTypes(t, newStandard(t, root, target), target)
				})
			}
		}
	}
}

func checkTypes(t *testing.T, std *standard, target Target) {
	t.Helper()
	for _, mode := range []prof.Mode{prof.ModeCover, prof.ModeCount, prof.ModeSpike} {
		sources, err := std.read("runtime")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range target.Edited(mode) {
			if sources[name], err = target.Edit(mode, name, name, sources[name]); err != nil {
				t.Fatal(err)
			}
		}
		added, err := Files(target, mode)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(sources, added)
		config := types.Config{
			Importer: std,
			Sizes:    std.sizes,
		}
		if _, err := std.check("runtime", sources, config); err != nil {
			t.Errorf("mode %s: %v", mode, err)
		}
	}
}

// standard imports packages of the standard library of one release of Go from their sources.
type standard struct {
	files map[string][]string // by import path
	sizes types.Sizes
	fset  *token.FileSet
	done  map[string]*types.Package
}

func newStandard(t *testing.T, root string, target Target) *standard {
	t.Helper()
	cmd := exec.Command(filepath.Join(root, "bin", "go"), "list", "-deps", "-f", `{{$d := .Dir}}{{.ImportPath}}{{range .GoFiles}} {{$d}}/{{.}}{{end}}`, "runtime")
	cmd.Env = append(os.Environ(), "GOROOT="+root, "GOTOOLCHAIN=local", "GOOS="+target.GOOS, "GOARCH="+target.GOARCH, "CGO_ENABLED=0")
	cmd.Dir = filepath.Join(root, "src")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	std := &standard{map[string][]string{}, types.SizesFor("gc", target.GOARCH), token.NewFileSet(), map[string]*types.Package{"unsafe": types.Unsafe}}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		std.files[words[0]] = words[1:]
	}
	return std
}

// read returns the sources of a package by the names of its files.
func (s *standard) read(path string) (map[string][]byte, error) {
	if s.files[path] == nil {
		return nil, fmt.Errorf("package runtime does not import %s", path)
	}
	sources := map[string][]byte{}
	for _, file := range s.files[path] {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		sources[filepath.Base(file)] = text
	}
	return sources, nil
}

func (s *standard) check(path string, sources map[string][]byte, config types.Config) (*types.Package, error) {
	var parsed []*ast.File
	for name, text := range sources {
		f, err := parser.ParseFile(s.fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, f)
	}
	return config.Check(path, s.fset, parsed, nil)
}

// Import returns a package without the bodies of its functions.
func (s *standard) Import(path string) (*types.Package, error) {
	if p := s.done[path]; p != nil {
		return p, nil
	}
	sources, err := s.read(path)
	if err != nil {
		return nil, err
	}
	s.done[path], err = s.check(path, sources, types.Config{Importer: s, Sizes: s.sizes, IgnoreFuncBodies: true})
	return s.done[path], err
}
