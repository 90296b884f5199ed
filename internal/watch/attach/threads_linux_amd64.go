package attach

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Bounds of what is looked at while the program is stopped.
const (
	deepestShown = 64
	mostStacks   = 256
)

// threadsOf describes the threads of a process as the kernel shows them, before anything has woken them. since is when
// switches, by thread, were counted; they tell how long a thread waits, at least, where the kernel does not.
func threadsOf(pid int, since time.Time, switches map[int]uint64) []Thread {
	list, err := tasks(pid)
	if err != nil {
		return nil
	}
	now := lastRan("/proc/thread-self")
	out := make([]Thread, 0, len(list))
	for _, tid := range list {
		if isOwn(pid, tid) {
			continue
		}
		dir := taskDir(pid, tid)
		t := Thread{TID: tid, Name: firstLine(dir + "/comm"), Kernel: strings.Trim(firstLine(dir+"/wchan"), "0"), Call: -1, State: stateOf(dir)}
		if word, _, _ := strings.Cut(firstLine(dir+"/syscall"), " "); word != "" {
			if n, err := strconv.Atoi(word); err == nil {
				t.Call = n
			}
		}
		switch ran := lastRan(dir); {
		case t.State == 'R':
		case ran != 0 && now > ran:
			t.Still = now - ran
		case switches[tid] != 0 && switches[tid] == switchesOf(dir):
			t.Still, t.AtLeast = time.Since(since), true
		}
		out = append(out, t)
	}
	return out
}

func taskDir(pid, tid int) string { return fmt.Sprintf("/proc/%d/task/%d", pid, tid) }

func firstLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := bytes.Cut(b, []byte{'\n'})
	return string(line)
}

// stateOf returns the state of a thread as in proc_pid_stat(5): after its name, which may have any character.
func stateOf(dir string) byte {
	line := firstLine(dir + "/stat")
	if i := strings.LastIndex(line, ") "); i >= 0 && i+2 < len(line) {
		return line[i+2]
	}
	return 0
}

// lastRan returns when the scheduler last saw a thread run, by its own clock; 0 if the kernel does not tell
// (CONFIG_SCHED_DEBUG).
func lastRan(dir string) time.Duration {
	v, err := strconv.ParseFloat(fieldOf(dir+"/sched", "se.exec_start"), 64)
	if err != nil {
		return 0
	}
	return time.Duration(v * float64(time.Millisecond))
}

// switchesOf returns how often a thread gave up its processor, plus one; 0 if that is not known.
func switchesOf(dir string) uint64 {
	n, err := strconv.ParseUint(fieldOf(dir+"/status", "voluntary_ctxt_switches"), 10, 64)
	if err != nil {
		return 0
	}
	return n + 1
}

// fieldOf returns the value of a line "name : value" of a file.
func fieldOf(path, name string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// countSwitches returns the switches of all threads of a process.
func countSwitches(pid int) map[int]uint64 {
	out := map[int]uint64{}
	list, err := tasks(pid)
	if err != nil {
		return out
	}
	for _, tid := range list {
		out[tid] = switchesOf(taskDir(pid, tid))
	}
	return out
}

// addStacks adds the stacks of the stopped threads, those that waited longest first if there are many.
func (a *attacher) addStacks() {
	for i := range a.waiting[:min(len(a.waiting), mostStacks)] {
		t := &a.waiting[i]
		th := a.threads[t.TID]
		if th == nil || !th.stopped {
			continue
		}
		t.Whole = a.frames(th, func(pc uint64) bool {
			t.Stack = append(t.Stack, pc)
			return len(t.Stack) < deepestShown
		})
	}
}
