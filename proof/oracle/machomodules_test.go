//go:build linux && amd64

package oracle

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// machOProgram is app.cc with lib.cc in a dylib beside it.
type machOProgram struct{ app, lib string }

func buildDylib(t *testing.T, system apple, mode string) machOProgram {
	t.Helper()
	p := machOProgram{filepath.Join(t.TempDir(), "app"), ""}
	p.lib = filepath.Join(filepath.Dir(p.app), "liblib.dylib")
	for _, flags := range []string{
		"-O1 -dynamiclib -Wl,-install_name,@rpath/liblib.dylib -o " + p.lib + " testdata/macho/lib.cc",
		"-O1 -o " + p.app + " testdata/macho/app.cc " + p.lib,
	} {
		argv := append([]string{"clang++-22"}, system.args(t, flags)...)
		if mode != "" {
			argv = append([]string{cairn, "cc", "--mode", mode}, argv...)
		}
		output(t, command(t, argv[0], argv[1:]...))
	}
	return p
}

// recorded runs a program and returns its answer and the directory of raw files.
func (p machOProgram) recorded(t *testing.T, system apple) (answer, raws string) {
	t.Helper()
	raws = t.TempDir()
	cmd := system.load(t, system.emulator, p.app)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
	return output(t, cmd), raws
}

// TestMachODylib counts the calls of a program and of its dylib, each of which has a file of its own.
// Both are put into universal files, whose readers are told which machine.
func TestMachODylib(t *testing.T) {
	t.Parallel()
	mustHave(t, "llvm-lipo-22")
	programs, raws := map[string]machOProgram{}, map[string]string{}
	for machine, system := range map[string]apple{"x86_64": macOS, "arm64": iOS} {
		plain, _ := buildDylib(t, system, "").recorded(t, system)
		p := buildDylib(t, system, "full")
		answer, dir := p.recorded(t, system)
		checkAnswer(t, answer, plain)
		checkDylib(t, []string{p.app, p.lib}, dir)
		programs[machine], raws[machine] = p, dir
	}
	a, b := programs["x86_64"], programs["arm64"]
	dir := t.TempDir()
	app, lib := filepath.Join(dir, "app"), filepath.Join(dir, "liblib.dylib")
	output(t, command(t, "llvm-lipo-22", "-create", a.app, b.app, "-output", app))
	output(t, command(t, "llvm-lipo-22", "-create", a.lib, b.lib, "-output", lib))
	for machine, dir := range raws {
		checkDylib(t, []string{app + ":" + machine, lib + ":" + machine}, dir)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{app + ":arm64", lib + ":x86_64", raws["arm64"]}, "a profile is for one machine"},
		{[]string{app + ":arm64", lib + ":arm64", raws["x86_64"]}, "merge them with their own binaries"},
		{[]string{app + ":armv7", raws["arm64"]}, "armv7"},
	} {
		file := filepath.Join(t.TempDir(), "none.mip")
		out, err := command(t, cairn, append([]string{"merge", "--strict", "-o", file}, c.args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("merge %q: %v, says %s", c.args, err, out)
		}
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("merge %q leaves a file", c.args)
		}
	}
}

// checkDylib merges the raw files of a program and its dylib, and checks the calls of both.
func checkDylib(t *testing.T, binaries []string, raws string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.mip")
	output(t, command(t, cairn, append(append([]string{"merge", "--strict", "-o", file}, binaries...), raws)...))
	calls := map[string]uint64{}
	for i, m := range readModules(t, file) {
		for name, n := range machOCalls(&m) {
			calls[filepath.Base(strings.SplitN(binaries[i], ":", 2)[0])+" "+name] += n
		}
	}
	for name, want := range map[string]uint64{
		"app main": 1, "app _ZL4initi": 1, "app _Z6unusedi": 0, "app _Z4lasti": 1, "app _Z8from_libi": 0,
		"liblib.dylib _Z8from_libi": 1, "liblib.dylib _ZL4initi": 1, "liblib.dylib _Z13unused_in_libi": 0,
	} {
		if got := calls[name]; got != want {
			t.Errorf("%s: %d calls, want %d", name, got, want)
		}
	}
	// Each of the two defines it, and a loader may take either for both.
	if n := calls["app _Z6commoni"] + calls["liblib.dylib _Z6commoni"]; n != 2 {
		t.Errorf("common: %d calls, want 2", n)
	}
}

// TestMachOSignal makes a program write its files on a signal that ends it, and checks that its
// own handler is kept.
func TestMachOSignal(t *testing.T) {
	t.Parallel()
	for _, system := range shorttest.Rows(1, macOS, iOS) {
		t.Run(system.target, func(t *testing.T) {
			t.Parallel()
			program := build(t, "count", "clang-22", system.args(t, "-O1", "testdata/macho/signal.c")...)
			for _, c := range []struct {
				signal, arg  string
				files, calls uint64
			}{{"", "1", 0, 0}, {"10", "1", 1, 1}, {"10", "3", 1, 3}, {"12", "1", 0, 0}, {"rubbish", "1", 0, 0}} {
				dir := filepath.Join(t.TempDir(), "raws")
				cmd := system.load(t, system.emulator, program, c.arg)
				cmd.Env = append(cmd.Env, "CAIRN_CONTINUOUS=0", "CAIRN_DIR="+dir, "CAIRN_SIGNAL="+c.signal)
				// Nobody handles the signal, and it ends the program.
				err := cmd.Run()
				var exit *exec.ExitError
				if (err != nil) != (c.files == 0) || err != nil && !errors.As(err, &exit) {
					t.Errorf("signal %q: %v", c.signal, err)
				}
				raws, _ := filepath.Glob(filepath.Join(dir, "*"))
				if uint64(len(raws)) != c.files {
					t.Errorf("signal %q: files %q, want %d", c.signal, raws, c.files)
				} else if c.files > 0 {
					if calls := machOCalls(profile(t, program, dir)); calls["work"] != c.calls || calls["late"] != 0 {
						t.Errorf("signal %q: calls %v", c.signal, calls)
					}
				}
			}
			dir := t.TempDir()
			cmd := system.load(t, system.emulator, program, "1", "own")
			cmd.Env = append(cmd.Env, "CAIRN_CONTINUOUS=0", "CAIRN_DIR="+dir, "CAIRN_SIGNAL=10")
			checkAnswer(t, output(t, cmd), "own handler\n")
			if raws, _ := filepath.Glob(filepath.Join(dir, "*")); len(raws) != 0 {
				t.Errorf("the program's own handler was replaced: %q", raws)
			}
		})
	}
}

// TestMachOAtomic checks that atomic counts are exact when first calls collide.
func TestMachOAtomic(t *testing.T) {
	t.Parallel()
	for _, system := range []apple{macOS, iOS} {
		t.Run(system.target, func(t *testing.T) {
			t.Parallel()
			program := build(t, "full --atomic", "clang-22", system.args(t, "-O1", "testdata/macho/race.c")...)
			for range 3 {
				answer, m := system.run(t, program)
				checkAnswer(t, answer, "80000\n")
				calls := machOCalls(m)
				if calls["step"] != 80000 || calls["once"] != 4 || calls["work"] != 4 {
					t.Errorf("calls %v", calls)
				}
			}
		})
	}
}
