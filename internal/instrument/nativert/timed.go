package nativert

import (
	"cmp"
	"embed"
	"slices"
	"strconv"

	"github.com/cairnprof/cairn/internal/instrument/native"
	"github.com/cairnprof/cairn/prof"
)

//go:embed c/timed
var timedFiles embed.FS

// TimedFlags are the compiler's flags for the objects of the timed modes. A
// slow exit has a return value in vector registers, so none may be used; and
// the unwinder walks through its frames, so they have tables.
var TimedFlags = append(slices.DeleteFunc(Flags(X86_64), func(f string) bool {
	return f == "-fno-asynchronous-unwind-tables" || f == "-fno-unwind-tables"
}), "-mgeneral-regs-only", "-funwind-tables", "-fno-asynchronous-unwind-tables", "-ftls-model=initial-exec")

// timedMembers are the sources of the timed modes' members of the archive.
var timedMembers = []string{
	"timed_exit.S", "timed_slow.c", "timed_mark.c", "timed_scope.c", "timed_stack.c", "timed_region.c", "timed_usage.c", "timed_clock.c", "timed_family.c", "timed_signal.c", "timed_tsc.c", "timed_stamp.c",
	"timed_queue.c", "timed_log.c", "timed_file.c", "bus.c", "leader.c", "timed_module.c", "timed_words.c", "timed_window.c", "timed_masked.c", "timed_stub.S", "timed_channel.c", "timed_control.c", "timed_frame.c", "timed_snapshot.c", "timed_callback.c", "timed_start.c", "timed_preinit.c", "tree_enter.S", "tree.c", "tree_log.c",
}

// flightMembers are those of the flight recorder.
var flightMembers = []string{"flight.S", "flight.c"}

// kindOf returns what the slots of the window hold, as timed.h names it. Modules of
// different kinds in one process have states of their own.
func kindOf(o native.Options) string {
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
// linker is told to look for __cairn_preinit, which executables should be.
func TimedObjects(o native.Options) []Object {
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
	members := timedMembers
	if o.Flight {
		members = append(slices.Clip(members), flightMembers...)
	}
	var out []Object
	for _, name := range members {
		args := []string{name}
		switch name {
		case "timed_start.c":
			args = []string{
				"-DCAIRN_DEFAULT_DIR=" + strconv.Quote(o.DefaultDir), "-DCAIRN_DEFAULTS=" + strconv.Quote(defaults),
				"-DCAIRN_KIND=" + kindOf(o), name,
			}
			if o.Flight {
				args = append([]string{"-DCAIRN_FLIGHT"}, args...)
			}
		case "tree.c":
			if o.Depth > 0 {
				args = []string{"-DCAIRN_TREE_DEPTH=" + strconv.Itoa(o.Depth), name}
			}
		case "flight.S":
			out = append(out, Object{"flight_words.o", args})
			continue
		}
		out = append(out, Object{name[:len(name)-2] + ".o", args})
	}
	return out
}

// timedSources returns the source files of the timed modes.
func timedSources() []File {
	var out []File
	for _, name := range append(append([]string{"timedwire.h", "timed.h", "clock.h", "kernel.h", "bus.h", "create.h", "tree.h", "flight.h", "registers.h"}, flightMembers...), timedMembers...) {
		data, err := timedFiles.ReadFile("c/timed/" + name)
		if err != nil {
			panic(err) // embedded above
		}
		out = append(out, File{name, data})
	}
	return append(append(out, hookSources()...), traceSources()...)
}
