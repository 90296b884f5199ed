package toolchain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/bitcode"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/layout/linkorder"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// With clang -flto, compilers write bitcode, from which the linker makes code. So cairn replaces lld, and makes
// it provide the assembly of that code:
//
//   - Modules of -flto=thin are compiled one by one. lld leaves that to a program, its
//     distributor, which is cairn (ltobackend.go).
//   - Modules of -flto are merged. lld writes the assembly of the merged module and links
//     nothing; a second link uses the object that cairn makes from it in place of the
//     bitcode (ltomerged.go). The same is done for thin modules if lld has no distributor,
//     or would not pass all options to it.
//     So are all modules for MSVC's system (ltocoff.go).
//   - In the place of Apple's linker, lld has neither. It keeps the bitcode that it makes code of, after all
//     optimisation, which clang compiles to assembly for the second link (ltomacho.go).

// envLinker is set by cairn cc for the stand-in for lld: the path of the real one.
const envLinker = "CAIRN_LINKER"

// ltoDir is where a toolchain has the stand-in for lld and the distributor, outside the directory where drivers
// look for an assembler, as they would use the linker as well.
const (
	ltoDir          = "lto"
	ltoLinkerName   = "ld.lld"
	appleLinkerName = "ld64.lld" // in the place of Apple's linker
	msvcLTOName     = "lld-link" // for MSVC's system
	distributorName = "cairn-distributor"
)

// distributingLLD is the first lld with a distributor whose objects go into a cache.
const distributingLLD = 22

// linkLTO puts the stand-in for lld and the distributor beside bin.
func linkLTO(bin, self string) error {
	dir := filepath.Join(bin, "..", ltoDir)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{ltoLinkerName, appleLinkerName, msvcLTOName, distributorName} {
		if err := verb.StandIn(self, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// ltoLinker is one run of cairn in place of lld.
type ltoLinker struct {
	shim
	root string // directory of the toolchain
	real string // path of the real linker
	// mixed reports objects of other modes if the link fails; nil below a driver, which does.
	mixed *mixedLink
}

// become becomes the real linker.
func (l *ltoLinker) become(args []string, env ...string) error {
	argv := append([]string{l.real}, args...)
	if l.mixed != nil {
		return l.mixed.run(l.real, argv, env...)
	}
	return become(l.real, argv, env...)
}

// AsLTO returns the function to run in place of lld or of its distributor, if args say that cairn was started
// as one: by its name, in a directory of a toolchain.
func AsLTO(args []string, s verb.Streams) (run func(context.Context, []string) error, ok bool) {
	name, dir := driver.ToolName(args[0]), filepath.Dir(args[0])
	if !slices.Contains([]string{ltoLinkerName, appleLinkerName, msvcLTOName, distributorName}, name) || filepath.Base(dir) != ltoDir || !Exists(filepath.Join(dir, "..", "bin", shimOptionsFile)) {
		return nil, false
	}
	l := newLTOLinker(filepath.Dir(dir), os.Getenv(envLinker), s)
	switch {
	case l.broken != nil:
		return func(context.Context, []string) error { return fmt.Errorf("ld: %w", l.broken) }, true
	case name == distributorName:
		return l.distribute, true
	}
	return l.link, true
}

// newLTOLinker returns the stand-in with the options of a toolchain.
func newLTOLinker(root, real string, s verb.Streams) *ltoLinker {
	bin := filepath.Join(root, "bin")
	l := &ltoLinker{root: root, real: real, shim: shim{streams: s, dir: bin}}
	found, err := readOptions(filepath.Join(bin, shimOptionsFile), &l.opts)
	if l.broken = err; !found {
		l.broken = fmt.Errorf("%s is missing: remove %s", filepath.Join(bin, shimOptionsFile), root)
	}
	return l
}

// runLTOLinker is the stand-in for an lld that a build starts itself.
func runLTOLinker(ctx context.Context, root, real string, args []string, mixed *mixedLink) error {
	l := newLTOLinker(root, real, *mixed.streams)
	if l.opts.Object != asm.MachO {
		l.mixed = mixed
	}
	if l.broken != nil {
		return fmt.Errorf("ld: %w", l.broken)
	}
	// Programs that the linkers start are not caught again.
	if err := os.Setenv(catch.EnvCaught, "1"); err != nil {
		return err
	}
	return l.link(ctx, args)
}

// link links, and makes code from bitcode on the way.
func (l *ltoLinker) link(ctx context.Context, args []string) error {
	if l.real == "" {
		return errors.New("ld: " + envLinker + " is not set: this is a part of cairn cc, which starts it itself")
	}
	line := l.parse(args)
	if line.Err != nil {
		return fmt.Errorf("ld: %w", line.Err)
	}
	in, err := bitcodeInputs(&line)
	if err != nil {
		return fmt.Errorf("ld: %w", err)
	}
	if len(in.modules) == 0 || l.leaves(&line) || line.MSVC && !strings.HasPrefix(in.modules[0].Target, "x86_64-") {
		return l.become(args)
	}
	if l.opts.Object == asm.ELF && slices.ContainsFunc(line.Words, func(w driver.LinkerWord) bool { return isRuntime(&w) }) {
		line.Words = append(line.Words, driver.LinkerWord{Args: []string{"-u", l.needed()}, Option: "u", Value: l.needed()})
	}
	if err := l.addRecord(ctx, &line); err != nil {
		return err
	}
	clang, err := l.backend()
	if err != nil {
		return err
	}
	if why := l.distributes(ctx, &line, in); why == "" {
		return l.linkThin(ctx, &line, clang)
	}
	return l.linkMerged(ctx, &line, in, clang)
}

// parse reads the arguments of the linker.
func (l *ltoLinker) parse(args []string) driver.LinkerLine {
	switch {
	case l.opts.Object == asm.MachO:
		return driver.ParseLD64(args, ReadResponse)
	case l.opts.MSVC:
		return driver.ParseMSVCLinker(args, ReadResponse, os.Getenv)
	}
	line := driver.ParseLinker(args, ReadResponse)
	if l.opts.Object == asm.COFF {
		line.NameMinGW()
	}
	return line
}

// addRecord adds to a link the object with the record of its bitcode.
func (l *ltoLinker) addRecord(ctx context.Context, line *driver.LinkerLine) error {
	runtime := slices.IndexFunc(line.Words, func(w driver.LinkerWord) bool { return isRuntime(&w) })
	if runtime < 0 || !l.opts.recordsUnits(driver.Toolchain{}) {
		return nil
	}
	path, err := l.bitcodeRecord(ctx, line, line.Words[runtime].Value)
	switch {
	case err != nil:
		verb.Note(&l.streams, "%s will not have the record of functions that the link removes: %v", line.Output(), err)
	case path != "":
		line.Words = append(line.Words, driver.LinkerWord{Args: []string{path}, Value: path})
	}
	return nil
}

func isRuntime(w *driver.LinkerWord) bool {
	name := filepath.Base(w.Value)
	return w.Input() && (name == archiveName || name == guestArchiveName || name == machOObject || name == coffObject)
}

// needed returns the name by which code with probes refers to the runtime.
func (l *ltoLinker) needed() string {
	tc := driver.Toolchain{Timed: l.opts.Mode.Timed(), Trace: l.opts.Mode == prof.ModeTrace}
	return tc.Needed()
}

// leaves reports whether a command line does not link a program: such output is compiled by other commands of
// the build.
func (l *ltoLinker) leaves(line *driver.LinkerLine) bool {
	if line.Has("lto-emit-asm", "lto-emit-llvm", "thinlto-index-only", "version", "v", "V", "help") || line.Apple && line.Has("r") || line.MSVC && line.Has("lldemit", "lib") {
		return true
	}
	return slices.ContainsFunc(line.Words, func(w driver.LinkerWord) bool {
		return w.Option == "plugin-opt" && (w.Value == "emit-asm" || w.Value == "emit-llvm" || strings.HasPrefix(w.Value, "thinlto-index-only")) ||
			w.Option == "lto" && strings.HasPrefix(w.Value, "emit")
	})
}

// backend returns the clang that compiles what the linker provides: the one beside it, which has the same
// version.
func (l *ltoLinker) backend() (string, error) {
	if path := clangBeside(l.real); path != "" {
		return path, nil
	}
	if l.opts.Clang != "" {
		return l.opts.Clang, nil
	}
	return "", fmt.Errorf("ld: %s: no clang beside it to compile bitcode: install the clang of that version", l.real)
}

// versionSuffix returns the -22 of ld.lld-22.
func versionSuffix(path string) string {
	if i := strings.LastIndexByte(filepath.Base(path), '-'); i >= 0 {
		return filepath.Base(path)[i:]
	}
	return ""
}

// distributes returns why lld cannot leave the compilation of modules to the distributor with the same result,
// or "".
func (l *ltoLinker) distributes(ctx context.Context, line *driver.LinkerLine, in *ltoInputs) string {
	if l.opts.Object != asm.ELF || slices.ContainsFunc(in.modules, func(m *bitcode.Module) bool { return m.Kind != bitcode.Thin }) {
		return "modules are merged"
	}
	if found := LinkerAt(ctx, l.real); found.Kind != linkorder.LLD || found.Version.Major < distributingLLD {
		return "this linker has no distributor"
	}
	for i := range line.Words {
		if w := &line.Words[i]; !w.Input() && !handedOver(w) {
			return "the distributor does not get " + w.Option
		}
	}
	return ""
}

// handedOver reports whether an option of the linker does not affect the compilation of modules, or is passed
// to its distributor.
func handedOver(w *driver.LinkerWord) bool {
	switch w.Option {
	case "mllvm", "load-pass-plugin", "pass-plugin":
		return false
	case "plugin-opt":
		for _, known := range []string{"thinlto", "mcpu=", "O", "-function-sections=", "-data-sections=", "-debugger-tune=", "jobs=", "save-temps"} {
			if strings.HasPrefix(w.Value, known) {
				return true
			}
		}
		return false
	}
	if name, ok := strings.CutPrefix(w.Option, "lto-"); ok {
		return strings.HasPrefix(name, "O") || name == "whole-program-visibility" || name == "validate-all-vtables-have-type-infos" || name == "known-safe-vtables"
	}
	return !strings.HasPrefix(w.Option, "opt-remarks")
}

// linkThin becomes lld, with the distributor. Our objects have a separate cache: the keys of lld's do not
// depend on the distributor.
func (l *ltoLinker) linkThin(ctx context.Context, line *driver.LinkerLine, clang string) error {
	args := line.Without("thinlto-cache-dir", "thinlto-distributor", "thinlto-distributor-arg", "thinlto-remote-compiler",
		"thinlto-remote-compiler-arg", "thinlto-remote-compiler-prepend-arg")
	args = append(args, "--thinlto-distributor="+filepath.Join(l.root, ltoDir, distributorName), "--thinlto-remote-compiler="+clang)
	for _, name := range []string{"thinlto-jobs", "threads"} {
		if n := line.Value(name); n != "" {
			args = append(args, "--thinlto-distributor-arg=--jobs="+n)
			break
		}
	}
	if line.Has("r", "relocatable", "i") {
		args = append(args, "--thinlto-distributor-arg=--pic")
	}
	if l.opts.Use == nil && l.opts.Mode.HasSlots() {
		buffer, err := l.orderBuffer(ctx, clang)
		if err != nil {
			return err
		}
		args = append(args, buffer)
	}
	args = l.lastFirst(line, args)
	var env []string
	if line.Value("thinlto-cache-dir") != "" {
		dir := filepath.Join(l.root, "thinlto-cache")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		args = append(args, "--thinlto-cache-dir="+dir)
		id := fmt.Sprintf("lto.%d", os.Getpid())
		env = append(env, envLTOLink+"="+id)
		if err := logEvent(buildEvent{bitcodeEvent: bitcodeEvent{LinkCache: line.Output(), LTOLink: id}}); err != nil {
			return err
		}
	}
	if isLong(args) {
		return l.runLong(ctx, args, env)
	}
	return l.become(args, env...)
}

// runLong runs the linker with a response file, which must be removed.
func (l *ltoLinker) runLong(ctx context.Context, args, env []string) error {
	tmp, err := os.MkdirTemp("", "cairn-lto-")
	if err != nil {
		return err
	}
	defer verb.Temporary.Add(tmp)()
	defer verb.RemoveAll(tmp)
	if args, err = inFile(args, tmp, false); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, l.real, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = l.streams.In, l.streams.Out, l.streams.Err
	return ChildError(cmd.Run())
}

// orderBuffer returns an object with the shared parts of a link's modules in modes with an order buffer, which
// it makes on first use.
func (l *ltoLinker) orderBuffer(ctx context.Context, clang string) (string, error) {
	path := filepath.Join(l.root, ltoDir, "order.o")
	if Exists(path) {
		return path, nil
	}
	tmp, err := os.MkdirTemp(l.root, "new-")
	if err != nil {
		return "", err
	}
	defer verb.RemoveAll(tmp)
	made := filepath.Join(tmp, "order.o")
	sh := l.assembler(clang)
	if err := sh.assemble(ctx, []string{"-o", made}, probe.OrderBuffer(l.opts.Machine, l.opts.Options)); err != nil {
		return "", err
	}
	return path, os.Rename(made, path)
}
