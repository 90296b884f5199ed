package nativert

// COFFSource is the source of the runtime for Windows.
const COFFSource = "coff.c"

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
