package toolchain

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// A link fails if the runtime that it adds is not that of an object: a tree has objects of an
// earlier build in another mode. The linker then reports names of the runtime, which do not
// say that. After such a failure the objects are examined, and named with their modes.

// mixedLink is a link that may have objects with probes of other modes.
type mixedLink struct {
	streams *verb.Streams
	inputs  []linkInput
	runtime string // the archive that is added, "" in a build without probes
	what    string // what the link is for, such as "mode cover"
}

// run runs a driver or a linker in our place. If it fails it reports objects of other modes.
func (l *mixedLink) run(path string, argv []string, env ...string) error {
	s := l.streams
	cmd := &exec.Cmd{Path: path, Args: argv, Env: append(append(os.Environ(), env...), catch.EnvCaught+"=1"), Stdin: s.In, Stdout: s.Out, Stderr: s.Err}
	code, err := verb.RunThrough(cmd)
	if err != nil {
		return fmt.Errorf("cc: running %s: %w", path, err)
	}
	if code == 0 {
		return nil
	}
	l.report()
	return verb.ExitError(code)
}

// report names the objects of other modes.
func (l *mixedLink) report() {
	found := l.others()
	for _, mode := range slices.Sorted(maps.Keys(found)) {
		files := found[mode]
		list := firstNames(files)
		have := "have"
		if len(files) == 1 {
			have = "has"
		}
		fmt.Fprintf(l.streams.Err, "cairn: cc: %s %s probes of mode %s from an earlier build, and this link is for %s: compile everything again (make -B, ninja -t clean, cmake --build --clean-first)\n", list, have, mode, l.what)
	}
}

// others returns the inputs whose probes need a runtime that the link does not add, by mode.
func (l *mixedLink) others() map[string][]string {
	defined := make(map[string]bool)
	needed := make(map[string]*needs) // by input
	var names []string
	for _, in := range append(slices.Clone(l.inputs), linkInput{path: l.runtime}) {
		path := in.path
		if path == "" {
			continue
		}
		_ = objfile.EachLinkInput(path, func(archive bool, member string, r *io.SectionReader) error {
			n := readNeeds(r, defined)
			if n == nil {
				return nil
			}
			name := path
			if archive {
				name = fmt.Sprintf("%s(%s)", path, member)
			}
			names = append(names, name)
			needed[name] = n
			return nil
		}) // the linker reports errors
	}
	found := make(map[string][]string)
	for _, name := range names {
		if n := needed[name]; slices.ContainsFunc(n.names, func(name string) bool { return !defined[name] }) {
			found[n.mode] = append(found[n.mode], name)
		}
	}
	return found
}

// needs are the names of the runtime that an object with probes refers to, and its mode.
type needs struct {
	names []string
	mode  string
}

// readNeeds returns what an object needs of the runtime, nil if it has no probes, and adds the
// names of the runtime that it defines.
func readNeeds(r io.ReaderAt, defined map[string]bool) *needs {
	ours, names, ok := objfile.ObjectNames(r, ourPrefix)
	if !ok {
		return nil
	}
	for _, name := range ours {
		defined[name] = true
	}
	n := &needs{names: names, mode: probesOf(r, names)}
	if n.mode == "" {
		return nil
	}
	return n
}

// Names by which objects of the timed modes are recognised.
var timedNames = []struct {
	name string
	mode prof.Mode
}{{"__cairn_trace_full", prof.ModeTrace}, {"__cairn_tree_enter", prof.ModeStacks}, {"__cairn_slow", prof.ModeSpike}, {"__cairn_flight_slow", prof.ModeSpike}}

// probesOf returns the mode of an object's probes, "" if it has none.
func probesOf(r io.ReaderAt, names []string) string {
	for _, t := range timedNames {
		if slices.Contains(names, t.name) {
			return t.mode.String()
		}
	}
	const modeAt = 5 // in a record of the map
	section, err := objfile.SectionOf(r, wire.MapSection)
	if err != nil || len(section) <= modeAt {
		return ""
	}
	return prof.Mode(section[modeAt] & wire.MapModeMask).String()
}
