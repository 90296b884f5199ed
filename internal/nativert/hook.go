package nativert

import "embed"

//go:embed c/hook
var hookFiles embed.FS

// hookMembers are the sources of what times functions without exits of their own.
// A program links them because its code refers to __cairn_hook_call.
var hookMembers = []string{"hook.S", "hook_start.c"}

// libraryMembers are what only the preloaded library has.
var libraryMembers = []string{"hook_names.S"}

// HookObjects lists the members of the archive for hooks, which are compiled with
// TimedFlags.
func HookObjects() []Object {
	return plainObjects(append(hookMembers[:len(hookMembers):len(hookMembers)], "hook_init.c"))
}

// LibraryObjects lists the objects of the library that is loaded into programs
// which were built without cairn, to hook their functions. They are compiled with
// TimedFlags and linked with LibraryLinkFlags.
func LibraryObjects() []Object {
	out := TimedObjects(TimedOptions{})
	for i := range out {
		if out[i].Name == "timed_preinit.o" { // for executables
			out = append(out[:i], out[i+1:]...)
			break
		}
	}
	return append(append(out, plainObjects(hookMembers)...), plainObjects(libraryMembers)...)
}

// LibraryLinkFlags are those of a compiler's driver that links LibraryObjects. The
// library is never unloaded: functions return to it.
var LibraryLinkFlags = []string{
	"-shared", "-nostartfiles", "-Wl,-z,nodelete,-z,now,-z,relro,--build-id",
	"-Wl,--push-state,--no-as-needed", "-lgcc_s", "-Wl,--pop-state",
}

func plainObjects(members []string) []Object {
	var out []Object
	for _, name := range members {
		out = append(out, Object{name[:len(name)-2] + ".o", []string{name}})
	}
	return out
}

// hookSources returns the source files of the hooks.
func hookSources() []File {
	var out []File
	for _, list := range [][]string{{"hook.h", "hook_init.c"}, hookMembers, libraryMembers} {
		for _, name := range list {
			data, err := hookFiles.ReadFile("c/hook/" + name)
			if err != nil {
				panic(err) // embedded above
			}
			out = append(out, File{name, data})
		}
	}
	return out
}
