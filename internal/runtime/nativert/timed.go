package nativert

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/prof"
)

// TimedFlags returns the compiler's flags for the objects of the timed modes. A
// slow exit has a return value in vector registers, so none may be used; and
// the unwinder walks through its frames, so they have tables.
func TimedFlags(m Machine) []string {
	if m == Arm { // no vector registers are used anyway, and nothing unwinds through it
		return append(Flags(m), "-mtp=cp15", "-ftls-model=initial-exec")
	}
	return append(slices.DeleteFunc(Flags(m), func(f string) bool {
		return f == "-fno-asynchronous-unwind-tables" || f == "-fno-unwind-tables"
	}), "-mgeneral-regs-only", "-funwind-tables", "-fno-asynchronous-unwind-tables", "-ftls-model=initial-exec")
}

// timedMembers returns the sources of the timed modes' members of the archive.
func timedMembers(m Machine) []string {
	if m == Arm {
		return armMembers()
	}
	out := []string{
		m.source("timed_exit"), "timed_slow.c", "timed_mark.c", "timed_scope.c", "timed_stack.c", "timed_region.c", "timed_switch.c", m.source("timed_switch"), "timed_usage.c", "timed_wait.c", "timed_clock.c", "timed_family.c", "timed_signal.c", "timed_tsc.c", "timed_stamp.c",
		"timed_queue.c", "timed_log.c", "timed_table.c", "timed_file.c", "bus.c", "leader.c", "timed_module.c", "timed_words.c", "timed_window.c", "timed_masked_" + string(m) + ".c", "timed_channel.c", "timed_control.c", "timed_frame.c", "timed_open.c", "timed_ask.c", "timed_walk.c", "timed_arrive.c", m.source("timed_arrive"), m.source("timed_depart"), "timed_snapshot.c", "timed_callback.c", "timed_start.c", "timed_preinit.c", "timed_services.S", m.source("tree_enter"), "tree.c", "tree_log.c", "timed_local.c",
	}
	return append(out, ownMembers(m)...)
}

// armMembers is timedMembers for Armv7. Calls have their state in a table there, which also has the stacks: there is neither a
// window nor an unwinder.
func armMembers() []string {
	out := []string{
		"timed_slow.c", "timed_mark.c", "timed_scope.c", "timed_region.c", "timed_switch.c", "timed_usage.c", "timed_wait.c", "timed_clock.c", "timed_family.c", "timed_signal.c", "timed_tsc.c", "timed_stamp.c",
		"timed_queue.c", "timed_log.c", "timed_table.c", "timed_file.c", "bus.c", "leader.c", "timed_module.c", "timed_words.c", "timed_channel.c", "timed_control.c", "timed_frame.c", "timed_ask.c", "timed_snapshot.c", "timed_callback.c", "timed_start.c", "timed_preinit.c", Arm.source("timed_enter"), Arm.source("tree_enter"), "tree.c", "tree_log.c", "timed_local.c",
		"timed_calls_arm.c", "timed_judge_arm.c",
	}
	return append(out, ownMembers(Arm)...)
}

// ownMembers returns the sources of members that have no counterpart on other machines.
func ownMembers(m Machine) []string {
	if m != X86_64 {
		return []string{m.source("timed_memory")}
	}
	return []string{m.source("timed_stub")} // masked code
}

// onOwnThreads are the sources whose functions run in threads of the runtime, at its start, or for a moment: no stack of the
// program is looked at while it has their frames, so they need no unwind tables.
var onOwnThreads = []string{
	"timed_control.c", "timed_family.c", "timed_wait.c", "timed_module.c", "timed_words.c", "leader.c", "timed_open.c", "timed_file.c", "timed_table.c", "timed_clock.c",
}

// flightMembers returns those of the flight recorder.
func flightMembers(m Machine) []string { return []string{m.source("flight"), "flight.c"} }

// member returns the name of the object that a machine's source is compiled to.
func (m Machine) member(source string) string {
	return strings.TrimSuffix(source[:len(source)-2], "_"+string(m)) + ".o"
}

// kindOf returns the name in process.h for the content of the window's slots. Modules of
// different kinds in one process have separate states.
func kindOf(o probe.Options) string {
	switch {
	case o.Mode == prof.ModeStacks:
		return "KIND_STACKS"
	case o.Exact:
		return "KIND_EXACT"
	}
	return "KIND_SPIKE"
}

// TimedObjects lists the members of the archive for the timed modes, which are
// compiled with TimedFlags in place of Flags. A program links them because its
// code refers to __cairn_base and __cairn_slow; timed_preinit.o only where the
// linker's options request __cairn_preinit, which they should for executables.
func TimedObjects(m Machine, o probe.Options) []Object {
	defaults := "threshold=" + cmp.Or(o.Threshold, "10ms")
	if o.Signals {
		defaults += ",tick=signal"
	}
	if o.Control {
		defaults += ",control"
	}
	if o.Counts {
		defaults += ",period=1s"
	}
	members := timedMembers(m)
	if o.Flight {
		members = append(members, flightMembers(m)...)
	}
	var out []Object
	for _, name := range members {
		args, member := []string{name}, m.member(name)
		switch name {
		case "timed_local.c", "timed_services.S":
			args = append(trees(o), name)
		case "timed_start.c":
			args = []string{
				"-DCAIRN_DEFAULT_DIR=" + strconv.Quote(o.DefaultDir), "-DCAIRN_DEFAULTS=" + strconv.Quote(defaults),
				"-DCAIRN_KIND=" + kindOf(o),
			}
			args = append(append(args, trees(o)...), name)
			if o.Flight {
				args = append([]string{"-DCAIRN_FLIGHT"}, args...)
			}
		case "tree.c":
			if o.Depth > 0 {
				args = []string{"-DCAIRN_TREE_DEPTH=" + strconv.Itoa(o.Depth), name}
			}
		case m.source("flight"): // there is a flight.c as well
			member = "flight_words.o"
		case m.source("timed_arrive"):
			member = "timed_arrived.o"
		case m.source("timed_switch"):
			member = "timed_switched.o"
		}
		if slices.Contains(onOwnThreads, name) {
			args = append([]string{"-fno-unwind-tables"}, args...)
		}
		out = append(out, Object{member, args})
	}
	return out
}

// trees returns the flags of sources that differ in mode stacks.
func trees(o probe.Options) []string {
	if o.Mode == prof.ModeStacks {
		return []string{"-DCAIRN_TREES"}
	}
	return nil
}

// timedSources returns the source files of the timed modes.
func timedSources() []File {
	return append(files().In("c/timed"), files().In("c/hook")...)
}
