//go:build linux && amd64

package oracle

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestWindowsHooks runs programs for Windows that other compilers made, with calls of hooks.
func TestWindowsHooks(t *testing.T) {
	t.Parallel()
	shorttest.Proof(t)
	w := newWindows(t)
	hooks := t.TempDir()
	output(t, command(t, cairn, "hooks", "-o", hooks))
	t.Run("registers", func(t *testing.T) { w.hookRegisters(t, hooks) })
	t.Run("calls", func(t *testing.T) { w.hookCalls(t, hooks) })
	t.Run("msvc", func(t *testing.T) { w.hookMSVC(t, hooks) })
	t.Run("fibers", func(t *testing.T) { w.hookFibers(t, hooks) })
	t.Run("leaves", func(t *testing.T) { w.hookLeaves(t, hooks) })
}

// hookRegisters calls each hook with numbers in all registers, on aligned stacks and others.
func (w *windows) hookRegisters(t *testing.T, hooks string) {
	program, sources := filepath.Join(t.TempDir(), "registers.exe"), filepath.Join("testdata", "windowshooks")
	output(t, command(t, mingw+"gcc", "-O2", "-o", program, filepath.Join(sources, "registers.c"), filepath.Join(sources, "registers.S"), filepath.Join(hooks, "cairn_hooks.o")))
	cmd := w.command(t, t.TempDir(), program)
	cmd.Env = append(cmd.Env, "CAIRN_SPIKE=threshold=5ms")
	if out, _ := cmd.Output(); string(out) != "0 of 400\r\n" {
		t.Errorf("%s", out)
	}
}

// hookFibers wants little memory for each fiber.
func (w *windows) hookFibers(t *testing.T, hooks string) {
	program := filepath.Join(t.TempDir(), "fibers.exe")
	output(t, command(t, mingw+"gcc", "-O2", "-finstrument-functions", "-o", program, filepath.Join("testdata", "windowshooks", "fibers.c"), filepath.Join(hooks, "cairn_hooks.o")))
	if out, _ := w.run(t, t.TempDir(), program); out != "1000 switches, less than 8 KB each: 1\n" {
		t.Errorf("%s", out)
	}
}

// hookRows are the calls of calls.c that take long.
var hookRows = []string{
	" > outer timed > middle timed > stall timed, middle ended, outer ended",
	" > use timed > outer timed > middle timed > stall timed, middle ended, outer ended, use ended",
	" > grows timed > stall timed, grows ended",
	" > many timed > stall timed, many ended",
	" > half timed > stall timed, half ended",
}

// repeated are calls of a function by itself.
var repeated = regexp.MustCompile(`(( > |, )grows (timed|ended))+`)

// hookCalls looks at what is found in a program, by each compiler and kind of hook. It answers as without hooks.
func (w *windows) hookCalls(t *testing.T, hooks string) {
	source, object := filepath.Join("testdata", "windowshooks", "calls.c"), filepath.Join(hooks, "cairn_hooks.o")
	clang := []string{"clang-22", "--target=x86_64-w64-windows-gnu", "-fuse-ld=lld", "-Wno-unused-command-line-argument", "-O2", "-g"}
	for _, c := range []struct {
		name     string
		compiler []string
		place    string // of _penter, "" if the compiler calls hooks
	}{
		{"functions", []string{mingw + "gcc", "-O2", "-g"}, ""},
		{"unmatched", []string{mingw + "gcc", "-O2", "-g", "-DUNMATCHED", object}, ""},
		{"functions-O0", []string{mingw + "gcc", "-O0", "-g"}, ""},
		{"functions-clang", clang, ""},
		{"first", clang, ".seh_proc"},
		{"after", clang, ".seh_endprologue"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.compiler[0]); err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			plain, program, input := filepath.Join(dir, "plain.exe"), filepath.Join(dir, "calls.exe"), source
			output(t, command(t, c.compiler[0], append(slices.Clone(c.compiler[1:]), "-o", plain, source)...))
			with := append(slices.Clone(c.compiler[1:]), "-Wl,--build-id", "-o", program)
			if c.place == "" {
				with = append(with, "-finstrument-functions")
			} else {
				input = filepath.Join(dir, "calls.s")
				output(t, command(t, c.compiler[0], append(slices.Clone(c.compiler[1:]), "-fno-optimize-sibling-calls", "-S", "-o", input, source)...))
				addPenter(t, input, c.place)
			}
			output(t, command(t, c.compiler[0], append(slices.DeleteFunc(with, func(a string) bool { return a == object }), input, object)...))
			want, _ := w.run(t, "", plain)
			w.checkFound(t, []string{program}, func(logs string) {
				if got, code := w.run(t, logs, program); got != want || code != 7 {
					t.Errorf("it answers %q and exit code %d, without hooks %q", got, code, want)
				}
			}, hookRows)
		})
	}
}

// excuse is what the report says of calls that may have been too long, and where the clock was late, in which calls may lie as a whole: as
// on a crowded machine.
var excuse = regexp.MustCompile(`\d+ calls? on the border|The clock was late`)

// hookMSVC builds the program for MSVC's system with its linker's stand-in: with the object, and with the DLL, whose functions are
// called through an import library. Names and lines are those of the PDB.
func (w *windows) hookMSVC(t *testing.T, hooks string) {
	clang := append([]string{"clang-22", "--target=x86_64-pc-windows-msvc"}, strings.Fields("-fuse-ld=lld -Wno-unused-command-line-argument -O2 -g -gcodeview")...)
	for _, tool := range []string{clang[0], "lld-link-22", "llvm-dlltool-22"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	assembly, imports := filepath.Join(dir, "calls.s"), filepath.Join(dir, "imports.lib")
	output(t, command(t, clang[0], append(clang[1:], "-fno-optimize-sibling-calls", "-S", "-o", assembly, filepath.Join("testdata", "windowshooks", "calls.c"))...))
	addPenter(t, assembly, ".seh_endprologue")
	output(t, command(t, "llvm-dlltool-22", "-m", "i386:x86-64", "-d", filepath.Join(hooks, "cairn_hooks.def"), "-l", imports))
	data, err := os.ReadFile(filepath.Join(hooks, "cairn_hooks.dll"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "cairn_hooks.dll"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, with := range []string{filepath.Join(hooks, "cairn_hooks.obj"), imports} {
		program := filepath.Join(dir, "calls.exe")
		output(t, command(t, clang[0], slices.Concat(clang[1:], []string{"-o", program, assembly, with}, freestanding)...))
		w.checkFound(t, []string{program}, func(logs string) {
			if got, code := w.run(t, logs, program); got != "57\n4022\n218464\n10928\n" || code != 7 {
				t.Errorf("with %s it answers %q and exit code %d", with, got, code)
			}
		}, hookRows)
	}
}

// checkFound runs a program and reports rows that are not in its log, in whichever order. It runs it again if calls were on the
// border of the threshold or the clock was late.
func (w *windows) checkFound(t *testing.T, programs []string, run func(logs string), want []string) {
	t.Helper()
	want = slices.Sorted(slices.Values(want))
	for attempts := 20; ; attempts-- {
		logs := t.TempDir()
		run(logs)
		rows := spikeRows(t, logs, programs...)
		for i, row := range rows {
			rows[i] = repeated.ReplaceAllString(row, "${2}grows ${3}")
		}
		slices.Sort(rows)
		if next := firstMissing(rows, want); next == "" {
			return
		} else if attempts == 0 || !excuse.MatchString(output(t, command(t, cairn, append([]string{"spikes", logs}, programs...)...))) {
			t.Errorf("no%s after that in:\n%s", next, strings.Join(rows, "\n"))
			return
		}
	}
}

// addPenter adds calls of _penter and _pexit to the functions in a file of assembly by clang, as MSVC's options /Gh and /GH do:
// behind a directive, and in front of the epilogue.
func addPenter(t *testing.T, path, place string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	inside := false
	for line := range strings.Lines(string(data)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == ".seh_proc" {
			inside = !slices.Contains([]string{"main", "start", "say", "calls"}, strings.TrimSpace(rest))
		}
		if inside && word == ".seh_startepilogue" {
			out.WriteString("\tcall\t_pexit\n")
		}
		out.WriteString(line)
		if inside && word == place {
			out.WriteString("\tcall\t_penter\n")
		}
	}
	if strings.Count(out.String(), "_penter\n") < 6 {
		t.Fatalf("no functions in %s", path)
	}
	if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// hookLeaves runs a C++ program in which exceptions leave calls, and one of whose functions only the entries are known: these
// calls have ended before the next entry.
func (w *windows) hookLeaves(t *testing.T, hooks string) {
	dir, object := t.TempDir(), filepath.Join(hooks, "cairn_hooks.o")
	outer := " > outer timed > middle timed > stall timed, middle ended, outer ended"
	for _, c := range []struct {
		flags, source string
		want          []string
	}{
		{"-finstrument-functions", "windowsspikes/stalls.cc", []string{
			outer, " > catcher timed > through timed > thrower timed, through ended, catcher ended",
			" > lander timed", " > grows timed", " > vectors timed", " > many timed", outer, outer,
		}},
		{"-finstrument-functions -finstrument-functions-exclude-file-list=/usr", "windowshooks/hosted.cpp", []string{
			outer, " > catcher timed > thrower timed, catcher ended", " > many timed > stall timed, many ended",
		}},
		{"-pg -mfentry", "windowshooks/entries.c", []string{" > outer timed"}},
	} {
		plain, program := filepath.Join(dir, "plain.exe"), filepath.Join(dir, "leaves.exe")
		args := []string{"-O2", "-g", "-static", filepath.Join("testdata", filepath.FromSlash(c.source)), "-o"}
		output(t, command(t, mingw+"g++", append(slices.Clone(args), plain)...))
		output(t, command(t, mingw+"g++", slices.Concat(args, []string{program, "-Wl,--build-id", object}, strings.Fields(c.flags))...))
		want, code := w.run(t, "", plain)
		slow := &windows{append(slices.Clone(w.env), "CAIRN_SPIKE=threshold=30ms")}
		slow.checkFound(t, []string{program}, func(logs string) {
			cmd := slow.command(t, logs, program)
			cmd.Dir = dir // -pg: gmon.out
			out, _ := cmd.Output()
			got, gotCode := strings.ReplaceAll(string(out), "\r\n", "\n"), cmd.ProcessState.ExitCode()
			if got != want || gotCode != code {
				t.Errorf("%s: it answers %q and exit code %d, without hooks %q and %d", c.flags, got, gotCode, want, code)
			}
		}, c.want)
	}
}
