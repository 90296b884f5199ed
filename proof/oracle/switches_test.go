//go:build linux && amd64

package oracle

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

const switchesSource = "switches.c"

// switcher is a way to change stacks: that of the C library, or of one that knows nothing
// of cairn, and that cairn does not know.
type switcher struct {
	name     string
	compiler string
	flags    []string
	threads  bool // it is for all threads, and not for the first alone
}

// switchers returns the ways for which there are libraries here.
func switchers(t *testing.T) []switcher {
	t.Helper()
	source := filepath.Join("testdata", switchesSource)
	out := []switcher{{"ucontext", "gcc", []string{"-O1", source, "-lpthread"}, true}}
	for _, s := range []switcher{
		{"Pth", "gcc", []string{"-O1", "-DPTH", source, "-lpth"}, false},
		{"Boost", "g++", []string{"-O1", "-x", "c++", source, "-x", "none", "-lboost_context", "-lpthread"}, true},
	} {
		if err := exec.Command(s.compiler, append(slices.Clone(s.flags), "-o", filepath.Join(t.TempDir(), "a"))...).Run(); err != nil {
			t.Logf("%s: none here: %v", s.name, err)
			continue
		}
		out = append(out, s)
	}
	return out
}

// args are those of a program, with a thread if there may be one.
func (s *switcher) args(alone, thread string) []string {
	if s.threads {
		return []string{alone, thread + " thread"}
	}
	return []string{alone, thread}
}

// plainNames makes names of C++ functions those of C.
func plainNames(text string) string {
	return strings.NewReplacer("(int)", "", "()", "").Replace(text)
}

// saidCall is a call by what the program said of it.
type saidCall struct {
	name      string
	coroutine int
	ns        uint64
}

func saidCalls(t *testing.T, out string) (list []saidCall) {
	t.Helper()
	for line := range strings.Lines(out) {
		var c saidCall
		if _, err := fmt.Sscan(line, &c.name, &c.coroutine, &c.ns); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, c)
	}
	return list
}

// shownSpike is a spike, or a caller that is ranked with them, as cairn spikes --json has it.
type shownSpike struct {
	At       uint64    `json:"at_ns"`
	Interval [2]uint64 `json:"interval_ns"`
	Peak     *struct{ Function string }
	Stack    []struct{ Function string }
	Children []struct{ Function string }
	Parents  []struct {
		Function string
		Interval [2]uint64 `json:"interval_ns"`
		After    uint64    `json:"after_ns"` // than the spike it ended
	}
}

func shownSpikes(t *testing.T, file string) (list []shownSpike) {
	t.Helper()
	for line := range strings.Lines(plainNames(output(t, command(t, cairn, "spikes", "--jsonl", file)))) {
		var s shownSpike
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		if s.Peak != nil {
			list = append(list, s)
		}
	}
	return list
}

// TestSwitches compares the spikes of coroutines with what the program says: no call has a role
// in what was on another stack, and by the exact clock each that was long enough is there, as a
// peak or as a caller on the stack of one.
func TestSwitches(t *testing.T) {
	t.Parallel()
	for _, w := range switchers(t) {
		for _, mode := range shorttest.Rows(2, " --clock exact", " --flight", "") {
			t.Run(w.name+mode, func(t *testing.T) { testSwitches(t, &w, mode) })
		}
	}
}

func testSwitches(t *testing.T, w *switcher, mode string) {
	t.Parallel()
	own := []string{"schedule", "run", "main"} // on the thread's own stack
	program := build(t, "spike --small 0"+mode, w.compiler, w.flags...)
	for _, args := range w.args("2 4", "5 3") {
		out, logs := flightLogs(t, "threshold=2ms,rate=1000000", program, strings.Fields(args)...)
		if len(logs) != 1 {
			t.Fatalf("%d logs", len(logs))
		}
		found := make(map[string]map[[3]uint64]bool) // interval and end of calls, by function
		add := func(function string, interval [2]uint64, end uint64) {
			if found[function] == nil {
				found[function] = make(map[[3]uint64]bool)
			}
			found[function][[3]uint64{interval[0], interval[1], end}] = true
		}
		for _, s := range shownSpikes(t, logs[0]) {
			add(s.Peak.Function, s.Interval, s.At)
			for _, c := range s.Children {
				if (c.Function == "resume" || c.Function == "body") && !slices.Contains(own, s.Peak.Function) {
					t.Errorf("%s%s: %s is shown below %s", args, mode, c.Function, s.Peak.Function)
				}
			}
			for _, p := range s.Parents {
				add(p.Function, p.Interval, s.At+p.After)
				if !slices.ContainsFunc(s.Stack, func(f struct{ Function string }) bool { return f.Function == p.Function }) {
					t.Errorf("%s%s: %s is a caller of %s, but not on its stack", args, mode, p.Function, s.Peak.Function)
				}
			}
		}
		if !strings.Contains(mode, "exact") {
			continue // the clock may be late
		}
		const sure = 2_100_000
		said := make(map[string]int)
		for _, c := range saidCalls(t, out) {
			if c.ns >= sure {
				said[c.name]++
			}
		}
		for name, n := range said {
			if len(found[name]) < n {
				t.Errorf("%s%s: %d calls of %s were long, %d are there", args, mode, n, name, len(found[name]))
			}
		}
		if said["outer"] == 0 || said["work"] == 0 {
			t.Errorf("%s: the program says %v", args, said)
		}
	}
}

// switching are the functions of which the program tells, in C and C++.
const switching = " --only ^_?Z?[0-9]*(work|yield|inner|outer|body|resume|schedule)[iv]?$"

// TestFlightSwitches checks that what is recorded of coroutines is what the program did, each
// on its own stack.
func TestFlightSwitches(t *testing.T) {
	t.Parallel()
	ways := switchers(t)
	if !testing.Short() {
		ways = append(ways, switcher{"ucontext, clang", "clang-22", ways[0].flags, true})
	}
	for _, w := range ways {
		program := build(t, "spike --small 0 --flight"+switching, w.compiler, w.flags...)
		for _, args := range w.args("3 0", "8 0") {
			out, logs := flightLogs(t, recordAll, program, strings.Fields(args)...)
			if len(logs) != 1 {
				t.Fatalf("%d logs", len(logs))
			}
			got := output(t, command(t, cairn, "convert", "--format", "folded", "--by", "calls", "--spike", "0", logs[0]))
			sameStacks(t, w.name+" "+args, parseFolded(t, plainNames(got)), switchedStacks(t, args, out, ""))
		}
	}
}

// switchedStacks is how often each stack was called, by what the program said. root is
// where a coroutine begins.
func switchedStacks(t *testing.T, args, said, root string) map[string]uint64 {
	var n, resumed uint64
	fmt.Sscan(args, &n)
	odd := n / 2
	for _, c := range saidCalls(t, said) {
		if c.name == "resume" {
			resumed++
		}
	}
	return map[string]uint64{
		"schedule": 1, "schedule;resume": resumed, root + "body": n, root + "body;outer": 2 * n, root + "body;outer;inner": 2 * n,
		root + "body;outer;inner;work": 4 * n, root + "body;outer;inner;yield": 2 * n, root + "body;outer;yield": 2*n + 2*odd,
	}
}

// TestStacksSwitches checks that modes stacks and trace have the calls of each coroutine below the
// function that switched to it first.
func TestStacksSwitches(t *testing.T) {
	t.Parallel()
	for _, w := range switchers(t) {
		program := build(t, "stacks"+switching, w.compiler, w.flags...)
		for _, args := range w.args("3 0", "8 0") {
			out, logs := flightLogs(t, "", program, strings.Fields(args)...)
			if len(logs) != 1 {
				t.Fatalf("%d logs", len(logs))
			}
			got := output(t, command(t, cairn, "convert", "--format", "folded", "--by", "calls", logs[0]))
			sameStacks(t, w.name+" "+args, parseFolded(t, plainNames(got)), switchedStacks(t, args, out, "schedule;resume;"))
		}
		program = build(t, "trace"+switching, w.compiler, w.flags...)
		out, logs := flightLogs(t, "", program, "3", "0")
		text, err := command(t, cairn, "account", logs[0]).CombinedOutput()
		if err != nil || strings.Contains(string(text), "exits without enter (omitted)") {
			t.Errorf("%s: trace: %v\n%s", w.name, err, text)
		}
		got := output(t, command(t, cairn, "convert", "--format", "folded", "--by", "calls", logs[0]))
		sameStacks(t, w.name+" trace", parseFolded(t, plainNames(got)), switchedStacks(t, "3 0", out, "schedule;resume;"))
	}
}

// TestFlightCallers has functions without probes between those with one, which is the default,
// and checks that no window shows a call below one that had ended.
func TestFlightCallers(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"gcc -O0", "clang-22 -O2", "g++ -O2", "clang++-22 -O1"} {
		words := strings.Fields(line)
		source := filepath.Join("testdata", "between.c")
		if strings.Contains(words[0], "++") {
			words = append(words, "-x", "c++")
		}
		program := build(t, "spike --small 0 --flight --only ^_?p_", words[0], append(words[1:], source)...)
		out, logs := flightLogs(t, recordAll, program)
		if len(logs) != 1 {
			t.Fatalf("%d logs", len(logs))
		}
		got := output(t, command(t, cairn, "convert", "--format", "folded", "--by", "calls", "--mangled", "--spike", "0", logs[0]))
		sameStacks(t, line, parseFolded(t, got), parseFolded(t, out))
	}
}
