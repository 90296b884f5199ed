package nativert

import (
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/probe"
)

// hookMembers are the sources of the code that times functions without instrumented
// exits. A program links them because its code refers to __cairn_hook_call.
var hookMembers = []string{"hook.S", "hook_start.c"}

// libraryMembers are the additional sources of the preloaded library. hook_load.c
// comes first: it examines the process before the clock starts its threads.
var libraryMembers = []string{"hook_load.c", "hook_names.S", "hook_calls.c", "hook_patch.c", "detour.c", "detour_stop.c"}

// HookObjects lists the members of the archive for hooks, which are compiled with
// TimedFlags.
func HookObjects() []Object {
	return plainObjects(append(slices.Clone(hookMembers), "hook_init.c"))
}

// LibraryObjects lists the objects of the library that is preloaded into programs
// which were built without cairn, to hook their functions. They are compiled with
// TimedFlags and linked, in this order, with LibraryLinkFlags.
func LibraryObjects() []Object {
	out := plainObjects(libraryMembers)
	for _, o := range TimedObjects(X86_64, probe.Options{}) {
		if o.Name != "timed_preinit.o" { // that is for executables
			out = append(out, o)
		}
	}
	return append(out, plainObjects(hookMembers)...)
}

// LibraryLinkFlags are those of the compiler's driver that links LibraryObjects. The
// library is never unloaded: functions return to it.
var LibraryLinkFlags = []string{
	"-shared", "-Wl,-z,nodelete,-z,now,-z,relro,--build-id",
	"-Wl,--push-state,--no-as-needed", "-lgcc_s", "-Wl,--pop-state",
}

// attachMembers are the additional sources of the library for running programs.
var attachMembers = []string{"attach.c", "attach_unwind.c"}

// AttachObjects lists the objects of the library that is put into running programs, to
// hook their functions. They are compiled with AttachFlags and linked, in this order, with
// AttachLinkFlags.
func AttachObjects() []Object {
	out := plainObjects(attachMembers)
	for _, o := range TimedObjects(X86_64, probe.Options{}) {
		// Those are for executables, and for mode stacks.
		if o.Name != "timed_preinit.o" && o.Name != "timed_local.o" && !strings.HasPrefix(o.Name, "tree") {
			out = append(out, o)
		}
	}
	return append(out, plainObjects(hookMembers)...)
}

// AttachFlags are TimedFlags for a library without memory for each thread.
var AttachFlags = append(TimedFlags(X86_64), "-DCAIRN_ATTACH")

// AttachLinkFlags are those of the compiler's driver that links AttachObjects. The
// library needs no other.
var AttachLinkFlags = []string{"-shared", "-nostdlib", "-Wl,-Bsymbolic,-z,norelro,-z,noseparate-code,-z,noexecstack,--build-id=none"}

func plainObjects(members []string) []Object {
	var out []Object
	for _, name := range members {
		out = append(out, Object{name[:len(name)-2] + ".o", []string{name}})
	}
	return out
}
