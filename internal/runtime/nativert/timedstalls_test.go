//go:build linux

package nativert

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A span of CLOCK_MONOTONIC.
type span struct{ from, to uint64 }

func monotonic(t *testing.T) uint64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
	return uint64(ts.Nano())
}

// hold stops a thread of another process until release is called, by the same thread of ours.
func hold(t *testing.T, tid int) (release func()) {
	t.Helper()
	if err := syscall.PtraceAttach(tid); err != nil {
		t.Skipf("ptrace: %v", err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(tid, &status, syscall.WALL, nil); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := syscall.PtraceDetach(tid); err != nil {
			t.Fatal(err)
		}
	}
}

// threadOf returns the thread of a process that has a name.
func threadOf(t *testing.T, pid int, name string) int {
	t.Helper()
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(time.Millisecond) {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pid))
		for _, f := range files {
			if comm, _ := os.ReadFile(f); bytes.Equal(bytes.TrimSpace(comm), []byte(name)) {
				tid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
				return tid
			}
		}
	}
	t.Fatalf("process %d has no thread %s", pid, name)
	return 0
}

// isListed reports whether the log lists a span as a time in which the clock was late.
func isListed(l *spikeLog, s span) bool {
	for _, x := range l.stalls {
		if x[0] <= s.from && s.to <= x[1] {
			return true
		}
	}
	return false
}

// TestTimedStalls stops the clock more often than the log's writer, which is stopped as well, has room to
// remember. The log must list each of these times all the same.
func TestTimedStalls(t *testing.T) {
	t.Parallel()
	program := timedProgram(t, "gcc", timedRuntime(t, "gcc"), []string{"storms.c"}, withUnwinder...)
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), program, "late")
	cmd.Env = append(os.Environ(), "CAIRN_SPIKE=threshold=1ms", "CAIRN_DIR="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	clock, writer := threadOf(t, cmd.Process.Pid, "cairn-clock"), threadOf(t, cmd.Process.Pid, "cairn-log")
	var held []span
	func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		resume := hold(t, writer)
		for range 300 {
			release := hold(t, clock)
			from := monotonic(t)
			time.Sleep(2 * time.Millisecond)
			held = append(held, span{from, monotonic(t)})
			release()
			time.Sleep(time.Millisecond) // for a tick, if there is a processor
		}
		resume()
	}()
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	l := one(t, readLogs(t, dir))
	missing := 0
	for _, s := range held {
		if !isListed(l, s) {
			missing++
		}
	}
	t.Logf("%d stalls listed, %d ticks", len(l.stalls), l.trailer.ticks)
	if missing > 0 {
		t.Errorf("%d of %d stalls are in none that is listed", missing, len(held))
	}
}

// TestTimedLateStart delays the clock's thread before its first tick: the log must list that time, in
// which calls are missed.
func TestTimedLateStart(t *testing.T) {
	t.Parallel()
	program := timedProgram(t, "gcc", timedRuntime(t, "gcc"), []string{"planted.c"}, withUnwinder...)
	dir := t.TempDir()
	options := []string{"-e", "trace=prctl", "-e", "inject=prctl:delay_enter=60000:when=1"} // by which the thread gets its name
	x := traceProgram(t, "threshold=2ms,rate=100000", dir, options, program, "b", "3", "20000", "40000")
	out, err := x.cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	l := one(t, readLogs(t, dir))
	for _, c := range readTruth(t, string(out)) {
		found := isListed(l, span{c.innerStart, c.innerStart}) || isListed(l, span{c.innerEnd, c.innerEnd})
		for _, e := range l.episodes {
			found = found || e.end >= c.innerEnd && e.end <= c.outerEnd
		}
		if !found {
			t.Errorf("a call of %d us, %d us after the start, is not in the log, and no stall is listed", (c.innerEnd-c.innerStart)/1000, (c.innerStart-l.started)/1000)
		}
	}
	if len(l.stalls) == 0 || l.stalls[0][1] < l.started+50e6 {
		t.Errorf("%d stalls, %d ns blind", len(l.stalls), l.trailer.blind)
	}
}

// TestTimedPreferred checks that the thread that makes the clock's thread asks for its precedence, also
// in a child: it may take long until that thread runs and could do so.
func TestTimedPreferred(t *testing.T) {
	t.Parallel()
	if mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); mode != 0 || err != nil {
		t.Skipf("a filter of system calls (%d, %v): it does not ask then", mode, err)
	}
	program := timedProgram(t, "gcc", timedRuntime(t, "gcc"), []string{"storms.c"}, withUnwinder...)
	x := traceProgram(t, stormSet, t.TempDir(), []string{"-e", "trace=sched_setscheduler"}, program, "end", "_exit", "with a child")
	if out, err := x.cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	calls, err := os.ReadFile(x.calls)
	if err != nil {
		t.Fatal(err)
	}
	if made := regexp.MustCompile(`sched_setscheduler\([1-9]\d*, SCHED_FIFO`).FindAll(calls, -1); len(made) != 2 {
		t.Errorf("%q, want two calls for another thread", calls)
	}
}
