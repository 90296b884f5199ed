//go:build linux && amd64

package oracle

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// linuxArgs is args for sources with the headers of Linux, in C++: the loader binds the program to the libraries of Linux.
func (a apple) linuxArgs(t *testing.T, flags string, sources ...string) []string {
	t.Helper()
	return a.argsWith(t, a.headers(t, true), "-U__APPLE__ -U__nonnull -D__linux__ -D_GNU_SOURCE -nostdinc++ -Wl,-undefined,dynamic_lookup "+flags, sources...)
}

// logged runs a program that logs calls, and returns its answer and the directory of its logs.
func (a apple) logged(t *testing.T, settings, program string, args ...string) (answer, logs string) {
	t.Helper()
	logs = t.TempDir()
	cmd := a.load(t, a.emulator, program, args...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+logs, "CAIRN_TRACE="+settings)
	return output(t, cmd), logs
}

// linuxLogs runs a program for Linux that logs calls, and returns the directory of its logs.
func linuxLogs(t *testing.T, program string, args ...string) string {
	t.Helper()
	logs := t.TempDir()
	cmd := command(t, program, args...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+logs, "CAIRN_TRACE=file")
	output(t, cmd)
	return logs
}

// foldedLogs returns the calls of each stack in the logs of a directory, without the program's name.
func foldedLogs(t *testing.T, logs string) map[string]uint64 {
	t.Helper()
	calls := map[string]uint64{}
	for _, file := range mustGlob(t, filepath.Join(logs, "*.cairnlog")) {
		for stack, n := range foldedCalls(t, file) {
			calls[stack] += n
		}
	}
	return calls
}

// TestMachOCalls compares programs for macOS and iOS with the same ones for Linux, call by call: recursion, tail calls, computed
// jumps, exceptions and longjmp through frames, threads that are detached and that end.
func TestMachOCalls(t *testing.T) {
	t.Parallel()
	shorttest.Proof(t)
	for _, system := range []apple{macOS, iOS} {
		for _, c := range shorttest.Rows(2, "trace/-O2", "stacks/-O2", "trace/-O0", "stacks/-O0", "trace/-Os -fno-asynchronous-unwind-tables", "stacks/-Os -fno-asynchronous-unwind-tables", "trace --depth 3/-O1", "stacks --depth 4/-O1", "trace --depth 1/-O2") {
			mode, flags, _ := strings.Cut(c, "/")
			t.Run(system.target+c, func(t *testing.T) {
				t.Parallel()
				source := filepath.Join("testdata", "windowscalls", "calls.cc")
				elf := build(t, mode, "clang++-22", append(strings.Fields(flags), "-pthread", source)...)
				// Exceptions need unwind tables.
				args := system.linuxArgs(t, strings.ReplaceAll(flags, "-fno-asynchronous-unwind-tables", "-fexceptions"), source)
				want := output(t, system.load(t, system.emulator, build(t, "", "clang++-22", args...)))
				program := build(t, mode, "clang++-22", args...)
				answer, logs := system.logged(t, "file", program)
				checkAnswer(t, answer, want)
				rows := callRows(t, logs, program)
				compareRows(t, flags, rows, callRows(t, linuxLogs(t, elf), elf))
				if len(rows) < 100 && !strings.Contains(mode, "--depth") || len(rows) < 2 {
					t.Errorf("only %d stacks", len(rows))
				}
				if mode != "trace" {
					return
				}
				answer, logs = system.logged(t, "size=192KB,period=5ms", program)
				checkAnswer(t, answer, want)
				if rows := callRows(t, logs, program); len(rows) == 0 {
					t.Error("nothing is left in a small ring")
				}
			})
		}
	}
}

// TestMachOTracedLog compares the calls in logs with those of the program for Linux, and with the executions of each function's first
// instruction on a processor in software.
func TestMachOTracedLog(t *testing.T) {
	t.Parallel()
	source := filepath.Join("testdata", "flow.c")
	linux := map[string]map[string]uint64{}
	for _, mode := range []string{"trace", "stacks"} {
		linux[mode] = foldedLogs(t, linuxLogs(t, build(t, mode, "clang-22", "-O2", "-w", source)))
	}
	for _, system := range []apple{macOS, iOS} {
		for _, c := range shorttest.Rows(2, "trace/-O2", "stacks/-O2", "trace/-O0", "stacks --max/-O0", "trace/-Oz -fno-asynchronous-unwind-tables", "stacks --counts/-Oz -fno-asynchronous-unwind-tables", "trace/-O2 -g -Wl,-dead_strip", "stacks/-O2 -g -Wl,-dead_strip") {
			mode, flags, _ := strings.Cut(c, "/")
			t.Run(system.target+c, func(t *testing.T) {
				t.Parallel()
				args := system.args(t, flags, source)
				program := build(t, mode, "clang-22", args...)
				said, logs := system.logged(t, "file", program)
				answer, ran, _, m := system.observed(t, build(t, "count", "clang-22", args...))
				checkAnswer(t, said, answer)
				rows, calls := foldedLogs(t, logs), map[string]uint64{}
				for stack, n := range rows {
					calls[stack[strings.LastIndex(stack, ";")+1:]] += n
				}
				c := tally{t: t}
				for i := range m.Funcs {
					f := &m.Funcs[i]
					if strings.HasPrefix(f.Name, "OUTLINED_FUNCTION_") {
						continue // which has no frame of its own
					}
					c.check(calls[f.Name] == ran.instr[f.Addr()], "%s: %d calls, the processor has %d", f.Name, calls[f.Name], ran.instr[f.Addr()])
				}
				c.done("functions")
				if flags != "-O2" {
					return
				}
				delete(rows, "__GLOBAL_init_65535") // clang has it for constructors with a priority
				sameStacks(t, "Mach-O", rows, linux[mode])
			})
		}
	}
}

// TestMachOTraceLife ends programs in all ways, and with little room: what was recorded is in the log.
func TestMachOTraceLife(t *testing.T) {
	t.Parallel()
	for _, system := range []apple{macOS, iOS} {
		t.Run(system.target, func(t *testing.T) {
			t.Parallel()
			program := build(t, "trace", "clang-22", system.args(t, "-O1", filepath.Join("testdata", "macho", "killed.c"))...)
			for _, c := range []struct {
				end, settings string
				logs          int
				second        uint64
			}{
				{"exit", "", 1, 7},
				{"kill", "", 1, 7},
				{"_exit", "file", 1, 7},
				{"fork", "", 2, 8},
				{"exit", "off", 0, 0},
			} {
				logs := t.TempDir()
				cmd := system.load(t, system.emulator, program, c.end)
				cmd.Env = append(cmd.Env, "CAIRN_DIR="+logs, "CAIRN_TRACE="+c.settings)
				if c.end == "fork" && system.emulator != nil {
					continue // the emulator cannot start threads in a child
				}
				if err := cmd.Run(); (err != nil) != (c.end == "kill") {
					t.Fatalf("%s: %v", c.end, err)
				}
				files, err := filepath.Glob(filepath.Join(logs, "*.cairnlog"))
				if err != nil || len(files) != c.logs {
					t.Fatalf("%s %s: logs %q (%v), want %d", c.end, c.settings, files, err, c.logs)
				}
				var second uint64
				for _, file := range files {
					for stack, n := range foldedCalls(t, file) {
						if strings.HasSuffix(";"+stack, ";second") {
							second += n
						}
					}
				}
				if second != c.second {
					t.Errorf("%s %s: %d calls of second, want %d", c.end, c.settings, second, c.second)
				}
			}
		})
	}
}

// TestMachOTraceDylib has calls of a program and of its dylib on one stack.
func TestMachOTraceDylib(t *testing.T) {
	t.Parallel()
	for _, system := range []apple{macOS, iOS} {
		t.Run(system.target, func(t *testing.T) {
			t.Parallel()
			plain, _ := buildDylib(t, system, "").recorded(t, system)
			for _, mode := range []string{"trace", "stacks"} {
				p := buildDylib(t, system, mode)
				answer, logs := system.logged(t, "", p.app)
				checkAnswer(t, answer, plain)
				calls := foldedLogs(t, logs)
				if len(mustGlob(t, filepath.Join(logs, "*.cairnlog"))) != 1 {
					t.Error("not one log")
				}
				for stack, want := range map[string]uint64{"main;_Z8from_libi": 1} {
					if calls[stack] != want {
						t.Errorf("%s %s: %d calls, want %d of %v", mode, stack, calls[stack], want, calls)
					}
				}
			}
		})
	}
}

// TestMachOTraceRefused has what programs for macOS and iOS cannot have yet.
func TestMachOTraceRefused(t *testing.T) {
	t.Parallel()
	mustHave(t, "clang-22")
	source := filepath.Join(t.TempDir(), "main.c")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ words, want string }{
		{"spike --clock exact", "are not supported for Mach-O"},
	} {
		args := slices.Concat([]string{"cc", "--strict", "--mode"}, strings.Fields(c.words), []string{"clang-22", "-target", iOS.target, "-c", source, "-o", source + ".o"})
		if out, err := command(t, cairn, args...).CombinedOutput(); err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, says %s", c.words, err, out)
		}
	}
}
