//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSQLiteOrderRun compares cairn order --run with the probes of the same
// run. The former knows the C runtime's functions, too.
func TestSQLiteOrderRun(t *testing.T) {
	skipLong(t)
	t.Parallel()
	for compiler, flags := range map[string]string{"gcc": "-O2", "clang-22": "-O1 -ffunction-sections"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			program := buildSQLite(t, "order", compiler, strings.Fields(flags)...)
			dir := t.TempDir()
			file, raws := filepath.Join(dir, "run.mip"), filepath.Join(dir, "raws")
			args := []string{"order", "--run", "-p", file, "-o", filepath.Join(dir, "order"), "--", program}
			cmd := command(t, cairn, append(args, sqliteArgs(t, allPhases)...)...)
			cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
			checkAnswer(t, output(t, cmd), sqliteAnswer(t))
			probes := profile(t, program, raws)
			want := traceNames(probes)
			has := map[uint64]bool{}
			for i := range probes.Funcs {
				has[probes.Funcs[i].Addr()] = true
			}
			traced := readProfile(t, file)
			var got []string
			for _, f := range traced.Traces[0].Funcs {
				if fn := &traced.Funcs[f]; has[fn.Addr()] {
					got = append(got, fn.Name)
				}
			}
			if len(want) < 300 || !slices.Equal(got, want) {
				t.Errorf("%d first executions, the probes say %d:\n got %v\nwant %v", len(got), len(want), got, want)
			}
		})
	}
}
