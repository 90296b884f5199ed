//go:build linux && amd64

package oracle

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestWindowsSpikes runs programs for Windows in mode spike.
func TestWindowsSpikes(t *testing.T) {
	t.Parallel()
	shorttest.Proof(t)
	w := newWindows(t)
	t.Run("stalls", w.stalls)
	t.Run("why", w.why)
	t.Run("holders", w.holders)
	t.Run("fibers", w.fiberTimes)
	t.Run("crowd", w.crowd)
	t.Run("torn", w.torn)
	t.Run("steps", func(t *testing.T) { w.steps(t, "spike") })
	t.Run("plugins", w.plugins)
	t.Run("marks", w.marks)
	t.Run("last", w.last)
	t.Run("handled", func(t *testing.T) { w.sameAnswer(t, "spike", "handled.c") })
}

// windowsSpikes are the compilers, and options for programs in C++.
var windowsSpikes = [][]string{
	{mingw + "g++", "-O2", "-g", "-static"},
	{mingw + "g++", "-O0", "-g", "-static"},
	{"clang++-22", "--target=x86_64-w64-windows-gnu", "-fuse-ld=lld", "-pthread", "-Wno-unused-command-line-argument", "-O2", "-g", "-static"},
}

// spikeRows returns the spikes of a log in the order of their ends, each with the calls of the program on its stack and what
// is known of them.
func spikeRows(t *testing.T, logs string, args ...string) (rows []string) {
	t.Helper()
	type named struct {
		Function string
		Module   string
		SoFar    *[2]uint64 `json:"so_far_ns"`
		Left     bool
	}
	var spikes []struct {
		Left    bool
		Stack   []named
		Parents []named
	}
	text := output(t, command(t, cairn, append([]string{"spikes", "--jsonl", "--top", "0", "--sort", "time", logs}, args...)...))
	for line := range strings.Lines(text) {
		at := len(spikes)
		spikes = slices.Grow(spikes, 1)[:at+1]
		if err := json.Unmarshal([]byte(line), &spikes[at]); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
	}
	own := regexp.MustCompile(`^(outer|middle|stall|tail|thrower|through|catcher|jumper|lander|grows|vectors|many|half|use|plugin)\b`)
	for _, s := range spikes {
		row := ""
		for _, f := range s.Stack {
			if name := own.FindString(f.Function); name != "" {
				row += " > " + name
				if f.SoFar != nil {
					row += " timed"
				}
			}
		}
		if s.Left {
			row += " left"
		}
		for _, p := range s.Parents {
			if name := own.FindString(p.Function); name != "" {
				row += fmt.Sprintf(", %s ended", name)
			}
		}
		if row != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

// stallRows are those of the program: the stacks, which calls exceptions and longjmp left, and which callers took too long. The
// function whose last call is a jump is on the stack only without optimisation.
func stallRows(plain bool) []string {
	tail := " > middle timed > stall timed, middle ended"
	if plain {
		tail = " > tail timed > middle timed > stall timed, middle ended, tail ended"
	}
	outer := " > outer timed > middle timed > stall timed, middle ended, outer ended"
	return []string{
		outer, tail, " > catcher timed > through timed > thrower timed left, through ended, catcher ended",
		" > lander timed > jumper timed left, lander ended", " > grows timed", " > vectors timed", " > many timed", outer, outer,
	}
}

// checkRows reports rows that are not there, in the order of their ends: on a loaded machine other calls may take long as well.
func checkRows(t *testing.T, what string, rows, want []string) {
	t.Helper()
	if next := firstMissing(rows, want); next != "" {
		t.Errorf("%s: no%s after that in:\n%s", what, next, strings.Join(rows, "\n"))
	}
}

// firstMissing returns the first of the wanted rows that is not there in their order, or "".
func firstMissing(rows, want []string) string {
	next := 0
	for _, row := range rows {
		if next < len(want) && row == want[next] {
			next++
		}
	}
	if next < len(want) {
		return want[next]
	}
	return ""
}

// stalls looks at what is found in a program, and in the same program for Linux. Its calls take longer until all are found: on
// a loaded machine the clock may be late by more than they take.
func (w *windows) stalls(t *testing.T) {
	source := filepath.Join("testdata", "windowsspikes", "stalls.cc")
	for _, compiler := range append(windowsSpikes, []string{"g++", "-O2", "-g", "-pthread"}) {
		if _, err := exec.LookPath(compiler[0]); err != nil {
			t.Logf("%s is not installed", compiler[0])
			continue
		}
		dir := t.TempDir()
		own, program, logs := filepath.Join(dir, "plain.exe"), filepath.Join(dir, "stalls.exe"), filepath.Join(dir, "logs")
		run, rows := w.run, stallRows(slices.Contains(compiler, "-O0"))
		if compiler[0] == "g++" {
			run = runNative
		}
		output(t, command(t, compiler[0], append(slices.Clone(compiler[1:]), "-o", own, source)...))
		want, code := run(t, "", own)
		output(t, command(t, cairn, slices.Concat([]string{"cc", "--strict", "--mode", "spike", "--threshold", "30ms", "--small", "0"}, compiler, []string{"-o", program, source})...))
		for ms := 60; ; ms *= 3 {
			got, gotCode := run(t, logs, program, strconv.Itoa(ms))
			checkAnswer(t, got, want)
			if gotCode != code {
				t.Errorf("exit code %d, without probes %d", gotCode, code)
			}
			found := spikeRows(t, logs, program)
			if ms > 1000 || firstMissing(found, rows) == "" {
				checkRows(t, strings.Join(compiler, " "), found, rows)
				break
			}
			if err := os.RemoveAll(logs); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// runNative is run of windows for a program for Linux.
func runNative(t *testing.T, raws, program string, args ...string) (answer string, code int) {
	t.Helper()
	cmd := command(t, program, args...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
	return output(t, cmd), 0
}

// stepsLine is what the program says that runs itself an instruction at a time.
var stepsLine = regexp.MustCompile(`(\d+) of (\d+) wrong, result right`)

// steps unwinds the stack from each instruction of a program, with and without calls that are judged: Wine's unwinder finds as
// many wrong callers as without probes, behind jumps of tail calls and in functions that have no table.
func (w *windows) steps(t *testing.T, mode string) {
	source := filepath.Join("testdata", "windowsspikes", "steps.c")
	compilers := [][]string{
		{mingw + "gcc", "-O2"},
		{"clang-22", "--target=x86_64-w64-windows-gnu", "-fuse-ld=lld", "-Wno-unused-command-line-argument", "-O2"},
		{mingw + "gcc", "-Os"},
		{mingw + "gcc", "-O0"},
	}
	if mode != "spike" { // the places are those of mode spike, which has all rows
		compilers = shorttest.Rows(2, compilers[:3]...)
	}
	for _, compiler := range compilers {
		dir := t.TempDir()
		run := func(prefix []string, threshold string) []string {
			t.Helper()
			program := filepath.Join(dir, "steps.exe")
			argv := slices.Concat(prefix, compiler, []string{"-o", program, source})
			output(t, command(t, argv[0], argv[1:]...))
			cmd := w.command(t, filepath.Join(dir, "logs"), program)
			cmd.Env = append(cmd.Env, "CAIRN_SPIKE=threshold="+threshold)
			if mode == flightMode { // at each tick the runtime would be called, which takes many steps
				cmd.Env = append(cmd.Env, "CAIRN_SPIKE=threshold="+threshold+",period=1s")
			}
			out := output(t, cmd)
			found := stepsLine.FindStringSubmatch(out)
			if found == nil {
				t.Fatalf("%s: %s", strings.Join(argv, " "), out)
			}
			return found
		}
		probes := append([]string{cairn, "cc", "--strict"}, modeFlags(mode)...)
		if mode == "spike" {
			probes = append(probes, "--small", "0")
		}
		plain, quick := run(nil, "10s"), run(probes, "100s")
		judged := quick
		if mode == "spike" && slices.Contains(compiler, "-O2") { // others take long
			judged = run(probes, "50ms")
		}
		if quick[1] != plain[1] || judged[1] != plain[1] {
			t.Errorf("%s: %s wrong, %s where calls are judged; without probes %s", strings.Join(compiler, " "), quick[0], judged[0], plain[0])
		}
		if len(quick[2]) < 4 || quick[2] == plain[2] {
			t.Errorf("%s steps with probes, %s without", quick[2], plain[2])
		}
	}
}

// plugins loads DLLs again and again, from a program with and without probes, which is then ended by TerminateProcess. One has a
// directory of debug information outside of it. The program without has used the slots of thread-local storage that threads have
// in their own blocks.
func (w *windows) plugins(t *testing.T) {
	dir, sources := t.TempDir(), filepath.Join("testdata", "windowsspikes")
	probes := []string{"cc", "--strict", "--mode", "spike", "--threshold", "20ms", mingw + "gcc", "-O2", "-g", "-o"}
	a, b, bad := filepath.Join(dir, "a.dll"), filepath.Join(dir, "b.dll"), filepath.Join(dir, "bad.dll")
	output(t, command(t, cairn, append(probes, a, "-shared", filepath.Join(sources, "plugin.c"))...))
	data, err := os.ReadFile(a)
	if err == nil {
		err = os.WriteFile(b, data, 0o644)
	}
	if err == nil {
		const header, directory = 60, 24 + 112 + 8*6 // of debug information
		binary.LittleEndian.PutUint32(data[int(binary.LittleEndian.Uint32(data[header:]))+directory:], 0x7ff00000)
		err = os.WriteFile(bad, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, plain := range []bool{false, true} {
		program := filepath.Join(dir, "host.exe")
		build := command(t, cairn, append(probes, program, filepath.Join(sources, "host.c"))...)
		if plain {
			build = command(t, mingw+"gcc", "-O2", "-g", "-DSLOTS=70", "-Wl,--build-id", "-o", program, filepath.Join(sources, "host.c"))
		}
		output(t, build)
		row := " > use timed > plugin timed, use ended"
		if plain {
			row = " > use > plugin timed"
		}
		ms := 30
		w.checkFound(t, []string{program, a}, func(logs string) {
			longer := &windows{append(slices.Clone(w.env), fmt.Sprintf("MS=%d", ms))}
			if _, code := longer.run(t, logs, program, a, b, a, bad); code != 7 {
				t.Errorf("exit code %d, want 7", code)
			}
			ms = min(2*ms, 4000) // at last longer than the clock is late
		}, []string{row, row, row})
	}
}

// last runs a program whose threads end one after the other: what the runtime does beside it keeps it from nothing. In mode count a
// thread of the runtime writes the records.
func (w *windows) last(t *testing.T) {
	dir, source := t.TempDir(), filepath.Join("testdata", "windowsspikes", "last.cc")
	compiler := []string{mingw + "g++", "-O2", "-static", "-o"}
	plain := filepath.Join(dir, "plain.exe")
	output(t, command(t, compiler[0], append(compiler[1:], plain, source)...))
	want, code := w.run(t, "", plain)
	if code != 7 {
		t.Errorf("exit code %d without probes, want 7", code)
	}
	continuous := &windows{append(slices.Clone(w.env), "CAIRN_CONTINUOUS=1")}
	for _, mode := range []string{"spike", "stacks", "trace", "count"} {
		program := filepath.Join(dir, mode+".exe")
		output(t, command(t, cairn, slices.Concat([]string{"cc", "--strict", "--mode", mode}, compiler, []string{program, source})...))
		got, gotCode := continuous.run(t, filepath.Join(dir, mode), program)
		if got != want || gotCode != code {
			t.Errorf("mode %s: %q and exit code %d, without probes %q and %d", mode, got, gotCode, want, code)
		}
	}
}
