package lbr

import "embed"

//go:embed c
var sources embed.FS

// Flags are the compiler's flags for the runtime, a shared library. It runs in signal
// handlers of any code: it must not use vector registers that it does not save, and the
// stack of a thread may be nearly full.
var Flags = []string{
	"-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-mgeneral-regs-only", "-fno-stack-protector",
	"-fno-sanitize=all", "-fno-lto", "-w", "-m64",
}

// File is a source of the runtime.
type File struct {
	Name string
	Data []byte
}

// Sources returns the sources of the runtime. All but the header are compiled.
func Sources() []File {
	entries, err := sources.ReadDir("c")
	if err != nil {
		panic(err) // embedded above
	}
	var out []File
	for _, e := range entries {
		data, err := sources.ReadFile("c/" + e.Name())
		if err != nil {
			panic(err) // as above
		}
		out = append(out, File{e.Name(), data})
	}
	return out
}
