package samples

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/internal/watch/lbr"
	"github.com/cairnprof/cairn/internal/watch/lbrfile"
	"github.com/cairnprof/cairn/internal/watch/ptrace"
)

// allLibraries is the value of --dso for all libraries that a program is linked with.
const allLibraries = "all"

// asTheyAre are the prefixes of names of libraries that are not copied: the runtime itself
// needs the C library, and sanitizers handle signals.
var asTheyAre = []string{
	"ld-linux", "ld-musl", "libc.so", "libpthread.so", "libdl.so", "librt.so",
	"libasan.so", "libtsan.so", "libubsan.so", "liblsan.so", "libmsan.so", "libhwasan.so", "libcairn-",
}

func runsAsItIs(library string) bool {
	return slices.ContainsFunc(asTheyAre, func(begin string) bool {
		return strings.HasPrefix(filepath.Base(library), begin)
	})
}

// libraries are the paths of the libraries that --dso names.
func (f *recordFlags) libraries(ctx context.Context, s *verb.Streams, p *recordable) ([]string, error) {
	var linked, out []string
	for _, name := range f.dsos {
		if !strings.Contains(name, "/") && linked == nil {
			linked = verb.LibrariesOf(ctx, p.interpreter, p.path)
		}
		found, err := named(name, linked)
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			whole, err := filepath.EvalSymlinks(path)
			if err != nil {
				return nil, verb.Usagef("record: --dso %s: %v", name, err)
			}
			if runsAsItIs(path) || runsAsItIs(whole) {
				return nil, verb.Usagef("record: --dso %s: the C library and sanitizers cannot be recorded", name)
			}
			if !slices.Contains(out, whole) {
				out = append(out, whole)
			}
		}
	}
	if len(out) >= lbr.MaxModules {
		if !slices.Contains(f.dsos, allLibraries) {
			return nil, verb.Usagef("record: --dso: %d libraries, at most %d are supported", len(out), lbr.MaxModules-1)
		}
		verb.Note(s, "record: only the first %[2]d of %[1]d libraries are recorded", len(out), lbr.MaxModules-1)
		out = out[:lbr.MaxModules-1]
	}
	return out, nil
}

// named returns the libraries that one --dso selects, among those that a program is linked
// with unless it is a path.
func named(name string, linked []string) ([]string, error) {
	if strings.Contains(name, "/") {
		return []string{name}, nil
	}
	var out []string
	for _, path := range linked {
		switch base := filepath.Base(path); {
		case name == allLibraries:
			if !runsAsItIs(path) {
				out = append(out, path)
			}
		case base == name, strings.HasPrefix(base, name+"."):
			out = append(out, path)
		}
	}
	if len(out) == 0 && name != allLibraries {
		return nil, verb.Usagef("record: --dso %s: the program is not linked with it; give the path if it loads the library later", name)
	}
	return out, nil
}

// writePlans plans the copies of the program and of libraries, and writes them where the
// runtime expects them. Libraries that cannot be copied are an error unless all libraries were
// requested.
func (f *recordFlags) writePlans(s *verb.Streams, dir, program string, libraries []string) error {
	number := 0
	for _, path := range append([]string{program}, libraries...) {
		image, err := lbrfile.Plan(path, number)
		if err != nil {
			if number > 0 && slices.Contains(f.dsos, allLibraries) {
				verb.Note(s, "record: %v: not recorded", err)
				continue
			}
			return err
		}
		if err := writeImage(filepath.Join(dir, strconv.Itoa(number)), path, image); err != nil {
			return err
		}
		number++
	}
	return nil
}

// stopping records the branches of a program from outside, by stopping it at each: this is
// slow, but needs nothing in the program. The output is the same as that of the runtime.
func (f *recordFlags) stopping(ctx context.Context, s *verb.Streams, argv []string, raw string) (code int, err error) {
	out, err := os.OpenFile(raw, os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	w := bufio.NewWriterSize(out, 1<<20)
	if path, err := exec.LookPath(argv[0]); err == nil {
		f.byCalls = lbrfile.LacksFramePointers(path)
	}
	watcher := lbrfile.NewWatcher(lbr.Observer{Every: f.every, Branches: f.byBranches(), Depth: f.depth, Truth: f.truth != "", ByCalls: f.byCalls, Out: w})
	var run *ptrace.BranchRun
	err = verb.Traced(ctx, s, f.out == "-" || f.truth == "-", func(ctx context.Context, opts *ptrace.Options) error {
		run, err = ptrace.Branches(ctx, argv, watcher, opts)
		return err
	})
	if err != nil {
		return 0, err
	}
	if err := watcher.Observer.End(); err != nil {
		return 0, err
	}
	if run.Replaced {
		verb.Note(s, "record: the program replaced itself by another one (exec), which is not recorded")
	}
	return run.Status.Code, w.Flush()
}
