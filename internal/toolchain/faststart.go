package toolchain

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/layout/linkorder"
	"github.com/cairnprof/cairn/internal/verb"
)

// When a program's pages are in memory, most of its start is the dynamic linker's work: it maps libraries, looks symbols up
// and relocates data. Of a C++ program that is mainly the C++ library, with some thousand symbols to look up. --fast-start
// links that library in, where nothing else in the process may need it, and packs relocations (DT_RELR), which makes the
// file smaller. docs/layout-why.md has what was measured, also of what gained nothing.

// What --fast-start did for a module, and what it did not do.
const (
	packed         = "relocations packed"
	embedded       = "C++ library linked in"
	packedKept     = "relocations are not packed"
	embeddedKept   = "the C++ library stays shared"
	relrVersion    = "GLIBC_ABI_DT_RELR" // that glibc has from 2.36 on, and a program with packed relocations needs
	wholeVersion   = "GLIBC_2.34"        // from which on glibc has its functions for threads in libc.so.6
	interruptedBy  = 128                 // exit codes of commands that a signal ended are greater
	maxDependences = 500                 // libraries that a program may need
)

// startLink is a link with --fast-start.
type startLink struct {
	build    *useBuild
	in       *invocation
	linker   FoundLinker
	argv     []string // without what --fast-start adds
	env      []string
	searched map[string]string // what fileOf has found
}

// run becomes the link, with what makes the start of its module faster.
func (l *startLink) run(ctx context.Context, mixed *mixedLink) error {
	cmd, c, s := l.in.cmd, l.in.compiler, l.in.streams
	if driver.ObjectOf(c.target(ctx, cmd.Target)) != asm.ELF {
		return c.runLink(ctx, mixed, l.argv, l.build.dir, l.env...)
	}
	if why := l.whyUnpacked(ctx); why != "" {
		if err := noteKept(s, cmd.Output, packedKept, why); err != nil {
			return err
		}
	} else if !cmd.Static {
		l.argv = append(l.argv, "-Wl,-z,pack-relative-relocs")
		mixed.events = append(mixed.events, startEvent(cmd.Output, packed))
	}
	if !cmd.AddsCXX(c.Path) {
		return c.runLink(ctx, mixed, l.argv, l.build.dir, l.env...)
	}
	why, err := l.embed(ctx, mixed)
	if err != nil || why == "" {
		return err
	}
	if err := noteKept(s, cmd.Output, embeddedKept, why); err != nil {
		return err
	}
	env := append(l.env, catch.EnvLog+"=") // the log has what this command compiles
	return c.runLink(ctx, mixed, l.argv, l.build.dir, env...)
}

// whyUnpacked returns why the linker or the C library does not support packed relocations, "" if both do.
func (l *startLink) whyUnpacked(ctx context.Context) string {
	c, cmd := l.in.compiler, l.in.cmd
	if cmd.LacksLibc() {
		return "the link has no C library"
	}
	if cmd.KeepsRelocations() {
		return "the link says so (-z nopack-relative-relocs, --pack-dyn-relocs)"
	}
	if !l.linker.Kind.PacksRelocations(l.linker.Version, c.Machine(ctx, cmd) == machine.X86_64) {
		return "the linker cannot: GNU ld 2.38 (x86-64) and lld 15 can"
	}
	if !l.libcHas(ctx, relrVersion) {
		return "the C library is not glibc 2.36 or newer"
	}
	return ""
}

// libcHas reports whether the C library has a version of symbols.
func (l *startLink) libcHas(ctx context.Context, version string) bool {
	libc, err := objfile.ReadDynamic(l.fileOf(ctx, "libc.so.6"))
	return err == nil && libc.Names(version)
}

// embed links with the C++ library inside. It returns why the module may not be linked so, "" if it may be.
func (l *startLink) embed(ctx context.Context, mixed *mixedLink) (why string, err error) {
	cmd, s := l.in.cmd, l.in.streams
	if slices.Contains(cmd.Sources, "-") {
		return "the link may have to be done twice, and its source is standard input", nil
	}
	for _, archive := range []string{"libstdc++.a", "libgcc_eh.a"} {
		if l.fileOf(ctx, archive) == "" {
			return archive + " is not installed", nil
		}
	}
	var out, messages bytes.Buffer
	quiet := *mixed
	quiet.streams, quiet.events = &verb.Streams{In: s.In, Out: &out, Err: &messages}, nil
	argv := append(l.argv[:len(l.argv):len(l.argv)], "-static-libstdc++", "-static-libgcc")
	// Drivers add libm behind this, which the archive may not need. Other linkers would also omit one that a library needs
	// without saying so, and an older C library has libpthread there, to which the archive refers weakly.
	if l.linker.Kind == linkorder.GNULD && l.libcHas(ctx, wholeVersion) {
		argv = append(argv, "-Wl,--as-needed")
	}
	err = l.in.compiler.runLink(ctx, &quiet, argv, l.build.dir, l.env...)
	if code := verb.ExitError(0); errors.As(err, &code) && int(code) < interruptedBy {
		return "the link fails with it inside", nil
	}
	if err == nil {
		if why := l.whyShared(ctx, cmp.Or(cmd.Output, "a.out")); why != "" {
			return why, nil
		}
		mixed.events = append(mixed.events, startEvent(cmd.Output, embedded))
		err = mixed.logMade()
	}
	_, err2 := out.WriteTo(s.Out)
	_, err3 := messages.WriteTo(s.Err)
	return "", cmp.Or(err, err2, err3)
}

// loading are functions by whose use other code of C++ comes into a process, such as plugins that a library of C loads for the
// program. The unwinder that the C library loads to end a thread meets the functions of the program, whoever ends it.
var loading, unwinding = []string{"dlopen", "dlmopen"}, []string{"pthread_cancel", "pthread_exit"}

// cxxRuntime are libraries of which a process shall have one copy.
var cxxRuntime = []string{"libstdc++.so", "libgcc_s.so", "libc++.so", "libc++abi.so", "libunwind.so"}

// whyShared returns why the program at path, with a C++ library inside, may get into touch with another one, "" if it
// cannot. What is not known is a reason.
func (l *startLink) whyShared(ctx context.Context, path string) string {
	program, err := objfile.ReadDynamic(path)
	if err != nil {
		return err.Error()
	}
	if why := meetsOthers(program.Imports); why != "" {
		return "the program " + why
	}
	if why := l.whyNeeded(ctx, path, program); why != "" {
		return why
	}
	for _, name := range program.Exports {
		if strings.HasPrefix(name, "__cxa_") || strings.HasPrefix(name, "__gxx_") || strings.HasPrefix(name, "_Znw") {
			return "the program exports it (-rdynamic)"
		}
	}
	return ""
}

// meetsOthers returns what a module with these imports does by which a C++ library, or its unwinder, comes into its process.
func meetsOthers(imports []string) string {
	for _, called := range imports {
		switch {
		case slices.Contains(loading, called):
			return fmt.Sprintf("loads libraries (%s)", called)
		case slices.Contains(unwinding, called):
			return fmt.Sprintf("ends threads by unwinding (%s)", called)
		}
	}
	return ""
}

// whyNeeded returns which of the libraries of a program needs a C++ library.
func (l *startLink) whyNeeded(ctx context.Context, path string, program *objfile.Dynamic) string {
	type user struct {
		path string
		*objfile.Dynamic
	}
	seen := map[string]bool{}
	for queue := []user{{path, program}}; len(queue) > 0; queue = queue[1:] {
		for _, name := range queue[0].Needs {
			if isRuntime := func(r string) bool { return strings.HasPrefix(name, r) }; slices.ContainsFunc(cxxRuntime, isRuntime) {
				return fmt.Sprintf("%s needs %s", filepath.Base(queue[0].path), name)
			}
			if seen[name] {
				continue
			}
			if seen[name] = true; len(seen) > maxDependences {
				return "it needs too many libraries"
			}
			at := l.library(ctx, name, queue[0].path, queue[0].Paths)
			library, err := objfile.ReadDynamic(at)
			if err != nil {
				return fmt.Sprintf("%s, which %s needs, was not found", filepath.Base(name), filepath.Base(queue[0].path))
			}
			if why := meetsOthers(library.Imports); why != "" {
				return filepath.Base(name) + " " + why
			}
			queue = append(queue, user{at, library})
		}
	}
	return ""
}

// library returns the path of a library that a file needs, as the dynamic linker or the linker finds it, "" if it does not.
func (l *startLink) library(ctx context.Context, name, from string, paths []string) string {
	var dirs []string
	origin := filepath.Dir(from)
	for _, list := range paths {
		list = strings.NewReplacer("$ORIGIN", origin, "${ORIGIN}", origin).Replace(list)
		dirs = append(dirs, filepath.SplitList(list)...)
	}
	inputs, given := l.in.cmd.Inputs()
	for _, in := range inputs {
		if filepath.Base(in.Name) == name {
			return in.Name
		}
		if strings.Contains(filepath.Base(in.Name), ".so") { // by its file: the name that is needed may be beside it
			given = append(given, filepath.Dir(in.Name))
		}
	}
	for _, dir := range append(dirs, given...) {
		if path := filepath.Join(dir, name); Exists(path) {
			return path
		}
	}
	return l.fileOf(ctx, name)
}

// fileOf asks the driver for a file, once.
func (l *startLink) fileOf(ctx context.Context, name string) string {
	path, ok := l.searched[name]
	if !ok {
		path = l.in.compiler.FileOf(ctx, l.in.cmd, name)
		l.searched[name] = path
	}
	return path
}

// FileOf returns the path of a file that the driver finds where its libraries are, "" if it finds none.
func (c Compiler) FileOf(ctx context.Context, cmd *driver.Command, name string) string {
	out, err := exec.CommandContext(ctx, c.Path, append(cmd.Forward(), "-print-file-name="+name)...).Output()
	if path := strings.TrimSpace(string(out)); err == nil && filepath.IsAbs(path) && Exists(path) {
		return path
	}
	return ""
}

// startEvent records what was done for the start of a module.
func startEvent(module, what string) buildEvent {
	return buildEvent{linkEvent: linkEvent{Start: &keptEvent{cmp.Or(module, "a.out"), what}}}
}
