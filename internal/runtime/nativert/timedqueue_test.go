package nativert

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/probe"
)

// TestTimedEnds checks that a spike right before the end of a process is in the log, also in
// that of a child that was just made.
func TestTimedEnds(t *testing.T) {
	t.Parallel()
	program := exactStorms(t)
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
			if err := checkEnds(readLogs(t, dir)); err != nil {
				t.Error(err)
			}
		})
	}
}

// exactStorms builds storms.c with the exact clock.
func exactStorms(t *testing.T) string {
	t.Helper()
	archive := timedRuntimeFor(t, probe.Options{Timing: probe.Timing{Exact: true}}, "gcc")
	return timedProgram(t, "gcc", archive, []string{"storms.c"}, append([]string{"-DEXACT"}, withUnwinder...)...)
}

// checkEnds returns an error unless the logs of two processes have a spike each, with the modules.
func checkEnds(logs []*spikeLog) error {
	if len(logs) != 2 {
		return fmt.Errorf("%d logs of two processes", len(logs))
	}
	for _, l := range logs {
		if len(l.episodes) != 1 || len(l.episodes[0].stack) < 2 || len(l.modules) == 0 {
			return fmt.Errorf("%d episodes, %d modules", len(l.episodes), len(l.modules))
		}
	}
	return nil
}

// TestTimedEndsUnlisted checks that the modules are in the log before a spike if it takes long to
// list them: the process may end as soon as it has the spike.
func TestTimedEndsUnlisted(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("needs strace")
	}
	program := exactStorms(t)
	slow := []string{"strace", "-f", "-qq", "-o", "/dev/null", "-P", "/proc/self/maps", "-e", "inject=?open,openat:delay_enter=30000"}
	var err error
	for range 3 { // on a busy machine, the process waits no longer for its log
		_, _, logs := execTimed(t, stormSet, append(slow, program, "end", "_exit", "child")...)
		if err = checkEnds(logs); err == nil {
			return
		}
	}
	t.Error(err)
}
