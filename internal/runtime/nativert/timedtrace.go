package nativert

import "strconv"

// traceMembers returns the sources of mode trace's members of the archive.
func traceMembers(m Machine) []string {
	out := []string{m.source("trace"), "trace.c", "trace_module.c", "bus.c", "leader.c", "trace_local.c", "trace_preinit.c", m.source("trace_depth"), "trace_depth.c"}
	if m != X86_64 {
		out = append(out, ownMembers(m)...)
	}
	return out
}

// MaxTraceDepth bounds the depth of mode trace: each thread has a word for each
// call above it.
const MaxTraceDepth = 64

// TraceObjects lists the members of the archive for mode trace, which are
// compiled with TimedFlags in place of Flags. A program links them because its
// code refers to __cairn_trace_full. defaultDir is where logs go while CAIRN_DIR
// is unset, "": nowhere. depth is how deep calls may be that are recorded, at most
// MaxTraceDepth.
func TraceObjects(m Machine, defaultDir string, depth int) []Object {
	maxDepth := "-DCAIRN_MAX_TRACE_DEPTH=" + strconv.Itoa(MaxTraceDepth)
	var out []Object
	for _, name := range traceMembers(m) {
		member := m.member(name)
		args := []string{"-DCAIRN_DEFAULT_DIR=" + strconv.Quote(defaultDir), maxDepth, name}
		switch name {
		case m.source("trace"): // there is a trace.c as well
			member = "trace_words.o"
		case m.source("trace_depth"), "trace_depth.c":
			if name == "trace_depth.c" {
				member = "trace_depths.o"
			}
			args = []string{"-DCAIRN_TRACE_DEPTH=" + strconv.Itoa(depth), maxDepth, name}
		}
		out = append(out, Object{member, args})
	}
	return out
}
