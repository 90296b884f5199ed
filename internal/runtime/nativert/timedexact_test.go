package nativert

import (
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/instrument/probe"
)

// spinners keeps all processors busy as long as the test runs.
func spinners(t *testing.T) {
	t.Helper()
	for range runtime.NumCPU() {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	}
}

// TestTimedExact compares the exact clock with calls of known length, of some tens of
// microseconds. It checks that calls that reach the threshold are found, and no others, and
// that the intervals contain the true value, whether all processors are busy or not.
func TestTimedExact(t *testing.T) {
	t.Parallel()
	archive := timedRuntimeFor(t, probe.Options{Timing: probe.Timing{Exact: true}}, "gcc")
	planted := timedProgram(t, "gcc", archive, []string{"planted.c"}, append(withUnwinder, "-DEXACT")...)
	storms := timedProgram(t, "gcc", archive, []string{"storms.c"}, append(withUnwinder, "-DEXACT")...)
	const threshold = 50 // us
	var lengths []string
	for _, x := range []float64{0.5, 0.9, 1.06, 1.25, 1.5, 2, 10} {
		lengths = append(lengths, strconv.Itoa(int(threshold*x)))
	}
	check := func(t *testing.T, argv ...string) {
		out, logs := runTimed(t, "threshold=50us,rate=1000000", append(argv, lengths...)...)
		l := one(t, logs)
		found, due := checkPlanted(t, l, readTruth(t, out))
		var widths []uint64
		for _, e := range l.episodes {
			widths = append(widths, e.hi-e.lo)
		}
		slices.Sort(widths)
		t.Logf("%d of %d found, %d borderline, interval of %d ns (median), %d Hz, %d back", found, due, l.trailer.borderline,
			widths[len(widths)/2], l.trailer.hz, l.trailer.backwards)
		if l.trailer.kind != wire.TickExact || l.trailer.blind != 0 || l.trailer.hz == 0 {
			t.Errorf("trailer %+v", l.trailer)
		}
	}
	t.Run("busy", func(t *testing.T) { check(t, planted, "b", "50") })
	t.Run("sleep", func(t *testing.T) { check(t, planted, "s", "20") })
	t.Run("threads", func(t *testing.T) { check(t, planted, "-16", "b", "10") })
	t.Run("masked", func(t *testing.T) { check(t, limited(100_000, planted, "b", "20")...) })
	t.Run("starved", func(t *testing.T) {
		spinners(t)
		check(t, planted, "b", "50")
	})
	t.Run("storms", func(t *testing.T) {
		for _, args := range [][]string{{"fork", "10"}, {"outer", "2500"}, {"jump", "20000"}, {"signals"}, {"spawn", "10"}, {"threads", "200"}, {"bottom", "5000"}} {
			_, logs := runTimed(t, stormSet, append([]string{storms}, args...)...)
			for _, l := range logs {
				if len(l.episodes) == 0 && args[0] != "threads" {
					t.Errorf("%s: no episode; %+v", args, l.trailer)
				}
			}
		}
	})
	t.Run("chain", func(t *testing.T) {
		_, logs := runTimed(t, stormSet, storms, "chain", "20")
		testChain(t, one(t, logs))
	})
}
