package nativert

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/shorttest"
)

const (
	stormSpike = 6_000_000 // ns, SPIKE_NS of storms.c
	stormSet   = "threshold=3ms,rate=1000000"
)

// TestTimedStorms runs what is hard on a runtime: each must end well and
// report what took long, however the stack moved.
func TestTimedStorms(t *testing.T) {
	t.Parallel()
	archive := timedRuntime(t, "gcc")
	program := timedProgram(t, "gcc", archive, []string{"storms.c"}, withUnwinder...)
	storm := func(t *testing.T, args ...string) []*spikeLog {
		t.Helper()
		_, logs := runTimed(t, stormSet, append([]string{program}, args...)...)
		for _, l := range logs {
			checkSpans(t, l)
		}
		return logs
	}
	atLeast := func(t *testing.T, l *spikeLog, n int) {
		t.Helper()
		if l.judged() < n && l.trailer.blind < stormSpike/4 {
			t.Errorf("%d episodes, want %d; %+v", len(l.episodes), n, l.trailer)
		}
	}
	t.Run("fork", func(t *testing.T) { testForks(t, storm(t, "fork", "40"), 40) })
	t.Run("spawn", func(t *testing.T) { atLeast(t, one(t, storm(t, "spawn", "100")), 1) })
	t.Run("threads", func(t *testing.T) {
		l := one(t, storm(t, "threads", "3000"))
		// A thread is seen once a call of it looks slow. The clock of a process
		// without rights has no precedence, and misses more of them.
		least := 2000
		if os.Geteuid() != 0 {
			least = 500
		}
		hidden := int(l.trailer.blind / 100_000) // each by a clock that was late by a part of its call
		if int(l.trailer.threads)+hidden < least {
			t.Errorf("%d threads seen, %d that the clock may have hidden, want %d", l.trailer.threads, hidden, least)
		}
	})
	t.Run("small", func(t *testing.T) {
		l := one(t, storm(t, "small", "64"))
		atLeast(t, l, 60)
	})
	t.Run("outer", func(t *testing.T) {
		for _, depth := range []int{10, 2500, 60000} { // 1 KiB, 250 KiB, 6 MiB
			l := one(t, storm(t, "outer", strconv.Itoa(depth)))
			atLeast(t, l, 1)
		}
	})
	t.Run("bottom", func(t *testing.T) { testBottom(t, one(t, storm(t, "bottom", "5000"))) })
	t.Run("jump", func(t *testing.T) { atLeast(t, one(t, storm(t, "jump", "100000")), 1) })
	t.Run("signals", func(t *testing.T) { atLeast(t, one(t, storm(t, "signals")), 40) })
	t.Run("chain", func(t *testing.T) { testChain(t, one(t, storm(t, "chain", "20"))) })
}

// checkSpans requires episodes that are as long as their thresholds, and none that began long
// before the log: only a child of fork has older calls.
func checkSpans(t *testing.T, l *spikeLog) {
	t.Helper()
	for _, e := range l.episodes {
		if e.lo < e.t || e.hi < e.lo || e.end < e.hi || e.end-e.hi+uint64(time.Hour) < l.started {
			t.Errorf("episode %d of thread %d: %d..%d, threshold %d, ended at %d, log since %d",
				e.number, e.tid, e.lo, e.hi, e.t, e.end, l.started)
			return // the others are like it
		}
	}
}

// testForks requires a log of each child, with the calls that were entered before the child
// existed.
func testForks(t *testing.T, logs []*spikeLog, n int) {
	children, before := 0, 0
	for _, l := range logs {
		if l.flags&wire.Forked == 0 {
			continue
		}
		children++
		before += int(l.trailer.borderline) // its late clock may have cost calls
		if l.judged() < 1 && l.trailer.blind < stormSpike/4 {
			t.Errorf("child %d: no episode; %+v", l.pid, l.trailer)
		}
		for _, p := range l.parents {
			if p.flags&wire.EntryBeforeFork != 0 {
				before++
			}
		}
	}
	if children != n || before < n*3/4 {
		t.Errorf("%d logs of children, want %d; %d calls from before the fork", children, n, before)
	}
}

// testBottom requires the ends of a deep stack.
func testBottom(t *testing.T, l *spikeLog) {
	if len(l.episodes) == 0 && (l.trailer.blind > stormSpike/4 || l.trailer.borderline > 0) {
		t.Skip("the clock stood still")
	}
	if len(l.episodes) == 0 {
		t.Fatalf("no episode; %+v", l.trailer)
	}
	e := l.episodes[0]
	if e.frames < 1000 || e.flags&wire.EpisodeCut == 0 {
		t.Errorf("%d frames, flags %#x", e.frames, e.flags)
	}
	gap := false
	for i, x := range e.stack {
		if x.flags&wire.EntryGap != 0 {
			gap = true
		}
		if i > 0 && x.flags&wire.EntryNoStamp == 0 && x.hi < e.stack[i-1].lo {
			t.Errorf("entry %d: so far %d..%d, its callee %d..%d", i, x.lo, x.hi, e.stack[i-1].lo, e.stack[i-1].hi)
		}
	}
	if !gap || len(e.stack) < 90 {
		t.Errorf("%d entries, gap %v", len(e.stack), gap)
	}
	if n := len(l.parents) + int(l.trailer.borderline); n < 4000 {
		t.Errorf("%d parents, %d calls on the border, %d dropped", len(l.parents), l.trailer.borderline, l.trailer.dropped)
	}
}

// testChain requires the peak big, its largest call, that call's largest call, and the caller
// of big as a parent.
func testChain(t *testing.T, l *spikeLog) {
	good, other := 0, 0
	for _, e := range l.episodes {
		switch {
		case len(e.children) == 2 && e.children[0].lo > e.children[1].lo:
			good++
		case e.flags&wire.EpisodePreempted != 0: // in one of the calls, which then is the peak
			other++
		}
	}
	late := l.trailer.blind > stormSpike/4 || l.trailer.borderline > 0
	if !late && (len(l.episodes) < 15 || good == 0 && other < len(l.episodes)/2 || len(l.parents) == 0) {
		t.Errorf("%d episodes, %d with the chain, %d parents; %+v", len(l.episodes), good, len(l.parents), l.trailer)
	}
	for _, p := range l.parents {
		for _, e := range l.episodes {
			if e.number == p.number && (p.hi < e.lo || p.tid != e.tid) {
				t.Errorf("parent %+v of %+v", p, e)
			}
		}
	}
}

// TestTimedRegisters checks that a slow exit changes no register.
func TestTimedRegisters(t *testing.T) {
	t.Parallel()
	for _, compiler := range []string{"gcc", "clang-22"} {
		archive := timedRuntime(t, compiler)
		program := timedProgram(t, "gcc", archive, []string{"registers.c", "registers.S"}, withUnwinder...)
		out, logs := runTimed(t, stormSet, program)
		if strings.TrimSpace(out) != "0" {
			t.Errorf("%s: %s registers were changed", compiler, out)
		}
		if l := one(t, logs); l.judged() < 90 && l.trailer.blind < stormSpike/4 {
			t.Errorf("%d episodes; %+v", len(l.episodes), l.trailer)
		}
	}
}

// TestTimedKilled reads logs of processes that were killed while they wrote.
func TestTimedKilled(t *testing.T) {
	t.Parallel()
	archive := timedRuntime(t, "gcc")
	program := timedProgram(t, "gcc", archive, []string{"storms.c"}, withUnwinder...)
	for i := range 5 {
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), program, "forever")
		cmd.Env = append(os.Environ(), "CAIRN_SPIKE="+stormSet, "CAIRN_DIR="+dir)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		s := bufio.NewScanner(stdout)
		for range 20 + i {
			s.Scan()
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		l := one(t, readLogs(t, dir))
		if l.judged() < 15 && l.trailer.blind < stormSpike/4 {
			t.Errorf("%d episodes", len(l.episodes))
		}
		if l.trailer.flags&wire.TrailerFinal != 0 {
			t.Error("the trailer is final")
		}
	}
}

// TestTimedLinks runs the same program as it may be linked.
func TestTimedLinks(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	type row struct {
		name, compiler string
		flags          []string
		unwinder       bool
	}
	for _, c := range shorttest.Rows(
		5,
		row{"frame pointers", "gcc", []string{"-fno-omit-frame-pointer"}, false},
		row{"no pie", "gcc", append([]string{"-no-pie", "-fno-pie"}, withUnwinder...), true},
		row{"static pie", "gcc", []string{"-static-pie", "-Wl,-u,_Unwind_Backtrace"}, true},
		row{"lld", "clang-22", append([]string{"-fuse-ld=lld-22"}, withUnwinder...), true},
		row{"musl", "musl-gcc", []string{"-static"}, false},
		row{"plain", "gcc", nil, false},
		row{"static", "gcc", []string{"-static", "-Wl,-u,_Unwind_Backtrace"}, true},
		row{"clang", "clang-22", withUnwinder, true},
		row{"mold", "clang-22", append([]string{"-fuse-ld=mold"}, withUnwinder...), true},
		row{"gold", "gcc", append([]string{"-fuse-ld=gold"}, withUnwinder...), true},
		row{"musl dynamic", "musl-gcc", nil, false},
	) {
		t.Run(c.name, func(t *testing.T) {
			archive := timedRuntime(t, c.compiler)
			program := timedProgram(t, c.compiler, archive, []string{"storms.c"}, c.flags...)
			_, logs := runTimed(t, stormSet, program, "spikes", "10")
			l := one(t, logs)
			if l.judged() < 7 && l.trailer.blind < stormSpike/4 {
				t.Errorf("%d episodes", len(l.episodes))
			}
			for _, e := range l.episodes {
				if e.flags&wire.EpisodeNoUnwinder == 0 != c.unwinder || len(e.stack) < 2 {
					t.Errorf("flags %#x, %d entries", e.flags, len(e.stack))
				}
			}
			if len(l.modules) == 0 || l.modules[0].path != program || !l.modules[0].instrumented {
				t.Errorf("modules %+v", l.modules)
			}
			_, logs = runTimed(t, stormSet, program, "fork", "3")
			if len(logs) != 4 {
				t.Errorf("%d logs of 4 processes", len(logs))
			}
		})
	}
}

// TestTimedLimits runs where 4 GiB cannot be had at once.
func TestTimedLimits(t *testing.T) {
	t.Parallel()
	archive := timedRuntime(t, "gcc")
	program := timedProgram(t, "gcc", archive, []string{"storms.c"}, withUnwinder...)
	for _, limit := range []string{"ulimit -S -v 2000000", "ulimit -d 1000000"} {
		_, logs := runTimed(t, stormSet, "sh", "-c", limit+" && exec "+program+" fork 2")
		if len(logs) != 3 {
			t.Errorf("%s: %d logs", limit, len(logs))
		}
		for _, l := range logs {
			if l.judged() == 0 && l.trailer.blind < stormSpike/4 {
				t.Errorf("%s: no episodes", limit)
			}
		}
	}
}

// TestTimedEnvironment reads CAIRN_SPIKE.
func TestTimedEnvironment(t *testing.T) {
	t.Parallel()
	archive := timedRuntime(t, "gcc")
	program := timedProgram(t, "gcc", archive, []string{"storms.c"}, withUnwinder...)
	for _, c := range []struct {
		spike                  string
		threshold, period, low uint64
		says                   string
	}{
		{"", 10_000_000, 1_250_000, 2_500_000, ""},
		{"threshold=1ms", 1_000_000, 125_000, 250_000, ""},
		{"threshold=1.5ms,period=200us", 1_500_000, 200_000, 400_000, ""},
		{"threshold=2s", 2_000_000_000, 2_000_000, 250_000_000, ""},
		{"threshold=300us", 300_000, 100_000, 100_000, ""},
		{"threshold=5", 10_000_000, 1_250_000, 2_500_000, "cairn: CAIRN_SPIKE: threshold=5 is not understood"},
		{"tick=signal,bogus", 10_000_000, 1_250_000, 2_500_000, "cairn: CAIRN_SPIKE: bogus is not understood"},
		{"threshold=3ms,stderr", 3_000_000, 375_000, 750_000, "cairn: spike "},
	} {
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), program, "spikes", "3")
		cmd.Env = append(os.Environ(), "CAIRN_SPIKE="+c.spike, "CAIRN_DIR="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), c.says) || (c.says == "" && len(out) > 0) {
			t.Errorf("%s: %v: %s", c.spike, err, out)
		}
		l := one(t, readLogs(t, dir)).trailer
		if l.threshold != c.threshold || l.period != c.period || l.low != c.low {
			t.Errorf("%s: threshold %d, period %d, low %d", c.spike, l.threshold, l.period, l.low)
		}
	}
	if _, logs := runTimed(t, "off", program, "spikes", "2"); len(logs) != 0 {
		t.Error("switched off, and writes a log")
	}
	if _, logs := runTimed(t, "threshold=3ms,rate=2", program, "spikes", "40"); true {
		l := one(t, logs)
		n := uint64(len(l.episodes)) + l.trailer.limited
		if l.trailer.limited == 0 || l.seen > n || l.seen+l.queued < n || l.trailer.seen != n {
			t.Errorf("%d written, %d left out, %d seen", len(l.episodes), l.trailer.limited, l.seen)
		}
	}
	missing := filepath.Join(t.TempDir(), "no", "where")
	cmd := exec.CommandContext(t.Context(), program, "spikes", "2")
	cmd.Env = append(os.Environ(), "CAIRN_SPIKE=threshold=3ms", "CAIRN_DIR="+missing)
	if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), "\n") != 1 {
		t.Errorf("no directory: %v: %s", err, out)
	}
}
