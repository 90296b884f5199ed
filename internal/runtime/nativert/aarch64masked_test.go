package nativert

import (
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/prof"
)

// TestAArch64Masked: where 4 GiB cannot be reserved programs find the same spikes by a smaller
// window, and those of mode stacks do what they do without.
func TestAArch64Masked(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	c := newCross(t)
	c.limit = "ulimit -v 1500000;"
	type row struct {
		macro   string
		options probe.Options
	}
	for _, r := range shorttest.Rows(
		1,
		row{"EXACT", probe.Options{Mode: prof.ModeSpike, Timing: probe.Timing{Exact: true}}},
		row{"SPIKE", probe.Options{Mode: prof.ModeSpike}},
		row{"FLIGHT", probe.Options{Mode: prof.ModeSpike, Timing: probe.Timing{Flight: true}}},
	) {
		t.Run(strings.ToLower(r.macro), func(t *testing.T) {
			own := *c
			own.t = t
			own.spikes(r.macro, r.options)
		})
	}
	t.Run("stacks", func(t *testing.T) {
		own := *c
		own.t = t
		program := own.calls(own.timed(TimedObjects(AArch64, probe.Options{Mode: prof.ModeStacks})), "STACKS")
		e := own.start(execution{before: own.limit}, program, "threads", "5")
		if e.err != nil || !strings.HasPrefix(e.output, "cairn: mode stacks needs 4 GiB") || strings.Count(e.output, "\n") != 1 {
			t.Errorf("%v: %s", e.err, e.output)
		}
	})
}
