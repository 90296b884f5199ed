//go:build linux && amd64

package ptrace

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// build compiles a source of testdata and returns the program.
func build(t *testing.T, compiler, source string, flags ...string) string {
	t.Helper()
	path, err := exec.LookPath(compiler)
	if err != nil {
		t.Skipf("no %s", compiler)
	}
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(source, filepath.Ext(source)))
	args := append([]string{"-o", out, filepath.Join("testdata", source)}, flags...)
	if text, err := exec.CommandContext(limit(t), path, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", compiler, strings.Join(args, " "), err, text)
	}
	return out
}

// limit returns a context that ends before the tests do.
func limit(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// check ends the test on an error, and skips it where tracing is forbidden.
func check(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, syscall.EPERM) {
		t.Skipf("ptrace is not permitted: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// record records a run and returns the names of the functions in their order,
// and what the program printed.
func record(t *testing.T, argv ...string) (*Recording, []string, string) {
	t.Helper()
	var out strings.Builder
	rec, err := Record(limit(t), argv, "test", &Options{Stdout: &out, Stderr: &out})
	check(t, err)
	var names []string
	for _, i := range rec.Module.Traces[0].Funcs {
		names = append(names, rec.Module.Funcs[i].Name)
	}
	return rec, names, out.String()
}

// only returns the names that are in want, in the order of names.
func only(names, want []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !slices.Contains(want, n) })
}

// openFile opens a program for the test.
func openFile(t *testing.T, path string) *objfile.File {
	t.Helper()
	f, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
