package toolchain

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/instrument/nativert"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// checkMode validates the mode and the size of its order buffer, and spells
// both in one way: what says the same finds the same runtime.
func (f *InstrumentFlags) checkMode() error {
	mode, ok := parseMode(f.mode)
	if !ok {
		return verb.Usagef("--mode %s: there is cover, block, count, full, order, block+order, spike, stacks and trace", f.mode)
	}
	f.Shim.Mode = mode
	switch n := f.Shim.Slots; {
	case n == 0:
		return nil
	case !mode.HasSlots():
		return verb.Usagef("--order-slots: mode %s has no order buffer; order and block+order have one", mode)
	case n < wire.MinSlots || n > wire.MaxSlots:
		return verb.Usagef("--order-slots %d: %d to %d are allowed, 0 for a slot for each function", n, wire.MinSlots, wire.MaxSlots)
	default:
		f.Shim.Slots = 1 << bits.Len(uint(n-1))
		return nil
	}
}

// DefaultSmall is the size from which on functions are timed though they have
// no loop. Below it are more than half of the calls and next to no spikes, and
// whatever stalls in them is their callers' time as well.
const DefaultSmall = 200

// Bounds for --threshold: the coarse clock is not kept finer than 100 us, the exact
// one takes some time to be looked at, and what takes longer than the coarse clock
// counts in 32 bits is no spike.
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

// What keeps the coarse clock.
const (
	tickThread = "thread"
	tickSignal = "signal"
)

// frameThreshold is that of programs that count frames: a few such calls, and a
// frame of 60 in a second is late.
const frameThreshold = "1000us"

// maxDepth bounds --depth: deeper stacks of calls do not fit a thread's stack.
const maxDepth = 1 << 20

// checkTimed validates the flags that only some modes know.
func (f *InstrumentFlags) checkTimed(flags *pflag.FlagSet) error {
	f.Shim.Exact, f.Shim.Signals = f.clock == clockExact, f.tick == tickSignal
	switch {
	case f.Shim.Mode.Timed() && flags.Changed("atomic"):
		return verb.Usagef("--atomic: mode %s counts nothing", f.Shim.Mode)
	case f.Shim.Mode != prof.ModeSpike && flags.Changed("small"):
		return verb.Usagef("--small: mode %s has all functions, or see --min-instructions; mode spike has --small", f.Shim.Mode)
	case !f.Shim.Mode.Timed() && flags.Changed("threshold"):
		return verb.Usagef("--threshold: mode %s measures no time; mode spike does", f.Shim.Mode)
	case f.Shim.Mode != prof.ModeSpike && flags.Changed("threshold"):
		return verb.Usagef("--threshold: mode %s looks for no spikes; mode spike does", f.Shim.Mode)
	case f.Shim.Counts && f.Shim.Longest:
		return verb.Usagef("--counts and --max: without times there is no longest call")
	case f.Shim.Mode != prof.ModeStacks && (f.Shim.Counts || f.Shim.Longest):
		return verb.Usagef("--counts and --max are for mode stacks: mode %s has no choice", f.Shim.Mode)
	case f.Shim.Depth < 0 || f.Shim.Depth > maxDepth:
		return verb.Usagef("--depth %d: from 1 to %d calls, or 0 for any", f.Shim.Depth, maxDepth)
	case f.Shim.Mode == prof.ModeTrace && f.Shim.Depth > nativert.MaxTraceDepth:
		return verb.Usagef("--depth %d: mode trace can tell up to %d", f.Shim.Depth, nativert.MaxTraceDepth)
	case f.Shim.Depth > 0 && f.Shim.Mode != prof.ModeStacks && f.Shim.Mode != prof.ModeTrace:
		return verb.Usagef("--depth: mode %s has no use for it: modes stacks and trace have one", f.Shim.Mode)
	case f.Shim.Mode != prof.ModeSpike && f.Shim.Flight:
		return verb.Usagef("--flight: mode %s looks for no spikes; mode spike does, and trace keeps every call", f.Shim.Mode)
	case f.Shim.Mode != prof.ModeSpike && (f.frames || f.Shim.Control):
		return verb.Usagef("--frames and --control: mode %s looks for no spikes; mode spike does", f.Shim.Mode)
	case f.Shim.Mode != prof.ModeSpike && flags.Changed("clock"):
		return verb.Usagef("--clock: mode %s has one clock; mode spike has two", f.Shim.Mode)
	case f.clock != clockCoarse && f.clock != clockExact:
		return verb.Usagef("--clock %s: there is coarse and exact", f.clock)
	case f.Shim.Mode != prof.ModeSpike && f.Shim.Mode != prof.ModeStacks && flags.Changed("tick"):
		return verb.Usagef("--tick: mode %s has no clock of that kind; modes spike and stacks do", f.Shim.Mode)
	case f.tick != tickThread && f.tick != tickSignal:
		return verb.Usagef("--tick %s: there is thread and signal", f.tick)
	case f.Shim.Exact && flags.Changed("tick"):
		return verb.Usagef("--tick: nothing keeps the exact clock")
	case f.Shim.Exact && f.Shim.Flight:
		return verb.Usagef("--flight: its events have the time of the coarse clock, not of --clock exact")
	case f.Shim.Small < 0:
		return verb.Usagef("--small %d: the least is 0, for all functions", f.Shim.Small)
	}
	// One toolchain for what is the same.
	if f.Shim.Mode != prof.ModeSpike {
		f.Shim.Small = 0
	}
	if f.frames && f.Shim.Threshold == "" {
		f.Shim.Threshold = frameThreshold
	}
	return f.CheckThreshold()
}

// CheckThreshold validates that of --threshold, and spells it in one way.
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
		return verb.Usagef("--threshold %s: a time from %v to %v is needed, such as 5ms", f.Shim.Threshold, least, maxThreshold)
	}
	f.Shim.Threshold = strconv.FormatInt(d.Microseconds(), 10) + "us"
	return nil
}

// timedModes are those that there is a runtime for.
var timedModes = []prof.Mode{prof.ModeSpike, prof.ModeStacks, prof.ModeTrace}

// parseMode returns the mode that name spells. Parts joined by plus signs may
// stand in any order, and may say what the mode records anyway: every mode
// covers, and count and full have the order in their records.
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
	case flags.Changed("group") != flags.Changed("groups"):
		return verb.Usagef("--groups N and --group I belong together: how many groups there are, and which of them to instrument")
	case flags.Changed("groups") && (f.Shim.Groups < 1 || f.Shim.Groups > maxGroups):
		return verb.Usagef("--groups %d: from 1 to %d", f.Shim.Groups, maxGroups)
	case flags.Changed("group") && (f.Shim.Group < 0 || f.Shim.Group >= f.Shim.Groups):
		return verb.Usagef("--group %d: from 0 to %d, as there are %d", f.Shim.Group, f.Shim.Groups-1, f.Shim.Groups)
	}
	return nil
}
