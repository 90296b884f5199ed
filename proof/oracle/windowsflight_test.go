//go:build linux && amd64

package oracle

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestWindowsFlight runs programs for Windows with a flight recorder.
func TestWindowsFlight(t *testing.T) {
	t.Parallel()
	shorttest.Proof(t)
	w := newWindows(t)
	w.env = append(w.env, "CAIRN_SPIKE="+recordAll)
	t.Run("calls", func(t *testing.T) { w.calls(t, flightMode, 100) })
	t.Run("fibers", func(t *testing.T) { w.fibers(t, flightMode) })
	t.Run("handled", func(t *testing.T) { w.sameAnswer(t, flightMode, "handled.c") })
	t.Run("few", func(t *testing.T) {
		w.sameAnswer(t, flightMode, "fibers.c", "--skip", "^(drive|main|yields)$")
	})
	t.Run("seh", func(t *testing.T) { w.structured(t, flightMode) })
	t.Run("steps", func(t *testing.T) { w.steps(t, flightMode) })
	t.Run("trees", w.flightTrees)
	t.Run("ended", w.flightEnded)
	t.Run("plugins", w.flightPlugins)
	t.Run("slots", w.flightSlots)
	t.Run("live", w.flightLive)
}

// buildCalls builds the program of testdata/windowscalls/calls.cc in a mode.
func buildCalls(t *testing.T, mode string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "calls.exe")
	output(t, command(t, cairn, slices.Concat([]string{"cc", "--strict"}, modeFlags(mode), windowsSpikes[0],
		[]string{"-o", program, filepath.Join("testdata", "windowscalls", "calls.cc")})...))
	return program
}

// flightTrees compares a recorder with the calls of mode stacks, which has the exits.
func (w *windows) flightTrees(t *testing.T) {
	var rows []map[string]uint64
	for _, mode := range []string{"stacks", flightMode} {
		program, logs := buildCalls(t, mode), t.TempDir()
		w.run(t, logs, program)
		rows = append(rows, callRows(t, logs, inMode(mode, program)...))
	}
	compareRows(t, "recorder", rows[1], rows[0])
}

// flightEnded looks at what is left of a program that ends itself in a way that runs no handlers: all it called.
func (w *windows) flightEnded(t *testing.T) {
	program := buildCalls(t, flightMode)
	var want map[string]uint64
	for _, end := range []string{"", "TERMINATE", "FAULT", "ABORT"} {
		logs := t.TempDir()
		ended := &windows{append(slices.Clone(w.env), end+"=1")}
		if _, code := ended.run(t, logs, program); (code == 0) != (end == "") {
			t.Errorf("%q: exit code %d", end, code)
		}
		rows := callRows(t, logs, inMode(flightMode, program)...)
		if end == "" {
			want = rows
		}
		compareRows(t, end, rows, want)
	}
}

// flightPlugins loads DLLs with a recorder again and again, from a program with one, with probes but without one, and without probes, which
// is ended by TerminateProcess. Late calls have their windows.
func (w *windows) flightPlugins(t *testing.T) {
	dir, sources := t.TempDir(), filepath.Join("testdata", "windowsspikes")
	probes := slices.Concat([]string{"cc", "--strict"}, modeFlags(flightMode), []string{mingw + "gcc", "-O2", "-g", "-o"})
	a, b := filepath.Join(dir, "a.dll"), filepath.Join(dir, "b.dll")
	output(t, command(t, cairn, append(probes, a, "-shared", filepath.Join(sources, "plugin.c"))...))
	data, err := os.ReadFile(a)
	if err == nil {
		err = os.WriteFile(b, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	host := filepath.Join(sources, "host.c")
	for mode, build := range map[string][]string{
		flightMode:        slices.Concat([]string{cairn}, probes),
		"spike --small 0": {cairn, "cc", "--strict", "--mode", "spike", "--small", "0", mingw + "gcc", "-O2", "-g", "-o"},
		"":                {mingw + "gcc", "-O2", "-g", "-Wl,--build-id", "-o"},
	} {
		program := filepath.Join(dir, fmt.Sprintf("host%d.exe", len(mode)))
		output(t, command(t, build[0], append(build[1:], program, host)...))
		want := map[string]uint64{"plugin": 5}
		if mode == flightMode {
			want = map[string]uint64{"main": 1, "main;use": 5, "main;use;plugin": 5}
		}
		logs := t.TempDir()
		if _, code := w.run(t, logs, program, a, b, a, b, b); code != 7 {
			t.Errorf("exit code %d, want 7", code)
		}
		compareRows(t, "plugins of a program of mode "+mode, callRows(t, logs, inMode(flightMode, program, a, b)...), want)
		w.flightWindow(t, mode, program, a, b)
	}
}

// flightWindow looks for the window of a late call in a DLL, whose program may have a recorder too.
func (w *windows) flightWindow(t *testing.T, mode, program, a, b string) {
	t.Helper()
	for ms := 40; ; ms *= 2 { // on a loaded machine the clock may be late by more
		logs := t.TempDir()
		late := &windows{append(slices.Clone(w.env), "CAIRN_SPIKE=threshold=20ms,flight=1MB", fmt.Sprintf("MS=%d", ms))}
		late.run(t, logs, program, a, b, a)
		text := output(t, command(t, cairn, "spikes", "--top", "0", logs, program, a, b))
		if strings.Contains(text, "window: ") && strings.Contains(text, ") plugin") {
			all := output(t, command(t, cairn, "stacks", "--folded", "--by", "calls", "--top", "0", logs, program, a, b))
			if !strings.Contains(all, "plugin ") || mode == flightMode && !strings.Contains(all, "use;plugin ") {
				t.Errorf("mode %s: the windows have %q", mode, all)
			}
			return
		}
		if ms > 4000 {
			t.Fatalf("mode %s: no window of a late call: %s", mode, text)
		}
	}
}

// flightSlots loads a DLL with a recorder into a program that has used the slots of thread-local storage which threads have in their own
// blocks: late calls are found all the same, without the calls before them, which is said once.
func (w *windows) flightSlots(t *testing.T) {
	dir, sources := t.TempDir(), filepath.Join("testdata", "windowsspikes")
	program, dll, logs := filepath.Join(dir, "host.exe"), filepath.Join(dir, "a.dll"), t.TempDir()
	output(t, command(t, mingw+"gcc", "-O2", "-DSLOTS=70", "-o", program, filepath.Join(sources, "host.c")))
	output(t, command(t, cairn, slices.Concat([]string{"cc"}, modeFlags(flightMode), []string{mingw + "gcc", "-O2", "-shared", "-o", dll, filepath.Join(sources, "plugin.c")})...))
	cmd := w.command(t, logs, program, dll, dll)
	cmd.Env = append(cmd.Env, "CAIRN_SPIKE=threshold=10ms", "MS=200")
	out, _ := cmd.CombinedOutput()
	if said := strings.Count(string(out), "no last calls are kept"); said != 1 || cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("exit code %d: %s", cmd.ProcessState.ExitCode(), out)
	}
	if text := output(t, command(t, cairn, "spikes", "--top", "0", logs, dll)); !strings.Contains(text, "plugin") {
		t.Errorf("the late calls are not found: %s", text)
	}
}

// flightLive reads the log of a program that runs: it has all calls so far.
func (w *windows) flightLive(t *testing.T) {
	program, logs := filepath.Join(t.TempDir(), "live.exe"), t.TempDir()
	output(t, command(t, cairn, slices.Concat([]string{"cc", "--strict"}, modeFlags(flightMode), []string{mingw + "gcc", "-O2", "-o", program, filepath.Join("testdata", "windowsspikes", "live.c")})...))
	cmd := w.command(t, logs, program)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || strings.TrimSpace(line) != "ready" {
		t.Fatalf("%q: %v", line, err)
	}
	rows := parseFolded(t, output(t, command(t, cairn, "stacks", "--folded", "--by", "calls", "--top", "0", "--spike", "0", logs, program)))
	if rows["main;outer"] != 50 || rows["main;outer;inner"] != 100 {
		t.Errorf("while it runs the log has %v", rows)
	}
}
