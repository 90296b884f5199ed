//go:build linux && amd64

package oracle

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// TestAArch64SQLiteEdges compares the executions of the blocks of SQLite with those that a plugin of the emulator counted.
func TestAArch64SQLiteEdges(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ compiler, flags string }{
		{"aarch64-linux-gnu-gcc", "-O1"},
		{"clang-22", "--target=aarch64-linux-gnu"},
	} {
		t.Run(test.compiler, func(t *testing.T) {
			if test.compiler == "clang-22" {
				skipLong(t)
			}
			t.Parallel()
			program := build(
				t, "edge", test.compiler, test.flags, "-w", "-I"+goModule(t, sqliteModule), filepath.Join("testdata", "sqlite.c"),
				assemblySQLite(t, test.compiler, []string{test.flags}), "-lm",
			)
			answer, ran, m := aarch64.counted(t, program, sqliteArgs(t, allPhases)...)
			checkAnswer(t, answer, sqliteAnswer(t))
			checkCalls(t, m, ran)
			blocks, probes := checkTimes(t, m, ran)
			checkConserved(t, m)
			t.Logf("%d of %d blocks have a counter", probes, blocks)
		})
	}
}

// counted runs a program with probes on the processor. It returns its answer, how often each of its instructions ran, and
// what the probes recorded in that same run.
func (e emulator) counted(t *testing.T, program string, args ...string) (string, execution, *prof.Module) {
	t.Helper()
	dir := t.TempDir()
	plugin, out, raws := filepath.Join(dir, "times.so"), filepath.Join(dir, "times"), filepath.Join(dir, "raws")
	output(t, command(t, "gcc", "-O2", "-w", "-shared", "-fPIC", "-o", plugin, filepath.Join("testdata", "times.c")))
	mustHave(t, e.command)
	cmd := command(t, e.command, append([]string{"-L", e.sysroot, "-plugin", plugin + ",out=" + out, program}, args...)...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
	answer := output(t, cmd)
	ran, err := readTimes(out, program)
	if err != nil {
		t.Fatal(err)
	}
	return answer, ran, profile(t, program, raws)
}

// readTimes reads what that plugin wrote. Its addresses are relative to the first segment with code.
func readTimes(file, program string) (execution, error) {
	ran := execution{instr: map[uint64]uint64{}}
	binary, err := elf.Open(program)
	if err != nil {
		return ran, err
	}
	defer binary.Close()
	low := uint64(1 << 63)
	for _, p := range binary.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			low = min(low, p.Vaddr)
		}
	}
	f, err := os.Open(file)
	if err != nil {
		return ran, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var at, times uint64
		if _, err := fmt.Sscanf(lines.Text(), "%d %d", &at, &times); err != nil {
			return ran, fmt.Errorf("%s: %q: %w", file, lines.Text(), err)
		}
		ran.instr[low+at] = times
	}
	return ran, lines.Err()
}
