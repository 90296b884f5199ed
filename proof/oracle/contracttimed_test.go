//go:build linux && amd64

package oracle

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	calls "github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// timedModes are the columns of modes that write logs.
func timedModes() []contractMode {
	// With SLOW testdata/contract.c calls slow, which takes eight times as long.
	spike := []string{"SLOW=1", "CAIRN_SPIKE=threshold=5ms"}
	shared := " --shared-runtime " + filepath.Join(workDir, "runtime")
	return []contractMode{
		{name: "spike", flags: "spike", env: spike, holds: heldSpikes},
		{name: "exact", flags: "spike --clock exact", env: spike, holds: heldSpikes},
		{name: "flight", flags: "spike --flight", env: spike, holds: heldFlight},
		{name: "trace", flags: "trace", holds: heldTrace},
		{name: "stacks", flags: "stacks", env: spike[:1], holds: heldStacks},
		{name: "spike, shared", flags: "spike" + shared, env: spike, holds: heldSpikes},
		{name: "stacks, shared", flags: "stacks" + shared, env: spike[:1], holds: heldStacks},
	}
}

// slows returns how often slow is called in all processes: by main and by child.
func (s *situation) slows() int {
	const inChild = 10 // calls of work
	if s.source != "" {
		return 0
	}
	if slices.Contains(s.also, "child") {
		return 1 + s.calls/inChild
	}
	return 1
}

// verdict is what belongs into a cell, by how much there should be and is.
func (c *contractCell) verdict(t *testing.T, got, want int, logs []string) string {
	t.Helper()
	switch {
	case got > want:
		return fmt.Sprintf("%d of %d calls in %q", got, want, logs)
	case got == want:
		return kept
	}
	t.Logf("%d of %d calls in %q", got, want, logs)
	if got == 0 {
		return lost
	}
	return part
}

// contractLogs opens the logs of a cell, one after the other. What somebody made
// shorter may be damaged.
func contractLogs(t *testing.T, c *contractCell, read func(name string, data []byte) error) (files []string, wrong string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(c.dir, "*"+wire.Suffix))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := read(f, data); err != nil && c.name != "truncate" {
			return files, err.Error()
		}
	}
	return files, ""
}

// clockWasLate reports whether a log says that its clock was late by more than the threshold, so
// that it may lack calls: that of a busy machine. The end of a process that was killed is not in
// it, but how often its clock ticked: 64 times during a call of slow.
func (c *contractCell) clockWasLate(t *testing.T) (late bool) {
	t.Helper()
	contractLogs(t, c, func(name string, data []byte) error {
		if l, err := tracelog.Open(bytes.NewReader(data), int64(len(data)), name); err == nil && l.Trailer != nil {
			x := l.Trailer
			late = late || x.WorstGap > x.Threshold || !x.Final && x.Ticks < 32
		}
		return nil
	})
	return late
}

// mainWasSlow reports whether a log says that main, without slow, took longer than the threshold:
// on a busy machine. A slow call makes system calls, which a filter may forbid by the end of main.
func (c *contractCell) mainWasSlow(t *testing.T) (slow bool) {
	t.Helper()
	inMain := c.within(t, "main")
	contractLogs(t, c, func(name string, data []byte) error {
		l, err := tracelog.Open(bytes.NewReader(data), int64(len(data)), name)
		if err != nil {
			return err
		}
		for e, err := range l.Episodes() {
			if err != nil {
				return err
			}
			slow = slow || inMain(l, e.Stack[0].PC, e.Time)
			for _, p := range e.Parents {
				slow = slow || inMain(l, p.PC, p.Ended) && p.Time.Hi-e.Peak.Lo > p.Threshold
			}
		}
		return nil
	})
	return slow
}

// within returns whether an address of a log, at a time, is in a function of the program.
func (c *contractCell) within(t *testing.T, function string) func(l *tracelog.Log, pc, at uint64) bool {
	t.Helper()
	start, end := rangeOf(t, c.program, function)
	return func(l *tracelog.Log, pc, at uint64) bool {
		i := l.ModuleIndex(pc, at)
		if i < 0 || !l.Modules[i].Main {
			return false
		}
		pc -= l.Modules[i].Bias
		return pc >= start && pc < end
	}
}

// eachSpike yields the spikes of a log of the program whose peak is slow.
func (c *contractCell) eachSpike(t *testing.T, name string, data []byte, yield func(*tracelog.Episode)) error {
	t.Helper()
	l, err := tracelog.Open(bytes.NewReader(data), int64(len(data)), name)
	if err != nil {
		return err
	}
	if len(l.Damage) > 0 {
		return l.Damage[0]
	}
	inSlow := c.within(t, "slow")
	for e, err := range l.Episodes() {
		if err != nil {
			return err
		}
		if inSlow(l, e.Stack[0].PC, e.Time) {
			yield(e)
		}
	}
	return nil
}

// rangeOf returns where a function is in a program, empty if it has none.
func rangeOf(t *testing.T, program, name string) (start, end uint64) {
	t.Helper()
	for _, s := range elfSymbols(t, program) {
		if s.Name == name && s.Info == elf.ST_INFO(elf.STB_GLOBAL, elf.STT_FUNC) {
			return s.Value, s.Value + s.Size
		}
	}
	return 0, 0
}

// heldSpikes looks for the calls of slow.
func heldSpikes(t *testing.T, c *contractCell) string {
	t.Helper()
	n := 0
	logs, wrong := contractLogs(t, c, func(name string, data []byte) error {
		return c.eachSpike(t, name, data, func(*tracelog.Episode) { n++ })
	})
	if wrong != "" {
		return wrong
	}
	return c.verdict(t, n, c.slows(), logs)
}

// heldFlight looks for the calls of slow that have a window with a call of slow.
func heldFlight(t *testing.T, c *contractCell) string {
	t.Helper()
	n := 0
	start, _ := rangeOf(t, c.program, "slow")
	logs, wrong := contractLogs(t, c, func(name string, data []byte) error {
		var failed error
		err := c.eachSpike(t, name, data, func(e *tracelog.Episode) {
			w, err := tracelog.OpenWindows(bytes.NewReader(data), int64(len(data)), name, nil, e.Number)
			if err != nil {
				failed = err
				return
			}
			counts := map[uint64]uint64{}
			recorded(t, w, counts)
			if counts[start>>2] > 0 {
				n++
			}
		})
		return errors.Join(err, failed)
	})
	if wrong != "" {
		return wrong
	}
	return c.verdict(t, n, c.slows(), logs)
}

// heldTrace counts the calls of work.
func heldTrace(t *testing.T, c *contractCell) string {
	t.Helper()
	n := 0
	start, _ := rangeOf(t, c.program, "work")
	logs, wrong := contractLogs(t, c, func(name string, data []byte) error {
		l, err := tracelog.OpenEvents(bytes.NewReader(data), int64(len(data)), name, &tracelog.Objects{})
		if err != nil {
			return err
		}
		for e, err := range l.Records() {
			var d *calls.Damage
			if err != nil && !errors.As(err, &d) {
				return err
			}
			if err == nil && e.Kind.IsEnter() && uint64(e.Func) == start>>2 {
				n++
			}
		}
		if d := l.Info().Damage; len(d) > 0 {
			return d[0]
		}
		return nil
	})
	if wrong != "" {
		return wrong
	}
	if n == c.work() && c.name == "raw fork" {
		return part // what the child leaves is overwritten by its parent, by how much is a matter of time
	}
	return c.verdict(t, n, c.work(), logs)
}

// heldStacks counts the calls of work.
func heldStacks(t *testing.T, c *contractCell) string {
	t.Helper()
	n := 0
	logs, wrong := contractLogs(t, c, func(name string, _ []byte) error {
		cmd := command(t, cairn, "convert", "--format", "folded", "--by", "calls", "--mangled", name)
		if c.name == "proc not mounted" { // the log has the name of the program alone, and its build id
			cmd.Args = append(cmd.Args, "--map", c.program)
		}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		text, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", name, err, stderr.String())
		}
		for stack, number := range parseFolded(t, string(text)) {
			if stack == "work" || strings.HasSuffix(stack, ";work") {
				n += int(number)
			}
		}
		return nil
	})
	if wrong != "" {
		return wrong
	}
	if n <= c.work() && slices.Contains(partly, c.name) {
		return part
	}
	return c.verdict(t, n, c.work(), logs)
}

// partly are the situations in which mode stacks keeps what it had written last, which
// may be all, or nothing on a busy machine: TestTreeKilled has a program that lives longer.
var partly = []string{"segv", "kill", "bus error", "own bus handler"}
