//go:build linux && amd64

package oracle

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestAArch64Stacks compares the tree of a program that throws, jumps and recurses in threads
// with what it counted itself.
func TestAArch64Stacks(t *testing.T) {
	t.Parallel()
	for _, line := range shorttest.Rows(
		2,
		"aarch64-linux-gnu-g++ -O2 -mbranch-protection=standard -fPIC", "clang++-22 --target=aarch64-linux-gnu -O2",
		"aarch64-linux-gnu-g++ -O0", "aarch64-linux-gnu-g++ -Os -static", "clang++-22 --target=aarch64-linux-gnu -O1 -mbranch-protection=standard",
		"aarch64-linux-gnu-g++ -O2 -mbranch-protection=standard -march=armv8.3-a", "clang++-22 --target=aarch64-linux-gnu -O2 -mbranch-protection=standard -march=armv8.3-a",
	) {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			f := strings.Fields(line)
			program := build(t, "stacks --only ^w_", f[0], append(f[1:], "-pthread", filepath.Join("testdata", "tree.cc"))...)
			dir := t.TempDir()
			cmd := aarch64.run(t, program, "6", "50")
			cmd.Env = append(cmd.Env, "CAIRN_DIR="+dir)
			out := output(t, cmd)
			logs := mustGlob(t, filepath.Join(dir, "*.cairnlog"))
			if len(logs) != 1 {
				t.Fatalf("%d logs", len(logs))
			}
			sameStacks(t, "stacks", plain(foldedCalls(t, logs[0])), parseFolded(t, out))
		})
	}
}

// TestAArch64Outlined checks that functions that share frames with code that clang outlined of
// them are not timed, and that the program behaves the same.
func TestAArch64Outlined(t *testing.T) {
	t.Parallel()
	args := []string{"--target=aarch64-linux-gnu", "-Oz", "-w", "-std=c++17", filepath.Join("testdata", "shapes.cc")}
	want := output(t, aarch64.run(t, build(t, "", "clang++-22", args...)))
	for _, mode := range shorttest.Rows(1, "stacks", "spike --small 0", "trace") {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			cmd := aarch64.run(t, build(t, mode, "clang++-22", args...))
			cmd.Env = append(cmd.Env, "CAIRN_DIR="+t.TempDir())
			checkAnswer(t, output(t, cmd), want)
		})
	}
}

// TestAArch64Trace compares the calls in logs with what the program says of itself.
func TestAArch64Trace(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"aarch64-linux-gnu-gcc -O2", "aarch64-linux-gnu-gcc -Os -static -mbranch-protection=standard",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			f := strings.Fields(line)
			program := build(t, "trace", f[0], append(f[1:], filepath.Join("testdata", "calls.c"), "-lpthread")...)
			said, logs := callLogs(t, "", aarch64.command, "-L", aarch64.sysroot, program, "threads", "6")
			checkTold(t, program, said, entered(t, logs), 0)
		})
	}
}

// TestAArch64TracedLog compares the calls in logs with the executions of each function's first
// instruction in the emulator's log of another run.
func TestAArch64TracedLog(t *testing.T) {
	skipLong(t) // TestAArch64Trace is its sample
	t.Parallel()
	for _, line := range []string{
		"aarch64-linux-gnu-gcc -O2 flow.c", "clang-22 --target=aarch64-linux-gnu -O2 flow.c", "clang-22 --target=aarch64-linux-gnu -Os -static flow.c",
		"aarch64-linux-gnu-g++ -O2 -std=c++17 -mbranch-protection=standard shapes.cc", "clang++-22 --target=aarch64-linux-gnu -O2 -std=c++17 shapes.cc",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			f := strings.Fields(line)
			source := filepath.Join("testdata", f[len(f)-1])
			args := append(f[1:len(f)-1:len(f)-1], "-w", source)
			program := build(t, "trace", f[0], args...)
			said, logs := callLogs(t, "", aarch64.command, "-L", aarch64.sysroot, program)
			checkAnswer(t, said, output(t, aarch64.run(t, build(t, "", f[0], args...))))
			counts, at := entered(t, logs), addressesOf(t, program)
			_, ran, _, m := aarch64.emulated(t, build(t, "count", f[0], args...))
			c := tally{t: t}
			for i := range m.Funcs {
				f := &m.Funcs[i]
				got, want := counts[at[f.Name]], ran.instr[f.Addr()]
				c.check(got == want, "%s: %d calls, the emulator has %d", f.Name, got, want)
			}
			c.done("functions")
		})
	}
}

// elfSymbols returns the symbols of a program.
func elfSymbols(t *testing.T, program string) []elf.Symbol {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	return symbols
}

// addressesOf returns where the symbols of a program are.
func addressesOf(t *testing.T, program string) map[string]uint64 {
	t.Helper()
	at := map[string]uint64{}
	for _, s := range elfSymbols(t, program) {
		at[s.Name] = s.Value
	}
	return at
}

// signedSource has a call that takes long in a function whose end, where stubs stand, is reached
// with a signed return address.
const signedSource = `#include <stdio.h>
#include <stdlib.h>
#include <time.h>
volatile int n;
__attribute__((noinline)) void wait(void) {
  struct timespec t = {0, 30000000};
  nanosleep(&t, 0);
}
__attribute__((noinline)) int ends(int k) {
  wait();
  if (k > 7) { puts("too many"); abort(); }
  n += k;
  puts("ended");
  return n;
}
int main(int argc, char **argv) { return ends(argc) > 7; }
`

// TestAArch64Signed makes the unwinder walk from stubs through functions with signed return
// addresses: a row with the wrong state of the signature ends the program.
func TestAArch64Signed(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "signed.c")
	if err := os.WriteFile(source, []byte(signedSource), 0o644); err != nil {
		t.Fatal(err)
	}
	const retaa = " -march=armv8.3-a" // functions check the signature as they return
	for _, compiler := range shorttest.Rows(
		1,
		"aarch64-linux-gnu-gcc"+retaa, "clang-22 --target=aarch64-linux-gnu"+retaa, "aarch64-linux-gnu-gcc", "clang-22 --target=aarch64-linux-gnu",
	) {
		for _, mode := range shorttest.Rows(1, "spike --small 0 --flight", "spike --small 0", "spike --small 0 --clock exact") {
			t.Run(compiler+mode, func(t *testing.T) {
				t.Parallel()
				f := strings.Fields(compiler + " -O2 -mbranch-protection=standard")
				dir := t.TempDir()
				program := build(t, mode, f[0], append(f[1:], source)...)
				if strings.HasSuffix(compiler, retaa) && !bytes.Contains(codeOf(t, program), []byte{0xff, 0x0b, 0x5f, 0xd6}) {
					t.Error("the program has no retaa")
				}
				cmd := aarch64.run(t, program)
				cmd.Env = append(cmd.Env, "CAIRN_DIR="+dir)
				checkAnswer(t, output(t, cmd), "ended\n")
				found := output(t, command(t, cairn, append([]string{"spikes"}, mustGlob(t, filepath.Join(dir, "*.cairnlog"))...)...))
				for _, name := range []string{") wait ", ") ends ", ") main "} {
					if !strings.Contains(found, name) {
						t.Errorf("no%sin\n%s", strings.TrimPrefix(name, ")"), found)
					}
				}
			})
		}
	}
}

// codeOf returns the bytes of a program's section .text.
func codeOf(t *testing.T, program string) []byte {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	code, err := f.Section(".text").Data()
	if err != nil {
		t.Fatal(err)
	}
	return code
}
