//go:build linux && amd64

package oracle

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/coverprofile/coverprofiletest"
)

// goModes runs a Go program for Windows with the probes of each mode. What is recorded when it ends, fails or is killed
// is what the program for Linux records.
func (w *windows) goModes(t *testing.T) {
	w.goPrograms(t)
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join("testdata", "windows", "threads.go.txt"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "main.go"), text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"count --atomic", "cover", "block", "order"} {
		var shown [2]string
		for i, system := range []string{"linux", "windows"} {
			program := filepath.Join(dir, strings.Fields(mode)[0]+"-"+system+".exe")
			build := command(t, cairn, slices.Concat([]string{"go", "--mode"}, strings.Fields(mode), []string{"build", "-o", program, "main.go"})...)
			build.Dir, build.Env = dir, append(build.Env, "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
			output(t, build)
			raws := filepath.Join(dir, "raws-"+filepath.Base(program))
			for word, code := range map[string]int{"return": 0, "exit": 3, "panic": 2} {
				cmd := command(t, program, word)
				if system == "windows" {
					cmd = w.command(t, "", program, word)
				}
				cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
				cmd.Run()
				if got := cmd.ProcessState.ExitCode(); got != code {
					t.Errorf("mode %s, %s, %s: exit code %d, want %d", mode, system, word, got, code)
				}
			}
			if n := rawFiles(t, raws); n != 3 {
				t.Errorf("mode %s, %s: %d raw files, want 3", mode, system, n)
			}
			merged := filepath.Join(dir, "run.mip")
			os.Remove(merged)
			output(t, command(t, cairn, "merge", "-o", merged, program, raws))
			shown[i] = output(t, command(t, cairn, "show", merged)) + output(t, command(t, cairn, "covered", "--lines", program, merged))
		}
		if shown[0] != shown[1] {
			t.Errorf("mode %s: on Windows\n%s\non Linux\n%s", mode, shown[1], shown[0])
		}
	}
	w.killed(t, filepath.Join(dir, "order-windows.exe"))
}

// killed ends a program by TerminateProcess, some seconds after what it does: a thread has copied the records.
func (w *windows) killed(t *testing.T, program string) {
	var runs uint64
	w.patiently(func(w *windows) bool {
		raws, merged := t.TempDir(), filepath.Join(t.TempDir(), "run.mip")
		w.command(t, raws, program, "kill").Run() // it ends itself
		output(t, command(t, cairn, "merge", "-o", merged, program, raws))
		runs = windowsFunctions(t, merged)["main.middle"].Runs
		return runs == 1
	})
	if runs != 1 {
		t.Errorf("%d runs of a function of a program that was killed", runs)
	}
}

// goStatements compares which statements of a program of others ran with Go's own counters.
func (w *windows) goStatements(t *testing.T) {
	w.goPrograms(t)
	dir := t.TempDir()
	find := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/pprof")
	find.Dir = filepath.Join("..", "..")
	source, err := find.Output()
	if err != nil {
		t.Skip(err)
	}
	output(t, command(t, "cp", "-r", strings.TrimSpace(string(source)), filepath.Join(dir, "pprof")))
	dir = filepath.Join(dir, "pprof")
	output(t, command(t, "chmod", "-R", "u+w", dir))
	build := func(name string, args ...string) {
		cmd := command(t, name, args...)
		cmd.Dir, cmd.Env = dir, append(cmd.Env, "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
		output(t, cmd)
	}
	build("go", "build", "-cover", "-coverpkg=./...", "-o", "theirs.exe", ".")
	build(cairn, "go", "--mode", "block", "build", "-o", "ours.exe", ".")
	counts, raws := filepath.Join(dir, "counts"), filepath.Join(dir, "raws")
	if err := os.Mkdir(counts, 0o777); err != nil {
		t.Fatal(err)
	}
	args := []string{"-top", filepath.Join("profile", "testdata", "gobench.heap")}
	var answers [2]string
	for i, program := range []string{"theirs.exe", "ours.exe"} {
		cmd := w.command(t, raws, filepath.Join(dir, program), args...)
		cmd.Dir, cmd.Env = dir, append(cmd.Env, "GOCOVERDIR="+counts)
		answers[i] = output(t, cmd)
	}
	checkAnswer(t, answers[1], answers[0])
	theirs, ours, merged := filepath.Join(dir, "theirs.out"), filepath.Join(dir, "ours.out"), filepath.Join(dir, "run.mip")
	output(t, command(t, "go", "tool", "covdata", "textfmt", "-i="+counts, "-o", theirs))
	output(t, command(t, cairn, "merge", "-o", merged, filepath.Join(dir, "ours.exe"), raws))
	output(t, command(t, cairn, "covered", "--format", "coverprofile", "-o", ours, filepath.Join(dir, "ours.exe"), merged))
	want, got := coverprofiletest.Ran(t, theirs), coverprofiletest.Ran(t, ours)
	if len(want) < 4000 || !maps.Equal(want, got) {
		t.Errorf("%d units of statements, and %d by cairn, differ", len(want), len(got))
	}
	t.Logf("%d units of statements, none differ", len(want))
}

// goLibrary loads a library in Go into a program in C, which then ends by exit: nothing tells the library but the C library.
func (w *windows) goLibrary(t *testing.T) {
	w.goPrograms(t)
	dir := t.TempDir()
	from := filepath.Join("testdata", "windows", "golib")
	output(t, command(t, "cp", filepath.Join(from, "lib.go.txt"), filepath.Join(dir, "lib.go")))
	program := filepath.Join(dir, "app.exe")
	output(t, command(t, mingw+"gcc", "-O2", "-o", program, filepath.Join(from, "main.c")))
	for _, mode := range []string{"count --atomic", "cover", "order", "block", "trace"} {
		library, raws, merged := filepath.Join(dir, "lib.dll"), filepath.Join(dir, "raws-"+mode), filepath.Join(dir, "run.mip")
		build := command(t, cairn, slices.Concat([]string{"go", "--mode"}, strings.Fields(mode), []string{"build", "-buildmode=c-shared", "-o", library, "lib.go"})...)
		build.Dir, build.Env = dir, append(build.Env, "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=1", "CC="+mingw+"gcc")
		said, err := build.CombinedOutput()
		if mode == "trace" {
			if err == nil || !strings.Contains(string(said), "not instrumented: the build mode is c-shared") {
				t.Errorf("mode %s: %v: %s", mode, err, said)
			}
			continue
		}
		if err != nil {
			t.Fatalf("mode %s: %v\n%s", mode, err, said)
		}
		if answer, code := w.run(t, raws, program); answer != "-5\n" || code != 0 {
			t.Errorf("mode %s: the program answers %q, %d", mode, answer, code)
		}
		os.Remove(merged)
		output(t, command(t, cairn, "merge", "-o", merged, library, raws))
		functions := windowsFunctions(t, merged)
		for name, calls := range map[string]uint64{"main.Once": 1, "main.Often": 1, "main.middle": 11, "main.Never": 0} {
			f, ok := functions[name]
			if !ok || f.Runs != min(calls, 1) || strings.HasPrefix(mode, "count") && f.Calls != calls {
				t.Errorf("mode %s: %s: %+v, want %d calls", mode, name, f, calls)
			}
		}
	}
}
