package nativert

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestTimedModules runs calls that cross between modules: they share a window,
// a clock, and a log if the executable exports what they find each other by,
// and if it has no runtime at all.
func TestTimedModules(t *testing.T) {
	t.Parallel()
	archive := timedRuntime(t, "gcc")
	dir := t.TempDir()
	var libraries []string
	for _, name := range []string{"liba.so", "libb.so"} {
		library := filepath.Join(dir, name)
		runTool(t, ".", "gcc", append([]string{
			"-O2", "-g", "-fPIC", "-shared", "-Wl,-Bsymbolic-functions", "-Wl,-z,nodelete", "-o", library,
			filepath.Join("testdata", "timed", "library.c"), archive,
		}, withUnwinder...)...)
		libraries = append(libraries, library)
	}
	program := timedProgram(t, "gcc", archive, []string{"modules.c"}, append(withUnwinder, "-Wl,--export-dynamic-symbol=__cairn_process")...)
	_, logs := runTimed(t, stormSet, append([]string{program, "5"}, libraries...)...)
	l := one(t, logs)
	if l.judged() < 8 && l.trailer.blind < stormSpike/4 {
		t.Errorf("%d episodes", len(l.episodes))
	}
	for _, e := range l.episodes {
		// library_spike, its body's caller is middle, then library_call, then top.
		stamped := 0
		for _, x := range e.stack {
			if x.flags&wire.EntryNoStamp == 0 {
				stamped++
			}
		}
		if stamped != 4 {
			t.Errorf("%d frames with times, want 4: %+v", stamped, e.stack)
		}
	}
	if n := len(l.parents); n < 3*len(l.episodes) {
		t.Errorf("%d parents of %d episodes", n, len(l.episodes))
	}
	for _, e := range l.episodes {
		for _, x := range e.stack {
			if !slices.ContainsFunc(l.modules, func(m spikeModule) bool { return m.start <= x.pc && x.pc < m.end }) {
				t.Errorf("%#x is in no module of %+v", x.pc, l.modules)
			}
		}
	}
}

// TestTimedSanitized runs the runtime in programs of the sanitizers, and itself
// with traps for undefined behaviour.
func TestTimedSanitized(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	plain := timedRuntime(t, "gcc")
	for _, sanitizer := range shorttest.Rows(2, "thread", "undefined", "address") {
		t.Run(sanitizer, func(t *testing.T) {
			archive := plain
			flags := append([]string{"-fsanitize=" + sanitizer}, withUnwinder...)
			if sanitizer == "undefined" {
				archive = timedRuntime(t, "gcc", "-fsanitize=undefined", "-fno-sanitize=alignment", "-fsanitize-undefined-trap-on-error")
				flags = withUnwinder
			}
			program := timedProgram(t, "gcc", archive, []string{"storms.c"}, flags...)
			for _, args := range [][]string{{"chain", "10"}, {"threads", "64"}, {"fork", "3"}, {"signals"}} {
				_, logs := runTimed(t, stormSet, append([]string{program}, args...)...)
				if len(logs) == 0 {
					t.Errorf("%s: no log", args)
				}
			}
		})
	}
}

// TestTimedCosts logs the cost of calls. The bounds are wide, for busy machines.
func TestTimedCosts(t *testing.T) {
	t.Parallel()
	archive := timedRuntime(t, "gcc")
	program := timedProgram(t, "gcc", archive, []string{"storms.c"}, withUnwinder...)
	costs, logs := runTimed(t, "threshold=1s", program, "costs", "2000000")
	memory, _ := runTimed(t, "threshold=1ms", program, "memory", "200")
	_, idle := runTimed(t, "threshold=10ms", program, "sleep", "1500000")
	t.Logf("call and call with a slow exit, ns: %s", costs)
	t.Logf("KiB with 200 threads, without and with a slow exit each: %s", memory)
	c := one(t, idle).trailer
	t.Logf("idle: %d ticks, %.2f ms of processor time, idle %.0f ms, blind %.1f ms", c.ticks, float64(c.cpu)/1e6, float64(c.idle)/1e6, float64(c.blind)/1e6)
	if l := one(t, logs); l.trailer.slow < 2000000 {
		t.Errorf("%d slow exits", l.trailer.slow)
	}
}
