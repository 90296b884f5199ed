//go:build linux && amd64

package oracle

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// stacksOf runs a program of mode stacks and returns what it says and the calls
// in each of its logs, by stack.
func stacksOf(t *testing.T, program string, args ...string) (string, []map[string]uint64) {
	t.Helper()
	dir := t.TempDir()
	cmd := command(t, program, args...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+dir)
	out := output(t, cmd)
	var logs []map[string]uint64
	for _, file := range mustGlob(t, filepath.Join(dir, "*.cairnlog")) {
		logs = append(logs, foldedCalls(t, file))
	}
	return out, logs
}

func foldedCalls(t *testing.T, file string) map[string]uint64 {
	t.Helper()
	return parseFolded(t, output(t, command(t, cairn, "convert", "--format", "folded", "--by", "calls", "--mangled", file)))
}

func sameStacks(t *testing.T, what string, got, want map[string]uint64) {
	t.Helper()
	c := tally{t: t}
	for stack, n := range want {
		c.check(got[stack] == n, "%s: %d calls, the truth is %d", stack, got[stack], n)
	}
	for stack, n := range got {
		c.check(want[stack] != 0, "%s: %d calls, in truth none", stack, n)
	}
	c.done(what)
}

// TestTreeStorm compares the tree of a program that throws, jumps and recurses in 65 threads
// with what it counted itself.
func TestTreeStorm(t *testing.T) {
	t.Parallel()
	for _, line := range shorttest.Rows(
		3,
		"g++ -O0", "g++ -O2 -fPIC -fcf-protection -ffunction-sections", "clang++-22 -O1 -fuse-ld=lld", "g++ -Os -static",
		"clang++-22 -O2", "clang++-22 -O0 -g", "g++ -O2 -fno-pie -no-pie -fuse-ld=gold", "g++ -O2 -flto",
	) {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			f := strings.Fields(line)
			program := build(t, "stacks --only ^w_", f[0], append(f[1:], "-pthread", filepath.Join("testdata", "tree.cc"))...)
			out, logs := stacksOf(t, program, "64", "200")
			if len(logs) != 1 {
				t.Fatalf("%d logs", len(logs))
			}
			sameStacks(t, "stacks", plain(logs[0]), parseFolded(t, out))
		})
	}
}

// TestTreeFork checks that a child has its own log, with only what the child did.
func TestTreeFork(t *testing.T) {
	t.Parallel()
	program := build(t, "stacks --only ^w_", "g++", "-O2", "-pthread", filepath.Join("testdata", "tree.cc"))
	out, logs := stacksOf(t, program, "3", "100", "fork")
	if len(logs) != 2 {
		t.Fatalf("%d logs", len(logs))
	}
	parent, child := logs[0], logs[1]
	if len(parent) < len(child) {
		parent, child = child, parent
	}
	sameStacks(t, "the parent", plain(parent), parseFolded(t, out))
	sameStacks(t, "the child", plain(child), map[string]uint64{"w_child": 1, "w_child;w_other": 1, "w_child;w_other;w_leaf": 1})
}

// TestTreeCallgrind compares the calls of each function in SQLite with how often callgrind, in
// the same run, saw its first instruction.
func TestTreeCallgrind(t *testing.T) {
	t.Parallel()
	mustHave(t, "valgrind")
	program := buildSQLite(t, "stacks", "gcc", "-O2")
	dir := t.TempDir()
	cg := filepath.Join(dir, "callgrind.out")
	argv := underCallgrind(cg, "--dump-instr=yes", program, sqliteArgs(t, "2")...)
	cmd := command(t, argv[0], argv[1:]...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+dir)
	output(t, cmd)
	ran := executed(t, cg, program)
	calls := map[string]uint64{}
	for stack, n := range foldedCalls(t, mustGlob(t, filepath.Join(dir, "*.cairnlog"))[0]) {
		calls[lastOf(stack)] += n
	}
	elf, err := objfile.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer elf.Close()
	table, _, err := elf.IdentifiedMap()
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for i := range table.Funcs {
		times[table.Funcs[i].Name]++
	}
	c := tally{t: t}
	for i := range table.Funcs {
		fn := &table.Funcs[i]
		if n := calls[fn.Name]; n > 0 && times[fn.Name] == 1 {
			c.check(ran.instr[fn.Fragments[0].Addr] == n, "%s: %d calls, callgrind saw %d", fn.Name, n, ran.instr[fn.Fragments[0].Addr])
		}
	}
	c.done("functions")
}

// TestTreeXRay compares the stacks of SQLite with those of a log of every call that XRay's
// runtime recorded of the same work.
func TestTreeXRay(t *testing.T) {
	skipLong(t)
	t.Parallel()
	_, fdr := recordSQLite(t)
	_, logs := stacksOf(t, buildSQLite(t, "stacks", xrayC, "-O1", "-ffunction-sections"), sqliteArgs(t, "3")...)
	want := parseFolded(t, onLog(t, fdr, "convert", "--format", "folded", "--by", "calls", "--mangled"))
	sameStacks(t, "stacks", logs[0], without(want, logs[0]))
}

// without leaves out of stacks the functions that others do not have: those that
// could not be instrumented.
func without(stacks, others map[string]uint64) map[string]uint64 {
	known := map[string]bool{}
	for stack := range others {
		known[lastOf(stack)] = true
	}
	out := map[string]uint64{}
	for stack, n := range stacks {
		if known[lastOf(stack)] {
			frames := slices.DeleteFunc(strings.Split(stack, ";"), func(f string) bool { return !known[f] })
			out[strings.Join(frames, ";")] += n
		}
	}
	return out
}

func lastOf(stack string) string { return stack[strings.LastIndexByte(stack, ';')+1:] }

// plain is stacks with the names that functions have in the source: gcc adds to
// them what it did to the function.
func plain(stacks map[string]uint64) map[string]uint64 {
	out := map[string]uint64{}
	for stack, n := range stacks {
		frames := strings.Split(stack, ";")
		for i, f := range frames {
			frames[i], _, _ = strings.Cut(f, ".")
		}
		out[strings.Join(frames, ";")] += n
	}
	return out
}

// TestTreeKilled checks that what a killed program counted up to its last second is in the log.
func TestTreeKilled(t *testing.T) {
	t.Parallel()
	mustHave(t, "gcc")
	source := filepath.Join(t.TempDir(), "loop.c")
	const text = `#include <time.h>
volatile int v;
__attribute__((noinline)) void leaf(void) { v++; }
int main(void) { struct timespec t = {0, 100000}; for (int i = 0; ; i++) { leaf(); if (i % 1000 == 0) nanosleep(&t, 0); } }
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	program := build(t, "stacks", "gcc", "-O1", source)
	dir := t.TempDir()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "CAIRN_DIR="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // if it is still there
	// The log is brought up to date each second.
	for range 300 {
		time.Sleep(200 * time.Millisecond)
		if logs, _ := filepath.Glob(filepath.Join(dir, "*.cairnlog")); len(logs) > 0 && foldedCalls(t, logs[0])["main;leaf"] > 0 {
			break
		}
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	got := foldedCalls(t, mustGlob(t, filepath.Join(dir, "*.cairnlog"))[0])
	if got["main"] != 1 || got["main;leaf"] == 0 {
		t.Errorf("after kill -9: %s", fmt.Sprint(got))
	}
}
