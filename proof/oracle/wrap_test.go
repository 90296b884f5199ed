//go:build linux && amd64

package oracle

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// slowMalloc is a library that comes between a program and the C library's
// malloc, as a tool of somebody else's would: one of many calls takes 40 ms.
const slowMalloc = `
#include <stddef.h>
#include <time.h>
void *__libc_malloc(size_t);
static int calls;
void *malloc(size_t n) {
  if (++calls == 5000) {
    struct timespec t = {0, 40000000};
    nanosleep(&t, 0);
  }
  return __libc_malloc(n);
}
`

// TestWrapSQLite wraps functions of SQLite, which is compiled once and has no probes, and of
// the C library, with each linker. It compares the answers, and checks that one slow call among
// many is found with its callers.
func TestWrapSQLite(t *testing.T) {
	skipLong(t)
	t.Parallel()
	mustHave(t, "gcc")
	dir, sqlite := t.TempDir(), goModule(t, sqliteModule)
	object := func(source string) string {
		path := filepath.Join(dir, filepath.Base(source)+".o")
		output(t, command(t, "gcc", "-O1", "-g", "-w", "-I"+sqlite, "-c", source, "-o", path))
		return path
	}
	big := assemblySQLite(t, "gcc", []string{"-O1", "-ffunction-sections"})
	objects := []string{object(filepath.Join("testdata", "sqlite.c")), object(big), "-lm"}
	preload := filepath.Join(dir, "slow.so")
	if err := os.WriteFile(preload+".c", []byte(slowMalloc), 0o666); err != nil {
		t.Fatal(err)
	}
	output(t, command(t, "gcc", "-O2", "-fno-builtin", "-shared", "-fPIC", preload+".c", "-o", preload))
	plain := filepath.Join(dir, "plain")
	output(t, command(t, "gcc", append([]string{"-o", plain}, objects...)...))
	base, want := timed(t, plain, "", t.TempDir())
	for name, driver := range map[string]string{"bfd": "gcc -fuse-ld=bfd", "gold": "gcc -fuse-ld=gold", "mold": "gcc -B/usr/libexec/mold", "lld": "clang-22 -fuse-ld=lld"} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath("ld." + name); err != nil && name != "mold" {
				mustHave(t, "ld."+name+"-22")
			} else if name == "mold" {
				mustHave(t, "mold")
			}
			program := filepath.Join(t.TempDir(), "wrapped")
			argv := append([]string{"wrap", "malloc,free,realloc,read,pread,pwrite,pread64,pwrite64,fsync,sqlite3_exec", "--force", "--"}, strings.Fields(driver)...)
			output(t, command(t, cairn, append(append(argv, "-o", program), objects...)...))
			logs := t.TempDir()
			took, got := timed(t, program, preload, logs)
			checkAnswer(t, got, want)
			t.Logf("plain %v, wrapped and with 40 ms of sleep %v", base, took)
			checkWrapSpike(t, logs, took)
		})
	}
}

// checkWrapSpike looks for the slow call of malloc, which was under way for 40 ms
// and less than the run took, below a call of SQLite that is wrapped as well.
func checkWrapSpike(t *testing.T, logs string, took time.Duration) {
	t.Helper()
	report := output(t, command(t, cairn, "spikes", "--jsonl", "--top", "0", logs))
	for line := range strings.Lines(report) {
		var spike struct {
			Interval []int64 `json:"interval_ns"`
			Peak     struct{ Function string }
			Stack    []struct{ Function string }
		}
		if err := json.Unmarshal([]byte(line), &spike); err != nil {
			t.Fatal(err)
		}
		if spike.Peak.Function != "__wrap_malloc" || len(spike.Interval) != 2 {
			continue
		}
		if lo, hi := time.Duration(spike.Interval[0]), time.Duration(spike.Interval[1]); hi < 40*time.Millisecond || lo > took {
			t.Errorf("the call took 40 ms and the run %v; reported %v to %v", took, lo, hi)
		}
		for _, f := range spike.Stack {
			if f.Function == "__wrap_sqlite3_exec" {
				return
			}
		}
	}
	t.Errorf("no slow malloc below sqlite3_exec:\n%s", report)
}

// timed runs SQLite on its script and returns the time it took and its answer.
func timed(t *testing.T, program, preload, logs string) (time.Duration, string) {
	t.Helper()
	cmd := command(t, program, sqliteArgs(t, allPhases)...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+logs)
	if preload != "" {
		cmd.Env = append(cmd.Env, "LD_PRELOAD="+preload)
	}
	start := time.Now()
	answer := output(t, cmd)
	return time.Since(start), answer
}
