package nativert

import "strconv"

// traceMembers are the sources of mode trace's members of the archive.
var traceMembers = []string{"trace.S", "trace.c", "trace_module.c"}

// TraceObjects lists the members of the archive for mode trace, which are
// compiled with TimedFlags in place of Flags. A program links them because its
// code refers to __cairn_trace_full. defaultDir is where logs go while CAIRN_DIR
// is unset, "": nowhere.
func TraceObjects(defaultDir string) []Object {
	var out []Object
	for _, name := range traceMembers {
		member := "trace_words.o"
		if name != "trace.S" {
			member = name[:len(name)-2] + ".o"
		}
		out = append(out, Object{member, []string{"-DCAIRN_DEFAULT_DIR=" + strconv.Quote(defaultDir), name}})
	}
	return out
}

// traceSources returns the source files of mode trace.
func traceSources() []File {
	var out []File
	for _, name := range append([]string{"trace.h"}, traceMembers...) {
		data, err := timedFiles.ReadFile("c/timed/" + name)
		if err != nil {
			panic(err) // embedded above
		}
		out = append(out, File{name, data})
	}
	return out
}
