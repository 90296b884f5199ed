package toolchain

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/runtime/nativert"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// checkMode validates the mode and the size of its order buffer, and normalizes both, so that equal settings
// find the same runtime.
func (f *InstrumentFlags) checkMode() error {
	mode, ok := parseMode(f.mode)
	if !ok {
		return verb.Usagef("--mode %s: must be cover, block, count, full, order, block+order, edge, spike, stacks or trace", f.mode)
	}
	f.Shim.Mode = mode
	switch n := f.Shim.Slots; {
	case n == 0:
		return nil
	case !mode.HasSlots():
		return verb.Usagef("--order-slots: mode %s has no order buffer; only modes order and block+order have one", mode)
	case n < wire.MinSlots || n > wire.MaxSlots:
		return verb.Usagef("--order-slots %d: must be from %d to %d, or 0 for a slot for each function", n, wire.MinSlots, wire.MaxSlots)
	default:
		f.Shim.Slots = 1 << bits.Len(uint(n-1))
		return nil
	}
}

// DefaultSmall is the size from which functions without a loop are timed. Smaller functions make up more than
// half of the calls and cause next to no spikes, and stalls in them count as their callers' time.
const DefaultSmall = 200

// Bounds for --threshold: the coarse clock is not finer than 100 us, reading the exact one takes some time, and
// the coarse clock counts in 32 bits.
const (
	minThreshold      = 100 * time.Microsecond
	minThresholdExact = 2 * time.Microsecond
	maxThreshold      = 30 * time.Minute
)

// Clocks of mode spike.
const (
	clockCoarse = "coarse"
	clockExact  = "exact"
)

// The mechanisms that keep the coarse clock.
const (
	tickThread = "thread"
	tickSignal = "signal"
)

// frameThreshold is the default for programs that count frames: a few such calls make a frame of 60 per second
// late.
const frameThreshold = "1000us"

// maxDepth bounds --depth: a thread's stack cannot hold deeper stacks of calls.
const maxDepth = 1 << 20

// modeRules are the modes that flags are for, and what to use in other modes.
var modeRules = []struct {
	flag    string
	modes   []prof.Mode
	instead string
}{
	{"small", []prof.Mode{prof.ModeSpike}, "see also --min-instructions"},
	{"threshold", []prof.Mode{prof.ModeSpike}, ""},
	{"flight", []prof.Mode{prof.ModeSpike}, "mode trace records every call"},
	{"frames", []prof.Mode{prof.ModeSpike}, ""},
	{"control", []prof.Mode{prof.ModeSpike}, ""},
	{"clock", []prof.Mode{prof.ModeSpike}, "other modes have only one clock"},
	{"tick", []prof.Mode{prof.ModeSpike, prof.ModeStacks}, "other modes have no such clock"},
	{"counts", []prof.Mode{prof.ModeStacks}, ""},
	{"max", []prof.Mode{prof.ModeStacks}, ""},
	{"depth", []prof.Mode{prof.ModeStacks, prof.ModeTrace}, ""},
}

// checkForMode rejects flags that are for other modes.
func (f *InstrumentFlags) checkForMode(flags *pflag.FlagSet) error {
	if f.Shim.Mode.Timed() && flags.Changed("atomic") {
		return verb.Usagef("--atomic: mode %s does not count", f.Shim.Mode)
	}
	for _, r := range modeRules {
		if !verb.Given(flags, r.flag) || slices.Contains(r.modes, f.Shim.Mode) {
			continue
		}
		var names []string
		for _, m := range r.modes {
			names = append(names, m.String())
		}
		text := fmt.Sprintf("--%s: needs mode %s, not %s", r.flag, verb.Alternatives(names), f.Shim.Mode)
		if r.instead != "" {
			text += "; " + r.instead
		}
		return verb.Usagef("%s", text)
	}
	return nil
}

// checkTimed validates the flags of timed modes.
func (f *InstrumentFlags) checkTimed(flags *pflag.FlagSet) error {
	if err := f.checkForMode(flags); err != nil {
		return err
	}
	f.Shim.Exact, f.Shim.Signals = f.clock == clockExact, f.tick == tickSignal
	switch {
	case f.Shim.Depth < 0 || f.Shim.Depth > maxDepth:
		return verb.Usagef("--depth %d: must be from 1 to %d calls, or 0 for no limit", f.Shim.Depth, maxDepth)
	case f.Shim.Mode == prof.ModeTrace && f.Shim.Depth > nativert.MaxTraceDepth:
		return verb.Usagef("--depth %d: mode trace supports at most %d", f.Shim.Depth, nativert.MaxTraceDepth)
	case f.clock != clockCoarse && f.clock != clockExact:
		return verb.Usagef("--clock %s: must be coarse or exact", f.clock)
	case f.tick != tickThread && f.tick != tickSignal:
		return verb.Usagef("--tick %s: must be thread or signal", f.tick)
	case f.Shim.Exact && flags.Changed("tick"):
		return verb.Usagef("--tick: cannot be used with --clock exact, which needs no updates")
	case f.Shim.Exact && f.Shim.Flight:
		return verb.Usagef("--flight: cannot be used with --clock exact; its events use the coarse clock")
	case f.Shim.Small < 0:
		return verb.Usagef("--small %d: must not be negative; 0 instruments all functions", f.Shim.Small)
	}
	// Equal settings share one toolchain.
	if f.Shim.Mode != prof.ModeSpike {
		f.Shim.Small = 0
	}
	if f.frames && f.Shim.Threshold == "" {
		f.Shim.Threshold = frameThreshold
	}
	return f.CheckThreshold()
}

// CheckThreshold validates and normalizes --threshold.
func (f *InstrumentFlags) CheckThreshold() error {
	if f.Shim.Threshold == "" {
		return nil
	}
	least := minThreshold
	if f.Shim.Exact {
		least = minThresholdExact
	}
	d, err := time.ParseDuration(f.Shim.Threshold)
	if err != nil || d < least || d > maxThreshold {
		return verb.Usagef("--threshold %s: must be a duration from %v to %v, such as 5ms", f.Shim.Threshold, least, maxThreshold)
	}
	f.Shim.Threshold = strconv.FormatInt(d.Microseconds(), 10) + "us"
	return nil
}

// timedModes are the timed modes that have a runtime.
var timedModes = []prof.Mode{prof.ModeSpike, prof.ModeStacks, prof.ModeTrace}

// parseMode returns the mode of a name. Parts joined by plus signs may be in any order, and may name what the
// mode records anyway: every mode covers, and count and full have the order in their records.
func parseMode(name string) (prof.Mode, bool) {
	var parts []prof.Mode
	for s := range strings.SplitSeq(name, "+") {
		m, ok := prof.ParseMode(s)
		if !ok || slices.Contains(parts, m) {
			return 0, false
		}
		parts = append(parts, m)
	}
	if slices.ContainsFunc(parts, prof.Mode.Timed) {
		return parts[0], len(parts) == 1 && slices.Contains(timedModes, parts[0])
	}
	if len(parts) > 1 {
		parts = slices.DeleteFunc(parts, func(m prof.Mode) bool { return m == prof.ModeCover })
	}
	if len(parts) > 1 {
		slices.Sort(parts) // order comes last
	}
	switch {
	case len(parts) == 1:
		return parts[0], true
	case len(parts) == 2 && parts[0] == prof.ModeOrder && parts[1] == prof.ModeEdge:
		return prof.ModeEdge, true
	case len(parts) > 2 || parts[1] != prof.ModeOrder:
		return 0, false
	case parts[0] == prof.ModeBlock:
		return prof.ModeBlockOrder, true
	}
	return parts[0], true
}

// MeasuresTime reports whether a mode of that name measures the time of calls.
func MeasuresTime(name string) bool {
	mode, ok := parseMode(name)
	return ok && mode.Timed()
}

// maxGroups bounds --groups.
const maxGroups = 1 << 16

// checkGroups validates --groups and --group.
func (f *InstrumentFlags) checkGroups(flags *pflag.FlagSet) error {
	switch {
	case flags.Changed("groups") && (f.Shim.Groups < 1 || f.Shim.Groups > maxGroups):
		return verb.Usagef("--groups %d: must be from 1 to %d", f.Shim.Groups, maxGroups)
	case flags.Changed("group") && (f.Shim.Group < 0 || f.Shim.Group >= f.Shim.Groups):
		return verb.Usagef("--group %d: must be from 0 to %d for %d groups", f.Shim.Group, f.Shim.Groups-1, f.Shim.Groups)
	}
	return nil
}
