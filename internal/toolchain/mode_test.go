package toolchain

import (
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/prof"
)

func TestParseMode(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]prof.Mode{
		"cover": prof.ModeCover, "block": prof.ModeBlock, "count": prof.ModeCount, "full": prof.ModeFull, "order": prof.ModeOrder,
		"spike":       prof.ModeSpike,
		"cover+order": prof.ModeOrder, "order+cover": prof.ModeOrder,
		"block+order": prof.ModeBlockOrder, "order+block": prof.ModeBlockOrder, "block+cover+order": prof.ModeBlockOrder,
		"count+order": prof.ModeCount, "order+count": prof.ModeCount,
		"full+order": prof.ModeFull, "order+full": prof.ModeFull, "cover+full": prof.ModeFull,
		"": 0, "+": 0, "order+": 0, "orders": 0, "order+order": 0, "count+block": 0, "count+full": 0, "invalid": 0, "Order": 0,
		"spike+order": 0, "cover+spike": 0, "spike+trace": 0,
	} {
		if got, ok := parseMode(name); ok && got != want || ok != (want != 0) {
			t.Errorf("parseMode(%q) = %v, %t", name, got, ok)
		}
	}
}

func TestCheckMode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mode      string
		slots     int
		wantSlots int // -1: refused
	}{
		{"order", 0, 0},
		{"order", 16, 16},
		{"order+block", 17, 32},
		{"order", 1 << 24, 1 << 24},
		{"order", 1<<24 + 1, -1},
		{"order", 15, -1},
		{"order", -1, -1},
		{"count", 16, -1},
		{"cover", 0, 0},
	} {
		f := InstrumentFlags{mode: test.mode, Shim: ShimOptions{Options: probe.Options{Slots: test.slots}}}
		err := f.checkMode()
		if got := f.Shim.Slots; (err != nil) != (test.wantSlots < 0) || err == nil && got != test.wantSlots {
			t.Errorf("mode %s, %d slots: %d, %v", test.mode, test.slots, got, err)
		}
	}
}
