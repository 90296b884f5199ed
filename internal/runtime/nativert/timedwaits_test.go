//go:build linux

package nativert

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// traced is a program that runs below strace.
type traced struct {
	t     *testing.T
	cmd   *exec.Cmd
	calls string // file with the system calls
}

// traceProgram returns a program that will run below strace with options such as -e, in a group of
// processes that the end of the test kills.
func traceProgram(t *testing.T, spike, dir string, options []string, argv ...string) *traced {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("needs strace")
	}
	calls := filepath.Join(t.TempDir(), "calls")
	options = append([]string{"-f", "-qq", "-o", calls}, options...)
	cmd := exec.CommandContext(t.Context(), "strace", append(options, argv...)...)
	cmd.Env = append(os.Environ(), "CAIRN_SPIKE="+spike, "CAIRN_DIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	t.Cleanup(func() {
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait()
		}
	})
	return &traced{t, cmd, calls}
}

// await returns the calls up to now as soon as n of them match.
func (x *traced) await(n int, call *regexp.Regexp) string {
	x.t.Helper()
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile(x.calls)
		if len(call.FindAll(text, n)) == n {
			return string(text)
		}
	}
	x.t.Fatalf("there are no %d calls of %s", n, call)
	return ""
}

// TestTimedWaits checks that no thread of the runtime runs in a loop if the system call that it waits
// by fails at once: it waits by another one each time, or ends.
func TestTimedWaits(t *testing.T) {
	t.Parallel()
	archive := timedRuntime(t, "gcc")
	coarse := timedProgram(t, "gcc", archive, []string{"storms.c"}, withUnwinder...)
	exact := exactStorms(t)
	few := []string{"sh", "-c", `ulimit -n 8 && exec "$@"`, "sh"} // poll fails for more descriptors
	for _, c := range []struct {
		name, spike   string
		argv          []string
		fails, forbid string // a call that fails, and those that are made to
		instead       string // what must follow; empty: the end of the thread
	}{
		{"futex", stormSet, []string{coarse}, "futex", "futex:error=EPERM", "clock_nanosleep"},
		{"futex and clock_nanosleep", stormSet, []string{coarse}, "futex", "futex,clock_nanosleep:error=ENOSYS", "poll"},
		{"all", stormSet, []string{coarse}, "futex", "futex,clock_nanosleep,poll:error=EPERM", ""},
		{"exact", "threshold=1s", []string{exact}, "clock_nanosleep", "clock_nanosleep:error=EPERM", "poll"},
		{"control", "threshold=1s,control", append(few, coarse), "poll", "none:error=EPERM", "clock_nanosleep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			options := []string{"-e", "trace=futex,clock_nanosleep,poll,exit"}
			if !strings.HasPrefix(c.forbid, "none") {
				options = append(options, "-e", "inject="+c.forbid)
			}
			x := traceProgram(t, c.spike, t.TempDir(), options, append(c.argv, "late")...)
			in, err := x.cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			if err := x.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			failed := regexp.MustCompile(`(?m)^(\d+) +` + c.fails + `\(.* = -1 E(PERM|NOSYS|INVAL)`)
			ended := regexp.MustCompile(`(?m)^\d+ +exit\(0`)
			if c.instead == "" {
				x.await(2, ended) // the clock's, and the log's
				text, _ := os.ReadFile(x.calls)
				if n := len(failed.FindAll(text, -1)); n > 10 {
					t.Errorf("%d calls fail", n)
				}
				return
			}
			checkFollowed(t, x.await(4, failed), failed, c.instead)
		})
	}
}

// checkFollowed checks that in each thread another system call follows each one that failed.
func checkFollowed(t *testing.T, calls string, failed *regexp.Regexp, instead string) {
	t.Helper()
	waits := map[string]int{} // failed calls of a thread without one that waits
	for line := range strings.Lines(calls) {
		tid, call, _ := strings.Cut(line, " ")
		call = strings.TrimLeft(call, " ")
		switch {
		case strings.HasPrefix(call, instead+"("):
			waits[tid] = 0
		case failed.MatchString(line):
			if waits[tid]++; waits[tid] > 2 { // the second one may be made instead of another
				t.Fatalf("thread %s: calls fail, and none follows that waits: %s", tid, line)
			}
		}
	}
}

// TestTimedLock checks that a thread that waits for a lock sleeps.
func TestTimedLock(t *testing.T) {
	t.Parallel()
	archive := timedRuntime(t, "gcc")
	program := filepath.Join(t.TempDir(), "lock")
	runTool(t, ".", "gcc", "-O2", "-pthread", "-I"+filepath.Dir(archive), "-o", program, filepath.Join("testdata", "timed", "lock.c"))
	out, err := exec.CommandContext(t.Context(), program).Output()
	var cpu, waited int
	if _, e := fmt.Sscan(string(out), &cpu, &waited); e != nil || err != nil {
		t.Fatalf("%q: %v %v", out, e, err)
	}
	t.Logf("%d of %d us", cpu, waited)
	if cpu > waited/8 {
		t.Errorf("a thread that waits for a lock uses %d us of %d us", cpu, waited)
	}
}

// TestTimedTakeover stops the process that sets the clock of a family, while each thread that takes
// over is slow: its first call of open is. Each takeover must lead to a tick. Threads once took over
// from each other before the other's first tick, as long as two of them were awake: there were no
// ticks for seconds, and two processors were busy with that.
func TestTimedTakeover(t *testing.T) {
	t.Parallel()
	program := timedProgram(t, "gcc", timedRuntime(t, "gcc"), []string{"family.c"}, withUnwinder...)
	dir := t.TempDir()
	const children, delayed = 3, "open"
	x := traceProgram(t, familySpike, dir, []string{"-e", "trace=" + delayed, "-e", "inject=" + delayed + ":delay_enter=20000"}, program, strconv.Itoa(children))
	f := beginFamily(t, x.cmd, dir, children)
	parent := parentOf(t, f.children[0])
	for stopped, pid := range f.children {
		_ = syscall.Kill(parent, syscall.SIGSTOP)
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		for range 10 {
			for i := range f.children {
				if i != stopped {
					f.tell(i, "b")
				}
			}
			time.Sleep(50 * time.Millisecond)
		}
		_ = syscall.Kill(parent, syscall.SIGCONT)
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	for _, w := range f.commands {
		w.Close()
	}
	if err := f.cmd.Wait(); err != nil {
		t.Error(err)
	}
	var ticks uint64
	for _, l := range readLogs(t, dir) {
		ticks = max(ticks, l.trailer.ticks)
	}
	calls, err := os.ReadFile(x.calls)
	if err != nil {
		t.Fatal(err)
	}
	// A thread that takes over reads how long it has waited for a processor, and once more after a
	// tick that was late.
	takeovers := bytes.Count(calls, []byte(`/schedstat"`))
	t.Logf("%d ticks, %d readings at takeovers and late ticks", ticks, takeovers)
	if takeovers < 10 || takeovers > 3*int(ticks) {
		t.Errorf("%d ticks, and %d readings at takeovers and late ticks", ticks, takeovers)
	}
}

func parentOf(t *testing.T, pid int) (parent int) {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	var state string
	if _, err := fmt.Sscan(string(rest), &state, &parent); err != nil {
		t.Fatal(err)
	}
	return parent
}
