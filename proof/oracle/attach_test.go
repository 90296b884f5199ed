//go:build linux && amd64

package oracle

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/tracelogtest"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// attached is a program of testdata/attached.cc that runs.
type attached struct {
	t     *testing.T
	pid   int
	stdin io.WriteCloser
	lines chan string
	calls []string // lines about calls
}

func startAttached(t *testing.T) *attached {
	t.Helper()
	program := build(t, "", "g++", "-O2", "-pthread", "testdata/attached.cc")
	cmd := exec.Command(program) // which outlives the test by its cleanup
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a := &attached{t: t, pid: cmd.Process.Pid, stdin: stdin, lines: make(chan string, 1<<16)}
	go func() {
		defer close(a.lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			a.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		stdin.Close()
		last := ""
		for line := range a.lines {
			last = line
		}
		if err := cmd.Wait(); err != nil || last != "ended in order" {
			t.Errorf("the program: %v, %q", err, last)
		}
	})
	return a
}

// mark asks the program what time it is.
func (a *attached) mark() (at uint64) {
	a.t.Helper()
	if _, err := io.WriteString(a.stdin, "\n"); err != nil {
		a.t.Fatal(err)
	}
	for line := range a.lines {
		if _, err := fmt.Sscanf(line, "mark %d", &at); err == nil {
			return at
		}
		a.calls = append(a.calls, line)
	}
	a.t.Fatal("the program has ended")
	return 0
}

// await waits until the program has printed n more calls.
func (a *attached) await(n int) {
	a.t.Helper()
	for range n {
		line, ok := <-a.lines
		if !ok {
			a.t.Fatal("the program has ended")
		}
		a.calls = append(a.calls, line)
	}
}

// look is what can be seen of the program from outside, but for what it does itself.
func (a *attached) look() string {
	a.t.Helper()
	var b bytes.Buffer
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", a.pid))
	if err != nil {
		a.t.Fatal(err)
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", a.pid))
	if err != nil {
		a.t.Fatal(err)
	}
	defer mem.Close()
	for line := range strings.Lines(string(maps)) {
		var lo, hi uint64
		var rights string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &lo, &hi, &rights); err != nil {
			a.t.Fatal(err)
		}
		if strings.Contains(line, "[heap]") || strings.Contains(line, "[stack]") {
			continue // they grow
		}
		fmt.Fprint(&b, line)
		if strings.Contains(rights, "x") && !strings.Contains(line, "[v") {
			code := make([]byte, hi-lo)
			if _, err := mem.ReadAt(code, int64(lo)); err != nil {
				a.t.Fatal(err)
			}
			fmt.Fprintf(&b, "  %x\n", sha256.Sum256(code))
		}
	}
	for _, dir := range []string{"fd", "task"} {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/%s", a.pid, dir))
		if err != nil {
			a.t.Fatal(err)
		}
		for _, e := range entries {
			to, _ := os.Readlink(fmt.Sprintf("/proc/%d/%s/%s", a.pid, dir, e.Name()))
			fmt.Fprintln(&b, dir, e.Name(), to)
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.pid))
	if err != nil {
		a.t.Fatal(err)
	}
	for _, field := range regexp.MustCompile(`(?m)^(Sig(Blk|Ign|Cgt)|Threads|TracerPid):.*`).FindAllString(string(status), -1) {
		fmt.Fprintln(&b, field)
	}
	return b.String()
}

// sameAs compares what is seen now with what was seen before.
func (a *attached) sameAs(before, when string) {
	a.t.Helper()
	if after := a.look(); after != before {
		was := strings.Split(before, "\n")
		for _, line := range strings.Split(after, "\n") {
			if !slices.Contains(was, line) {
				a.t.Errorf("%s: + %s", when, line)
			}
		}
		is := strings.Split(after, "\n")
		for _, line := range was {
			if !slices.Contains(is, line) {
				a.t.Errorf("%s: - %s", when, line)
			}
		}
	}
}

func (a *attached) attach(dir string) *exec.Cmd {
	return command(a.t, cairn, "watch", "attach", "--background", "--small", "0", "--threshold", "5ms", "--dir", dir, strconv.Itoa(a.pid))
}

// detach runs cairn watch detach, and again as long as it asks for that: on a busy machine
// every thread may be in what is to be removed for as long as the command waits.
func (a *attached) detach() (string, error) {
	for range 20 {
		out, err := command(a.t, cairn, "watch", "detach", strconv.Itoa(a.pid)).CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte("detach again later")) {
			return string(out), err
		}
	}
	return "", errors.New("20 times told to detach again later")
}

// mayAttach skips a test where only root may attach to programs.
func mayAttach(t *testing.T) {
	t.Helper()
	scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if len(scope) > 0 && scope[0] != '0' && os.Geteuid() != 0 {
		t.Skip("kernel.yama.ptrace_scope lets only root attach to programs")
	}
}

// TestAttach attaches to a program that runs, throws and gets signals. It checks that the
// spikes are the calls that the program reports as long, and that nothing is left in it.
func TestAttach(t *testing.T) {
	t.Parallel()
	mayAttach(t)
	a := startAttached(t)
	a.await(3)
	before := a.look()
	for round := range 2 {
		dir := t.TempDir()
		if out, err := a.attach(dir).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		from := a.mark()
		a.await(20)
		to := a.mark()
		if out, err := a.detach(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		a.sameAs(before, fmt.Sprintf("round %d", round))
		l := tracelogtest.Only(t, dir)
		if l.Trailer == nil || !l.Trailer.Final {
			t.Errorf("the log has no end: %+v", l.Trailer)
		}
		checkAttached(t, l, a.calls, from, to)
	}
}

// checkAttached compares the spikes of a log with the calls that a program says it made, all of
// which took long: a call is in the log as a spike, or as a caller of one if a handler of a signal
// interrupted it for long. Those between two moments must be there, unless the log says that its
// clock was late where they began or ended.
func checkAttached(t *testing.T, l *tracelog.Log, calls []string, from, to uint64) {
	t.Helper()
	found := episodes(t, l)
	late := func(at uint64) bool {
		for _, s := range l.Stalls {
			if at+2e6 >= s.From && at <= s.To+2e6 {
				return true
			}
		}
		return false
	}
	spikes, callers, sure := 0, 0, 0
	for _, line := range calls {
		var tid uint32
		var outerStart, outerEnd, start, end uint64
		if _, err := fmt.Sscan(line, &tid, &outerStart, &outerEnd, &start, &end); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		var times []tracelog.Interval
		for _, e := range found {
			if e.TID != tid {
				continue
			}
			if e.Time >= end && e.Time <= outerEnd {
				times = append(times, e.Peak)
				spikes++
				if len(e.Stack) < 4 || e.Flags&(tracelog.CallerOnly|tracelog.NoUnwinder) != 0 {
					t.Errorf("a stack of %d frames", len(e.Stack))
				}
			}
			for _, p := range e.Parents {
				if p.Ended >= end && p.Ended <= outerEnd {
					times = append(times, p.Time)
					callers++
				}
			}
		}
		for _, x := range times {
			if outer := outerEnd - outerStart; x.Lo > outer || x.Hi < end-start {
				t.Errorf("%d..%d is reported as %v", end-start, outer, x)
			}
		}
		if outerStart > from && outerEnd < to && !late(outerStart) && !late(outerEnd) {
			sure++
			if len(times) == 0 {
				t.Errorf("no spike for the call of %d ns at %d; the log ends with %+v", end-start, start, l.Trailer)
			}
		}
	}
	if spikes == 0 || callers == 0 {
		t.Errorf("%d spikes and %d callers of the calls that were made, of %d", spikes, callers, len(found))
	}
	t.Logf("%d calls, %d sure, %d spikes, %d callers, %d spikes in all", len(calls), sure, spikes, callers, len(found))
}

// TestAttachSleeping attaches to a program while its only thread, which must run the library's start,
// waits in a system call with a time limit. The call must end when it would have, with the same result.
func TestAttachSleeping(t *testing.T) {
	t.Parallel()
	mayAttach(t)
	program := build(t, "", "gcc", "-O1", "-pthread", "testdata/sleeps.c")
	for _, how := range shorttest.Rows(1, "poll", "nanosleep") {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, program, how)
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Wait() }()
			defer stdin.Close()
			a := &attached{t: t, pid: cmd.Process.Pid}
			for range 2 { // the first attachment also builds the library
				if _, err := io.WriteString(stdin, "\n"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond) // it waits by then, or else nothing is tested
				if out, err := a.attach(t.TempDir()).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				var us, result, errno int
				if _, err := fmt.Fscan(stdout, &us, &result, &errno); err != nil {
					t.Fatal(err)
				}
				if us < 3_000_000 || result != 0 {
					t.Errorf("waited %d us, not 3 s; the result is %d, errno %d", us, result, errno)
				}
				if out, err := a.detach(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
		})
	}
}

// TestAttachKilled kills cairn at arbitrary moments while it attaches. It checks that the
// program continues, and that what is left in it can be removed.
func TestAttachKilled(t *testing.T) {
	t.Parallel()
	mayAttach(t)
	a := startAttached(t)
	a.await(1)
	before := a.look()
	if out, err := a.attach(t.TempDir()).CombinedOutput(); err != nil { // with all that is built once
		t.Fatalf("%v\n%s", err, out)
	}
	start := time.Now()
	if out, err := a.detach(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	takes := max(10*time.Millisecond, time.Since(start))
	kills := 20
	if testing.Short() {
		kills = 3
	}
	for i := range kills {
		cmd := a.attach(t.TempDir())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(takes * time.Duration(i) * 4 / time.Duration(kills))
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
		a.await(1)
		if out, err := a.detach(); err != nil && !strings.Contains(out, "cairn is not attached to it") {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	a.await(3)
	a.sameAs(before, "after all")
}
