package nativert

import "slices"

// HookFilesCOFF are the hooks for Windows: an object for the linkers of MSVC and LLVM, one for GNU ld, and a DLL with the list of
// its functions, from which tools make an import library. DetourFilesCOFF follow: the DLL that hooks functions of a program by a
// plan, and the program that starts one with it.
var HookFilesCOFF = append([]string{"cairn_hooks.obj", "cairn_hooks.o", "cairn_hooks.dll", hookExports}, DetourFilesCOFF...)

const hookExports = "cairn_hooks.def"

// DetourFilesCOFF are the DLL that hooks functions of a program by a plan, and what starts a program with it.
var DetourFilesCOFF = []string{"cairn_detours.dll", "cairn_detours.exe"}

// HooksCOFF returns the arguments of the commands of a compiler that make the hooks in the directory of the sources.
func HooksCOFF() [][]string {
	compile := func(args ...string) []string { return compileCOFF("coff_hook.c", args...) }
	link := linkCOFF("cairn_hooks.dll", "__cairn_enter_library", "-shared", "library.o", hookExports)
	return append([][]string{compile("cairn_hooks.o"), compile("cairn_hooks.obj", "-DCAIRN_MSVC"), compile("library.o", "-DCAIRN_DLL"), link}, DetoursCOFF()...)
}

// DetoursCOFF is HooksCOFF for DetourFilesCOFF.
func DetoursCOFF() [][]string {
	dll, program := DetourFilesCOFF[0], DetourFilesCOFF[1]
	return [][]string{
		compileCOFF("coff_detour.c", "detour.o"), linkCOFF(dll, "__cairn_enter_library", "-shared", "detour.o"),
		compileCOFF("coff_launch.c", "launch.o"), linkCOFF(program, "__cairn_launch", "launch.o"),
	}
}

func compileCOFF(source string, output ...string) []string {
	return slices.Concat([]string{"-Os"}, COFFFlags(), []string{
		"-fasynchronous-unwind-tables", noTailCalls, runtimeDir(""), `-DCAIRN_DEFAULTS="threshold=10ms"`, "-c", source, "-o",
	}, output)
}

func linkCOFF(output, entry string, args ...string) []string {
	return slices.Concat([]string{"-nostdlib", "-Wl,--build-id,--no-insert-timestamp,-s,-e," + entry, "-o", output}, args, []string{"-lkernel32"})
}
