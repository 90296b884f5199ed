package nativert

import (
	"cmp"
	"strconv"

	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/prof"
)

// COFFSource returns the source of the runtime for Windows in a mode, and what it is compiled with besides COFFFlags. That of
// the clock has unwind tables: debuggers and profilers find the stacks of calls that it judges.
func COFFSource(o probe.Options) (source string, args []string) {
	if o.Mode.Timed() {
		args = []string{"-fasynchronous-unwind-tables", noTailCalls, runtimeDir(o.DefaultDir), "-DCAIRN_MODE=" + strconv.Itoa(int(o.Mode))}
		if o.Mode != prof.ModeTrace {
			defaults := "threshold=" + cmp.Or(o.Threshold, "10ms")
			if o.Control {
				defaults += ",control"
			}
			if o.Flight {
				args = append(args, "-DCAIRN_FLIGHT")
			}
			args = append(args, "-DCAIRN_DEFAULTS="+strconv.Quote(defaults))
		}
		if o.Depth > 0 {
			depth := "-DCAIRN_TREE_DEPTH="
			if o.Mode == prof.ModeTrace {
				depth = "-DCAIRN_TRACE_DEPTH="
			}
			args = append(args, depth+strconv.Itoa(o.Depth))
		}
		return "coff_timed.c", args
	}
	return "coff.c", ObjectArgs(o.DefaultDir, o.Slots)
}

// noTailCalls: Wine's unwinder does not know epilogues that end with a jump.
const noTailCalls = "-fno-optimize-sibling-calls"

// COFFFlags returns the compiler's flags for it. A first call may occur while arguments are in vector registers, so the
// runtime must not use any, and there may be no C library that checks the stack.
func COFFFlags() []string {
	return []string{
		"-ffreestanding", "-fno-builtin", "-mgeneral-regs-only", "-mno-stack-arg-probe", "-fno-stack-protector", "-fno-exceptions",
		"-fno-asynchronous-unwind-tables", "-fno-ident", "-fno-lto", "-fno-sanitize=all", "-g0", "-w", "-std=gnu11",
	}
}

// COFFScript is a linker script for GNU ld, which would place the map below the image.
const COFFScript = "coff.ld"
