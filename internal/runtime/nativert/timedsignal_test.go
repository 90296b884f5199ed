package nativert

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// TestTimedSignals lets each thread set the clock. It checks that no shorter call is found, and
// that calls 1.5 times as long as the threshold are found although all processors are busy,
// except for those that the log says it cannot have seen.
func TestTimedSignals(t *testing.T) {
	t.Parallel()
	archive := timedRuntime(t, "gcc")
	planted := timedProgram(t, "gcc", archive, []string{"planted.c"}, withUnwinder...)
	storms := timedProgram(t, "gcc", archive, []string{"storms.c"}, withUnwinder...)
	const threshold = 4000 // us
	var lengths []string
	for _, x := range []float64{0.5, 0.9, 1.5, 2, 4} {
		lengths = append(lengths, strconv.Itoa(int(threshold*x)))
	}
	check := func(t *testing.T, args ...string) {
		t.Helper()
		argv := append(append([]string{planted}, args...), lengths...)
		out, logs := runTimed(t, "threshold=4ms,rate=100000,tick=signal", argv...)
		l := one(t, logs)
		calls := readTruth(t, out)
		found, due := checkPlanted(t, l, calls)
		t.Logf("%d of %d found, %d borderline, blind %.1f ms, worst gap %.1f ms, %d ticks, signals in %d threads", found, due,
			l.trailer.borderline, float64(l.trailer.blind)/1e6, float64(l.trailer.worst)/1e6, l.trailer.ticks, l.trailer.signalled)
		if l.trailer.kind != wire.TickSignal || l.trailer.signalled == 0 {
			t.Errorf("trailer %+v", l.trailer)
		}
		checkBlind(t, l, calls)
	}
	t.Run("alone", func(t *testing.T) { check(t, "b", "8") })
	t.Run("starved", func(t *testing.T) {
		spinners(t)
		check(t, "b", "12")
		check(t, "-4", "b", "6")
	})
	t.Run("storms", func(t *testing.T) {
		for _, args := range [][]string{{"fork", "10"}, {"outer", "2500"}, {"jump", "20000"}, {"signals"}, {"spawn", "10"}, {"threads", "500"}, {"bottom", "5000"}} {
			_, logs := runTimed(t, stormSet+",tick=signal", append([]string{storms}, args...)...)
			if len(logs) == 0 {
				t.Errorf("%s: no log", args)
			}
			for _, l := range logs {
				if l.trailer.kind != wire.TickSignal {
					t.Errorf("%s: trailer %+v", args, l.trailer)
				}
			}
		}
	})
	t.Run("blocked", func(t *testing.T) {
		// On a busy machine the program may end before the clock's thread has looked at its threads.
		var l *spikeLog
		for range 10 {
			_, logs := runTimed(t, stormSet+",tick=signal", storms, "blocked")
			if l = one(t, logs); l.trailer.blocked == 1 && l.trailer.signalled == 1 {
				return
			}
		}
		t.Errorf("trailer %+v", l.trailer)
	})
	t.Run("defaults", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), storms, "defaults")
		cmd.Env = append(os.Environ(), "CAIRN_SPIKE="+stormSet+",tick=signal", "CAIRN_DIR="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("taken", func(t *testing.T) {
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), storms, "taken")
		cmd.Env = append(os.Environ(), "CAIRN_SPIKE="+stormSet+",tick=signal", "CAIRN_DIR="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "cairn: the program uses the signal of the clock") || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%v: %s", err, out)
		}
		if l := one(t, readLogs(t, dir)); l.trailer.kind != wire.TickThread || l.judged() < 15 && l.trailer.blind < stormSpike/4 {
			t.Errorf("trailer %+v", l.trailer)
		}
	})
}

// checkBlind requires the calls that are 1.5 times as long as the threshold, less one for each
// gap that may have hidden one.
func checkBlind(t *testing.T, l *spikeLog, calls []truth) {
	t.Helper()
	due, missed := 0, 0
	for _, c := range calls {
		if c.innerEnd-c.innerStart < l.trailer.threshold*3/2 {
			continue
		}
		due++
		hit := false
		for _, e := range l.episodes {
			hit = hit || e.tid == c.tid && e.end >= c.innerEnd && e.end <= c.outerEnd
		}
		if !hit {
			missed++
		}
	}
	if missed > int(l.trailer.borderline) || missed > 0 && l.trailer.blind == 0 {
		t.Errorf("%d of %d missed, %d borderline, blind %d", missed, due, l.trailer.borderline, l.trailer.blind)
	}
}
