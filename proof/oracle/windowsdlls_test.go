//go:build linux && amd64

package oracle

import (
	"os"
	"path/filepath"
	"strings"
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

// settings looks at values of the environment that are too long, and at a directory that cannot be made.
func (w *windows) settings(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "ends.exe")
	output(t, command(t, cairn, "cc", "--strict", "--mode", "cover", mingw+"gcc", "-O1", "-o", program, filepath.Join("testdata", "windows", "ends.c")))
	for _, test := range []struct{ dir, want string }{
		{strings.Repeat("x", 700), "cairn: the directory for raw files has a path of 600 characters or more: nothing is recorded\n"},
		{filepath.Join(dir, "missing", "raws"), "error 3\n"},
	} {
		var problems strings.Builder
		cmd := w.command(t, test.dir, program, "exit", "")
		cmd.Stderr = &problems
		cmd.Run()
		if got := strings.ReplaceAll(problems.String(), "\r\n", "\n"); !strings.HasSuffix(got, test.want) {
			t.Errorf("a directory of %d characters: %q, want %q", len(test.dir), got, test.want)
		}
	}
	// A name of 300 bytes in UTF-8 ends with a whole character.
	raws := filepath.Join(dir, "raws")
	cmd := w.command(t, raws, program, "exit", "")
	cmd.Env = append(cmd.Env, "CAIRN_SCENARIO="+strings.Repeat("é", 150))
	cmd.Run()
	if text := output(t, command(t, cairn, "info", raws)); !strings.Contains(text, " "+strings.Repeat("é", 100)+"\n") {
		t.Errorf("the scenario: %s", text)
	}
}

// bare runs programs without a C library: their link needs no table of that, and cairn_dump writes their records.
func (w *windows) bare(t *testing.T) {
	dir, source := t.TempDir(), filepath.Join("testdata", "windows", "bare.c")
	for name, compiler := range map[string][]string{
		"gcc":   {mingw + "gcc"},
		"clang": {"clang-22", "--target=x86_64-w64-windows-gnu", "-fuse-ld=lld"},
	} {
		program, raws, merged := filepath.Join(dir, name+".exe"), filepath.Join(dir, name), filepath.Join(dir, name+".mip")
		args := append([]string{"cc", "--strict", "--mode", "count"}, compiler...)
		output(t, command(t, cairn, append(args, "-O1", "-nostdlib", "-Wl,-e,start", "-o", program, source, "-lkernel32")...))
		if _, code := w.run(t, raws, program); code != 12 {
			t.Errorf("%s: exit code %d, want 12", name, code)
		}
		output(t, command(t, cairn, "merge", "-o", merged, program, raws))
		if f := windowsFunctions(t, merged); f["work"].Calls != 1 || f["idle"].Calls != 0 {
			t.Errorf("%s: %+v", name, f)
		}
	}
	// gcc divides -wrapper at commas.
	cmd := command(t, cairn, "cc", mingw+"gcc", "-c", "-o", filepath.Join(dir, "bare.o"), source)
	cmd.Env = append(cmd.Env, "CAIRN_CACHE="+filepath.Join(dir, "a,b"))
	text, err := cmd.CombinedOutput()
	if _, missing := os.Stat(filepath.Join(dir, "bare.o")); err != nil || missing != nil || !strings.Contains(string(text), "has a comma in its path") {
		t.Errorf("a comma in the cache's path: %s, %v, %v", text, err, missing)
	}
}
