package nativert

import (
	"strconv"
	"strings"
)

// traceMembers are the sources of mode trace's members of the archive.
var traceMembers = []string{"trace.S", "trace.c", "trace_module.c", "trace_depth.S", "bus.c", "leader.c"}

// MaxTraceDepth bounds the depth of mode trace: each thread has a word for each
// call above it.
const MaxTraceDepth = 64

// TraceObjects lists the members of the archive for mode trace, which are
// compiled with TimedFlags in place of Flags. A program links them because its
// code refers to __cairn_trace_full. defaultDir is where logs go while CAIRN_DIR
// is unset, "": nowhere. depth is how deep calls may be that are recorded, at most
// MaxTraceDepth.
func TraceObjects(defaultDir string, depth int) []Object {
	var out []Object
	for _, name := range traceMembers {
		member := name[:len(name)-2] + ".o"
		args := []string{"-DCAIRN_DEFAULT_DIR=" + strconv.Quote(defaultDir), name}
		switch name {
		case "trace.S":
			member = "trace_words.o"
		case "trace_depth.S":
			args = []string{"-DCAIRN_TRACE_DEPTH=" + strconv.Itoa(depth), "-DCAIRN_MAX_TRACE_DEPTH=" + strconv.Itoa(MaxTraceDepth), name}
		}
		out = append(out, Object{member, args})
	}
	return out
}

// traceSources returns the source files of mode trace.
func traceSources() []File {
	var out []File
	for _, name := range append([]string{"trace.h"}, traceMembers...) {
		if !strings.HasPrefix(name, "trace") {
			continue // it is one of the other timed modes as well
		}
		data, err := timedFiles.ReadFile("c/timed/" + name)
		if err != nil {
			panic(err) // embedded above
		}
		out = append(out, File{name, data})
	}
	return out
}
