//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"testing"
)

// dlls looks at what a program and its DLL write when an exception ends the program.
func (w *windows) dlls(t *testing.T) {
	dir := t.TempDir()
	program, library, raws := filepath.Join(dir, "dlls.exe"), filepath.Join(dir, "used.dll"), filepath.Join(dir, "raws")
	build := func(args ...string) {
		output(t, command(t, cairn, append([]string{"cc", "--strict", "--mode", "count", mingw + "gcc", "-O1", "-Wall", "-Werror", "-o"}, args...)...))
	}
	build(library, "-shared", filepath.Join("testdata", "windows", "used.c"))
	build(program, filepath.Join("testdata", "windows", "dlls.c"), library)
	if _, code := w.run(t, raws, program); code != 5 {
		t.Errorf("exit code %d, want 5", code)
	}
	if n := rawFiles(t, raws); n != 2 {
		t.Fatalf("%d files, want 2", n)
	}
	merged := filepath.Join(dir, "run.mip")
	output(t, command(t, cairn, "merge", "-o", merged, program, library, raws))
	if calls := windowsFunctions(t, merged)["used"].Calls; calls != 3 {
		t.Errorf("%d calls of used, want 3", calls)
	}
}
