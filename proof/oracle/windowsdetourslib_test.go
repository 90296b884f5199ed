//go:build linux && amd64

package oracle

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// libraryCalls are the calls of library.c by uses.c, in the DLL that it is linked with: work and back 100 times each.
var libraryCalls = map[string]uint64{
	"lib_work": 100, "lib_back": 100, "lib_jump": 100, "stall": 1, "twice": 50, "held": 50, "leaf": 100 + 50 + 100 + 34,
}

// libraries runs a program with two DLLs of the same source: one that it is linked with, and one that it loads and unloads.
func (d *detours) libraries(t *testing.T) {
	for _, compiler := range [][]string{
		{mingw + "gcc", "-O2"}, {"clang-22", "--target=x86_64-w64-windows-gnu", "-fuse-ld=lld", "-O2", "-g", "-w"},
	} {
		if _, err := exec.LookPath(compiler[0]); err != nil {
			t.Skip(err)
		}
		dir := t.TempDir()
		program, one, two := filepath.Join(dir, "uses.exe"), filepath.Join(dir, "one.dll"), filepath.Join(dir, "two.dll")
		source := filepath.Join("testdata", "windowsdetours", "library.c")
		for _, args := range [][]string{
			{"-shared", "-o", one, source},
			{"-shared", "-Wl,--build-id", "-o", two, source},
			{"-o", program, filepath.Join("testdata", "windowsdetours", "uses.c"), one},
		} {
			output(t, command(t, compiler[0], append(compiler[1:len(compiler):len(compiler)], args...)...))
		}
		want, wantCode := d.run(t, "", program)
		d.checkFound(t, []string{program, one, two}, func(logs string) {
			answer, code, notes := d.hooked(t, logs, program, one, two)
			for _, name := range []string{"uses.exe", "one.dll", "two.dll"} {
				if !strings.Contains(notes, " of "+name+" hooked") {
					t.Errorf("no function of %s is hooked: %s", name, notes)
				}
			}
			if answer != want || code != wantCode || code != 5 || !strings.Contains(notes, " functions of two.dll hooked, 20 times\n") {
				t.Errorf("it answers %q and %d, without hooks %q and %d; %s", answer, code, want, wantCode, notes)
			}
		}, []string{" > outer timed > stall timed, outer ended"})
		d.countLibraries(t, program, one, two, want)
	}
}

// countLibraries counts the calls of that program.
func (d *detours) countLibraries(t *testing.T, program, one, two, want string) {
	t.Helper()
	answer, counts := d.counted(t, d.counts, d.plan(t, program, one, two), program)
	if answer != want {
		t.Errorf("it answers %q, without hooks %q", answer, want)
	}
	symbols := imageSymbols(t, one)
	for name, n := range libraryCalls {
		if got, ok := counts[1<<40|symbols[name]]; (ok || n > 1) && got != n {
			t.Errorf("%d calls of %s in the DLL, want %d", got, name, n)
		}
	}
	if got := counts[2<<40|imageSymbols(t, two)["lib_work"]]; got != 200 {
		t.Errorf("%d calls of a function of the DLL that is loaded 20 times, want 200", got)
	}
}

// children runs a program that starts itself and another one, by several ways: what has a plan is hooked, and of the others it is said
// how many there were, but for those that leave its job.
func (d *detours) children(t *testing.T) {
	program, logs := d.build(t, "children.c", mingw+"gcc", "-O2", "-static"), t.TempDir()
	other := d.build(t, "late.c", mingw+"gcc", "-O2", "-static")
	with := *d
	with.windows = &windows{append(slices.Clone(d.env), "OTHER=Z:"+other)}
	answer, code, notes := with.hooked(t, logs, program, other)
	if answer != "1 0\n8 8 7 8 7 7 1\n" || code != 4 || !strings.Contains(notes, "cairn: processes that the program started, which are not hooked: 4\n") ||
		!strings.Contains(notes, "functions of children.exe hooked, 4 times\n") || !strings.Contains(notes, "functions of late.exe hooked\n") {
		t.Errorf("it answers %q and %d: %s", answer, code, notes)
	}
	if files := mustGlob(t, filepath.Join(logs, "children.exe.*.cairnlog")); len(files) != 4 {
		t.Errorf("%d logs of the program and those that it started: %v", len(files), files)
	}
}

// msvc runs a program by clang for MSVC's system, whose names are in a PDB.
func (d *detours) msvc(t *testing.T) {
	needMSVC(t)
	program := msvcCalls(t, nil, "-O1", "-g")
	want, wantCode := d.run(t, "", program)
	d.checkFound(t, []string{program}, func(logs string) {
		if answer, code, notes := d.hooked(t, logs, program); answer != want || code != wantCode {
			t.Errorf("it answers %q and %d, without hooks %q and %d; %s", answer, code, want, wantCode, notes)
		}
	}, nil)
	if called, calls := d.stranger(t, "clang for MSVC", program, nil, nil); called < 10 || calls < 1000 {
		t.Errorf("%d functions are called %d times: that proves little", called, calls)
	}
	if err := os.Remove(strings.TrimSuffix(program, ".exe") + ".pdb"); err != nil {
		t.Fatal(err)
	}
	if called, calls := d.stranger(t, "clang for MSVC, without the PDB", program, nil, nil); called < 10 || calls < 1000 {
		t.Errorf("%d functions are called %d times: that proves little", called, calls)
	}
}
