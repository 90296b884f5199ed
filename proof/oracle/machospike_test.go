//go:build linux && amd64

package oracle

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestMachOSpikes finds calls that take too long, in each of the ways in which a call can end: those that are found in the program for
// Windows and Linux, with the same callers. Its calls take longer until all are found, as the clock may be late on a loaded machine.
func TestMachOSpikes(t *testing.T) {
	t.Parallel()
	shorttest.Proof(t)
	for _, system := range []apple{macOS, iOS} {
		for _, flags := range shorttest.Rows(1, "-O2", "-O0", "-Os -g") {
			t.Run(system.target+flags, func(t *testing.T) {
				t.Parallel()
				args := system.linuxArgs(t, flags, filepath.Join("testdata", "windowsspikes", "stalls.cc"))
				want := output(t, system.load(t, system.emulator, build(t, "", "clang++-22", args...)))
				program := build(t, "spike --threshold 30ms --small 0", "clang++-22", args...)
				rows := stallRows(strings.Contains(flags, "-O0"))
				for ms := 60; ; ms *= 3 {
					logs := t.TempDir()
					cmd := system.load(t, system.emulator, program, strconv.Itoa(ms))
					cmd.Env = append(cmd.Env, "CAIRN_DIR="+logs)
					checkAnswer(t, output(t, cmd), want)
					if found := spikeRows(t, logs, program); ms > 1000 || firstMissing(found, rows) == "" {
						checkRows(t, flags, found, rows)
						break
					}
				}
			})
		}
	}
}

// TestMachOSpikeLife ends programs in all ways: what took too long is in the log, once for each process.
func TestMachOSpikeLife(t *testing.T) {
	t.Parallel()
	for _, system := range []apple{macOS, iOS} {
		t.Run(system.target, func(t *testing.T) {
			t.Parallel()
			program := build(t, "spike --threshold 30ms --small 0", "clang-22", system.args(t, "-O1", filepath.Join("testdata", "macho", "late.c"))...)
			for _, c := range []struct {
				end, settings string
				logs          int
			}{{"exit", "", 1}, {"kill", "", 1}, {"leave", "", 1}, {"child", "", 2}, {"exit", "off", 0}, {"exit", "threshold=100s", 1}} {
				if c.end == "child" && system.emulator != nil {
					continue // the emulator cannot start threads in a child
				}
				row := " > outer timed > middle timed > stall timed, middle ended, outer ended"
				rows := slices.Repeat([]string{row}, c.logs)
				if c.end == "child" { // one before it is made
					rows = append(rows, row)
				}
				if c.settings != "" {
					rows = nil
				}
				for ms := 60; ; ms *= 3 {
					logs := t.TempDir()
					cmd := system.load(t, system.emulator, program, c.end, fmt.Sprint(ms))
					cmd.Env = append(cmd.Env, "CAIRN_DIR="+logs, "CAIRN_SPIKE="+c.settings)
					if err := cmd.Run(); (err != nil) != (c.end == "kill") {
						t.Fatalf("%s: %v", c.end, err)
					}
					files, err := filepath.Glob(filepath.Join(logs, "*.cairnlog"))
					if ms < 1000 && len(files) < c.logs {
						continue // the clock was so late that nothing was to be logged
					}
					if err != nil || len(files) != c.logs {
						t.Fatalf("%s %s: logs %q (%v), want %d", c.end, c.settings, files, err, c.logs)
					}
					if c.logs == 0 {
						break
					}
					found := spikeRows(t, logs, program)
					if ms > 1000 || firstMissing(found, rows) == "" {
						checkRows(t, c.end, found, rows)
						text := output(t, command(t, cairn, "spikes", "--jsonl", "--top", "0", logs, program))
						if n := strings.Count(text, `"thread":"late"`); n != strings.Count(text, `"tid":`) {
							t.Errorf("%s: %d spikes have the name of their thread in\n%s", c.end, n, text)
						}
						if rows == nil && len(found) > 0 {
							t.Errorf("%s: %v, want none", c.settings, found)
						}
						break
					}
				}
			}
		})
	}
}

// buildLines is build for a program of one source with lines: dsymutil finds them in the object.
func buildLines(t *testing.T, mode, compiler string, args []string, source string) string {
	t.Helper()
	object := filepath.Join(t.TempDir(), "object.o")
	output(t, command(t, cairn, slices.Concat([]string{"cc", "--strict", "--mode"}, strings.Fields(mode), []string{compiler}, args, []string{"-c", source, "-o", object})...))
	for i := range args {
		if args[i] == "-x" {
			args = slices.Delete(slices.Clone(args), i, i+2) // the language of the source
			break
		}
	}
	program := build(t, mode, compiler, append(slices.Clone(args), object)...)
	output(t, command(t, "dsymutil-22", program))
	return program
}

// TestMachOWhy looks at why calls took too long in a program for macOS and iOS, also of one that has not ended when the program does:
// what the same program has for Linux and Windows, but for the names of functions of the system's libraries. Where a call waited, the
// lines of dsymutil tell.
func TestMachOWhy(t *testing.T) {
	t.Parallel()
	shorttest.Proof(t)
	mustHave(t, "dsymutil-22")
	for _, system := range []apple{macOS, iOS} {
		for _, flags := range shorttest.Rows(1, "-O2 -g", "-O0 -g", "-Os -g -flto=thin") {
			t.Run(system.target+flags, func(t *testing.T) {
				t.Parallel()
				program := buildLines(t, "spike --threshold 30ms --small 0", "clang++-22", system.linuxArgs(t, flags), filepath.Join("testdata", "windowsspikes", "why.cc"))
				want := slices.Clone(whyRows)
				want[3] = strings.Replace(want[3], "below it: true", "below it: false", 1)
				if strings.Contains(flags, "-flto") {
					want = want[1:] // whose objects are gone
				}
				for ms := 60; ; ms *= 3 {
					logs := t.TempDir()
					cmd := system.load(t, system.emulator, program, strconv.Itoa(ms))
					cmd.Env = append(cmd.Env, "CAIRN_DIR="+logs, "LOADER_SUSPENDS=0") // those that wait are not
					checkAnswer(t, output(t, cmd), "ends\n")
					rows := lateRows(t, logs, program)
					missing := slices.DeleteFunc(slices.Clone(want), func(row string) bool { return rows[row] })
					if ms > 2000 && len(missing) > 0 {
						t.Errorf("no %q in %q", missing, slices.Sorted(maps.Keys(rows)))
					}
					if ms > 2000 || len(missing) == 0 {
						break
					}
				}
			})
		}
	}
}

// TestMachOHolders has who holds the lock that a call waits for: a mutex, and a lock of macOS, which is what newer systems make a mutex of.
func TestMachOHolders(t *testing.T) {
	t.Parallel()
	want := []string{"waits ended: held in holds", "waits open: held in holds"}
	for _, system := range []apple{macOS, iOS} {
		for _, flags := range []string{"-O2 -g", "-O2 -g -DUNFAIR"} {
			t.Run(system.target+flags, func(t *testing.T) {
				t.Parallel()
				program := build(t, "spike --threshold 30ms --small 0", "clang-22", system.linuxArgs(t, "-w "+flags, filepath.Join("testdata", "windowsspikes", "sections.c"))...)
				for ms := 100; ; ms *= 3 {
					logs := t.TempDir()
					cmd := system.load(t, system.emulator, program, strconv.Itoa(ms))
					cmd.Env = append(cmd.Env, "CAIRN_DIR="+logs)
					checkAnswer(t, output(t, cmd), "ends\n")
					rows := holderRows(t, logs, program)
					missing := slices.DeleteFunc(slices.Clone(want), func(row string) bool { return rows[row] })
					if ms > 2000 && len(missing) > 0 {
						t.Errorf("no %q in %q", missing, slices.Sorted(maps.Keys(rows)))
					}
					if ms > 2000 || len(missing) == 0 {
						break
					}
				}
			})
		}
	}
}

// TestMachOMarks looks at what marks say in a program for macOS and iOS: what they say in the program for Linux and Windows. In modes
// without marks they do nothing.
func TestMachOMarks(t *testing.T) {
	t.Parallel()
	shorttest.Proof(t)
	mustHave(t, "dsymutil-22")
	for _, system := range []apple{macOS, iOS} {
		for _, row := range shorttest.Rows(1, "clang-22 -O2 -g", "clang++-22 -x c++ -O0 -g") {
			t.Run(system.target+row, func(t *testing.T) {
				t.Parallel()
				compiler, flags, _ := strings.Cut(row, " ")
				exceptions := compiler == "clang++-22"
				make := func(mode, source string) string {
					options := "-U__APPLE__ -U__nonnull -D__linux__ -D_GNU_SOURCE -Wl,-undefined,dynamic_lookup "
					if exceptions {
						options += "-nostdinc++ "
					}
					return buildLines(t, mode, compiler, system.argsWith(t, system.headers(t, exceptions), options+flags), source)
				}
				run := func(program string) func(string, ...string) string {
					return func(logs string, args ...string) string {
						cmd := system.load(t, system.emulator, program, args...)
						cmd.Env = append(cmd.Env, "CAIRN_DIR="+logs)
						return output(t, cmd)
					}
				}
				program := make("spike --threshold 10ms --only ^$", filepath.Join("testdata", "macho", "marks.c"))
				checkScenarios(t, t.TempDir(), program, scenariosOf(exceptions, 0), run(program))
				for mode, want := range map[string]string{"stacks": "off 3\n", "trace": "off 3\n", "count": "off 3\n", "spike": "on 3\n"} {
					checkAnswer(t, run(make(mode, filepath.Join("testdata", "macho", "marked.c")))(t.TempDir()), want)
				}
			})
		}
	}
}

// TestMachOSpikeDylib finds late calls in a dylib, on one stack with those of its program, which may be optimised by the linker. With
// a recorder both have their calls before it.
func TestMachOSpikeDylib(t *testing.T) {
	t.Parallel()
	shorttest.Proof(t)
	for _, system := range []apple{macOS, iOS} {
		for _, flags := range []string{"-O1", "-O2 -flto=thin"} {
			t.Run(system.target+flags, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				app, lib := filepath.Join(dir, "app"), filepath.Join(dir, "liblate.dylib")
				for _, args := range []string{
					"-dynamiclib -Wl,-install_name,@rpath/liblate.dylib -o " + lib + " testdata/macho/latelib.c",
					"-DPARTS -o " + app + " testdata/macho/late.c " + lib,
				} {
					argv := slices.Concat([]string{"cc", "--strict", "--mode", "spike", "--threshold", "30ms", "--small", "0", "--flight", "clang-22"}, system.args(t, flags), strings.Fields(args))
					output(t, command(t, cairn, argv...))
				}
				want := []string{" > outer timed > middle timed > stall timed, middle ended, outer ended"}
				for ms := 60; ; ms *= 3 {
					_, logs := system.flown(t, "threshold=30ms,flight=1MB", app, "exit", strconv.Itoa(ms))
					found := spikeRows(t, logs, app)
					if ms < 1000 && firstMissing(found, want) != "" {
						continue
					}
					checkRows(t, flags, found, want)
					text := output(t, command(t, cairn, "spikes", "--top", "0", logs, app))
					if !strings.Contains(text, "window: ") || !strings.Contains(text, ") stall") {
						t.Errorf("no window with stall in\n%s", text)
					}
					break
				}
			})
		}
	}
}

// TestMachOSpikeSignal finds a late call in a handler on an alternate stack, above which memory cannot be read: the frame pointer of the code that
// the signal interrupted is no such.
func TestMachOSpikeSignal(t *testing.T) {
	t.Parallel()
	shorttest.Proof(t)
	for _, system := range []apple{macOS, iOS} {
		t.Run(system.target, func(t *testing.T) {
			t.Parallel()
			args := system.argsWith(t, system.headers(t, false), "-O1 -U__APPLE__ -U__nonnull -D__linux__ -D_GNU_SOURCE -Wl,-undefined,dynamic_lookup", filepath.Join("testdata", "macho", "altstack.c"))
			program := build(t, "spike --threshold 30ms --small 0", "clang-22", args...)
			for ms := 60; ; ms *= 3 {
				answer, logs := system.flown(t, "", program, strconv.Itoa(ms))
				checkAnswer(t, answer, "ends\n")
				if strings.Contains(output(t, command(t, cairn, "spikes", "--top", "0", logs, program)), ") stall") {
					break
				}
				if ms > 4000 {
					t.Fatal("the call of the handler is not found")
				}
			}
		})
	}
}
