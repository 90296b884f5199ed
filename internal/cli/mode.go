package cli

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/instrument/nativert"
	"github.com/cairnprof/cairn/prof"
)

// checkMode validates the mode and the size of its order buffer, and spells
// both in one way: what says the same finds the same runtime.
func (f *instrumentFlags) checkMode() error {
	mode, ok := parseMode(f.shim.Mode)
	if !ok {
		return usagef("--mode %s: there is cover, block, count, full, order, block+order, spike, stacks and trace", f.shim.Mode)
	}
	f.shim.Mode = mode.String()
	switch n := f.shim.OrderSlots; {
	case n == 0:
		return nil
	case !mode.HasSlots():
		return usagef("--order-slots: mode %s has no order buffer; order and block+order have one", mode)
	case n < wire.MinSlots || n > wire.MaxSlots:
		return usagef("--order-slots %d: %d to %d are allowed, 0 for a slot for each function", n, wire.MinSlots, wire.MaxSlots)
	default:
		f.shim.OrderSlots = 1 << bits.Len(uint(n-1))
		return nil
	}
}

// defaultSmall is the size from which on functions are timed though they have
// no loop. Below it are more than half of the calls and next to no spikes, and
// whatever stalls in them is their callers' time as well.
const defaultSmall = 200

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
func (f *instrumentFlags) checkTimed(flags *pflag.FlagSet) error {
	switch {
	case f.shim.timed() && flags.Changed("atomic"):
		return usagef("--atomic: mode %s counts nothing", f.shim.Mode)
	case !f.shim.spikes() && flags.Changed("small"):
		return usagef("--small: mode %s has all functions, or see --min-instructions; mode spike has --small", f.shim.Mode)
	case !f.shim.timed() && flags.Changed("threshold"):
		return usagef("--threshold: mode %s measures no time; mode spike does", f.shim.Mode)
	case !f.shim.spikes() && flags.Changed("threshold"):
		return usagef("--threshold: mode %s looks for no spikes; mode spike does", f.shim.Mode)
	case f.shim.Counts && f.shim.Longest:
		return usagef("--counts and --max: without times there is no longest call")
	case !f.shim.stacks() && (f.shim.Counts || f.shim.Longest):
		return usagef("--counts and --max are for mode stacks: mode %s has no choice", f.shim.Mode)
	case f.shim.Depth < 0 || f.shim.Depth > maxDepth:
		return usagef("--depth %d: from 1 to %d calls, or 0 for any", f.shim.Depth, maxDepth)
	case f.shim.traces() && f.shim.Depth > nativert.MaxTraceDepth:
		return usagef("--depth %d: mode trace can tell up to %d", f.shim.Depth, nativert.MaxTraceDepth)
	case f.shim.Depth > 0 && !f.shim.stacks() && !f.shim.traces():
		return usagef("--depth: mode %s has no use for it: modes stacks and trace have one", f.shim.Mode)
	case !f.shim.spikes() && f.shim.Flight:
		return usagef("--flight: mode %s looks for no spikes; mode spike does, and trace keeps every call", f.shim.Mode)
	case !f.shim.spikes() && (f.frames || f.shim.Control):
		return usagef("--frames and --control: mode %s looks for no spikes; mode spike does", f.shim.Mode)
	case !f.shim.spikes() && flags.Changed("clock"):
		return usagef("--clock: mode %s has one clock; mode spike has two", f.shim.Mode)
	case f.shim.Clock != clockCoarse && f.shim.Clock != clockExact:
		return usagef("--clock %s: there is coarse and exact", f.shim.Clock)
	case !f.shim.spikes() && !f.shim.stacks() && flags.Changed("tick"):
		return usagef("--tick: mode %s has no clock of that kind; modes spike and stacks do", f.shim.Mode)
	case f.shim.Tick != tickThread && f.shim.Tick != tickSignal:
		return usagef("--tick %s: there is thread and signal", f.shim.Tick)
	case f.shim.exact() && flags.Changed("tick"):
		return usagef("--tick: nothing keeps the exact clock")
	case f.shim.exact() && f.shim.Flight:
		return usagef("--flight: its events have the time of the coarse clock, not of --clock exact")
	case f.shim.Small < 0:
		return usagef("--small %d: the least is 0, for all functions", f.shim.Small)
	}
	// One toolchain for what is the same.
	if !f.shim.spikes() {
		f.shim.Small = 0
	}
	if f.shim.Clock == clockCoarse {
		f.shim.Clock = ""
	}
	if f.shim.Tick == tickThread {
		f.shim.Tick = ""
	}
	if f.frames && f.shim.Threshold == "" {
		f.shim.Threshold = frameThreshold
	}
	return f.checkThreshold()
}

// checkThreshold validates that of --threshold, and spells it in one way.
func (f *instrumentFlags) checkThreshold() error {
	if f.shim.Threshold == "" {
		return nil
	}
	least := minThreshold
	if f.shim.exact() {
		least = minThresholdExact
	}
	d, err := time.ParseDuration(f.shim.Threshold)
	if err != nil || d < least || d > maxThreshold {
		return usagef("--threshold %s: a time from %v to %v is needed, such as 5ms", f.shim.Threshold, least, maxThreshold)
	}
	f.shim.Threshold = strconv.FormatInt(d.Microseconds(), 10) + "us"
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

// maxGroups bounds --groups.
const maxGroups = 1 << 16

// checkGroups validates --groups and --group.
func (f *instrumentFlags) checkGroups(flags *pflag.FlagSet) error {
	switch {
	case flags.Changed("group") != flags.Changed("groups"):
		return usagef("--groups N and --group I belong together: how many groups there are, and which of them to instrument")
	case flags.Changed("groups") && (f.shim.Groups < 1 || f.shim.Groups > maxGroups):
		return usagef("--groups %d: from 1 to %d", f.shim.Groups, maxGroups)
	case flags.Changed("group") && (f.shim.Group < 0 || f.shim.Group >= f.shim.Groups):
		return usagef("--group %d: from 0 to %d, as there are %d", f.shim.Group, f.shim.Groups-1, f.shim.Groups)
	}
	return nil
}
