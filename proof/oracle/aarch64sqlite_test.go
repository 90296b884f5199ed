//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAArch64SQLite compares the answers of SQLite with those of a build without probes, in
// modes that record, and when it is built by a profile with its cold blocks moved.
func TestAArch64SQLite(t *testing.T) {
	skipLong(t)
	t.Parallel()
	dir := goModule(t, sqliteModule)
	for _, line := range []string{"aarch64-linux-gnu-gcc -O2", "clang-22 --target=aarch64-linux-gnu -O2"} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(line)
			args := slices.Concat(words[1:], sqliteDefines, []string{
				"-I" + dir, filepath.Join("testdata", "sqlite.c"), filepath.Join(dir, "sqlite3-binding.c"), "-lm",
			})
			answers := func(program string) string {
				raws := t.TempDir()
				cmd := aarch64.run(t, program, sqliteArgs(t, allPhases)...)
				cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
				checkAnswer(t, output(t, cmd), sqliteAnswer(t))
				return raws
			}
			for _, mode := range []string{"full", "spike --small 0", "stacks"} {
				answers(build(t, mode, words[0], args...))
			}
			program, file := build(t, "block", words[0], args...), filepath.Join(t.TempDir(), "sqlite.mip")
			output(t, command(t, cairn, "merge", "--strict", "-o", file, program, answers(program)))
			used := filepath.Join(t.TempDir(), "used")
			output(t, command(t, cairn, slices.Concat([]string{"cc", "--use", file, words[0]}, args, []string{"-o", used})...))
			answers(used)
			if cold := output(t, command(t, "nm", used)); strings.Count(cold, ".cold\n") < 100 {
				t.Errorf("%d cold parts: that proves little", strings.Count(cold, ".cold\n"))
			}
		})
	}
}
