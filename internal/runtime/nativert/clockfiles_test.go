package nativert

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
)

// TestClockFiles proves that the threads of the clock and of the log have no files in common with
// the program: what they open takes no descriptor from it, and what they close is none of its files.
func TestClockFiles(t *testing.T) {
	t.Parallel()
	const closeRange, none = 436, ^uintptr(0) >> 33
	if _, _, err := syscall.Syscall(closeRange, none, none, 0); errors.Is(err, syscall.ENOSYS) {
		t.Skip("the kernel has no close_range")
	}
	program := timedProgram(t, "gcc", timedRuntime(t, "gcc"), []string{"files.c"}, withUnwinder...)
	for _, set := range []string{"threshold=4ms", "threshold=4ms,tick=signal"} {
		if out, _ := runTimed(t, set, program); out != "0 0\n" {
			t.Errorf("%s: the clock and the log have %s files of the program open", set, out)
		}
	}
}

// TestTimedProcNames checks that the runtime leaves no names of threads below /proc/PID/task: the
// kernel removes them when the process ends, and the process that waits for it can use all of a
// processor meanwhile (see c/timed/task.h). Names come from a lookup, and, for all threads, from a
// listing of the directory.
func TestTimedProcNames(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("needs strace")
	}
	program := timedProgram(t, "gcc", timedRuntime(t, "gcc"), []string{"storms.c"}, withUnwinder...)
	lookup := regexp.MustCompile(`"/proc/(self/task/|\d+/task/|thread-self).*`)
	listing := regexp.MustCompile(`getdents64\(.*`)
	// What strace says of a thread that ends during a delay.
	ended := regexp.MustCompile(`strace: (dispatch_event: pid \d+ has delayed wait data set already|restart_delayed_tcb: No delayed wait data found for pid \d+)\n`)
	for _, c := range []struct {
		set      string
		argv     []string
		inject   string
		threaded bool // programs with threads of their own are listed
	}{
		{stormSet, []string{"end", "_exit", "with a child"}, "linkat:error=ENOENT:when=1", false}, // as before Linux 6.10
		{stormSet + ",control", []string{"spikes", "5"}, "futex:delay_exit=10000:when=5", false},  // a late clock
		{stormSet + ",tick=signal", []string{"spikes", "5"}, "futex:delay_exit=0:when=5", false},
		{stormSet, []string{"fork", "2"}, "futex:delay_exit=0:when=5", true},
	} {
		calls := filepath.Join(t.TempDir(), "calls")
		argv := append([]string{"strace", "-f", "-qq", "-s", "200", "-e", "trace=%file,getdents64,futex", "-e", "inject=" + c.inject, "-o", calls, program}, c.argv...)
		_, stderr, logs := execTimed(t, c.set, argv...)
		if left := ended.ReplaceAllString(stderr, ""); left != "" {
			t.Errorf("%s %s says %s", c.set, c.argv, left)
		}
		text, err := os.ReadFile(calls)
		if err != nil || len(text) == 0 || len(logs) == 0 {
			t.Fatalf("%s %s: %d logs, %v", c.set, c.argv, len(logs), err)
		}
		if found := lookup.FindAllString(string(text), 5); found != nil {
			t.Errorf("%s %s: %q", c.set, c.argv, found)
		}
		if found := listing.FindAllString(string(text), 5); found != nil && !c.threaded {
			t.Errorf("%s %s: %q", c.set, c.argv, found)
		}
	}
}
