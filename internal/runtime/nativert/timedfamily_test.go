//go:build linux

package nativert

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// A family is a process that runs family.c and its children, which do what they are
// told.
type family struct {
	t        *testing.T
	cmd      *exec.Cmd
	dir      string
	answers  *bufio.Scanner
	commands []*os.File
	children []int // numbers of the processes
	calls    map[int][]truth
	gone     map[int]bool
}

const familySpike = "threshold=1ms,rate=100000"

func startFamily(t *testing.T, program string, children int, generations ...string) *family {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append([]string{strconv.Itoa(children)}, generations...)...)
	dir := t.TempDir()
	cmd.Env = append(os.Environ(), "CAIRN_SPIKE="+familySpike, "CAIRN_DIR="+dir)
	cmd.Stderr = os.Stderr
	return beginFamily(t, cmd, dir, children)
}

// beginFamily starts a command that runs family.c, with logs in a directory.
func beginFamily(t *testing.T, cmd *exec.Cmd, dir string, children int) *family {
	t.Helper()
	f := &family{t: t, cmd: cmd, dir: dir, calls: map[int][]truth{}, gone: map[int]bool{}}
	for range children {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		f.cmd.ExtraFiles = append(f.cmd.ExtraFiles, r)
		f.commands = append(f.commands, w)
	}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, r := range f.cmd.ExtraFiles {
		r.Close()
	}
	t.Cleanup(f.kill)
	f.answers = bufio.NewScanner(out)
	byFile := map[string]int{}
	for range children {
		pid := f.answer()
		for i := range children {
			if link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, 3+i)); err == nil {
				byFile[link] = pid
			}
		}
	}
	for _, w := range f.commands {
		link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", w.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		f.children = append(f.children, byFile[link])
	}
	return f
}

func (f *family) kill() {
	for _, w := range f.commands {
		w.Close()
	}
	_ = f.cmd.Process.Kill() // the children end with their pipes
	_ = f.cmd.Wait()
}

// answer reads one, and returns whose it is.
func (f *family) answer() int {
	f.t.Helper()
	if !f.answers.Scan() {
		f.t.Fatalf("no answer: %v", f.answers.Err())
	}
	x := readTruth(f.t, f.answers.Text())[0]
	f.calls[int(x.tid)] = append(f.calls[int(x.tid)], x)
	return int(x.tid)
}

// tell makes a child do something and waits until it is done.
func (f *family) tell(i int, command string) {
	f.t.Helper()
	if _, err := f.commands[i].WriteString(command); err != nil {
		f.t.Fatal(err)
	}
	if pid := f.answer(); pid != f.children[i] {
		f.t.Fatalf("%d answers, not %d", pid, f.children[i])
	}
}

// clocks returns how often the clock's thread of each process was woken.
func (f *family) clocks() map[int]int {
	woken := map[int]int{}
	for _, pid := range append([]int{f.cmd.Process.Pid}, f.children...) {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		for _, name := range files {
			status, _ := os.ReadFile(name) // it may have ended
			if !bytes.HasPrefix(status, []byte("Name:\tcairn-clock\n")) {
				continue
			}
			for line := range strings.Lines(string(status)) {
				if n, ok := strings.CutPrefix(line, "voluntary_ctxt_switches:"); ok {
					woken[pid], _ = strconv.Atoi(strings.TrimSpace(n))
				}
			}
		}
	}
	return woken
}

// during returns how often the clocks are woken in a second, all and those but the
// busiest, and whose that is.
func (f *family) during(do func()) (all, others, leader int) {
	before, start := f.clocks(), time.Now()
	do()
	most := -1
	for pid, n := range f.clocks() {
		n -= before[pid]
		all += n
		if n > most {
			most, leader = n, pid
		}
	}
	seconds := time.Since(start).Seconds()
	return int(float64(all) / seconds), int(float64(all-most) / seconds), leader
}

// within repeats something until the clocks are woken at most so often in a second: all
// together, and all but the busiest, which must be that of keeper, or any process if keeper is
// 0. On a busy machine the thread that sets the clock is late, and others do so in its place.
func (f *family) within(what string, most, mostOthers, keeper int, do func()) {
	f.t.Helper()
	for range 20 {
		all, others, leader := f.during(do)
		f.t.Logf("%s: clocks are woken %d times in a second, %d times but for that of %d", what, all, others, leader)
		if all <= most && others <= mostOthers && (keeper == 0 || leader == keeper) {
			return
		}
	}
	f.t.Errorf("%s: clocks are woken more than %d times in a second, or %d but for the busiest, or that is not of %d", what, most, mostOthers, keeper)
}

func (f *family) leader() int {
	_, _, pid := f.during(func() { time.Sleep(100 * time.Millisecond) })
	return pid
}

// check compares the logs of the children with what they did.
func (f *family) check() {
	f.t.Helper()
	byPid := map[int]*spikeLog{}
	for _, l := range readLogs(f.t, f.dir) {
		byPid[int(l.pid)] = l
	}
	for _, pid := range f.children {
		l := byPid[pid]
		if l == nil {
			f.t.Errorf("%d has no log", pid)
			continue
		}
		// A call is known no worse than to the worst interval of the clock.
		reach, found := l.trailer.threshold+l.trailer.worst+2000, 0
		for _, c := range f.calls[pid] {
			inner, outer := c.innerEnd-c.innerStart, c.outerEnd-c.outerStart
			hit := slices.IndexFunc(l.episodes, func(e spikeEpisode) bool { return e.end >= c.innerEnd && e.end <= c.outerEnd })
			switch {
			case hit >= 0:
				found++
				if e := l.episodes[hit]; e.lo < e.t || e.lo > outer || e.hi < inner {
					f.t.Errorf("%d: reported as %d..%d, was %d..%d", pid, e.lo, e.hi, inner, outer)
				}
			case inner >= reach:
				f.t.Errorf("%d: a call of %d ns is not reported, reach %d, %d borderline", pid, inner, reach, l.trailer.borderline)
			}
		}
		f.t.Logf("%d: %d of %d found, blind %.1f ms, worst gap %.1f ms, %d stalls, idle %.1f ms", pid, found, len(f.calls[pid])-1,
			float64(l.trailer.blind)/1e6, float64(l.trailer.worst)/1e6, len(l.stalls), float64(l.trailer.idle)/1e6)
	}
}

// TestTimedFamily checks the cost of the clock that a process and its children share, and that
// spikes are found when the process that sets it is killed, is stopped, or ends.
func TestTimedFamily(t *testing.T) {
	shorttest.Proof(t)
	archive := timedRuntime(t, "gcc")
	program := timedProgram(t, "gcc", archive, []string{"family.c"}, withUnwinder...)
	const children = 9
	for _, generations := range shorttest.Rows(1, "3", "0") {
		t.Run("generations "+generations, func(t *testing.T) {
			f := startFamily(t, program, children, generations)
			time.Sleep(2500 * time.Millisecond) // all are idle
			f.within("all are idle", 6000, 600, 0, func() { time.Sleep(time.Second) })
			f.within("one is busy", 12000, 3500, f.children[3], func() { f.tell(3, "r") })
			for i := range children {
				f.tell(i, "s")
				f.tell(i, "b")
			}
			for range 3 {
				f.killed()
				f.stopped()
				f.replaced()
			}
			for i, pid := range f.children {
				if f.gone[pid] {
					continue
				}
				if _, err := f.commands[i].WriteString([]string{"e", "t"}[i%2]); err != nil {
					t.Error(err)
				}
			}
			f.ends()
			f.check()
		})
	}
}

// living returns a child that can be told something, and is not pid.
func (f *family) living(pid int) int {
	for i, other := range f.children {
		if other != pid && !f.gone[other] {
			return i
		}
	}
	f.t.Fatal("no child is left")
	return 0
}

// led makes a child the leader, and returns it.
func (f *family) led() (i int) {
	f.t.Helper()
	for range 10 {
		i = f.living(0)
		f.tell(i, "r")
		if f.leader() == f.children[i] {
			return i
		}
	}
	f.t.Fatal("another keeps the clock")
	return i
}

func (f *family) killed() {
	f.t.Helper()
	leader := f.led()
	pid := f.children[leader]
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		f.t.Fatal(err)
	}
	f.gone[pid] = true
	f.othersFind(pid)
}

func (f *family) othersFind(pid int) {
	f.t.Helper()
	time.Sleep(5 * time.Millisecond)
	other := f.living(pid)
	f.tell(other, "s")
	f.tell(other, "b")
	if now := f.leader(); now == pid || now == 0 {
		f.t.Errorf("%d is gone and keeps the clock", pid)
	}
}

// replaced has the leader run another program.
func (f *family) replaced() {
	f.t.Helper()
	leader := f.led()
	pid := f.children[leader]
	if _, err := f.commands[leader].WriteString("x"); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	f.gone[pid] = true
	f.othersFind(pid)
}

func (f *family) stopped() {
	f.t.Helper()
	leader := f.led()
	pid := f.children[leader]
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		f.t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	other := f.living(pid)
	f.tell(other, "s")
	f.tell(other, "b")
	if now := f.leader(); now == pid {
		f.t.Errorf("%d is stopped and keeps the clock", pid)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		f.t.Fatal(err)
	}
	f.tell(leader, "b")
	f.tell(other, "s")
}

// ends waits until all children have ended.
func (f *family) ends() {
	f.t.Helper()
	for start := time.Now(); time.Since(start) < 10*time.Second; time.Sleep(10 * time.Millisecond) {
		left := 0
		for _, pid := range f.children {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if bytes.Contains(stat, []byte("(sleep)")) {
				continue
			}
			if err == nil && !bytes.Contains(stat, []byte(") Z ")) {
				left++
			}
		}
		if left == 0 {
			f.t.Logf("all have ended after %v", time.Since(start).Round(time.Millisecond))
			return
		}
	}
	f.t.Error("children do not end")
}
