package nativert

import (
	"os"
	"os/exec"
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/native"
)

// TestTimedEnds checks that a spike right before the end of a process is in the log, also in
// that of a child that was just made.
func TestTimedEnds(t *testing.T) {
	t.Parallel()
	archive := timedRuntimeFor(t, native.Options{Exact: true}, "gcc")
	program := timedProgram(t, "gcc", archive, []string{"storms.c"}, append([]string{"-DEXACT"}, withUnwinder...)...)
	for _, how := range []string{"_exit", "quick_exit", "abort", "segv", "kill", "exec"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), program, "end", how, "child")
			cmd.Env = append(os.Environ(), "CAIRN_SPIKE="+stormSet, "CAIRN_DIR="+dir)
			cmd.Dir = dir // of a core
			if out, err := cmd.CombinedOutput(); len(out) > 0 {
				t.Errorf("%v: %s", err, out)
			}
			logs := readLogs(t, dir)
			if len(logs) != 2 {
				t.Fatalf("%d logs of two processes", len(logs))
			}
			for _, l := range logs {
				if len(l.episodes) != 1 || len(l.episodes[0].stack) < 2 || len(l.modules) == 0 {
					t.Errorf("%d episodes, %d modules", len(l.episodes), len(l.modules))
				}
			}
		})
	}
}
