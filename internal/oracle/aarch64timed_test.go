//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestAArch64Stacks holds the tree of a program that throws, jumps and recurses in threads
// against what it counted itself.
func TestAArch64Stacks(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"aarch64-linux-gnu-g++ -O0", "aarch64-linux-gnu-g++ -O2 -mbranch-protection=standard -fPIC", "aarch64-linux-gnu-g++ -Os -static",
		"clang++-22 --target=aarch64-linux-gnu -O2", "clang++-22 --target=aarch64-linux-gnu -O1 -mbranch-protection=standard",
	} {
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

// TestAArch64Trace holds the calls in logs against what the program says of itself.
func TestAArch64Trace(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"aarch64-linux-gnu-gcc -O2", "aarch64-linux-gnu-gcc -Os -static -mbranch-protection=standard", "clang-22 --target=aarch64-linux-gnu -O2",
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
