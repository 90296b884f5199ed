//go:build linux && amd64

package oracle

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cairnprof/cairn/proof/tailguests"
)

const mingw = "x86_64-w64-mingw32-"

// windows runs programs for Windows, in Wine.
type windows struct{ env []string }

// system is the directory that Wine calls C:, of all tests, and the server that their programs share: to make one takes as long as
// tens of programs. The server ends with the last of the tests that run.
//
// Wine's services start with the first program, write to its standard error and end three seconds after the last program, unless
// the server is told to stay. The test of a program must not see what a service writes (winedevice.exe crashes once in some hundred
// ends), so that they start here, with no output.
var system struct {
	sync.Mutex
	made  bool
	tests int
}

// enterSystem makes the directory, and starts the server, unless another test has, and ends the server behind the last test.
func enterSystem(t *testing.T, w *windows) {
	t.Helper()
	system.Lock()
	defer system.Unlock()
	system.tests++
	t.Cleanup(func() {
		system.Lock()
		defer system.Unlock()
		if system.tests--; system.tests > 0 {
			return
		}
		for _, how := range []string{"-k", "-w"} {
			end := exec.Command("wineserver", how)
			end.Env = append(os.Environ(), w.env...)
			end.Run() // it may have ended
		}
		system.made = false // the next test starts the services again, with no output
	})
	if !system.made {
		if err := os.MkdirAll(filepath.Join(workDir, "wine"), 0o777); err != nil {
			t.Fatal(err)
		}
		stay := exec.Command("wineserver", "-p600") // seconds without a program
		boot := w.command(t, "", "wineboot", "-i")
		stay.Env = append(os.Environ(), w.env...)
		if err := errors.Join(stay.Run(), boot.Run()); err != nil {
			t.Fatalf("Wine does not start: %v", err)
		}
		system.made = true
	}
}

// newWindows returns what runs programs for Windows.
func newWindows(t *testing.T) *windows {
	t.Helper()
	for _, tool := range []string{"wine", "wineserver", mingw + "gcc", mingw + "g++", mingw + "gcov"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed; make proof installs it", tool)
		}
	}
	dir := filepath.Join(workDir, "wine")
	w := &windows{[]string{"WINEPREFIX=" + dir, "WINEDEBUG=-all", "DISPLAY=", "WINEDLLOVERRIDES=mscoree=;mshtml=;winemenubuilder.exe=;winedbg.exe="}}
	enterSystem(t, w)
	return w
}

// command returns a command that runs a program, which writes raw files to a directory, or none for "".
func (w *windows) command(t *testing.T, raws, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t, "wine", append([]string{program}, args...)...)
	cmd.Env = append(cmd.Env, w.env...)
	if raws != "" {
		cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
	}
	return cmd
}

// patiently calls run, whose programs end themselves after a number of seconds, with more of them until it succeeds: what other
// threads have written by then depends on the load.
func (w *windows) patiently(run func(w *windows) bool) {
	for seconds := 2; seconds < 100; seconds *= 3 {
		if run(&windows{append(slices.Clone(w.env), fmt.Sprintf("WAIT=%d", seconds))}) {
			return
		}
	}
}

// run runs a program and returns its answer, which is that of Windows in the ends of its lines, and its exit code. Wine failed to start
// a program without probes once in some thousand times: one that writes no raw files and answers nothing is started again.
func (w *windows) run(t *testing.T, raws, program string, args ...string) (answer string, code int) {
	t.Helper()
	for range 3 {
		cmd := w.command(t, raws, program, args...)
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		answer, code = strings.ReplaceAll(string(out), "\r\n", "\n"), cmd.ProcessState.ExitCode()
		if raws != "" || answer != "" {
			break
		}
		t.Logf("%s %q answers nothing, with exit code %d: %s", filepath.Base(program), args, code, said.String())
	}
	return answer, code
}

// TestWindows runs programs for Windows: with the probes of each mode they answer as without, and what they recorded is
// what gcov and their sources say.
func TestWindows(t *testing.T) {
	t.Parallel()
	w := newWindows(t)
	t.Run("modes", w.modes)
	t.Run("ends", w.ends)
	t.Run("settings", w.settings)
	t.Run("bare", w.bare)
	t.Run("dlls", w.dlls)
	t.Run("counts", w.counts)
	t.Run("commands", w.commands)
	t.Run("go", w.goModes)
	t.Run("go timed", w.goTimed)
	t.Run("go library", w.goLibrary)
	t.Run("statements", w.goStatements)
}

// windowsCalls are the calls of the functions of testdata/windows, all of which one run makes.
var windowsCalls = map[string]uint64{
	"_Z6sharedi": 1001 + 1 + 1, "_Z5otheri": 1, "_Z7throweri": 3, "_Z6nevermi": 0, "_Z5dllfni": 2, "_Z4lasti": 1, "main": 1,
}

// modes runs a C++ program with exceptions, a thread, a static library and a DLL.
func (w *windows) modes(t *testing.T) {
	sources, err := filepath.Abs(filepath.Join("testdata", "windows"))
	if err != nil {
		t.Fatal(err)
	}
	compilers := [][]string{
		{mingw + "g++", "-O2"},
		{mingw + "g++", "-O0"},
		{mingw + "g++", "-O2", "-ffunction-sections", "-Wl,--gc-sections"},
		{"clang++-22", "--target=x86_64-w64-windows-gnu", "-fuse-ld=lld", "-O2", "-pthread", "-Wno-unused-command-line-argument"},
		{"clang++-22", "--target=x86_64-w64-windows-gnu", "-fuse-ld=lld", "-O2", "-pthread", "-Wno-unused-command-line-argument", "-flto=thin"},
		{"clang++-22", "--target=x86_64-w64-windows-gnu", "-fuse-ld=lld", "-O1", "-pthread", "-Wno-unused-command-line-argument", "-flto"},
	}
	var answer string // without probes, which that of the first compiler has
	var code int
	for i, compiler := range compilers {
		if _, err := exec.LookPath(compiler[0]); err != nil {
			t.Logf("%s is not installed", compiler[0])
			continue
		}
		lto := strings.HasPrefix(compiler[len(compiler)-1], "-flto")
		if lto && testing.Short() && i == len(compilers)-1 {
			continue
		}
		if i == 0 || !testing.Short() {
			if answer, code = w.run(t, "", w.program(t, sources, nil, compiler)); !strings.Contains(answer, "caught 3\n") {
				t.Fatalf("%s answers %q, %d", strings.Join(compiler, " "), answer, code)
			}
		}
		modes := []string{"full", "block+order", "cover", "count", "count --atomic", "block", "order"}
		switch {
		case !testing.Short() || i == 0:
		case slices.Contains(compiler, "-O0"): // with all kinds of probes but those of orders, which others have
			modes = modes[:1]
		default:
			modes = modes[:2]
		}
		for _, mode := range modes {
			prefix := append([]string{cairn, "cc", "--strict", "--mode"}, strings.Fields(mode)...)
			program := w.program(t, sources, prefix, compiler)
			dir := filepath.Dir(program)
			raws := filepath.Join(dir, "raws")
			got, gotCode := w.run(t, raws, program)
			checkAnswer(t, got, answer)
			if gotCode != code {
				t.Errorf("mode %s: exit code %d, without probes %d", mode, gotCode, code)
			}
			merged := filepath.Join(dir, "run.mip")
			output(t, command(t, cairn, "merge", "-o", merged, program, filepath.Join(dir, "lib.dll"), raws))
			functions := windowsFunctions(t, merged)
			for name, calls := range windowsCalls {
				f, ok := functions[name]
				switch {
				case lto && calls == 0 && !ok: // it was removed
				case !ok:
					t.Errorf("%s, mode %s: no %s", strings.Join(compiler, " "), mode, name)
				case f.Runs > 0 != (calls > 0):
					t.Errorf("%s, mode %s: %s ran: %v", strings.Join(compiler, " "), mode, name, f.Runs > 0)
				case (strings.HasPrefix(mode, "count") || mode == "full") && f.Calls != calls:
					t.Errorf("%s, mode %s: %d calls of %s, want %d", strings.Join(compiler, " "), mode, f.Calls, name, calls)
				}
			}
		}
	}
}

// program builds the program of testdata/windows.
func (w *windows) program(t *testing.T, sources string, prefix, compiler []string) string {
	t.Helper()
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		argv := slices.Concat(prefix, compiler, []string{"-g"}, args)
		cmd := command(t, argv[0], argv[1:]...)
		cmd.Dir = dir
		output(t, cmd)
	}
	run("-shared", "-static", "-o", "lib.dll", filepath.Join(sources, "lib.cc"), "-Wl,--out-implib,liblib.a")
	for _, name := range []string{"main", "other"} {
		run("-c", filepath.Join(sources, name+".cc"))
	}
	archiver := mingw + "ar"
	if compiler[0] == "clang++-22" {
		archiver = "llvm-ar-22" // it lists names of bitcode as well
	}
	ar := command(t, archiver, "rcs", "libother.a", "other.o")
	ar.Dir = dir
	output(t, ar)
	run("-static", "-o", "app.exe", "main.o", "libother.a", "-L.", "-llib")
	return filepath.Join(dir, "app.exe")
}

// windowsFunction is a function in what show prints, the sum of those of its name.
type windowsFunction struct {
	Name  string
	Runs  uint64
	Calls uint64
}

func windowsFunctions(t *testing.T, profile string) map[string]windowsFunction {
	t.Helper()
	var all struct{ Functions []windowsFunction }
	if err := json.Unmarshal([]byte(output(t, command(t, cairn, "show", "--json", profile))), &all); err != nil {
		t.Fatal(err)
	}
	sums := map[string]windowsFunction{}
	for _, f := range all.Functions {
		sum := sums[f.Name]
		sums[f.Name] = windowsFunction{f.Name, max(sum.Runs, f.Runs), sum.Calls + f.Calls}
	}
	return sums
}

// An end is how a program ended, and what it had written by then.
type end struct {
	code         int
	early, late  uint64 // calls
	files, moved int
}

// ends looks at what is written when a program dumps, fails, or moves its directory.
func (w *windows) ends(t *testing.T) {
	program := filepath.Join(t.TempDir(), "ends.exe")
	output(t, command(t, cairn, "cc", "--strict", "--mode", "count", mingw+"gcc", "-O1", "-Wall", "-Werror", "-o", program, filepath.Join("testdata", "windows", "ends.c")))
	for word, want := range map[string]end{
		"return": {0, 1, 1, 1, 0},
		"exit":   {3, 1, 0, 1, 0},
		"crash":  {5, 1, 0, 1, 0},
		"dump":   {0, 1, 1, 2, 0},
		"move":   {0, 1, 1, 0, 1},
		"kill":   {7, 1, 0, 1, 0},
	} {
		var got end
		w.patiently(func(w *windows) bool {
			got = w.end(t, program, word)
			return got == want || word != "kill"
		})
		if got != want {
			t.Errorf("%s: %+v, want %+v", word, got, want)
		}
	}
}

// end runs a program that ends as a word says.
func (w *windows) end(t *testing.T, program, word string) end {
	t.Helper()
	dir := t.TempDir()
	raws, moved, merged := filepath.Join(dir, "raws"), filepath.Join(dir, "moved"), filepath.Join(dir, "run.mip")
	cmd := w.command(t, raws, program, word, moved)
	if word == "kill" {
		cmd.Env = append(cmd.Env, "CAIRN_CONTINUOUS=1")
	}
	cmd.Run()
	e := end{code: cmd.ProcessState.ExitCode(), files: rawFiles(t, raws), moved: rawFiles(t, moved)}
	args := []string{"merge", "-o", merged, program}
	if e.files > 0 {
		args = append(args, raws)
	}
	if e.moved > 0 {
		args = append(args, moved)
	}
	if e.files+e.moved > 0 {
		output(t, command(t, cairn, args...))
		functions := windowsFunctions(t, merged)
		e.early, e.late = functions["early"].Calls, functions["late"].Calls
	}
	return e
}

// rawFiles returns the number of raw files in a directory, which may not exist.
func rawFiles(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.mipraw"))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// counts compares calls and lines of programs of others with those of mingw's gcov.
func (w *windows) counts(t *testing.T) {
	script := filepath.Join(t.TempDir(), "a.lua")
	if err := os.WriteFile(script, []byte(windowsScript), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, g := range []struct {
		debian  string
		files   []string
		without string
		flags   []string
		args    []string
		loops   string // a function whose first block gcov counts more often than its calls: it is the head of a loop
	}{
		// Lua has seeds and a cache that depend on addresses, which differ from run to run.
		{"lua5.4", []string{"src/l*.c"}, "luac.c", []string{"-Dluai_makeseed(L)=1", "-DSTRCACHE_N=1", "-DSTRCACHE_M=2"}, []string{script}, "luaV_execute"},
		{"zlib", []string{"*.c", "test/example.c"}, "", nil, []string{filepath.Join(t.TempDir(), "a.gz")}, ""},
	} {
		_, _, sources := fetchGuest(t, &tailguests.Guest{Name: g.debian, Debian: g.debian})
		dir := t.TempDir()
		args := append([]string{"-O0", "-g", "-w", "-I" + sources}, g.flags...)
		var files, objects []string
		for _, glob := range g.files {
			for _, name := range mustGlob(t, filepath.Join(sources, glob)) {
				if filepath.Base(name) == g.without {
					continue
				}
				object := filepath.Join(dir, filepath.Base(name)+".o")
				files, objects = append(files, name), append(objects, object)
				output(t, command(t, mingw+"gcc", slices.Concat(args, []string{"--coverage", "-c", name, "-o", object})...))
			}
		}
		truth, program, raws := filepath.Join(dir, "gcov.exe"), filepath.Join(dir, "app.exe"), filepath.Join(dir, "raws")
		output(t, command(t, mingw+"gcc", slices.Concat([]string{"--coverage", "-static", "-o", truth}, objects)...))
		output(t, command(t, cairn, slices.Concat([]string{"cc", "--strict", "--mode", "full", mingw + "gcc"}, args, []string{"-static", "-o", program}, files)...))
		want, wantCode := w.run(t, "", truth, g.args...)
		got, code := w.run(t, raws, program, g.args...)
		checkAnswer(t, got, want)
		if code != wantCode {
			t.Errorf("%s: exit code %d, want %d", g.debian, code, wantCode)
		}
		merged, info := filepath.Join(dir, "run.mip"), filepath.Join(dir, "run.info")
		output(t, command(t, cairn, "merge", "-o", merged, program, raws))
		output(t, command(t, cairn, "covered", "-o", info, program, merged))
		calls, lines := readGcov(t, dir)
		compareCalls(t, g.debian, windowsFunctions(t, merged), calls, g.loops)
		compareRan(t, g.debian, readRan(t, info), lines)
	}
}

// compareCalls compares the calls of all functions that gcov has.
func compareCalls(t *testing.T, program string, got map[string]windowsFunction, want map[string]uint64, loops string) {
	t.Helper()
	ran := 0
	for name, calls := range want {
		f, ok := got[name]
		if calls > 0 {
			ran++
		}
		if !ok || f.Calls != calls && name != loops {
			t.Errorf("%s: %s: %d calls, gcov has %d", program, name, f.Calls, calls)
		}
	}
	t.Logf("%s: %d functions, of which %d ran", program, len(want), ran)
	if ran < 50 {
		t.Errorf("%s: only %d functions ran", program, ran)
	}
}

// compareRan compares which lines ran, of those that both have: 3 of 10,346 of Lua differ, as in the program for Linux.
func compareRan(t *testing.T, program string, got, want map[sourceLine]bool) {
	t.Helper()
	both, differ := 0, 0
	for at, ran := range want {
		if r, ok := got[at]; ok {
			if both++; r != ran {
				differ++
				t.Logf("%s:%d: ran %v, by gcov %v", at.file, at.line, r, ran)
			}
		}
	}
	t.Logf("%s: %d lines, %d differ", program, both, differ)
	if both < len(want)*9/10 || differ > 3 {
		t.Errorf("%s: %d of %d lines compared, %d differ", program, both, len(want), differ)
	}
}

// readGcov returns the executions of functions, and which lines ran, by the counts in a directory.
func readGcov(t *testing.T, dir string) (calls map[string]uint64, lines map[sourceLine]bool) {
	t.Helper()
	counts := mustGlob(t, filepath.Join(dir, "*.gcda"))
	calls, lines = map[string]uint64{}, map[sourceLine]bool{}
	cmd := command(t, mingw+"gcov", append([]string{"--json-format", "--stdout"}, counts...)...)
	for d := json.NewDecoder(strings.NewReader(output(t, cmd))); ; {
		var report struct {
			Files []struct {
				File      string
				Functions []struct {
					Name  string
					Count uint64 `json:"execution_count"`
				}
				Lines []struct {
					Number int    `json:"line_number"`
					Count  uint64 `json:"count"`
				}
			}
		}
		if err := d.Decode(&report); errors.Is(err, io.EOF) {
			return calls, lines
		} else if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Files {
			for _, fn := range f.Functions {
				calls[fn.Name] += fn.Count
			}
			for _, l := range f.Lines {
				at := sourceLine{filepath.Base(f.File), l.Number}
				lines[at] = lines[at] || l.Count > 0
			}
		}
	}
}

// readRan returns the lines of a tracefile and whether they ran, by the base names of files.
func readRan(t *testing.T, path string) map[sourceLine]bool {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, file := map[sourceLine]bool{}, ""
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, ok := strings.CutPrefix(s.Text(), "SF:"); ok {
			file = filepath.Base(name)
		}
		if data, ok := strings.CutPrefix(s.Text(), "DA:"); ok {
			number, count, _ := strings.Cut(data, ",")
			n, err := strconv.Atoi(number)
			if err != nil {
				t.Fatal(err)
			}
			lines[sourceLine{file, n}] = !strings.HasPrefix(count, "0")
		}
	}
	return lines
}

// windowsScript uses strings, tables, errors, coroutines, the compiler and the collector of Lua.
const windowsScript = `local t = {}
for i = 1, 200 do t[i] = (i * 7919) % 211 end
table.sort(t)
local s = string.rep("ab", 50) .. string.format("%d %5.2f %s", 3, 4.5, "x")
local ok, err = pcall(function() error({code = 2}) end)
local co = coroutine.wrap(function(a) for i = 1, a do coroutine.yield(i) end end)
local sum = 0
for i = 1, 5 do sum = sum + co(5) end
print(#t, t[1], t[200], #s, ok, err.code, sum, s:gsub("a", "c"):sub(1, 4), math.floor(3.7), select("#", 1, 2, 3))
for k, v in string.gmatch("a=1, b=2", "(%w+)=(%w+)") do io.write(k, v, " ") end
print(load("return 1 +"))
collectgarbage()
`
