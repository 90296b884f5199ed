//go:build linux && amd64

package oracle

import (
	"encoding/csv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// goTimed runs a Go program for Windows in the modes that measure time. Its calls are those of the program for Linux,
// however it ends, and the call that took too long is found, with why.
func (w *windows) goTimed(t *testing.T) {
	w.goPrograms(t)
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join("testdata", "windows", "timed.go.txt"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "main.go"), text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	// log returns the program of a mode, and its log of a run.
	log := func(w *windows, mode, system, word string) (program, log string) {
		program = filepath.Join(dir, mode+"-"+system+".exe")
		if _, err := os.Stat(program); err != nil {
			build := command(t, cairn, "go", "--mode", mode, "build", "-o", program, "main.go")
			build.Dir, build.Env = dir, append(build.Env, "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
			output(t, build)
		}
		cmd := command(t, program, word)
		if system == "windows" {
			cmd = w.command(t, "", program, word)
		}
		log = filepath.Join(t.TempDir(), word)
		cmd.Env = append(cmd.Env, "CAIRN_DIR="+log)
		cmd.Run()
		if got, want := cmd.ProcessState.ExitCode(), map[string]int{"return": 0, "exit": 3, "panic": 2}[word]; got != want && word != "kill" {
			t.Errorf("mode %s, %s, %s: exit code %d, want %d", mode, system, word, got, want)
		}
		return program, log
	}
	for _, mode := range []string{"stacks", "trace"} {
		program, plain := log(w, mode, "linux", "return")
		want := callsOfMain(t, plain, program)
		if want["main.fib"] < 1000 || want["main.thrower"] != 6 || want["main.slow"] != 1 {
			t.Fatalf("mode %s: calls on Linux: %v", mode, want)
		}
		for _, word := range []string{"return", "exit", "panic", "kill"} {
			var got map[string]int
			w.patiently(func(w *windows) bool {
				program, theirs := log(w, mode, "windows", word)
				got = callsOfMain(t, theirs, program)
				return maps.Equal(got, want) || word != "kill"
			})
			if !maps.Equal(got, want) {
				t.Errorf("mode %s, %s: calls on Windows %v, on Linux %v", mode, word, got, want)
			}
		}
	}
	for _, word := range []string{"return", "kill"} {
		var shown string
		found := false
		w.patiently(func(w *windows) bool {
			program, spikes := log(w, "spike", "windows", word)
			shown = output(t, command(t, cairn, "spikes", "--top", "0", spikes, program))
			found = slices.ContainsFunc(strings.Split(shown, "\n\n"), func(spike string) bool {
				first, stack, _ := strings.Cut(spike, "\n")
				return strings.Contains(first, ": slept ") && strings.Contains(stack, ") main.slow ")
			})
			return found || word != "kill"
		})
		if !found {
			t.Errorf("%s: the call of main.slow is not among the spikes:\n%s", word, shown)
		}
	}
}

// callsOfMain returns the calls of each function of package main in a log, by its symbol.
func callsOfMain(t *testing.T, log, program string) map[string]int {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(output(t, command(t, cairn, "stacks", "functions", "--csv", log, program)))).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatal(err, len(rows))
	}
	name, calls := slices.Index(rows[0], "symbol"), slices.Index(rows[0], "calls")
	all := map[string]int{}
	for _, row := range rows[1:] {
		if strings.HasPrefix(row[name], "main.") {
			all[row[name]] += int(number(t, row[calls]))
		}
	}
	return all
}
