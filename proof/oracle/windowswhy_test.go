//go:build linux && amd64

package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A lateCall is a call that took too long, or that has not ended, as cairn spikes describes it.
type lateCall struct {
	Interval [2]uint64 `json:"interval_ns"`
	Peak     struct{ Function string }
	Stack    []struct{ Function string }
	Why      *struct {
		CPU  [2]uint64              `json:"cpu_ns"`
		Call string                 `json:"system_call"`
		At   *struct{ Line uint64 } `json:"waited_at"`
	}
	Open *struct {
		Call  string `json:"system_call"`
		Inner []struct{ Function string }
	}
}

// waitsOf has the system calls of Linux, Windows and macOS in which threads sleep, and wait for others: those of winpthreads sleep in a
// wait for events.
var waitsOf = map[string]string{
	"clock_nanosleep": "waits", "NtDelayExecution": "waits", "futex": "waits", "NtWaitForSingleObject": "waits",
	"NtWaitForMultipleObjects": "waits", "NtWaitForAlertByThreadId": "waits",
	"__semwait_signal": "waits", "psynch_mutexwait": "waits", "psynch_cvwait": "waits",
}

// lateRows returns why the calls of testdata/windowsspikes/why.cc took too long.
func lateRows(t *testing.T, logs string, args ...string) map[string]bool {
	t.Helper()
	rows := map[string]bool{}
	for line := range strings.Lines(output(t, command(t, cairn, append([]string{"spikes", "--jsonl", "--top", "0", logs}, args...)...))) {
		var c lateCall
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		name, _, _ := strings.Cut(c.Peak.Function, "(")
		switch {
		case c.Open != nil && name == "hangs":
			has := func(list []struct{ Function string }, name string) bool {
				return slices.ContainsFunc(list, func(f struct{ Function string }) bool { return strings.HasPrefix(f.Function, name) })
			}
			rows[fmt.Sprintf("%s has not ended, around it: %v, below it: %v, %s", name, has(c.Stack, "around("), has(c.Open.Inner, "pthread_cond_wait"), waitsOf[c.Open.Call])] = true
		case c.Open != nil || c.Why == nil:
		case name == "runs" && waitsOf[c.Why.Call] == "" && c.Why.CPU[0] > 0 && 10*c.Why.CPU[1] > c.Interval[0]: // others run as well
			rows["runs runs"] = true
		case c.Why.At != nil && 2*c.Why.CPU[0] < c.Interval[0]:
			rows[fmt.Sprintf("%s %s at line %d", name, waitsOf[c.Why.Call], c.Why.At.Line)] = true
			fallthrough
		case 2*c.Why.CPU[0] < c.Interval[0]:
			rows[name+" "+waitsOf[c.Why.Call]] = true
		}
	}
	return rows
}

// whyRows are those of the program.
var whyRows = []string{"sleeps waits at line 22", "runs runs", "locked waits", "hangs has not ended, around it: true, below it: true, waits"}

// why looks at why calls took too long in a program, and in the same program for Linux: also of one that has not ended when the
// program does. The times of Wine have steps of 10 ms; calls take longer until all is found.
func (w *windows) why(t *testing.T) {
	source := filepath.Join("testdata", "windowsspikes", "why.cc")
	for _, compiler := range [][]string{windowsSpikes[0], windowsSpikes[2], {"g++", "-O2", "-g", "-pthread"}} {
		dir := t.TempDir()
		program, logs, run := filepath.Join(dir, "why.exe"), filepath.Join(dir, "logs"), w.run
		if compiler[0] == "g++" {
			run = runNative
		}
		output(t, command(t, cairn, slices.Concat([]string{"cc", "--strict", "--mode", "spike", "--threshold", "30ms", "--small", "0"}, compiler, []string{"-o", program, source})...))
		for ms := 60; ; ms *= 3 {
			answer, _ := run(t, logs, program, strconv.Itoa(ms))
			checkAnswer(t, answer, "ends\n")
			rows := lateRows(t, logs, program)
			missing := slices.DeleteFunc(slices.Clone(whyRows), func(row string) bool { return rows[row] })
			if ms > 1000 && len(missing) > 0 {
				t.Errorf("%s: no %q in %q", strings.Join(compiler, " "), missing, slices.Sorted(maps.Keys(rows)))
			}
			if ms > 1000 || len(missing) == 0 {
				break
			}
			if err := os.RemoveAll(logs); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// restedRows returns the calls of testdata/windowsspikes/fibers.c that took too long, with the names of their threads and whether they
// did only since their stacks did not run.
func restedRows(t *testing.T, logs string, args ...string) map[string]int {
	t.Helper()
	rows := map[string]int{}
	for line := range strings.Lines(output(t, command(t, cairn, append([]string{"spikes", "--jsonl", "--top", "0", logs}, args...)...))) {
		var c struct {
			Peak      struct{ Function string }
			Thread    string
			Rested    *[2]uint64 `json:"suspended_ns"`
			Suspended bool
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if c.Peak.Function != "" {
			rows[fmt.Sprintf("%s in %s, rested: %v, only: %v", c.Peak.Function, c.Thread, c.Rested != nil && c.Rested[0] > 0, c.Suspended)]++
		}
	}
	return rows
}

// fiberTimes looks at calls of fibers that did not run for a part of their time, and at the name of their thread by SetThreadDescription;
// in the same program for Linux as well.
func (w *windows) fiberTimes(t *testing.T) {
	source := filepath.Join("testdata", "windowsspikes", "fibers.c")
	want := map[string]int{"job in render é, rested: true, only: true": 2, "works in render é, rested: false, only: false": 3}
	for _, compiler := range [][]string{
		{mingw + "gcc", "-O2", "-g"},
		{"clang-22", "--target=x86_64-w64-windows-gnu", "-fuse-ld=lld", "-Wno-unused-command-line-argument", "-O2", "-g"},
		{"gcc", "-O2", "-g", "-w"},
	} {
		dir := t.TempDir()
		program, logs, run := filepath.Join(dir, "fibers.exe"), filepath.Join(dir, "logs"), w.run
		if compiler[0] == "gcc" {
			run = runNative
		}
		output(t, command(t, cairn, slices.Concat([]string{"cc", "--strict", "--mode", "spike", "--threshold", "30ms", "--small", "0"}, compiler, []string{"-o", program, source})...))
		for ms := 100; ; ms *= 3 {
			answer, _ := run(t, logs, program, strconv.Itoa(ms))
			checkAnswer(t, answer, "1\n")
			rows := restedRows(t, logs, program)
			if ms > 1000 || maps.Equal(rows, want) {
				compareCounts(t, strings.Join(compiler, " "), rows, want)
				break
			}
			if err := os.RemoveAll(logs); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// crowd runs a program with more threads than are looked at: what is not known is said. Of its 128 places the first thread has one, and
// the clock's may have one.
func (w *windows) crowd(t *testing.T) {
	program := filepath.Join(t.TempDir(), "crowd.exe")
	output(t, command(t, cairn, "cc", "--strict", "--mode", "spike", "--threshold", "50ms", "--small", "0", mingw+"gcc", "-O1", "-g", "-o", program,
		filepath.Join("testdata", "windowsspikes", "crowd.c")))
	shown, said := "", regexp.MustCompile(`\b7[34] threads were not looked at`)
	w.patiently(func(w *windows) bool {
		logs := t.TempDir()
		w.run(t, logs, program)
		shown = output(t, command(t, cairn, "spikes", "--top", "0", logs, program))
		return said.MatchString(shown) && strings.Contains(shown, "open  hangs: ")
	})
	if !said.MatchString(shown) || !strings.Contains(shown, "open  hangs: ") {
		t.Errorf("of 200 threads that wait:\n%s", shown)
	}
}

// torn runs a program with a thread that is looked at between two stacks. It was read behind the end of the one.
func (w *windows) torn(t *testing.T) {
	program := filepath.Join(t.TempDir(), "torn.exe")
	output(t, command(t, cairn, "cc", "--strict", "--mode", "spike", "--threshold", "30ms", "--small", "0", mingw+"gcc", "-O1", "-g", "-o", program,
		filepath.Join("testdata", "windowsspikes", "torn.c")))
	for range 3 {
		answer, _ := w.run(t, t.TempDir(), program)
		checkAnswer(t, answer, "ends\n")
	}
}

// compareCounts reports rows that are not there as often as they should be.
func compareCounts(t *testing.T, what string, got, want map[string]int) {
	t.Helper()
	for row, n := range want {
		if got[row] < n {
			t.Errorf("%s: %q %d times, want %d, in %v", what, row, got[row], n, got)
		}
	}
}

// holderRows returns which calls of testdata/windowsspikes/sections.c waited for a lock, and where the thread was that had it.
func holderRows(t *testing.T, logs string, args ...string) map[string]bool {
	t.Helper()
	type holder struct {
		Ended string
		Stack []struct{ Function string }
	}
	rows := map[string]bool{}
	for line := range strings.Lines(output(t, command(t, cairn, append([]string{"spikes", "--jsonl", "--top", "0", logs}, args...)...))) {
		var c struct {
			Peak struct{ Function string }
			Why  *struct{ Holder *holder }
			Open *struct{ Holder *holder }
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		for what, h := range map[string]*holder{"ended": whyHolder(c.Why), "open": whyHolder(c.Open)} {
			if h != nil && slices.ContainsFunc(h.Stack, func(f struct{ Function string }) bool { return f.Function == "holds" }) {
				rows[fmt.Sprintf("%s %s: %s in holds", c.Peak.Function, what, h.Ended)] = true
			}
		}
	}
	return rows
}

// whyHolder returns the holder of what is known of a wait, nil if there is none.
func whyHolder[H any](x *struct{ Holder *H }) *H {
	if x == nil {
		return nil
	}
	return x.Holder
}

// holders looks for who had the critical sections that calls waited for, and in the same program for Linux for who had the mutexes.
func (w *windows) holders(t *testing.T) {
	source := filepath.Join("testdata", "windowsspikes", "sections.c")
	for _, compiler := range [][]string{
		{mingw + "gcc", "-O2", "-g", "-w"},
		{"clang-22", "--target=x86_64-w64-windows-gnu", "-fuse-ld=lld", "-Wno-unused-command-line-argument", "-O0", "-g", "-w"},
		{"gcc", "-O2", "-g", "-w", "-pthread"},
	} {
		dir := t.TempDir()
		program, logs, run := filepath.Join(dir, "sections.exe"), filepath.Join(dir, "logs"), w.run
		want := []string{"waits ended: held in holds", "waits open: held in holds"}
		if compiler[0] == "gcc" {
			run = runNative
		}
		output(t, command(t, cairn, slices.Concat([]string{"cc", "--strict", "--mode", "spike", "--threshold", "30ms", "--small", "0"}, compiler, []string{"-o", program, source})...))
		for ms := 100; ; ms *= 3 {
			answer, _ := run(t, logs, program, strconv.Itoa(ms))
			checkAnswer(t, answer, "ends\n")
			rows := holderRows(t, logs, program)
			missing := slices.DeleteFunc(slices.Clone(want), func(row string) bool { return rows[row] })
			if ms > 2000 && len(missing) > 0 {
				t.Errorf("%s: no %q in %q", strings.Join(compiler, " "), missing, slices.Sorted(maps.Keys(rows)))
			}
			if ms > 2000 || len(missing) == 0 {
				break
			}
			if err := os.RemoveAll(logs); err != nil {
				t.Fatal(err)
			}
		}
	}
}
