//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestArmVeneers compares the calls of a program with those in the emulator's log, where a part of the program has 40 MB of code
// between itself and the runtime: the linker's veneers change ip, which is the address of a tail call or the static chain of a
// nested function. Calls between the Thumb and the Arm state are among those compared.
func TestArmVeneers(t *testing.T) {
	t.Parallel()
	const clang = "clang-22 --target=armv7-linux-gnueabihf -fuse-ld=lld"
	for _, line := range shorttest.Rows(2, "arm-linux-gnueabihf-gcc -O1 -marm -DMIXED", clang+" -O2", "arm-linux-gnueabihf-gcc -O2", "arm-linux-gnueabihf-gcc -O0", clang+" -Os -mthumb") {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			f := strings.Fields(line)
			sources, gap := filepath.Join("testdata", "veneers"), filepath.Join(t.TempDir(), "gap.o")
			output(t, command(t, f[0], append(f[1:len(f):len(f)], "-w", "-c", "-o", gap, filepath.Join(sources, "gap.S"))...))
			args := append(f[1:len(f):len(f)], "-w", filepath.Join(sources, "near.c"), gap, filepath.Join(sources, "far.c"))
			want := output(t, armv7.run(t, build(t, "", f[0], args...)))
			said, ran, seen, m := armv7.emulated(t, build(t, "full", f[0], args...))
			checkAnswer(t, said, want)
			checkCalls(t, m, ran)
			checkOrder(t, m, seen)
			said, trees := armStacksOf(t, build(t, "stacks", f[0], args...))
			checkAnswer(t, said, want)
			called := map[string]uint64{}
			for stack, n := range trees[0] {
				called[lastOf(stack)] += n
			}
			program := build(t, "trace", f[0], args...)
			said, logs := callLogs(t, "", armv7.command, "-L", armv7.sysroot, program)
			checkAnswer(t, said, want)
			counts, at := entered(t, logs), addressesOf(t, program)
			c := tally{t: t}
			for i := range m.Funcs {
				f := &m.Funcs[i]
				got, times := counts[at[f.Name]&^1], ran.instr[f.Addr()]
				c.check(got == times && called[f.Name] == times, "%s: %d calls, %d in the tree, the emulator has %d", f.Name, got, called[f.Name], times)
			}
			c.done("functions")
			said, _ = armSpikes(t, "threshold=1s", build(t, "spike --small 0", f[0], args...))
			checkAnswer(t, said, want)
		})
	}
}
