package detourfile

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/detour"
	"github.com/cairnprof/cairn/internal/runtime/nativert"
)

// library returns the library that hooks functions by a plan.
var library = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "cairn-detours-")
	if err != nil {
		return "", err
	}
	for _, f := range nativert.Sources() {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
			return "", err
		}
	}
	gcc := func(args ...string) error {
		cmd := exec.Command("gcc", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
		return nil
	}
	link := []string{"-o", "library.so"}
	for _, o := range nativert.LibraryObjects() {
		args := append(append([]string{"-Os"}, nativert.TimedFlags(nativert.X86_64)...), "-c", "-o", o.Name)
		if err := gcc(append(args, o.Args...)...); err != nil {
			return dir, err
		}
		link = append(link, o.Name)
	}
	return dir, gcc(append(link, nativert.LibraryLinkFlags...)...)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := library(); dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// runHooked runs a program with all the functions hooked that can be, and returns
// what it prints, its exit code, and what the library says of it.
func runHooked(t *testing.T, program string, args ...string) (out string, code int, summary string) {
	t.Helper()
	return runWithPlan(t, program, planOf(t, program), args...)
}

// planOf returns the file of the plan to hook all functions of a program.
func planOf(t *testing.T, program string) []byte {
	t.Helper()
	f, err := objfile.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	id, _ := f.BuildID()
	return detour.Encode([]detour.Planned{
		{Plan: detour.Make(m, detour.Options{}), BuildID: []byte(id), Main: true},
	})
}

func runWithPlan(t *testing.T, program string, file []byte, args ...string) (out string, code int, summary string) {
	t.Helper()
	return runUnder(t, nil, program, file, args...)
}

// runUnder runs a program by another command.
func runUnder(t *testing.T, command []string, program string, file []byte, args ...string) (out string, code int, summary string) {
	t.Helper()
	dir := t.TempDir()
	lib, err := library()
	if err != nil {
		t.Fatal(err)
	}
	plan, said := filepath.Join(dir, "plan"), filepath.Join(dir, "summary")
	for path, data := range map[string][]byte{plan: file, said: nil} {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	command = append(append(slices.Clone(command), program), args...)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+filepath.Join(lib, "library.so"), "CAIRN_DETOURS="+plan,
		"CAIRN_HOOK_SUMMARY="+said, "CAIRN_DIR="+dir)
	var talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &talk, &talk
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	return talk.String(), cmd.ProcessState.ExitCode(), string(text)
}

// compile builds a program of testdata.
func compile(t *testing.T, source string, words ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	args := append(slices.Clone(words[1:]), "-pthread", "-o", program, filepath.Join("testdata", source))
	if out, err := exec.Command(words[0], args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestSwitch switches the search for spikes off and on, and checks that functions are unhooked
// and hooked.
func TestSwitch(t *testing.T) {
	t.Parallel()
	program, words := compile(t, "switch.cc", "g++", "-O2"), filepath.Join(t.TempDir(), "words")
	command := []string{"env", "CAIRN_SPIKE=reload=SIGUSR1,file=" + words}
	file := planOf(t, program)
	if out, code, summary := runUnder(t, command, program, file, words); code != 0 || out != "off and on\n" {
		t.Errorf("exit code %d: %s%s", code, out, summary)
	}
}

// TestDeaf has a thread that blocks all signals, and checks that nothing is changed until it
// ends.
func TestDeaf(t *testing.T) {
	t.Parallel()
	out, code, summary := runHooked(t, compile(t, "deaf.c", "gcc", "-O2"))
	if code != 0 || out != "0 1 7\n" {
		t.Errorf("exit code %d: %s%s", code, out, summary)
	}
}

// TestThreads runs a program whose 64 threads go on while it unhooks and hooks its
// own functions; it checks what they compute, and its own code.
func TestThreads(t *testing.T) {
	t.Parallel()
	for _, build := range []string{"g++ -O2", "g++ -O2 -fcf-protection -no-pie", "clang++-22 -O2 -fomit-frame-pointer"} {
		words := strings.Fields(build)
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(words[0]); err != nil {
				t.Skip(err)
			}
			out, code, summary := runHooked(t, compile(t, "threads.cc", words...), "64", "2")
			if code != 0 || out != "hooked some, wrong 0\n" || !strings.Contains(summary, " detours hooked ") {
				t.Errorf("exit code %d: %s%s", code, out, summary)
			}
		})
	}
}

// TestOtherCode changes a program after it was planned, and checks that nothing is hooked and
// that the program runs.
func TestOtherCode(t *testing.T) {
	t.Parallel()
	program := build(t, "-Wl,--build-id=none")
	f, err := objfile.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Read(f)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	plan := detour.Make(m, detour.Options{})
	plan.Sites[0].Original[0] ^= 1
	for _, test := range []struct {
		name string
		file []byte
		want string
	}{
		{"changed", detour.Encode([]detour.Planned{{Plan: plan, Main: true}}), "detours refused its code differs from its file"},
		{"other build", detour.Encode([]detour.Planned{{Plan: plan, Main: true, BuildID: make([]byte, 20)}}), " detours other " + program},
		{"cut off", detour.Encode([]detour.Planned{{Plan: plan, Main: true}})[:200], "detours refused the plan is truncated"},
		{"no plan", []byte("cairn"), "detours refused the plan cannot be read"},
		{"empty", nil, "detours refused the plan cannot be read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, code, summary := runWithPlan(t, program, test.file)
			if code != 0 || !strings.HasPrefix(out, "0\n") || !strings.Contains(summary, test.want) {
				t.Errorf("exit code %d: %s\n%q, want %q", code, out, summary, test.want)
			}
		})
	}
}

// noNewCode runs its arguments where memory never becomes executable.
const noNewCode = `
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int n, char **v) {
  if (prctl(65 /* PR_SET_MDWE */, 1 /* PR_MDWE_REFUSE_EXEC_GAIN */, 0, 0, 0)) return 77;
  execv(v[1], v + 1);
  return 1;
}
`

// TestNoNewCode runs where the system forbids new code, and checks that nothing is hooked and
// that the program runs.
func TestNoNewCode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	launcher := filepath.Join(dir, "launcher")
	if err := os.WriteFile(launcher+".c", []byte(noNewCode), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-static", "-o", launcher, launcher+".c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program := build(t)
	file := planOf(t, program)
	out, code, summary := runUnder(t, []string{launcher}, program, file)
	if code == 77 {
		t.Skip("the kernel cannot forbid it")
	}
	if code != 0 || !strings.HasPrefix(out, "0\n") || !strings.Contains(summary, "detours refused the system allows no new code") {
		t.Errorf("exit code %d: %s\n%q", code, out, summary)
	}
}
