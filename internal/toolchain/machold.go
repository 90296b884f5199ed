package toolchain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/layout/linkorder"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/verb"
)

// machOLinkerName matches linkers that make Mach-O files, wherever they run.
var machOLinkerName = lazyregexp.New(`^ld64(?:\.lld)?(?:-\d+(?:\.\d+)*)?$`)

// machOPlatforms are the systems of -platform_version, by name and number, as a target
// names them.
var machOPlatforms = map[string]struct{ system, environment string }{
	"macos": {"macos", ""}, "1": {"macos", ""},
	"ios": {"ios", ""}, "2": {"ios", ""},
	"tvos": {"tvos", ""}, "3": {"tvos", ""},
	"watchos": {"watchos", ""}, "4": {"watchos", ""},
	"mac-catalyst": {"ios", "-macabi"}, "6": {"ios", "-macabi"},
	"ios-simulator": {"ios", "-simulator"}, "7": {"ios", "-simulator"},
	"tvos-simulator": {"tvos", "-simulator"}, "8": {"tvos", "-simulator"},
	"watchos-simulator": {"watchos", "-simulator"}, "9": {"watchos", "-simulator"},
	"driverkit": {"driverkit", ""}, "10": {"driverkit", ""},
	"xros": {"xros", ""}, "visionos": {"xros", ""}, "11": {"xros", ""},
}

// machOMinimums are the options that older builds name the system by.
var machOMinimums = map[string]string{
	"-macosx_version_min": "macos", "-macos_version_min": "macos",
	"-ios_version_min": "ios", "-iphoneos_version_min": "ios", "-ios_simulator_version_min": "ios-simulator",
}

// machOTarget returns the target of clang for the output that a linker of Mach-O files is asked
// for, "" if its arguments do not name a machine.
func machOTarget(args []string) string {
	arch, platform, version := "", "macos", "11.0"
	for i, a := range args {
		next := func(n int) string {
			if i+n < len(args) {
				return args[i+n]
			}
			return ""
		}
		switch {
		case a == "-arch":
			arch = next(1)
		case a == "-platform_version":
			platform, version = next(1), next(2)
		case machOMinimums[a] != "":
			platform, version = machOMinimums[a], next(1)
		}
	}
	p, known := machOPlatforms[platform]
	if arch == "" || !known {
		return ""
	}
	return arch + "-apple-" + p.system + version + p.environment
}

// linkMachO runs a linker of Mach-O files that the build starts itself, with the runtime before its own
// arguments, or, with a profile, with an order.
func (w *wrapper) linkMachO(ctx context.Context, s *verb.Streams, path string, args []string) error {
	argv := append([]string{w.name}, args...)
	line := driver.ParseLD64(args, ReadResponse)
	if line.Err != nil {
		return fmt.Errorf("ld: %w", line.Err)
	}
	words := line.Without()
	asIs := slices.ContainsFunc(words, func(a string) bool {
		return a == "-r" || a == "--version" || a == "--help" || filepath.Base(a) == machOObject
	})
	target := machOTarget(words)
	if asIs || target == "" {
		return become(path, argv)
	}
	c, err := clangOf(path)
	if err != nil {
		return err
	}
	shim := w.opts.Shim
	shim.Target = []string{"--target=" + target}
	if shim.Use != nil {
		return w.useLinker(ctx, &invocation{streams: s, compiler: c, argv: argv}, shim.unsplit(), path)
	}
	tc, err := prepare(ctx, c, shim, shim.Target)
	var foreign foreignError
	if errors.As(err, &foreign) {
		return become(path, argv) // nothing that it links has probes
	}
	if err != nil {
		return err
	}
	// Constructors run in the order of the objects: the runtime starts first and ends last.
	inputs, output := inputsOfLine(&line)
	record := mapAssembler{s, asm.MachO, false, c.Path, shim.Target}.record(ctx, inputs, cmp.Or(output, "a.out"))
	args = slices.Concat([]string{tc.Archive}, args, record)
	if LinkerAt(ctx, path).Kind != linkorder.LD64LLD {
		return become(path, append([]string{w.name}, args...))
	}
	return runLTOLinker(ctx, filepath.Dir(tc.Archive), path, args, &mixedLink{streams: s})
}

// clangOf returns the clang beside a linker, or that on PATH.
func clangOf(linker string) (Compiler, error) {
	if path := clangBeside(linker); path != "" {
		return FindCompiler(path)
	}
	found, err := RealTool("clang")
	if err != nil {
		return Compiler{}, errors.New("build: no clang beside " + linker + " or on PATH to compile the runtime for Mach-O: install the clang of that version")
	}
	return FindCompiler(found)
}

// clangBeside returns the clang in the directory of a linker of LLVM, "" if there is none.
// It is of the same version and reads what the linker writes.
func clangBeside(linker string) string {
	real, err := filepath.EvalSymlinks(linker)
	if err != nil {
		real = linker
	}
	for _, dir := range []string{filepath.Dir(real), filepath.Dir(linker)} {
		for _, name := range []string{"clang", "clang" + versionSuffix(linker)} {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return path
			}
		}
	}
	return ""
}

// unsplit returns the options for a build with a profile whose functions stay whole: linkers of Mach-O files
// treat functions as atoms, and none has two.
func (o ShimOptions) unsplit() ShimOptions {
	use := *o.Use
	use.NoSplit = true
	o.Use = &use
	return o
}
