//go:build linux && amd64

package oracle

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestWindowsCalls runs programs for Windows in modes stacks and trace.
func TestWindowsCalls(t *testing.T) {
	t.Parallel()
	shorttest.Proof(t)
	w := newWindows(t)
	w.env = append(w.env, "CAIRN_TRACE=file")
	t.Run("depth", func(t *testing.T) { w.calls(t, "trace", 10, "--depth", "3") })
	t.Run("words", w.words)
	t.Run("depth-fibers", func(t *testing.T) { w.fibers(t, "trace", "--depth", "3") })
	for _, mode := range []string{"stacks", "trace"} {
		t.Run("calls-"+mode, func(t *testing.T) { w.calls(t, mode, 100) })
		t.Run("steps-"+mode, func(t *testing.T) { w.steps(t, mode) })
		t.Run("plugins-"+mode, func(t *testing.T) { w.pluginCalls(t, mode) })
		t.Run("fibers-"+mode, func(t *testing.T) { w.fibers(t, mode) })
		t.Run("handled-"+mode, func(t *testing.T) { w.sameAnswer(t, mode, "handled.c") })
		t.Run("few-"+mode, func(t *testing.T) { w.sameAnswer(t, mode, "fibers.c", "--skip", "^(drive|main|yields)$") })
		t.Run("own-"+mode, func(t *testing.T) { w.ownWaits(t, mode) })
		t.Run("seh-"+mode, func(t *testing.T) { w.structured(t, mode) })
	}
}

// flightMode has a recorder that keeps all calls with CAIRN_SPIKE=recordAll.
const flightMode = "spike --small 0 --flight"

// modeFlags returns the flags of a mode, which has flags behind it.
func modeFlags(mode string) []string { return append([]string{"--mode"}, strings.Fields(mode)...) }

// inMode returns the arguments of callRows for programs of a mode.
func inMode(mode string, programs ...string) []string {
	if mode == flightMode {
		return append([]string{"--spike", "0"}, programs...)
	}
	return programs
}

// ownCall is a function of the programs of testdata/windowscalls and windowsspikes.
var ownCall = regexp.MustCompile(`^(main$|(fib|even|odd|shapes|deepest|guard|descend|catches|rethrows|leap|lands|work|briefly|within|late|nap|Square::area|Line::area)\(|use$|plugin$|Sleep$|(step|yields|inner|first|second|drive|raises|faults|filter|counted|through|handles)$)`)

// callRows returns the calls of each stack of a log, of which only functions of the program are left.
func callRows(t *testing.T, logs string, programs ...string) map[string]uint64 {
	t.Helper()
	rows := map[string]uint64{}
	text := output(t, command(t, cairn, append([]string{"stacks", "--folded", "--by", "calls", "--top", "0", logs}, programs...)...))
	for line := range strings.Lines(text) {
		stack, calls, _ := cutLast(strings.TrimSpace(line), " ")
		frames := strings.Split(stack, ";")
		n, err := strconv.ParseUint(calls, 10, 64)
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if own := slices.DeleteFunc(slices.Clone(frames), func(f string) bool { return !ownCall.MatchString(f) }); ownCall.MatchString(frames[len(frames)-1]) {
			rows[strings.Join(own, ";")] += n
		}
	}
	return rows
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// compareRows reports stacks that do not have the calls that they should have.
func compareRows(t *testing.T, what string, got, want map[string]uint64) {
	t.Helper()
	for _, stack := range slices.Sorted(maps.Keys(want)) {
		if got[stack] != want[stack] {
			t.Errorf("%s: %d calls of %s, want %d", what, got[stack], stack, want[stack])
		}
	}
	for _, stack := range slices.Sorted(maps.Keys(got)) {
		if want[stack] == 0 {
			t.Errorf("%s: %d calls of %s, want none", what, got[stack], stack)
		}
	}
}

// calls compares a program with the same one for Linux, call by call, by gcc and by clang: at least that many stacks.
func (w *windows) calls(t *testing.T, mode string, least int, flags ...string) {
	source := filepath.Join("testdata", "windowscalls", "calls.cc")
	build := func(compiler []string, program string) {
		t.Helper()
		output(t, command(t, cairn, slices.Concat([]string{"cc", "--strict"}, modeFlags(mode), flags, compiler, []string{"-o", program, source})...))
	}
	compilers := [][]string{windowsSpikes[0], windowsSpikes[2]}
	if len(flags) > 0 { // the code is that of the mode, whose rows without a depth have both compilers
		compilers = shorttest.Rows(1, compilers...)
	}
	for _, compiler := range compilers {
		dir := t.TempDir()
		elf, program := filepath.Join(dir, "calls"), filepath.Join(dir, "calls.exe")
		linux := []string{"g++", compiler[1], "-g", "-pthread"}
		if strings.HasPrefix(compiler[0], "clang") {
			linux = []string{compiler[0], "-O2", "-g", "-pthread"}
		}
		build(linux, elf)
		build(compiler, program)
		own, logs := filepath.Join(dir, "linux"), filepath.Join(dir, "logs")
		cmd := command(t, elf)
		cmd.Env = append(cmd.Env, "CAIRN_DIR="+own, "CAIRN_TRACE=file", "CAIRN_SPIKE="+recordAll)
		output(t, cmd)
		answer, code := w.plain(t, compiler, source)
		got, gotCode := w.run(t, logs, program)
		if checkAnswer(t, got, answer); gotCode != code {
			t.Errorf("exit code %d, without probes %d", gotCode, code)
		}
		rows := callRows(t, logs, inMode(mode, program)...)
		compareRows(t, strings.Join(compiler, " "), rows, callRows(t, own, inMode(mode, elf)...))
		if len(rows) < least {
			t.Errorf("only %d stacks", len(rows))
		}
	}
}

// answered is what a program answers, and its exit code.
type answered struct {
	answer string
	code   int
}

// plains has the answers of programs without probes, of all tests.
var plains shorttest.Memo[answered]

// plain returns what a program without probes answers, which is compiled once.
func (w *windows) plain(t *testing.T, compiler []string, source string) (answer string, code int) {
	t.Helper()
	a, err := plains.Get(strings.Join(append(slices.Clone(compiler), source), " "), func() (answered, error) {
		program := filepath.Join(t.TempDir(), "plain.exe")
		if out, err := command(t, compiler[0], append(slices.Clone(compiler[1:]), "-o", program, source)...).CombinedOutput(); err != nil {
			return answered{}, fmt.Errorf("%w\n%s", err, out)
		}
		answer, code := w.run(t, "", program)
		return answered{answer, code}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return a.answer, a.code
}

// fibers compares fibers with the same program for Linux, which switches by swapcontext.
func (w *windows) fibers(t *testing.T, mode string, flags ...string) {
	dir, source := t.TempDir(), filepath.Join("testdata", "windowscalls", "fibers.c")
	elf, program, own, logs := filepath.Join(dir, "fibers"), filepath.Join(dir, "fibers.exe"), filepath.Join(dir, "linux"), filepath.Join(dir, "logs")
	build := func(args ...string) {
		t.Helper()
		output(t, command(t, cairn, slices.Concat([]string{"cc", "--strict"}, modeFlags(mode), flags, args, []string{source})...))
	}
	build("gcc", "-O0", "-g", "-o", elf)
	cmd := command(t, elf)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+own, "CAIRN_TRACE=file", "CAIRN_SPIKE="+recordAll)
	want := output(t, cmd)
	build(mingw+"gcc", "-O0", "-g", "-o", program)
	got, _ := w.run(t, logs, program)
	checkAnswer(t, got, want)
	compareRows(t, "fibers", callRows(t, logs, inMode(mode, program)...), callRows(t, own, inMode(mode, elf)...))
}

// sameAnswer compares the answer of a program of testdata/windowscalls with that of one without probes.
func (w *windows) sameAnswer(t *testing.T, mode, source string, flags ...string) {
	plain, program := filepath.Join(t.TempDir(), "plain.exe"), filepath.Join(t.TempDir(), "program.exe")
	compiler := []string{mingw + "gcc", "-O2", "-w", filepath.Join("testdata", "windowscalls", source), "-o"}
	output(t, command(t, compiler[0], append(compiler[1:], plain)...))
	output(t, command(t, cairn, slices.Concat([]string{"cc"}, modeFlags(mode), flags, compiler, []string{program})...))
	want, code := w.run(t, "", plain)
	if got, gotCode := w.run(t, t.TempDir(), program); got != want || gotCode != code || want == "" {
		t.Errorf("mode %s answers %q and exit code %d, without probes %q and %d", mode, got, gotCode, want, code)
	}
}

// ownWaits runs a program whose own functions have the names of functions that wait, and arguments on the stack.
func (w *windows) ownWaits(t *testing.T, mode string) {
	source := filepath.Join("testdata", "windowscalls", "ownwaits.c")
	for _, compiler := range [][]string{
		{mingw + "gcc", "-O1", "-w"},
		{"clang-22", "--target=x86_64-w64-windows-gnu", "-fuse-ld=lld", "-O1", "-w"},
	} {
		var answers [2]string
		for i, prefix := range [][]string{nil, append([]string{cairn, "cc", "--strict"}, modeFlags(mode)...)} {
			dir := t.TempDir()
			program, own := filepath.Join(dir, "own.exe"), filepath.Join(dir, "own.o")
			for _, args := range [][]string{{"-DOWN", "-c", source, "-o", own}, {source, own, "-o", program}} {
				argv := slices.Concat(prefix, compiler, args)
				output(t, command(t, argv[0], argv[1:]...))
			}
			raws := ""
			if prefix != nil {
				raws = dir
			}
			answers[i], _ = w.run(t, raws, program)
		}
		if answers[0] != answers[1] || !strings.Contains(answers[0], "7 6.5 seven\n") {
			t.Errorf("%s, mode %s: %q, without probes %q", compiler[0], mode, answers[1], answers[0])
		}
	}
}

// structured looks at structured exceptions, of which clang has the syntax: 16 calls of which every other raises one, half of
// these by a fault. A filter that runs in the midst of one is below the call that raised it, if that was no jump; what __finally
// calls is called by its function.
func (w *windows) structured(t *testing.T, mode string) {
	dir := t.TempDir()
	program, logs := filepath.Join(dir, "seh.exe"), filepath.Join(dir, "logs")
	output(t, command(t, cairn, slices.Concat([]string{"cc", "--strict"}, modeFlags(mode), []string{
		"clang-22", "--target=x86_64-w64-windows-gnu", "-fms-extensions", "-fuse-ld=lld",
		"-Wno-unused-command-line-argument", "-O2", "-g", "-o", program, filepath.Join("testdata", "windowscalls", "seh.c"),
	})...))
	got, _ := w.run(t, logs, program)
	checkAnswer(t, got, "808\n52\n")
	compareRows(t, "structured exceptions", callRows(t, logs, inMode(mode, program)...), map[string]uint64{
		"main": 1, "main;handles": 1, "main;handles;through": 16, "main;handles;counted": 8, "main;handles;through;raises": 8, "main;handles;through;faults": 8,
		"main;handles;through;filter": 4, "main;handles;through;faults;filter": 4, "main;handles;through;counted": 16,
	})
}

// pluginCalls loads DLLs again and again, from a program with and without probes, which is then ended by TerminateProcess.
func (w *windows) pluginCalls(t *testing.T, mode string) {
	dir, sources := t.TempDir(), filepath.Join("testdata", "windowsspikes")
	probes := slices.Concat([]string{"cc", "--strict"}, modeFlags(mode), []string{mingw + "gcc", "-O2", "-g", "-o"})
	a, b := filepath.Join(dir, "a.dll"), filepath.Join(dir, "b.dll")
	output(t, command(t, cairn, append(probes, a, "-shared", filepath.Join(sources, "plugin.c"))...))
	data, err := os.ReadFile(a)
	if err == nil {
		err = os.WriteFile(b, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, plain := range []bool{false, true} {
		program := filepath.Join(dir, "host.exe")
		build := command(t, cairn, append(probes, program, filepath.Join(sources, "host.c"))...)
		want := map[string]uint64{"main": 1, "main;Sleep": 1, "main;use": 5, "main;use;plugin": 5, "main;use;plugin;Sleep": 5}
		if plain {
			build = command(t, mingw+"gcc", "-O2", "-g", "-Wl,--build-id", "-o", program, filepath.Join(sources, "host.c"))
			want = map[string]uint64{"plugin": 5, "plugin;Sleep": 5}
		}
		output(t, build)
		var got map[string]uint64
		w.patiently(func(w *windows) bool {
			logs := t.TempDir()
			if _, code := w.run(t, logs, program, a, b, a, b, b); code != 7 { // the first stays where the program has no probes
				t.Errorf("exit code %d, want 7", code)
			}
			got = callRows(t, logs, inMode(mode, program, a, b)...)
			return maps.Equal(got, want)
		})
		compareRows(t, fmt.Sprintf("plugins of a program without probes: %v", plain), got, want)
	}
}

// words looks at what a program of mode stacks says of words of mode spike, and of too many.
func (w *windows) words(t *testing.T) {
	program := filepath.Join(t.TempDir(), "ends.exe")
	output(t, command(t, cairn, "cc", "--strict", "--mode", "stacks", mingw+"gcc", "-O1", "-o", program, filepath.Join("testdata", "windows", "ends.c")))
	for words, want := range map[string]string{
		"flight=8MB":              "cairn: CAIRN_SPIKE: flight=8MB is not understood; ignored (period=1ms,off)\n",
		strings.Repeat("x", 2048): "cairn: CAIRN_SPIKE has 2048 characters or more; ignored\n",
		strings.Repeat(",", 2047): "",
	} {
		var problems strings.Builder
		cmd := w.command(t, t.TempDir(), program, "exit", "")
		cmd.Env = append(cmd.Env, "CAIRN_SPIKE="+words)
		cmd.Stderr = &problems
		cmd.Run()
		_, got, _ := strings.Cut("\n"+strings.ReplaceAll(problems.String(), "\r\n", "\n"), "\ncairn: ")
		if got != strings.TrimPrefix(want, "cairn: ") {
			t.Errorf("%d characters: %q, want %q", len(words), problems.String(), want)
		}
	}
}
