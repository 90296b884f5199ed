package lbr

import (
	_ "embed"

	"github.com/cairnprof/cairn/internal/packed"
)

//go:embed sources.zst
var archive string

// Flags are the compiler's flags for the runtime, a shared library. It runs in signal
// handlers of any code: it must not use vector registers that it does not save, and the
// stack of a thread may be nearly full.
var Flags = []string{
	"-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-mgeneral-regs-only", "-fno-stack-protector",
	"-fno-sanitize=all", "-fno-lto", "-w", "-m64",
}

// File is a source of the runtime.
type File = packed.File

// Sources returns the sources of the runtime. All but the header are compiled. They are compressed in the program. To
// have changes of them in it:
//
//	go test ./internal/watch/lbr -run TestArchive -update
func Sources() []File { return packed.Unpack(archive).In("c") }
