package nativert

import (
	"cmp"
	"strconv"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/prof"
)

// MachOSource returns the source of the runtime for Mach-O in a mode, and what it is compiled with besides MachOFlags.
func MachOSource(o probe.Options) (source string, args []string) {
	if o.Mode.Timed() {
		args = []string{runtimeDir(o.DefaultDir), "-DCAIRN_MODE=" + strconv.Itoa(int(o.Mode))}
		if o.Mode == prof.ModeSpike {
			if o.Flight {
				args = append(args, "-DCAIRN_FLIGHT")
			}
			args = append(args, "-DCAIRN_DEFAULTS="+strconv.Quote("threshold="+cmp.Or(o.Threshold, "10ms")))
		}
		if o.Depth > 0 {
			depth := "-DCAIRN_TREE_DEPTH="
			if o.Mode == prof.ModeTrace {
				depth = "-DCAIRN_TRACE_DEPTH="
			}
			args = append(args, depth+strconv.Itoa(o.Depth))
		}
		return "macho_timed.c", args
	}
	return "macho.c", ObjectArgs(o.DefaultDir, o.Slots)
}

// MachOFlags returns the compiler's flags for it. A first call may occur while arguments are in
// vector registers, so the runtime must not use any.
func MachOFlags(m machine.Kind) []string {
	flags := []string{
		"-ffreestanding", "-fno-builtin", "-fvisibility=hidden", "-mgeneral-regs-only", "-fno-stack-protector", "-fno-exceptions",
		"-fno-lto", "-fno-sanitize=all", "-fno-modules", "-g0", "-w", "-std=gnu11",
	}
	if m == machine.AArch64 {
		flags = append(flags, "-mno-outline")
	}
	return flags
}

// ObjectArgs returns the definitions that a runtime of one object is compiled with: where raw files go while CAIRN_DIR
// is unset, and the size of the order buffer, 0 for a slot for each function.
func ObjectArgs(defaultDir string, slots int) []string {
	return []string{runtimeDir(defaultDir), "-DCAIRN_SLOTS=" + strconv.Itoa(slots)}
}
