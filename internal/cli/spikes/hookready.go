package spikes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// hookCalls are the functions that compilers call at the entries of functions, with the
// options.
var hookCalls = []struct{ name, option string }{
	{"__fentry__", "-pg -mfentry"},
	{"mcount", "-pg"},
	{"_mcount", "-pg"},
	{"__cyg_profile_func_enter", "-finstrument-functions"},
}

// entriesSection lists the places for patches by -fpatchable-function-entry.
const entriesSection = "__patchable_function_entries"

// hookable is a program that a library can be loaded into.
type hookable struct {
	path  string
	ready []string // hooks that compilers prepared in it and its libraries, for messages
}

// whyNoPreload returns why no library can be loaded into a program, or "".
func whyNoPreload(f *objfile.File, info os.FileInfo) string {
	switch {
	case f.Machine() != machine.X86_64:
		return fmt.Sprintf("not a program for x86-64, but for %v", f.Machine())
	case f.Interpreter() == "":
		return "it is linked statically and cannot load a library: link it dynamically, or build it with cairn cc --mode spike"
	case strings.Contains(filepath.Base(f.Interpreter()), "musl"):
		return "its C library is musl, which is not supported: build it with cairn cc --mode spike"
	case info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0:
		return "it is setuid or setgid, so the loader does not accept the library"
	}
	return ""
}

// hookableAt looks at the program that a command runs.
func hookableAt(ctx context.Context, name string) (*hookable, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, verb.Usagef("watch run: program %q not found", name)
	}
	f, err := objfile.Open(path)
	if err != nil {
		if verb.Script(path) {
			return nil, verb.Usagef("watch run: %s is a script: give its interpreter as the program", path)
		}
		return nil, fmt.Errorf("watch run: %w", err)
	}
	defer f.Close()
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if why := whyNoPreload(f, info); why != "" {
		return nil, fmt.Errorf("watch run: %s: %s", path, why)
	}
	h := &hookable{path: path}
	if err := h.look(f); err != nil {
		return nil, err
	}
	for _, library := range verb.LibrariesOf(ctx, f.Interpreter(), path) {
		if err := h.lookInto(library); err != nil {
			return nil, err
		}
	}
	return h, nil
}

func (h *hookable) lookInto(path string) error {
	f, err := objfile.Open(path)
	if err != nil {
		return fmt.Errorf("watch run: %w", err)
	}
	defer f.Close()
	return h.look(f)
}

// look adds the prepared hooks of a module.
func (h *hookable) look(f *objfile.File) error {
	var names []string
	for _, c := range hookCalls {
		names = append(names, c.name)
	}
	calls, err := f.CallSites(names...)
	if err != nil {
		return fmt.Errorf("watch run: %s: %w", f.Path(), err)
	}
	for _, c := range hookCalls {
		if n := calls[c.name]; n > 0 {
			h.ready = append(h.ready, fmt.Sprintf("%s: %s of %s (%s)", f.Path(), report.Plural(n, "call"), c.name, c.option))
		}
	}
	if _, _, size, ok, err := f.Section(entriesSection); err != nil {
		return fmt.Errorf("watch run: %s: %w", f.Path(), err)
	} else if ok && size > 0 {
		h.ready = append(h.ready, fmt.Sprintf("%s: %s with room for a call (-fpatchable-function-entry)", f.Path(), entriesText(int(size/8))))
	}
	return nil
}

func entriesText(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return report.Count(n) + " entries"
}
