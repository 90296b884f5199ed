//go:build linux && amd64

package oracle

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestArmTrace compares the calls in logs of threads with what the program says of itself.
func TestArmTrace(t *testing.T) {
	t.Parallel()
	for _, line := range shorttest.Rows(1, "arm-linux-gnueabihf-gcc -O2", "arm-linux-gnueabihf-gcc -Os -marm -static") {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			f := strings.Fields(line)
			program := build(t, "trace", f[0], append(f[1:], filepath.Join("testdata", "calls.c"), "-lpthread")...)
			said, logs := callLogs(t, "", armv7.command, "-L", armv7.sysroot, program, "threads", "6")
			checkTold(t, program, said, entered(t, logs), 0)
		})
	}
}

// TestArmTracedLog compares the calls in logs with the executions of each function's first instruction in the emulator's
// log of another run, for both states and both ways to pass floating-point numbers.
func TestArmTracedLog(t *testing.T) {
	t.Parallel()
	const clang = "clang-22 --target=armv7-linux-gnueabihf"
	for _, line := range shorttest.Rows(
		2,
		"arm-linux-gnueabihf-gcc -O2 flow.c", "arm-linux-gnueabihf-g++ -O2 -marm -std=c++17 shapes.cc", "arm-linux-gnueabihf-gcc -O3 -marm flow.c", "arm-linux-gnueabihf-gcc -O0 flow.c",
		"arm-linux-gnueabihf-gcc -Os -static flow.c", "arm-linux-gnueabi-gcc -O2 -march=armv7-a -mthumb flow.c", "arm-linux-gnueabihf-g++ -O2 -std=c++17 shapes.cc",
		clang+" -O2 flow.c", clang+" -Os -mthumb -no-pie flow.c", "clang++-22 --target=armv7-linux-gnueabihf -O2 -std=c++17 shapes.cc", "clang++-22 --target=armv7-linux-gnueabihf -Oz -mthumb -std=c++17 shapes.cc",
	) {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			f := strings.Fields(line)
			processor := armv7
			if strings.Contains(f[0], "gnueabi-") {
				processor = armSoft
			}
			args := append(f[1:len(f)-1:len(f)-1], "-w", filepath.Join("testdata", f[len(f)-1]))
			program := build(t, "trace", f[0], args...)
			said, logs := callLogs(t, "", processor.command, "-L", processor.sysroot, program)
			checkAnswer(t, said, output(t, processor.run(t, build(t, "", f[0], args...))))
			counts, at := entered(t, logs), addressesOf(t, program)
			_, ran, _, m := processor.emulated(t, build(t, "count", f[0], args...))
			c := tally{t: t}
			for i := range m.Funcs {
				f := &m.Funcs[i]
				got, want := counts[at[f.Name]&^1], ran.instr[f.Addr()]
				c.check(got == want, "%s: %d calls, the emulator has %d", f.Name, got, want)
			}
			c.done("functions")
		})
	}
}

// TestArmStacks compares the stacks in the log of a program that throws, jumps and recurses in threads with what it counted
// itself.
func TestArmStacks(t *testing.T) {
	t.Parallel()
	for _, line := range shorttest.Rows(
		2,
		"clang++-22 --target=armv7-linux-gnueabihf -O2", "arm-linux-gnueabihf-g++ -O2", "arm-linux-gnueabihf-g++ -O2 -marm -fPIC",
		"arm-linux-gnueabihf-g++ -O0", "arm-linux-gnueabihf-g++ -Os -static", "clang++-22 --target=armv7-linux-gnueabihf -O1 -mthumb",
	) {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			f := strings.Fields(line)
			program := build(t, "trace --only ^w_", f[0], append(f[1:], "-pthread", filepath.Join("testdata", "tree.cc"))...)
			dir := t.TempDir()
			cmd := armv7.run(t, program, "6", "50")
			cmd.Env = append(cmd.Env, "CAIRN_DIR="+dir, "CAIRN_TRACE=file")
			out := output(t, cmd)
			logs := mustGlob(t, filepath.Join(dir, "*.cairnlog"))
			if len(logs) != 1 {
				t.Fatalf("%d logs", len(logs))
			}
			got, want := plain(foldedCalls(t, logs[0])), parseFolded(t, out)
			// A log does not tell in which of the calls of a recursion an exception has arrived: here those that run w_cleanup.
			for _, stacks := range []map[string]uint64{got, want} {
				maps.DeleteFunc(stacks, func(stack string, _ uint64) bool { return strings.Contains(stack, "w_throw;w_cleanup") })
			}
			sameStacks(t, "stacks", got, want)
		})
	}
}
