package nativert

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/prof"
)

// A Host is a library that consists of the runtime of a timed mode only. The first instrumented library of a process
// whose executable has no runtime loads it, and it stays when that library is unloaded.
type Host struct {
	Objects []Object // to link with HostLinkFlags, in this order, to a file HostName
	Guest   []Object // more members of the archive, to compile when that file is beside the sources, packed
}

// InFile returns the members of an archive for modules that load the host from the file of that path and size when they start, and
// do not contain it: executables as well as libraries.
func (h *Host) InFile(m Machine, o probe.Options, path string, size int) []Object {
	objects := append(GuestObjects(m, o), h.Guest[0], Object{"guest_preinit.o", append(trees(o), "guest_preinit.c")})
	for i, o := range objects {
		if o.Name == "guest_start.o" || o.Name == h.Guest[0].Name {
			objects[i].Args = append([]string{"-DCAIRN_HOST_PATH=" + strconv.Quote(path), "-DCAIRN_HOST_SIZE=" + strconv.Itoa(size)}, o.Args...)
		}
	}
	return objects
}

// GuestObjects lists the members of an archive for libraries in the modes spike and stacks, without the flight recorder.
// They call the runtime of their process, and contain the host. Its file is beside the sources, packed.
func GuestObjects(m Machine, o probe.Options) []Object {
	flags := append(trees(o), "-DCAIRN_KIND="+kindOf(o))
	var out []Object
	for _, name := range append([]string{"guest_start.c", m.source("guest_calls"), "timed_window.c", "timed_masked_" + string(m) + ".c"}, ownMembers(m)...) {
		out = append(out, Object{m.member(name), append(slices.Clone(flags), name)})
	}
	return out
}

// HostName is the name of the file of a host, and PackedName that of the same by Compress.
const (
	HostName   = "host.so"
	PackedName = "host.packed"
)

// HostLinkFlags are those of the compiler's driver that links a host. It needs no other library.
var HostLinkFlags = []string{"-shared", "-nostdlib", "-Wl,-z,nodelete,-z,now,-z,relro,-z,noseparate-code,--build-id=none,-soname,cairn-host,-s"}

// HostOf returns the host of the modules that are built with the options.
func HostOf(m Machine, o probe.Options) Host {
	if o.Mode == prof.ModeTrace {
		return hostOf(TraceObjects(m, o.DefaultDir, o.Depth), "trace_guest.c", []string{"-DCAIRN_MAX_TRACE_DEPTH=" + strconv.Itoa(MaxTraceDepth)})
	}
	// Libraries with and without the flight recorder share a state.
	o.Flight = o.Mode != prof.ModeStacks && !o.Exact
	objects := TimedObjects(m, o)
	if o.Mode != prof.ModeStacks {
		objects = slices.DeleteFunc(objects, func(o Object) bool { return strings.HasPrefix(o.Name, "tree") })
	}
	return hostOf(objects, "timed_guest.c", []string{"-DCAIRN_KIND=" + kindOf(o)})
}

func hostOf(objects []Object, guest string, flags []string) Host {
	h := Host{Objects: slices.DeleteFunc(objects, func(o Object) bool { return o.Name == "timed_preinit.o" || o.Name == "trace_preinit.o" })}
	for i, o := range h.Objects {
		if o.Name == "timed_start.o" || o.Name == "trace_module.o" {
			h.Objects[i].Args = append([]string{"-DCAIRN_IS_HOST"}, o.Args...)
		}
	}
	digest := fnv.New64a()
	fmt.Fprintf(digest, "%q", h.Objects)
	h.Guest = []Object{
		{guest[:len(guest)-2] + ".o", append(flags, guest)},
		{"timed_host.o", []string{fmt.Sprintf("-DCAIRN_HOST=%#x", digest.Sum64()), "timed_host.S"}},
	}
	return h
}
