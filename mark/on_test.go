//go:build cairn

package mark

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain runs the tests one after the other in a temporary directory, since they share the
// clock, the thresholds and the callback of the process.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "mark")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("CAIRN_DIR", dir)
	report.rate = 1 << 40
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

// caught returns what is reported while f runs with a threshold. A host that stalls causes more
// spikes, and a late clock misses some, so f runs again, many times on a busy machine, until
// the report is the expected one.
func caught(t *testing.T, threshold time.Duration, want string, f func()) []*Spike {
	t.Helper()
	var list []*Spike
	for range tries {
		var mu sync.Mutex
		list = nil
		OnSpike(func(s *Spike) {
			mu.Lock()
			defer mu.Unlock()
			list = append(list, s)
		})
		SetThreshold(threshold)
		f()
		OnSpike(nil)
		if want == anything || peaks(list) == want {
			return list
		}
	}
	for _, s := range list {
		t.Logf("%s", s.text(0))
	}
	t.Fatalf("reported %q, want %q", peaks(list), want)
	return nil
}

const anything = "*"

// tries is how often a test is repeated because of a busy machine.
const tries = 200

func short(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// peaks returns the names in the reports, with ^ before callers.
func peaks(list []*Spike) string {
	var names []string
	for _, s := range list {
		name := short(s.Name)
		if s.Parent {
			name = "^" + name
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

const ms = time.Millisecond

// sleep stalls for at least d.
func sleep(d time.Duration) { time.Sleep(d) }

//go:noinline
func leaf(d time.Duration) {
	s := Func()
	defer s.End()
	sleep(d)
}

//go:noinline
func unmarked(f func()) { f() }

//go:noinline
func middle(d time.Duration) {
	s := Func()
	defer s.End()
	unmarked(func() { leaf(d) })
}

//go:noinline
func root(d time.Duration) {
	s := Func()
	defer s.End()
	middle(d)
}

func TestPortable(t *testing.T) {
	if runtime.GOARCH == "amd64" && portable {
		t.Error("goroutines are told apart the slow way: here does not work with this version of Go")
	}
}

func TestPeakChild(t *testing.T) {
	list := caught(t, 10*ms, "leaf ^middle ^root", func() { root(30 * ms) })
	if got := peaks(list); got != "leaf ^middle ^root" {
		t.Fatalf("reported %s", got)
	}
	peak := list[0]
	var stack []string
	for _, c := range peak.Stack {
		stack = append(stack, short(c.Name))
	}
	want := []string{"leaf", "func1", "unmarked", "middle", "root"}
	if len(stack) < len(want) || !slices.Equal(stack[:len(want)], want) {
		t.Errorf("stack %v, want %v first", stack, want)
	}
	for i, timed := range []bool{true, false, false, true, true} {
		if c := peak.Stack[i]; (c.Max > 0) != timed {
			t.Errorf("%s: time %v..%v", c.Name, c.Min, c.Max)
		}
	}
	for _, s := range list {
		if s.Number != peak.Number {
			t.Errorf("%s belongs to spike %d, not to %d", s.Name, s.Number, peak.Number)
		}
		if s.Max < 30*ms || s.Min < 10*ms {
			t.Errorf("%s: %v..%v", s.Name, s.Min, s.Max)
		}
	}
	if !strings.HasSuffix(peak.Stack[0].File, "on_test.go") || peak.Stack[0].Line == 0 {
		t.Errorf("peak at %s:%d", peak.Stack[0].File, peak.Stack[0].Line)
	}
}

// TestChildren checks that a peak lists its largest callees, even if none exceeded its
// threshold.
func TestChildren(t *testing.T) {
	list := caught(t, time.Second, "func1", func() {
		s := Func()
		s.Threshold(20 * ms)
		middle(25 * ms)
		middle(ms)
		s.End()
	})
	if got := peaks(list); got != "func1" {
		t.Fatalf("reported %s", got)
	}
	var names []string
	for _, c := range list[0].Children {
		names = append(names, short(c.Name))
		if c.Max < 25*ms {
			t.Errorf("%s: %v..%v", c.Name, c.Min, c.Max)
		}
	}
	if !slices.Equal(names, []string{"middle", "leaf"}) {
		t.Errorf("children %v", names)
	}
}

// TestThresholds checks the examples of PET: a section, and thresholds for it, for its children
// and for all its parents.
func TestThresholds(t *testing.T) {
	tick := func(parents, own, children time.Duration) {
		s := Func()
		defer s.End()
		if own != 0 {
			s.Threshold(own)
		}
		if children != 0 {
			s.ChildrenThreshold(children)
		}
		func() {
			load := Section("load")
			defer load.End()
			if parents != 0 {
				load.ParentsThreshold(parents)
			}
			sleep(25 * ms)
		}()
	}
	tests := []struct {
		name                   string
		parents, own, children time.Duration
		want                   string
	}{
		{"global", 0, 0, 0, "load ^func1"},
		{"own", 0, time.Hour, 0, "load"},
		{"children", 0, 0, time.Hour, "func1"},
		{"children of a call with its own", 0, 20 * ms, time.Hour, "func1"},
		{"parents", time.Hour, 0, 0, "load"},
		{"parents replace what the call said", time.Hour, 20 * ms, 0, "load"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			list := caught(t, 10*ms, test.want, func() { tick(test.parents, test.own, test.children) })
			if got := peaks(list); got != test.want {
				t.Errorf("reported %s, want %s", got, test.want)
			}
		})
	}
}

func TestSection(t *testing.T) {
	list := caught(t, 10*ms, "part one ^func1", func() {
		f := Func()
		defer f.End()
		s := Section("part one")
		sleep(20 * ms)
		s.End()
		s = Section("part two")
		s.End()
	})
	if got := peaks(list); got != "part one ^func1" {
		t.Fatalf("reported %s", got)
	}
	if c := list[0].Stack[0]; !c.Section || c.Name != "part one" {
		t.Errorf("peak %+v", c)
	}
	if c := list[0].Stack[1]; c.Section || c.Max == 0 || short(c.Name) != "func1" {
		t.Errorf("around it %+v", c)
	}
}

func TestDescribed(t *testing.T) {
	formatted, told := 0, 0
	call := func(d time.Duration) {
		s := Func()
		defer s.End()
		s.Desc(func() string { formatted++; return "script door.lua" })
		sleep(d)
		s.OverTime(func() string { told++; return "waited" })
	}
	list := caught(t, 20*ms, "func1", func() {
		formatted, told = 0, 0
		for range 100 {
			call(0)
		}
		call(40 * ms)
	})
	if len(list) != 1 || formatted != 1 || told != 1 {
		t.Fatalf("%d reports, %d descriptions and %d messages were formatted", len(list), formatted, told)
	}
	if list[0].Desc != "script door.lua" || !slices.Equal(list[0].Messages, []string{"waited"}) {
		t.Errorf("%q %q", list[0].Desc, list[0].Messages)
	}
}

func TestIgnore(t *testing.T) {
	tests := []struct {
		name string
		verb func(Span)
		want string
	}{
		{"nothing", func(Span) {}, "leaf ^middle ^outer"},
		{"ignore", func(s Span) { s.Ignore() }, "leaf ^middle"},
		{"ignore children", func(s Span) { s.IgnoreChildren() }, "outer"},
		{"both", func(s Span) { s.Ignore(); s.IgnoreChildren() }, ""},
		{"inactive", func(s Span) { s.Active(false) }, ""},
		{"inactive, active", func(s Span) { s.Active(false); s.Active(true) }, "leaf ^middle ^outer"},
		{"if not", func(s Span) { s.If(false).IgnoreChildren() }, "leaf ^middle ^outer"},
		{"if", func(s Span) { s.If(true).IgnoreChildren() }, "outer"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			list := caught(t, 10*ms, test.want, func() {
				s := Section("outer")
				defer s.End()
				test.verb(s)
				middle(20 * ms)
			})
			if got := peaks(list); got != test.want {
				t.Errorf("reported %q, want %q", got, test.want)
			}
		})
	}
}

// TestIgnoredLeaf checks that the caller of an ignored function can be a peak.
func TestIgnoredLeaf(t *testing.T) {
	list := caught(t, 10*ms, "outer", func() {
		outer := Section("outer")
		defer outer.End()
		s := Section("wait")
		s.Ignore()
		sleep(20 * ms)
		s.End()
	})
	if got := peaks(list); got != "outer" || len(list[0].Children) != 1 || list[0].Children[0].Name != "wait" {
		t.Errorf("reported %q", got)
	}
}

func TestChannels(t *testing.T) {
	ai := Channel("ai")
	if Channel("ai") != ai || Channel("net") == ai {
		t.Fatal("channels are mixed up")
	}
	work := func() {
		s := If(ai.On()).Section("ai")
		defer s.End()
		sleep(15 * ms)
	}
	if got := peaks(caught(t, 10*ms, "ai", work)); got != "ai" {
		t.Errorf("on: reported %q", got)
	}
	ai.Set(false)
	if got := peaks(caught(t, 10*ms, "", work)); got != "" {
		t.Errorf("off: reported %q", got)
	}
}

func TestPause(t *testing.T) {
	var from time.Time
	var wall time.Duration
	list := caught(t, 20*ms, "outer", func() {
		from = time.Now()
		outer := Section("outer")
		outer.Threshold(time.Nanosecond)
		s := Section("paused")
		pause := Pause()
		again := Pause()
		sleep(30 * ms)
		inside := Section("inside")
		sleep(30 * ms)
		again.Resume()
		inside.End()
		sleep(30 * ms)
		pause.Resume()
		sleep(5 * ms)
		s.End()
		outer.End()
		wall = time.Since(from)
	})
	if s := list[0]; s.Min > wall-90*ms || s.Max < 5*ms {
		t.Errorf("%v..%v of %v with 90 ms paused", s.Min, s.Max, wall)
	}
}

func TestFrameAndLabel(t *testing.T) {
	before := uint64(0)
	list := caught(t, 10*ms, "leaf ^func1 leaf", func() {
		before = frames.Load()
		Frame()
		s := Func()
		s.Label("renderer")
		leaf(20 * ms)
		s.End()
		leaf(20 * ms)
	})
	if len(list) != 3 {
		t.Fatalf("reported %q", peaks(list))
	}
	if list[0].Label != "renderer" || list[2].Label != "" || list[0].Frame != before+1 {
		t.Errorf("%+v", list[0])
	}
}

// TestCallbackIsFree checks that the time of a callback counts for no call, and that marks in
// it have no effect.
func TestCallbackIsFree(t *testing.T) {
	var calls int
	var longest time.Duration
	defer OnSpike(nil)
	SetThreshold(10 * ms)
	for range tries {
		calls, longest = 0, 0
		OnSpike(func(s *Spike) {
			calls++
			leaf(50 * ms)
			if s.Parent {
				longest = s.Max
			}
		})
		middle(15 * ms)
		if calls == 2 && longest <= 60*ms {
			return
		}
	}
	t.Errorf("%d calls, the longest of %v", calls, longest)
}

// TestStale checks that spans that are never ended, ended twice or ended elsewhere do no harm.
func TestStale(t *testing.T) {
	var again, foreign Span
	list := caught(t, time.Hour, "", func() {
		outer := Section("outer")
		func() {
			defer func() { _ = recover() }()
			lost()
		}()
		done := make(chan bool)
		go func() {
			outer.End() // not its goroutine
			foreign = Func()
			close(done)
		}()
		<-done
		foreign.End()
		if n := len(outer.st.spans); outer.get() == nil || n > 2 {
			t.Errorf("%d spans", n)
		}
		leaf(0)
		if n := len(outer.st.spans); n != 1 {
			t.Errorf("%d spans behind a call", n)
		}
		again = outer
		outer.End()
		again.End()
		s := Section("next")
		again.End()
		if s.get() == nil {
			t.Error("an old span ended another")
		}
		s.End()
	})
	if len(list) != 0 {
		t.Errorf("reported %q", peaks(list))
	}
}

//go:noinline
func lost() {
	Func()
	var room [64]byte
	fill(room[:])
	panic("no defer")
}

func TestNeverEnded(t *testing.T) {
	s := Section("outer")
	for range 3 * maxOpen {
		Section("never ended")
	}
	if n := len(s.st.spans); n > 2 && !portable {
		t.Errorf("%d spans are open", n)
	}
	s.End()
	if n := len(s.st.spans); n != 0 {
		t.Errorf("%d spans are open", n)
	}
}

func deep(n int) {
	s := Func()
	defer s.End()
	if n == 0 {
		sleep(15 * ms)
		return
	}
	var room [4096]byte // so that the stack moves
	deep(n - 1)
	fill(room[:])
}

func TestRecursion(t *testing.T) {
	list := caught(t, 10*ms, strings.TrimSpace("deep "+strings.Repeat("^deep ", 50)), func() {
		done := make(chan bool)
		go func() { deep(50); close(done) }()
		<-done
	})
	if len(list) != 51 || list[0].Parent || !list[50].Parent {
		t.Fatalf("%d reports", len(list))
	}
	for i, c := range list[0].Stack[:51] {
		if short(c.Name) != "deep" || c.Max < 15*ms {
			t.Errorf("entry %d: %+v", i, c)
		}
	}
}
