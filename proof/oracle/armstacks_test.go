//go:build linux && amd64

package oracle

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// armStacksOf is stacksOf for a program for Armv7.
func armStacksOf(t *testing.T, program string, args ...string) (string, []map[string]uint64) {
	t.Helper()
	return stacksOf(t, armv7.command, append([]string{"-L", armv7.sysroot, program}, args...)...)
}

// TestArmTree compares the tree of a program that throws, jumps and recurses in threads with what it counted itself.
func TestArmTree(t *testing.T) {
	t.Parallel()
	for _, line := range shorttest.Rows(
		3,
		"stacks arm-linux-gnueabihf-g++ -O2", "stacks clang++-22 --target=armv7-linux-gnueabihf -O2", "stacks --max arm-linux-gnueabihf-g++ -O2 -marm -fPIC",
		"stacks --counts arm-linux-gnueabihf-g++ -O1 -marm", "stacks arm-linux-gnueabihf-g++ -O0", "stacks arm-linux-gnueabihf-g++ -Os -static",
		"stacks arm-linux-gnueabihf-g++ -O0 -marm", "stacks clang++-22 --target=armv7-linux-gnueabihf -O1 -mthumb", "stacks clang++-22 --target=armv7-linux-gnueabihf -O0 -marm",
	) {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			mode, program := armBuilt(t, line, "tree.cc")
			out, logs := armStacksOf(t, program, "6", "50")
			if len(logs) != 1 {
				t.Fatalf("%d logs", len(logs))
			}
			sameStacks(t, mode, plain(logs[0]), parseFolded(t, out))
		})
	}
}

// TestArmTreeCoroutines does so for threads that change between coroutines at any depth.
func TestArmTreeCoroutines(t *testing.T) {
	t.Parallel()
	for _, line := range shorttest.Rows(
		2,
		"stacks arm-linux-gnueabihf-gcc -O2", "stacks --max clang-22 --target=armv7-linux-gnueabihf -O0", "stacks --counts arm-linux-gnueabihf-gcc -O0 -marm",
		"stacks arm-linux-gnueabihf-gcc -Os -marm", "stacks clang-22 --target=armv7-linux-gnueabihf -O2 -mthumb",
	) {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			mode, program := armBuilt(t, line, "coroutines.c")
			out, logs := armStacksOf(t, program, "8")
			if len(logs) != 1 {
				t.Fatalf("%d logs", len(logs))
			}
			sameStacks(t, mode, plain(logs[0]), parseFolded(t, out))
		})
	}
}

// armBuilt builds a source by a line of a mode and a compiler, with probes in the functions whose names begin with w_.
func armBuilt(t *testing.T, line, source string) (mode, program string) {
	t.Helper()
	f := strings.Fields(line)
	at := 1
	for strings.HasPrefix(f[at], "--") {
		at++
	}
	mode = strings.Join(f[:at], " ")
	return mode, build(t, mode+" --only ^w_", f[at], append(f[at+1:], "-pthread", filepath.Join("testdata", source))...)
}

// TestArmTreeLives checks that nothing of threads that come and go is lost.
func TestArmTreeLives(t *testing.T) {
	t.Parallel()
	_, program := armBuilt(t, "stacks arm-linux-gnueabihf-gcc -O2", "lives.c")
	out, logs := armStacksOf(t, program, "300", "20")
	if len(logs) != 1 {
		t.Fatalf("%d logs", len(logs))
	}
	sameStacks(t, "stacks", plain(logs[0]), parseFolded(t, out))
}

// TestArmTreeLog compares the calls in logs with the executions of each function's first instruction in the emulator's log of
// another run, and the stacks with those of the program for x86-64, which has the same functions where none is inlined.
func TestArmTreeLog(t *testing.T) {
	t.Parallel()
	for _, line := range shorttest.Rows(
		2,
		"arm-linux-gnueabihf-gcc -O0 flow.c", "clang++-22 --target=armv7-linux-gnueabihf -O0 -std=c++17 shapes.cc",
		"arm-linux-gnueabihf-gcc -O2 -marm flow.c", "arm-linux-gnueabihf-gcc -O0 -marm flow.c",
		"arm-linux-gnueabihf-gcc -Os -static flow.c", "arm-linux-gnueabi-gcc -O2 -march=armv7-a -mthumb flow.c", "arm-linux-gnueabihf-g++ -O2 -std=c++17 shapes.cc",
		"clang-22 --target=armv7-linux-gnueabihf -Os -mthumb -no-pie flow.c", "clang++-22 --target=armv7-linux-gnueabihf -Oz -mthumb -std=c++17 shapes.cc",
	) {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			f := strings.Fields(line)
			processor := armv7
			if strings.Contains(f[0], "gnueabi-") {
				processor = armSoft
			}
			args := append(f[1:len(f)-1:len(f)-1], "-w", filepath.Join("testdata", f[len(f)-1]))
			program := build(t, "stacks", f[0], args...)
			said, logs := stacksOf(t, processor.command, "-L", processor.sysroot, program)
			checkAnswer(t, said, output(t, processor.run(t, build(t, "", f[0], args...))))
			counts := map[string]uint64{}
			for stack, n := range logs[0] {
				counts[lastOf(stack)] += n
			}
			_, ran, _, m := processor.emulated(t, build(t, "count", f[0], args...))
			c := tally{t: t}
			for i := range m.Funcs {
				f := &m.Funcs[i]
				c.check(counts[f.Name] == ran.instr[f.Addr()], "%s: %d calls, the emulator has %d", f.Name, counts[f.Name], ran.instr[f.Addr()])
			}
			c.done("functions")
			if !strings.Contains(line, "gcc -O0") {
				return
			}
			_, here := stacksOf(t, build(t, "stacks", "gcc", "-O0", "-w", args[len(args)-1]))
			sameStacks(t, "stacks of x86-64", logs[0], here[0])
		})
	}
}

// TestArmTreeEnds checks what a program that is killed, or ends by _exit or an exception that nothing catches, has counted.
func TestArmTreeEnds(t *testing.T) {
	t.Parallel()
	const source = `#include <stdlib.h>
#include <unistd.h>
#include <string.h>
volatile int v;
__attribute__((noinline)) void leaf(void) { v++; }
__attribute__((noinline)) void check(int bad) { leaf(); if (bad == 1) abort(); if (bad == 2) _exit(3); if (bad == 3) raise(9); }
int main(int n, char **a) { for (int i = 0; i < 1000; i++) leaf(); check(n - 1); return 0; }
`
	file := filepath.Join(t.TempDir(), "ends.c")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"-mthumb", "-marm"} {
		program := build(t, "stacks", "arm-linux-gnueabihf-gcc", "-O2", "-w", state, file)
		for n := range 3 {
			dir := t.TempDir()
			cmd := exec.Command(armv7.command, append([]string{"-L", armv7.sysroot, program}, strings.Fields(strings.Repeat("x ", n))...)...)
			cmd.Env = append(cmd.Environ(), "CAIRN_DIR="+dir)
			out, err := cmd.CombinedOutput()
			logs, _ := filepath.Glob(filepath.Join(dir, "*.cairnlog"))
			if len(logs) != 1 || (err == nil) != (n == 0) {
				t.Fatalf("%s %d: %v, %d logs\n%s", state, n, err, len(logs), out)
			}
			sameStacks(t, state, foldedCalls(t, logs[0]), map[string]uint64{"main": 1, "main;leaf": 1000, "main;check": 1, "main;check;leaf": 1})
		}
	}
}
