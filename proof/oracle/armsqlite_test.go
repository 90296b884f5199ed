//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestArmSQLite compares the answers of SQLite with those of a build without probes, in modes
// that record, in both states, and with its functions in the order of a profile.
func TestArmSQLite(t *testing.T) {
	skipLong(t)
	t.Parallel()
	dir := goModule(t, sqliteModule)
	for _, line := range []string{"arm-linux-gnueabihf-gcc -O2", "arm-linux-gnueabihf-gcc -Os -marm", "clang-22 --target=armv7-linux-gnueabihf -O2"} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(line)
			args := slices.Concat(words[1:], sqliteDefines, []string{
				"-I" + dir, filepath.Join("testdata", "sqlite.c"), filepath.Join(dir, "sqlite3-binding.c"), "-lm",
			})
			answers := func(program string) string {
				raws := t.TempDir()
				cmd := armv7.run(t, program, sqliteArgs(t, allPhases)...)
				cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
				checkAnswer(t, output(t, cmd), sqliteAnswer(t))
				return raws
			}
			answers(build(t, "full", words[0], args...))
			program, file := build(t, "block+order", words[0], args...), filepath.Join(t.TempDir(), "sqlite.mip")
			output(t, command(t, cairn, "merge", "--strict", "-o", file, program, answers(program)))
			used := filepath.Join(t.TempDir(), "used")
			output(t, command(t, cairn, slices.Concat([]string{"cc", "--use", file, words[0]}, args, []string{"-o", used})...))
			answers(used)
		})
	}
}
