package spikes_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/spikes"
)

// TestSettings checks that changes of settings limit what a log can show.
func TestSettings(t *testing.T) {
	t.Parallel()
	log := spikes.Log{
		Trailer: &tracelog.Trailer{Time: 9000 * ms, Threshold: 5 * ms, Period: 625_000, Final: true},
		Settings: []tracelog.Setting{
			{Time: 0, Threshold: 10 * ms, Period: 1_250_000},
			{Time: 2000 * ms, Threshold: 10 * ms, Period: 1_250_000, Off: true},
			{Time: 5000 * ms, Threshold: 5 * ms, Period: 625_000},
		},
	}
	r := spikes.New([]spikes.Log{log}, address).Reach()
	if r.Changes != 2 || r.OffTime != 3000*ms || r.Threshold != [2]uint64{5 * ms, 10 * ms} || r.Sure != 12_500_000 {
		t.Errorf("%+v", r)
	}
	lines := r.Lines()
	for _, want := range []string{"Threshold 5 ms to 10 ms,", "The settings were changed 2 times", "was off for 3000 ms"} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, want) }) {
			t.Errorf("%q is not in %q", want, lines)
		}
	}
}

// TestSparkline checks that a row of buckets fits the available width, and that the height of a
// bar is that of its longest bucket.
func TestSparkline(t *testing.T) {
	t.Parallel()
	f := &tracelog.Frames{Count: 40, Sum: 40 * ms, Worst: 8 * ms, Budget: 6 * ms, Over: 1, Each: 4}
	for i := range 10 {
		f.Buckets = append(f.Buckets, tracelog.FrameBucket{Worst: uint64(i) * ms / 2})
	}
	f.Buckets[3] = tracelog.FrameBucket{Worst: 8 * ms, Over: 1}
	for _, c := range []struct {
		width int
		bars  string
		each  uint64
	}{{64, "▁▁▂█▃▃▄▄▅▅", 4}, {5, "▁█▃▄▅", 8}, {1, "█", 40}, {0, "█", 40}} {
		bars, over, each := spikes.Sparkline(f, c.width)
		if bars != c.bars || each != c.each || len(over) != len([]rune(bars)) || !slices.Contains(over, true) {
			t.Errorf("width %d: %s of %d frames, %v", c.width, bars, each, over)
		}
	}
	if text := spikes.FramesText(f); text != "40 frames: mean 1 ms, longest 8 ms; 1 longer than 6 ms (2.5 %)" {
		t.Error(text)
	}
	if bars, _, _ := spikes.Sparkline(&tracelog.Frames{}, 10); bars != "" {
		t.Errorf("%q without frames", bars)
	}
}
