package toolchain

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// A tree may have objects of an earlier build in another mode. A link fails if the runtime that it adds is not that of an
// object: the linker then reports names of the runtime, which do not say that. Other modes can be linked together, and what
// the object records is less than what was asked for. In both cases the objects are named with their modes.

// mixedLink is a link that may have objects with probes of other modes.
type mixedLink struct {
	streams *verb.Streams
	inputs  []linkInput
	runtime string       // the archive that is added, "" in a build without probes
	mode    string       // of the link, "" in a build without probes
	output  string       // "" for a.out
	strict  bool         // objects of other modes are an error
	events  []buildEvent // that the build's log gets once the link is made
}

// run runs a driver or a linker in our place, and reports objects of other modes.
func (l *mixedLink) run(path string, argv []string, env ...string) error {
	s := l.streams
	if err := l.refuse(); err != nil {
		return err
	}
	argv, done, err := withinLimit(argv)
	if err != nil {
		return err
	}
	defer done()
	cmd := &exec.Cmd{Path: path, Args: argv, Env: append(append(os.Environ(), env...), catch.EnvCaught+"=1"), Stdin: s.In, Stdout: s.Out, Stderr: s.Err}
	code, err := verb.RunThrough(cmd)
	if err != nil {
		return fmt.Errorf("cc: running %s: %w", path, err)
	}
	if code == 0 {
		if l.mode != "" {
			KeepMap(s, l.output)
		}
		return cmp.Or(l.logMade(), l.noteLinked())
	}
	l.report()
	return verb.ExitError(code)
}

// logMade records what was done in a link that has been made: a build may try others, which fail.
func (l *mixedLink) logMade() error {
	for _, e := range l.events {
		if err := logEvent(e); err != nil {
			return err
		}
	}
	return nil
}

// report names the objects of other modes in a link that failed.
func (l *mixedLink) report() {
	found := l.others()
	what := withoutProbes
	if l.mode != "" {
		what = "mode " + l.mode
	}
	for _, mode := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(l.streams.Err, "cairn: cc: %s and this link is for %s: compile everything again (%s)\n", ofMode(found[mode], mode), what, compileAgain)
	}
}

// compileAgain is how builds compile everything.
const compileAgain = "make -B, ninja -t clean, cmake --build --clean-first"

// ofMode says of objects that they are of another mode.
func ofMode(files []string, mode string) string {
	have := "have"
	if len(files) == 1 {
		have = "has"
	}
	return fmt.Sprintf("%s %s probes of mode %s from an earlier build,", firstNames(files), have, mode)
}

// refuse returns an error if the link would keep objects of another mode, and may not.
func (l *mixedLink) refuse() error {
	if !l.strict || l.mode == "" || isCheck(&driver.Command{Output: l.output}) {
		return nil
	}
	found, _ := l.otherModes()
	for _, mode := range slices.Sorted(maps.Keys(found)) {
		return fmt.Errorf("cc: %s and this link is for mode %s: compile everything again (%s)", ofMode(found[mode], mode), l.mode, compileAgain)
	}
	return nil
}

// noteLinked names the objects of other modes in a link that has been made: in the summary of the build, if there is one.
func (l *mixedLink) noteLinked() error {
	if l.mode == "" {
		return nil
	}
	found, linked := l.otherModes()
	if os.Getenv(catch.EnvLog) != "" && len(linked) > 0 {
		return logEvent(buildEvent{linkEvent: linkEvent{Linked: linked}})
	}
	for _, mode := range slices.Sorted(maps.Keys(found)) {
		verb.Note(l.streams, "%s which this link for mode %s keeps: compile everything again (%s)", ofMode(found[mode], mode), l.mode, compileAgain)
	}
	return nil
}

// otherModes returns the objects with probes of other modes than that of the link: their names by mode, and all.
func (l *mixedLink) otherModes() (found map[string][]string, linked []linkedObject) {
	found = map[string][]string{}
	l.each(func(in linkInput, archive bool, member, name string, r *io.SectionReader) {
		if in.system || in.path == l.runtime || !isProbed(r) {
			return
		}
		if n := readNeeds(r, nil); n != nil && n.mode != l.mode {
			found[n.mode] = append(found[n.mode], name)
			o := newLinkedObject(in.path, archive, member)
			o.Why = fmt.Sprintf("but those of mode %s, from an earlier build: compile everything again (%s)", n.mode, compileAgain)
			linked = append(linked, o)
		}
	})
	return found, linked
}

// each calls visit for all objects of the inputs, also in archives; the linker has reported errors.
func (l *mixedLink) each(visit func(in linkInput, archive bool, member, name string, r *io.SectionReader)) {
	for _, in := range append(slices.Clone(l.inputs), linkInput{path: l.runtime}) {
		if in.path == "" {
			continue
		}
		_ = objfile.EachLinkInput(in.path, func(archive bool, member string, r *io.SectionReader) error {
			name := in.path
			if archive {
				name = fmt.Sprintf("%s(%s)", in.path, member)
			}
			visit(in, archive, member, name, r)
			return nil
		})
	}
}

// isProbed reports whether an object refers to the runtime.
func isProbed(r io.ReaderAt) bool {
	section, err := objfile.SectionOf(r, ".rodata.cairn")
	return err == nil && section != nil
}

// others returns the inputs whose probes need a runtime that the link does not add, by mode.
func (l *mixedLink) others() map[string][]string {
	defined := make(map[string]bool)
	needed := make(map[string]*needs) // by input
	var names []string
	l.each(func(_ linkInput, _ bool, _, name string, r *io.SectionReader) {
		if n := readNeeds(r, defined); n != nil {
			names = append(names, name)
			needed[name] = n
		}
	})
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
// names of the runtime that it defines to defined, if that is not nil.
func readNeeds(r io.ReaderAt, defined map[string]bool) *needs {
	ours, names, ok := objfile.ObjectNames(r, ourPrefix)
	if !ok {
		return nil
	}
	for _, name := range ours {
		if defined != nil {
			defined[name] = true
		}
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
