//go:build linux && amd64

package oracle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	calls "github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/format/xraymap"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// TestXRayLogs compares the reader and the accounting with what the traced programs say of
// themselves, in logs that were checked in and in new ones.
func TestXRayLogs(t *testing.T) {
	t.Parallel()
	eachXRayLog(t, func(t *testing.T, l *xrayLog) {
		a := readXRay(t, l)
		checkXRayCalls(t, l, a.calls, a.times)
		checkXRayStacks(t, l, a.stacks)
		checkXRayFacts(t, l, a)
		checkXRayData(t, l, a)
	})
}

// eachXRayLog runs a test on every recording, checked in and new.
func eachXRayLog(t *testing.T, test func(*testing.T, *xrayLog)) {
	for i := range xrayRecordings {
		r := &xrayRecordings[i]
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			t.Run("checked in", func(t *testing.T) { test(t, r.fixture(t)) })
			if !r.foreign() || *xrayResources != "" {
				t.Run("new", func(t *testing.T) { test(t, r.record(t)) })
			}
		})
	}
}

// An xrayAnswer is the result of cairn for a log.
type xrayAnswer struct {
	info    *calls.Info
	stats   account.Stats
	threads int
	cpus    int
	damage  int
	calls   map[string]uint64 // by function
	times   map[string]uint64 // of its outermost calls, in nanoseconds
	stacks  map[string]uint64 // by names from the outermost caller on, with ;
	args    map[string][]uint64
	events  []string
}

// readXRay reads a log by the packages, and names functions by what llvm-xray
// says of the program.
func readXRay(t *testing.T, l *xrayLog) *xrayAnswer {
	t.Helper()
	log := openXRay(t, l)
	res, err := account.Run(t.Context(), log, account.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := &xrayAnswer{
		info: log.Info(), stats: res.Total(), threads: len(res.Threads), damage: len(res.Damage) + len(log.Info().Damage),
		calls: map[string]uint64{}, times: map[string]uint64{}, stacks: map[string]uint64{}, args: map[string][]uint64{},
	}
	funcs := xrayNames(t, l)
	trie := res.Merged()
	outermost := trie.Outermost()
	for id, n := range trie.Nodes() {
		if id == calltrie.Root {
			continue
		}
		var names []string
		for _, f := range trie.Stack(id) {
			names = append(names, funcs.Name(f))
		}
		a.calls[funcs.Name(n.Func)] += n.Calls
		a.stacks[strings.Join(names, ";")] += n.Calls
		if outermost[id] {
			a.times[funcs.Name(n.Func)] += n.Total
		}
	}
	a.readEvents(t, log, funcs)
	return a
}

// openXRay opens a log until the end of the test.
func openXRay(t *testing.T, l *xrayLog) *xray.Log {
	t.Helper()
	f, err := os.Open(l.file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	log, err := xray.Open(f, info.Size(), l.file)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// readEvents looks at what the records have besides calls.
func (a *xrayAnswer) readEvents(t *testing.T, log calls.Log, funcs calls.Funcs) {
	t.Helper()
	cpus := map[uint16]bool{}
	for it, err := range calls.ByTime(log) {
		var damage *calls.Damage
		if errors.As(err, &damage) {
			continue // counted by account
		}
		if err != nil {
			t.Fatal(err)
		}
		cpus[it.CPU] = true
		switch {
		case it.Data == nil:
		case it.Kind == calls.EnterArgs:
			a.args[funcs.Name(it.Func)] = append(a.args[funcs.Name(it.Func)], it.Data.Args...)
		case it.Kind == calls.Custom:
			a.events = append(a.events, "custom "+string(it.Data.Data))
		case it.Kind == calls.Typed:
			a.events = append(a.events, fmt.Sprintf("typed %d %s", it.Data.Type, it.Data.Data))
		}
	}
	a.cpus = len(cpus)
}

// xrayNames returns the functions of all objects of the log's program.
func xrayNames(t *testing.T, l *xrayLog) calls.Funcs {
	t.Helper()
	funcs := calls.Funcs{}
	for _, m := range l.maps {
		object, file := 0, m
		if number, name, ok := strings.Cut(m, "="); ok {
			var err error
			if object, err = strconv.Atoi(number); err != nil {
				t.Fatal(err)
			}
			file = name
		}
		if l.elf != "" {
			if l.program() == "typed" { // which llvm-xray cannot read
				file = buildXRay(t, "events")
			}
			yaml := filepath.Join(t.TempDir(), "map.yaml")
			extract(t, file, yaml)
			file = yaml
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, err := xraymap.ReadYAML(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, f := range m.Functions() {
			funcs[calls.MakeFuncID(uint8(object), f.ID)] = calls.Func{Name: f.Name, Addr: f.Address}
		}
	}
	return funcs
}

// checkXRayCalls compares the calls of functions and the bounds of their times.
func checkXRayCalls(t *testing.T, l *xrayLog, counts, times map[string]uint64) {
	t.Helper()
	c := tally{t: t}
	for name, want := range l.truth.calls {
		if !l.aliased(name) {
			c.check(counts[name] == want, "%s: %d calls, the program made %d", name, counts[name], want)
		}
	}
	for name, most := range l.truth.atMost {
		c.check(counts[name] <= most, "%s: %d calls, the program made %d", name, counts[name], most)
	}
	// The clock of the program is another than that of the log.
	const slack = 0.02
	for name, time := range l.truth.longer {
		c.check(float64(times[name]) > (1-slack)*float64(time), "%s took %d ns, and %d by the program's own clock", name, times[name], time)
	}
	for name, time := range l.truth.shorter {
		c.check(float64(times[name]) < (1+slack)*float64(time), "%s took %d ns, and %d by the program's own clock", name, times[name], time)
	}
	if c.compared > 0 {
		c.done("calls")
	}
}

// checkXRayStacks compares the calls of stacks.
func checkXRayStacks(t *testing.T, l *xrayLog, stacks map[string]uint64) {
	t.Helper()
	c := tally{t: t}
	for stack, want := range l.truth.stacks {
		names := strings.Split(stack, ";")
		if !l.aliased(names[len(names)-1]) {
			c.check(stacks[stack] == want, "%s: %d calls, the program made %d", stack, stacks[stack], want)
		}
	}
	if c.differed > 0 {
		t.Log("stacks:", stacks)
	}
}

// aliased reports whether a function's object shares its number with another
// one in the log: FDR logs keep the last four bits of it only.
func (l *xrayLog) aliased(function string) bool {
	_, n, ok := strings.Cut(function, "_")
	if !ok || l.program() != "objects" || strings.HasPrefix(l.name, "basic-") {
		return false
	}
	for number, file := range l.truth.objects {
		if file == "lib"+n+".so" {
			return number >= 16 || number+16 <= sharedObjects
		}
	}
	return false
}

// checkXRayFacts compares what is known of the log as a whole. What the program
// says nothing of must not have happened.
func checkXRayFacts(t *testing.T, l *xrayLog, a *xrayAnswer) {
	t.Helper()
	c := tally{t: t}
	for _, f := range []struct {
		name string
		got  uint64
		told bool // only if the program says something of it
	}{
		{"orphans", a.stats.Orphans, l.loses()},
		{"deduced", a.stats.Deduced, l.loses() || l.program() == "entries"},
		{"open", a.stats.Open, l.loses() || l.program() == "live"},
		{"gaps", a.stats.Gaps, l.loses()},
		{"damage", uint64(a.damage), false},
		{"duplicates", uint64(a.info.Duplicates), l.program() == "fork"},
		{"clamped", a.stats.Clamped, false},
		{"backwards", a.stats.Backwards, false},
		{"tailexits", a.stats.TailExits, false},
		{"threads", uint64(a.threads), true},
		{"depth", uint64(a.stats.MaxDepth), true},
		{"cpus", uint64(a.cpus), true},
	} {
		want, told := l.truth.facts[f.name]
		if told || !f.told {
			c.check(f.got == want, "%s: %d, want %d", f.name, f.got, want)
		}
	}
	c.check(a.stats.Enters == sum(a.calls), "%d enters, %d calls", a.stats.Enters, sum(a.calls))
	if (l.program() == "empty") != (a.stats.Events == 0) {
		t.Errorf("%d events", a.stats.Events)
	}
	notes := strings.Join(a.info.Notes, "\n")
	if l.program() == "empty" || l.name == "fdr-live" || l.name == "fdr-objects" {
		c.check(notes != "", "nothing says why calls may be missing")
	}
	c.done("facts")
}

// loses reports whether the log lacks records that the program cannot know of.
func (l *xrayLog) loses() bool {
	return len(l.truth.newest)+len(l.truth.oldest) > 0 || strings.HasPrefix(l.name, "fdr-typed") || l.aliasing()
}

// aliasing reports whether two functions share an id.
func (l *xrayLog) aliasing() bool { return l.name == "fdr-objects" }

func sum(of map[string]uint64) (n uint64) {
	for _, v := range of {
		n += v
	}
	return n
}

// checkXRayData compares arguments and events, and where a log has only some of
// the calls, that these are the first or the last ones.
func checkXRayData(t *testing.T, l *xrayLog, a *xrayAnswer) {
	t.Helper()
	for name, want := range l.truth.args {
		got := a.args[name]
		if strings.HasSuffix(l.name, "-cut") {
			want = want[:min(len(want), len(got))]
		}
		if !slices.Equal(got, want) {
			t.Errorf("arguments of %s: %d, the program logged %d", name, got, want)
		}
	}
	if !slices.Equal(a.events, l.truth.events) {
		t.Errorf("events %q, the program logged %q", a.events, l.truth.events)
	}
	for name, last := range l.truth.newest {
		if n := len(a.args[name]); n < 10 || !inSequence(a.args[name]) || a.args[name][n-1] != last {
			t.Errorf("calls of %s that are left are %d, want the last before %d", name, a.args[name], last+1)
		}
	}
	for name, first := range l.truth.oldest {
		if n := len(a.args[name]); n < 10 || !inSequence(a.args[name]) || a.args[name][0] != first {
			t.Errorf("calls of %s that were written are %d, want the first from %d on", name, a.args[name], first)
		}
	}
}

// inSequence reports whether each number is one more than that before.
func inSequence(n []uint64) bool {
	for i := 1; i < len(n); i++ {
		if n[i] != n[i-1]+1 {
			return false
		}
	}
	return true
}
