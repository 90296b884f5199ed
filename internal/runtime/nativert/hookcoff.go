package nativert

import "slices"

// HookFilesCOFF are the hooks for Windows: an object for the linkers of MSVC and LLVM, one for GNU ld, and a DLL with the list of
// its functions, from which tools make an import library.
var HookFilesCOFF = []string{"cairn_hooks.obj", "cairn_hooks.o", "cairn_hooks.dll", hookExports}

const hookExports = "cairn_hooks.def"

// HooksCOFF returns the arguments of the commands of a compiler that make these files in the directory of the sources.
func HooksCOFF() [][]string {
	compile := slices.Concat([]string{"-Os"}, COFFFlags(), []string{
		"-fasynchronous-unwind-tables", noTailCalls, runtimeDir(""), `-DCAIRN_DEFAULTS="threshold=10ms"`, "-c", "coff_hook.c", "-o",
	})
	with := func(args ...string) []string { return append(slices.Clone(compile), args...) }
	return [][]string{
		with("cairn_hooks.o"),
		with("cairn_hooks.obj", "-DCAIRN_MSVC"),
		with("library.o", "-DCAIRN_DLL"),
		{"-shared", "-nostdlib", "-Wl,--build-id,--no-insert-timestamp,-s,-e,__cairn_enter_library", "-o", "cairn_hooks.dll", "library.o", hookExports, "-lkernel32"},
	}
}
