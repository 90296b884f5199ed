//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// flown runs a program with a flight recorder, and returns its answer and the directory of its logs. It may be killed.
func (a apple) flown(t *testing.T, settings, program string, args ...string) (answer, logs string) {
	t.Helper()
	logs = t.TempDir()
	cmd := a.load(t, a.emulator, program, args...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+logs, "CAIRN_SPIKE="+settings)
	if slices.Contains(args, "kill") {
		if err := cmd.Run(); err == nil {
			t.Fatal("it is not killed")
		}
		return "", logs
	}
	return output(t, cmd), logs
}

// TestMachOFlight compares what flight recorders of programs for macOS and iOS have with that of the same program for Linux, call by
// call: recursion, tail calls, exceptions and longjmp through frames, threads.
func TestMachOFlight(t *testing.T) {
	t.Parallel()
	shorttest.Proof(t)
	for _, system := range []apple{macOS, iOS} {
		for _, flags := range shorttest.Rows(1, "-O2", "-O0", "-Os") {
			t.Run(system.target+flags, func(t *testing.T) {
				t.Parallel()
				source := filepath.Join("testdata", "windowscalls", "calls.cc")
				elf := build(t, flightMode, "clang++-22", flags, "-pthread", source)
				own := t.TempDir()
				cmd := command(t, elf)
				cmd.Env = append(cmd.Env, "CAIRN_DIR="+own, "CAIRN_SPIKE="+recordAll)
				output(t, cmd)
				args := system.linuxArgs(t, flags, source)
				want := output(t, system.load(t, system.emulator, build(t, "", "clang++-22", args...)))
				program := build(t, flightMode, "clang++-22", args...)
				answer, logs := system.flown(t, recordAll, program)
				checkAnswer(t, answer, want)
				rows := callRows(t, logs, inMode(flightMode, program)...)
				compareRows(t, flags, rows, callRows(t, own, inMode(flightMode, elf)...))
				if len(rows) < 100 {
					t.Errorf("only %d stacks", len(rows))
				}
			})
		}
	}
}

// TestMachOFlightLife looks at what recorders have of programs that are killed, that leave by _exit, and that fork: all calls, each in
// the log of its process. Late calls have windows.
func TestMachOFlightLife(t *testing.T) {
	t.Parallel()
	for _, system := range []apple{macOS, iOS} {
		t.Run(system.target, func(t *testing.T) {
			t.Parallel()
			program := build(t, flightMode, "clang-22", system.args(t, "-O1", filepath.Join("testdata", "macho", "late.c"))...)
			for _, end := range []string{"exit", "kill", "leave", "child"} {
				if end == "child" && system.emulator != nil {
					continue // the emulator cannot start threads in a child
				}
				_, logs := system.flown(t, recordAll, program, end, "1")
				rows := foldedFlights(t, logs, program)
				want := map[string]uint64{"main;quick": 1, "main;outer": 1, "main;outer;middle": 1, "main;outer;middle;stall": 1}
				if end == "child" {
					want = map[string]uint64{"main;quick": 1, "main;outer": 2, "main;outer;middle": 2, "main;outer;middle;stall": 2}
				}
				for stack, n := range want {
					if rows[stack] != n {
						t.Errorf("%s: %d calls of %s, want %d, in %v", end, rows[stack], stack, n, rows)
					}
				}
			}
			for ms := 60; ; ms *= 3 {
				_, logs := system.flown(t, "threshold=30ms,flight=1MB", program, "exit", strconv.Itoa(ms))
				text := output(t, command(t, cairn, "spikes", "--top", "0", logs, program))
				if strings.Contains(text, "window: ") && strings.Contains(text, ") stall") {
					break
				}
				if ms > 4000 {
					t.Fatalf("no window of a late call:\n%s", text)
				}
			}
		})
	}
}

// foldedFlights returns the calls of each stack in recorders.
func foldedFlights(t *testing.T, logs, program string) map[string]uint64 {
	t.Helper()
	rows := map[string]uint64{}
	for _, file := range mustGlob(t, filepath.Join(logs, "*.cairnlog")) {
		for line := range strings.Lines(output(t, command(t, cairn, "stacks", "--folded", "--by", "calls", "--top", "0", "--spike", "0", file, program))) {
			stack, calls, _ := strings.Cut(strings.TrimSpace(line), " ")
			n, err := strconv.ParseUint(calls, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			rows[stack] += n
		}
	}
	return rows
}
