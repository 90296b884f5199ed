package nativert

import (
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// limited is a command that runs argv with as much address space, in KiB.
func limited(kib int, argv ...string) []string {
	return append([]string{"sh", "-c", "ulimit -v " + strconv.Itoa(kib) + ` && exec "$@"`, "sh"}, argv...)
}

// TestTimedMasked runs where 4 GiB cannot be had at all: with a smaller window the
// same calls are found, and what two calls have in common with it hides calls, but
// invents none.
func TestTimedMasked(t *testing.T) {
	t.Parallel()
	archive := timedRuntime(t, "gcc")
	planted := timedProgram(t, "gcc", archive, []string{"planted.c"}, withUnwinder...)
	storms := timedProgram(t, "gcc", archive, []string{"storms.c"}, withUnwinder...)
	t.Run("planted", func(t *testing.T) {
		for _, kib := range []int{3_000_000, 200_000, 60_000} {
			out, logs := runTimed(t, "threshold=2ms,rate=100000", limited(kib, planted, "b", "5", "1800", "3000", "6000")...)
			l := one(t, logs)
			if w := l.trailer.window; w == 0 || int(w)<<10 > kib/2 || int(w)<<10 < kib/16 {
				t.Errorf("%d KiB: a window of %d MiB", kib, w)
			}
			checkPlanted(t, l, readTruth(t, out))
		}
		out, logs := runTimed(t, "threshold=2ms,rate=100000,stamp=masked", planted, "s", "5", "1800", "3000", "6000")
		l := one(t, logs)
		checkPlanted(t, l, readTruth(t, out))
		if l.trailer.window != 1024 {
			t.Errorf("a window of %d MiB", l.trailer.window)
		}
	})
	t.Run("aliases", func(t *testing.T) {
		// 64 stacks, all at the same place of the window.
		out, logs := runTimed(t, "threshold=2ms,rate=100000", limited(150_000, planted, "-8", "b", "10", "500", "1500", "3000")...)
		l := one(t, logs)
		calls := readTruth(t, out)
		for _, e := range l.episodes {
			found := false
			for _, c := range calls {
				if c.tid == e.tid && e.end >= c.innerEnd && e.end <= c.outerEnd {
					found = true
					if outer := c.outerEnd - c.outerStart; outer < e.lo || outer < l.trailer.threshold {
						t.Errorf("%d..%d is reported of %d", e.lo, e.hi, outer)
					}
				}
			}
			if !found {
				t.Errorf("episode %+v of no call", e)
			}
		}
	})
	t.Run("storms", func(t *testing.T) {
		for _, args := range [][]string{{"fork", "10"}, {"outer", "60000"}, {"jump", "20000"}, {"signals"}, {"spawn", "10"}, {"threads", "200"}, {"chain", "20"}} {
			_, logs := runTimed(t, stormSet, limited(400_000, append([]string{storms}, args...)...)...)
			for _, l := range logs {
				if l.trailer.window == 0 {
					t.Errorf("%s: the whole window", args)
				}
				// Functions are known for instrumented by what was put into them.
				for _, e := range l.episodes {
					if args[0] == "chain" && len(e.children) == 2 && !slices.ContainsFunc(e.stack[1:], func(x spikeEntry) bool { return x.flags&wire.EntryNoStamp == 0 }) {
						t.Errorf("callers without times: %+v", e.stack)
					}
				}
			}
		}
	})
	t.Run("hopeless", func(t *testing.T) {
		static := timedProgram(t, "gcc", archive, []string{"storms.c"}, "-static", "-Wl,-u,_Unwind_Backtrace")
		argv := limited(3000, static, "spikes")
		var exit *exec.ExitError
		out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
		if !errors.As(err, &exit) || exit.ExitCode() != 127 || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%v: %s", err, out)
		}
	})
}
