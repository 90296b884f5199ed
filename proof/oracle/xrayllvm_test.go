//go:build linux && amd64

package oracle

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	calls "github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// llvmRight are the recordings that llvm-xray reads without an error, and of
// which it says nothing wrong.
var llvmRight = []string{
	"basic-args", "basic-tail", "basic-threads", "basic-recursion", "basic-killed", "basic-filter", "basic-leaves",
	"fdr-args", "fdr-tail", "fdr-events", "fdr-threads", "fdr-recursion", "fdr-filter",
}

// recording returns a recording by its name.
func recording(t *testing.T, name string) *xrayRecording {
	t.Helper()
	i := slices.IndexFunc(xrayRecordings, func(r xrayRecording) bool { return r.name == name })
	if i < 0 {
		t.Fatalf("there is no recording %s", name)
	}
	return &xrayRecordings[i]
}

// runLLVM runs llvm-xray on a log, and returns what it prints and how it ends.
func runLLVM(t *testing.T, l *xrayLog, args ...string) (string, error) {
	t.Helper()
	mustHave(t, llvmXRay)
	program := l.elf
	if program == "" {
		program = l.maps[0] // which it reads, but for the names
	}
	cmd := command(t, llvmXRay, append(slices.Clone(args), "-m", program, l.file)...)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	err := cmd.Run()
	return stdout.String(), err
}

// eachLLVMRight runs a test on new logs that llvm-xray can judge. SQLite's is
// one of them.
func eachLLVMRight(t *testing.T, test func(t *testing.T, l *xrayLog, withSQLite bool)) {
	mustHave(t, llvmXRay)
	for _, name := range llvmRight {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, recording(t, name).record(t), false)
		})
	}
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		l, _ := recordSQLite(t)
		test(t, l, true)
	})
}

// TestXRayStacks compares all stacks of all threads, their calls and the time of
// these, with llvm-xray's, and the leaves that it lists first.
func TestXRayStacks(t *testing.T) {
	t.Parallel()
	eachLLVMRight(t, func(t *testing.T, l *xrayLog, _ bool) {
		mine := readXRayThreads(t, l)
		for kind, of := range map[string]func(s stackCost) uint64{
			"time":  func(s stackCost) uint64 { return s.total },
			"count": func(s stackCost) uint64 { return s.calls },
		} {
			text, err := runLLVM(t, l, "stack", "-all-stacks", "-stack-format=flame", "-aggregation-type="+kind)
			if err != nil {
				t.Fatalf("llvm-xray stack: %v", err)
			}
			theirs := parseFlame(t, text)
			c := tally{t: t}
			for stack, want := range theirs {
				c.check(of(mine[stack]) == want, "%s of %s: %d, llvm-xray has %d", kind, stack, of(mine[stack]), want)
			}
			for stack, s := range mine {
				c.check(of(s) == theirs[stack], "%s of %s: %d, llvm-xray has %d", kind, stack, of(s), theirs[stack])
			}
			c.done(kind)
		}
		text, err := runLLVM(t, l, "stack")
		if err != nil {
			t.Fatalf("llvm-xray stack: %v", err)
		}
		checkLeaves(t, text, mine)
	})
}

// A stackCost is what is known of a stack of a thread.
type stackCost struct {
	calls, total         uint64
	leafCalls, leafTotal uint64 // of calls that called nothing
}

// readXRayThreads returns the stacks of all threads, by names as llvm-xray
// writes them: thread_1;main;work. Calls that did not end are not in them.
func readXRayThreads(t *testing.T, l *xrayLog) map[string]stackCost {
	t.Helper()
	log := openXRay(t, l)
	funcs := xrayNames(t, l)
	stacks := map[string]stackCost{}
	for i, thread := range log.Threads() {
		replay := account.NewReplay(log, i, account.Options{DropOpen: true, UpperBound: true})
		costs := map[calltrie.NodeID]stackCost{}
		callers := map[uint64]bool{}
		for call, err := range replay.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			s := costs[call.Node]
			s.calls++
			s.total += call.Duration
			if !callers[call.ID] {
				s.leafCalls++
				s.leafTotal += call.Duration
			}
			delete(callers, call.ID)
			callers[call.Parent] = true
			costs[call.Node] = s
		}
		for node, s := range costs {
			names := []string{"thread_" + strconv.Itoa(int(thread.TID))}
			for _, fn := range replay.Trie().Stack(node) {
				names = append(names, funcs.Name(fn))
			}
			stacks[strings.Join(names, ";")] = s
		}
	}
	return stacks
}

// parseFlame reads what llvm-xray stack prints for flame graphs. What never
// ended has no value there.
func parseFlame(t *testing.T, text string) map[string]uint64 {
	t.Helper()
	stacks := map[string]uint64{}
	for line := range strings.Lines(text) {
		stack, value, ok := strings.Cut(strings.TrimSpace(line), "; ")
		n, err := strconv.ParseUint(value, 10, 64)
		if !ok || err != nil {
			t.Fatalf("llvm-xray prints %q", line)
		}
		if n != 0 {
			stacks[stack] += n
		}
	}
	return stacks
}

// checkLeaves looks for the stacks that llvm-xray lists first among ours, and
// that there is none with more.
func checkLeaves(t *testing.T, text string, mine map[string]stackCost) {
	t.Helper()
	c := tally{t: t}
	for _, by := range []struct {
		title string
		of    func(stackCost) uint64
	}{
		{"sum", func(s stackCost) uint64 { return s.leafTotal }},
		{"count", func(s stackCost) uint64 { return s.leafCalls }},
	} {
		_, part, ok := strings.Cut(text, "Top 10 Stacks by leaf "+by.title+":\n")
		if !ok {
			t.Fatalf("llvm-xray prints %q", text)
		}
		part, _, _ = strings.Cut(part, "Top 10 Stacks")
		var want []uint64
		for line := range strings.Lines(part) {
			if _, value, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, "#") {
				n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
				if err != nil {
					t.Fatalf("llvm-xray prints %q", line)
				}
				want = append(want, n)
			}
		}
		var got []uint64
		for _, s := range mine {
			if s.leafCalls > 0 {
				got = append(got, by.of(s))
			}
		}
		slices.Sort(got)
		slices.Reverse(got)
		got = got[:min(len(got), 10)]
		c.check(slices.Equal(got, want), "leaves by %s: %d, llvm-xray has %d", by.title, got, want)
	}
	c.done("lists of leaves")
}

// TestXRayRecords compares every record with what llvm-xray converts it to.
func TestXRayRecords(t *testing.T) {
	t.Parallel()
	eachLLVMRight(t, func(t *testing.T, l *xrayLog, big bool) {
		if big {
			t.Skip("llvm-xray needs minutes to write it")
		}
		text, err := runLLVM(t, l, "convert", "-f", "yaml")
		if err != nil {
			t.Fatalf("llvm-xray convert: %v", err)
		}
		want := map[string]int{}
		for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
			if record, ok := strings.CutPrefix(lines.Text(), "  - "); ok {
				want[llvmRecord(t, record)]++
			}
		}
		c := tally{t: t}
		for record, n := range xrayRecords(t, l) {
			c.check(want[record] == n, "%d records %s, llvm-xray has %d", n, record, want[record])
			delete(want, record)
		}
		for record, n := range want {
			c.check(false, "no record %s, llvm-xray has %d", record, n)
		}
		c.done("different records")
	})
}

// llvmKinds are llvm-xray's names of the kinds of records.
var llvmKinds = map[string]calls.Kind{
	"function-enter": calls.Enter, "function-exit": calls.Exit, "function-tail-exit": calls.TailExit,
	"function-enter-arg": calls.EnterArgs, "custom-event": calls.Custom, "typed-event": calls.Typed,
}

// llvmRecord brings a record in llvm-xray's YAML into the form of xrayRecords.
func llvmRecord(t *testing.T, record string) string {
	t.Helper()
	field := func(name string) string {
		_, value, ok := strings.Cut(record, " "+name+": ")
		if !ok {
			return "0"
		}
		end := ","
		if strings.HasPrefix(value, "[") {
			end = " ]"
		}
		value, _, _ = strings.Cut(value, end)
		return strings.TrimPrefix(value, "[ ")
	}
	kind, ok := llvmKinds[field("kind")]
	if !ok {
		t.Fatalf("llvm-xray prints %q", record)
	}
	id, args := field("func-id"), field("args")
	if kind == calls.Custom || kind == calls.Typed {
		id = "0" // llvm-xray has that of the record before
	}
	return strings.Join([]string{kind.String(), id, args, field("cpu"), field("thread"), field("process"), field("tsc")}, " ")
}

// xrayRecords counts the records of a log, each as a line.
func xrayRecords(t *testing.T, l *xrayLog) map[string]int {
	t.Helper()
	log := openXRay(t, l)
	threads := log.Threads()
	records := map[string]int{}
	for it, err := range calls.ByTime(log) {
		if err != nil {
			t.Fatal(err)
		}
		args := "0"
		if it.Kind == calls.EnterArgs {
			args = strings.Trim(fmt.Sprint(it.Data.Args), "[]")
		}
		of := threads[it.Thread]
		records[fmt.Sprint(it.Kind, " ", it.Func, " ", args, " ", it.CPU, " ", of.TID, " ", of.PID, " ", it.Time)]++
	}
	return records
}
