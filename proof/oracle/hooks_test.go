//go:build linux && amd64

package oracle

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestHookedSQLite runs SQLite, which compilers made ready for hooks, under cairn
// watch run. It answers as it does, and one slow call of malloc among many is found
// in the calls of SQLite around it.
func TestHookedSQLite(t *testing.T) {
	skipLong(t)
	t.Parallel()
	mustHave(t, "gcc")
	preload := filepath.Join(t.TempDir(), "slow.so")
	if err := os.WriteFile(preload+".c", []byte(slowMalloc), 0o666); err != nil {
		t.Fatal(err)
	}
	output(t, command(t, "gcc", "-O2", "-fno-builtin", "-shared", "-fPIC", preload+".c", "-o", preload))
	for _, c := range []struct{ name, compiler, flags string }{
		{"fentry", "gcc", "-O0 -pg -mfentry"},
		{"entries", "gcc", "-O1 -fpatchable-function-entry=5"},
		{"functions", "clang-22", "-O0 -finstrument-functions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mustHave(t, c.compiler)
			program, logs := buildSQLite(t, "", c.compiler, strings.Fields(c.flags)...), t.TempDir()
			argv := append([]string{"watch", "run", "--dir", logs, "--", program}, sqliteArgs(t, allPhases)...)
			cmd := command(t, cairn, argv...)
			cmd.Env = append(cmd.Env, "LD_PRELOAD="+preload, "GMON_OUT_PREFIX="+filepath.Join(t.TempDir(), "gmon"))
			start := time.Now()
			answer := output(t, cmd)
			checkAnswer(t, answer, sqliteAnswer(t))
			checkHookedSpike(t, logs, time.Since(start))
		})
	}
}

// checkHookedSpike looks for the call that took 40 ms, at least, and less than the
// run, below sqlite3_exec.
func checkHookedSpike(t *testing.T, logs string, took time.Duration) {
	t.Helper()
	report := output(t, command(t, cairn, "spikes", "--jsonl", logs))
	for line := range strings.Lines(report) {
		var spike struct {
			Interval []int64 `json:"interval_ns"`
			Peak     struct{ Function string }
			Stack    []struct{ Function string }
		}
		if err := json.Unmarshal([]byte(line), &spike); err != nil {
			t.Fatal(err)
		}
		if len(spike.Interval) != 2 || !strings.Contains(spike.Peak.Function, "MemMalloc") {
			continue
		}
		if lo, hi := time.Duration(spike.Interval[0]), time.Duration(spike.Interval[1]); hi < 40*time.Millisecond || lo > took {
			t.Errorf("the call took 40 ms and the run %v; reported %v to %v", took, lo, hi)
		}
		for _, f := range spike.Stack {
			if f.Function == "sqlite3_exec" {
				return
			}
		}
	}
	t.Errorf("no slow malloc below sqlite3_exec:\n%s", report)
}
