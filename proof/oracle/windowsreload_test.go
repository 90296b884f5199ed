//go:build linux && amd64

package oracle

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestWindowsReload runs programs for Windows that load a DLL a thousand times, that suspend all threads, and that end while the clock's
// thread looks at them.
func TestWindowsReload(t *testing.T) {
	t.Parallel()
	shorttest.Proof(t)
	w := newWindows(t)
	t.Run("reloads", w.reloads)
	t.Run("suspends", w.suspends)
	t.Run("quick", w.quick)
}

// unless runs a program that a fault would let wait for ever, and reports whether it has ended with an exit code.
func (w *windows) unless(t *testing.T, code int, logs, program string, args ...string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := w.command(t, logs, program, args...)
	limited := exec.CommandContext(ctx, cmd.Path, cmd.Args[1:]...)
	limited.Env, limited.WaitDelay = cmd.Env, time.Second
	_, _ = limited.Output()
	if got := limited.ProcessState.ExitCode(); got != code {
		t.Errorf("%s %q: exit code %d, want %d", filepath.Base(program), args, got, code)
		return false
	}
	return true
}

// reloads loads a DLL a thousand times: all calls are recorded, the process grows as without probes, and the last one's channel is
// switched off, for which there is a place in the list of channels.
func (w *windows) reloads(t *testing.T) {
	const times = 1100
	dir, sources := t.TempDir(), filepath.Join("testdata", "windowsspikes")
	for _, mode := range []string{"spike", "stacks", "count"} {
		program, library, logs := filepath.Join(dir, mode+".exe"), filepath.Join(dir, mode+".dll"), filepath.Join(dir, mode)
		build := func(args ...string) {
			t.Helper()
			output(t, command(t, cairn, append([]string{"cc", "--strict", "--mode", mode, mingw + "gcc", "-O2", "-g", "-static", "-o"}, args...)...))
		}
		marks := map[bool]string{false: "-DNO_MARKS", true: "-DMARKS"}[mode == "spike"]
		build(program, marks, filepath.Join(sources, "reload.c"), "-lpsapi")
		build(library, marks, "-shared", filepath.Join(sources, "reloaded.c"))
		ms := map[bool]string{false: "0", true: "300"}[mode == "spike"]
		cmd := w.command(t, logs, program, library, fmt.Sprint(times), ms)
		var grown strings.Builder
		cmd.Stderr = &grown
		answer, err := cmd.Output()
		if got := strings.TrimSpace(string(answer)); err != nil || !strings.HasSuffix(got, " 0") {
			t.Errorf("mode %s: %q, %v", mode, answer, err)
		}
		var handles, kb int
		if _, err := fmt.Sscan(grown.String(), &handles, &kb); err != nil || handles > 10 || kb > 2048 {
			t.Errorf("mode %s: %d handles and %d KB more (%q), %v", mode, handles, kb, grown.String(), err)
		}
		switch mode {
		case "spike":
			text := output(t, command(t, cairn, "spikes", "--jsonl", "--top", "0", logs, program, library))
			if n := strings.Count(text, `"section":"net"`); n != 1 {
				t.Errorf("the section of the channel is in %d calls, want 1", n)
			}
		case "stacks":
			for _, name := range []string{"work", "starts"} {
				if calls := treeCalls(t, logs, name, program, library); calls != times {
					t.Errorf("mode stacks: %d calls of %s, want %d", calls, name, times)
				}
			}
		case "count":
			merged := filepath.Join(dir, "run.mip")
			output(t, command(t, cairn, "merge", "-o", merged, program, library, logs))
			if f := windowsFunctions(t, merged); f["work"].Calls != times || f["leaves"].Calls != times/10 {
				t.Errorf("mode count: work %+v, leaves %+v", f["work"], f["leaves"])
			}
		}
	}
}

// treeCalls returns the calls of a function in logs of mode stacks.
func treeCalls(t *testing.T, logs, name string, programs ...string) (calls int) {
	t.Helper()
	for line := range strings.Lines(output(t, command(t, cairn, append([]string{"stacks", logs}, programs...)...))) {
		if fields := strings.Fields(line); slices.Contains(fields, name) {
			if _, err := fmt.Sscan(strings.ReplaceAll(fields[0], ",", ""), &calls); err == nil {
				return calls
			}
		}
	}
	return 0
}

// suspends runs a program that suspends the clock's thread, which suspends others: without a lock both do so to each other.
func (w *windows) suspends(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "suspends.exe")
	output(t, command(t, cairn, "cc", "--strict", "--mode", "spike", "--threshold", "2ms", mingw+"gcc", "-O2", "-g", "-static", "-Wall", "-Werror", "-o", program, filepath.Join("testdata", "windowsspikes", "suspends.c")))
	w.unless(t, 3, filepath.Join(dir, "logs"), program, "1500")
}

// quick runs a program that ends while it is looked at: who ends a process ends the clock's thread, which may have suspended it.
func (w *windows) quick(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "quick.exe")
	output(t, command(t, cairn, "cc", "--strict", "--mode", "spike", "--threshold", "1ms", "--small", "0", mingw+"gcc", "-O2", "-static", "-Wall", "-Werror", "-o", program, filepath.Join("testdata", "windowsspikes", "quick.c")))
	times := 12
	if testing.Short() {
		times = 4
	}
	for range times {
		if !w.unless(t, 4, filepath.Join(dir, "logs"), program) || !w.unless(t, 4, filepath.Join(dir, "logs"), program, "at once") {
			return
		}
	}
}
