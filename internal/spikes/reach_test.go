package spikes_test

import (
	"math"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/spikes"
)

// TestSure checks the durations that are certain to be found against the ticks that the clock
// remembers and its period.
func TestSure(t *testing.T) {
	t.Parallel()
	const second = 1000 * ms
	for _, c := range []struct {
		name                    string
		threshold, period, idle uint64
		sure, sureIdle          uint64
	}{
		{"usual", 10 * ms, 1_250_000, 0, 12_500_000, 0},
		{"idle", 10 * ms, 1_250_000, 1, 12_500_000, 16_250_000},
		{"idle, half the threshold is short", 1 * ms, 1_000_000, 1, 3 * ms, 4 * ms},
		{"every 8th tick", 10 * second, 2 * ms, 0, 10*second + 32*ms, 0},
		{"every 64th tick", 40 * second, 2 * ms, 0, 40*second + 256*ms, 0},
		{"the first ticks reach just so far", 1982 * ms, 1 * ms, 0, 1984 * ms, 0},
		{"and no further", 1983 * ms, 1 * ms, 0, 1999 * ms, 0},
		{"damaged", math.MaxUint64, math.MaxUint64, 1, math.MaxUint64, math.MaxUint64},
	} {
		log := spikes.Log{Trailer: &tracelog.Trailer{Threshold: c.threshold, Period: c.period, Idle: c.idle, Final: true}}
		r := spikes.New([]spikes.Log{log}, address).Reach()
		if r.Sure != c.sure || r.SureIdle != c.sureIdle {
			t.Errorf("%s: %d, idle %d; want %d, %d", c.name, r.Sure, r.SureIdle, c.sure, c.sureIdle)
		}
		if says := strings.Contains(strings.Join(r.Lines(), "\n"), "if nothing ran before it"); says != (r.SureIdle > r.Sure) {
			t.Errorf("%s: %q", c.name, r.Lines())
		}
	}
}

// TestUnjudged checks that calls on stacks that cannot be distinguished limit what is certain.
func TestUnjudged(t *testing.T) {
	t.Parallel()
	for on, want := range map[uint32]uint64{0: 0, 3: 0, tracelog.UnknownStack: 1} {
		s := spikes.New([]spikes.Log{{Trailer: &tracelog.Trailer{Threshold: 10 * ms, Period: ms, Final: true}}}, address)
		s.AddCaller(0, &tracelog.Caller{TID: 1, Parent: tracelog.Parent{Ended: 100 * ms, SP: 64, On: on}})
		r := s.Reach()
		text := strings.Join(r.Lines(), "\n")
		if said := strings.Contains(text, "call on its thread's own stack is certain"); r.Unjudged != want || said != (want > 0) {
			t.Errorf("stack %d: %d not judged: %s", on, r.Unjudged, text)
		}
	}
}
