// Package toolchain has the programs that replace compilers, assemblers and linkers during a build, the cache
// of their configurations, and the runtime built for each compiler.
package toolchain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/runtime/nativert"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// ShimOptions are passed from cairn cc to the cairn that replaces the assembler. They are in a file beside it,
// so that it finds them whichever program starts it: the driver, a link-time optimiser, a compiler cache.
type ShimOptions struct {
	probe.Options
	Assembler string `json:"assembler"` // the real one
	// AssemblerArgs are set if the assembler is a compiler's driver.
	AssemblerArgs []string `json:"assembler_args,omitempty"`
	// Target are the driver's options that choose another machine than its own.
	Target []string `json:"target,omitempty"`
	// Clang is the driver if it writes text that no other assembler accepts.
	Clang   string `json:"clang,omitempty"`
	Strict  bool   `json:"strict,omitempty"`  // code that cannot get probes is an error
	Lenient bool   `json:"lenient,omitempty"` // with Prove: it is not
	Prove   bool   `json:"prove,omitempty"`   // compare each object with the plain one
	// Runtime is the directory that programs map the runtime from; "" if it is linked in.
	Runtime string `json:"runtime,omitempty"`

	Use *useOptions `json:"use,omitempty"` // no probes: build by a profile
	Map bool        `json:"map,omitempty"` // no probes: keep where blocks are
}

// shimOptionsFile is the file that makes cairn, started as "as", replace the assembler.
const shimOptionsFile = "cairn-as.json"

// Compiler is a driver's executable and what identifies its version.
type Compiler struct {
	Path   string // as found, absolute
	real   string // links resolved
	Family driver.Family
	cache  *launch // the cache through which become runs it, or nil
}

// FindCompiler finds a compiler by its name or path.
func FindCompiler(name string) (Compiler, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return Compiler{}, verb.Usagef("cc: compiler %q not found; use: cairn cc [flags] gcc -O2 -c x.c", name)
	}
	if path, err = filepath.Abs(path); err != nil {
		return Compiler{}, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil && onWindows { // which has links that no function of Go resolves
		real, err = path, nil
	}
	if err != nil {
		return Compiler{}, err
	}
	return Compiler{Path: path, real: real, Family: driver.FamilyOf(path, real)}, nil
}

// prepare returns the toolchain for a compiler, options and a target, which it builds
// on first use.
func prepare(ctx context.Context, c Compiler, opts ShimOptions, target []string) (driver.Toolchain, error) {
	opts.Target = target
	dir, err := Cached("", "the runtime for "+c.Path, c, opts, func(tmp, self string) error {
		return fillToolchain(ctx, tmp, self, c, opts)
	})
	if err != nil {
		if ctx.Err() == nil && c.target(ctx, target) == "" {
			err = verb.Usagef("cc: %s is not a compiler with the options of gcc and clang: it names no machine (-dumpmachine), and does not compile C", filepath.Base(c.Path))
		}
		return driver.Toolchain{}, err
	}
	tc := driver.Toolchain{
		Bin:     filepath.Join(dir, "bin"),
		Include: filepath.Join(dir, "include"),
		Archive: filepath.Join(dir, archiveName),
		Hidden:  filepath.Join(dir, hiddenFile),
		Timed:   opts.Mode.Timed(),
		Trace:   opts.Mode == prof.ModeTrace,
		Marks:   opts.Mode == prof.ModeSpike,
		Apart:   readApart(dir),
	}
	if err := usable(tc.Bin); err != nil {
		return tc, fmt.Errorf("the cached runtime for %s is damaged: %w; remove %s or set CAIRN_CACHE", c.Path, err, dir)
	}
	tc.Musl, tc.Android = Exists(filepath.Join(dir, muslFile)), Exists(filepath.Join(dir, androidFile))
	if guest := filepath.Join(dir, guestArchiveName); Exists(guest) {
		tc.Guest, tc.Loads = guest, opts.Runtime != ""
	}
	if object := filepath.Join(dir, machOObject); Exists(object) {
		tc.Object, tc.Archive = asm.MachO, object
		return tc, nil
	}
	if object := filepath.Join(dir, coffObject); Exists(object) {
		tc.Object, tc.Archive, tc.Script = asm.COFF, object, filepath.Join(dir, nativert.COFFScript)
		tc.MSVC, err = readProper(dir)
		return tc, err
	}
	for _, o := range opts.lastObjects(false) {
		tc.Last = append(tc.Last, filepath.Join(dir, o.Name))
	}
	if opts.Runtime != "" {
		return tc, placeRuntime(dir, opts.Runtime)
	}
	return tc, nil
}

// usable checks for an error that a driver would not report: without our assembler in bin, it uses the
// system's.
func usable(bin string) error {
	if _, err := os.Stat(verb.Executable(filepath.Join(bin, "as"))); err != nil {
		return err
	}
	options, err := os.Open(filepath.Join(bin, shimOptionsFile))
	if err != nil {
		return err
	}
	return options.Close()
}

const (
	archiveName      = "libcairn.a"
	guestArchiveName = "libcairn-guest.a" // of libraries
	// One of these exists if the compiler's C library is musl, or Android's.
	muslFile, androidFile = "musl", "android"
	// hiddenFile is a version script of what stays inside a shared object.
	hiddenFile = "hidden.map"
	// machOObject is the runtime for Mach-O, coffObject that for Windows.
	machOObject = "cairn.o"
	coffObject  = "cairn.obj"
)

// target asks the driver which machine and system it makes code for with some options; ""
// if it does not say.
func (c Compiler) target(ctx context.Context, options []string) string {
	out, err := exec.CommandContext(ctx, c.Path, append(slices.Clone(options), "-dumpmachine")...).Output()
	target := strings.TrimSpace(string(out))
	if err != nil || strings.ContainsAny(target, " \t\n") { // a program that is no driver prints its help
		return ""
	}
	return target
}

// Machine returns the machine that the command makes code for.
func (c Compiler) Machine(ctx context.Context, cmd *driver.Command) machine.Kind {
	return driver.MachineOf(c.target(ctx, cmd.Target))
}

// MakesMachO reports whether the command makes Mach-O files.
func (c Compiler) MakesMachO(ctx context.Context, cmd *driver.Command) bool {
	return driver.ObjectOf(c.target(ctx, cmd.Target)) == asm.MachO
}

// foreignError is why a compiler for another machine is refused.
type foreignError string

func (e foreignError) Error() string { return string(e) }

// toolchainKey names a toolchain by everything that it depends on.
func toolchainKey(self string, c Compiler, opts ShimOptions) (string, error) {
	h := sha256.New()
	for _, path := range []string{self, c.real} {
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
	}
	fmt.Fprintln(h, c.Path)
	if err := json.NewEncoder(h).Encode(opts); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

// Cached returns the directory of the cache for a compiler and options. If it does not exist, fill fills it;
// self is this program.
func Cached(prefix, what string, c Compiler, opts ShimOptions, fill func(tmp, self string) error) (dir string, err error) {
	self, err := ourPath()
	if err != nil {
		return "", err
	}
	cache, err := verb.CacheDir()
	if err != nil {
		return "", err
	}
	key, err := toolchainKey(self, c, opts)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(cache, prefix+key)
	if Exists(dir) {
		return dir, nil
	}
	if err := fillCache(dir, func(tmp string) error {
		if err := writeIdentity(tmp, filepath.Base(dir)); err != nil {
			return err
		}
		return fill(tmp, self)
	}); err != nil {
		return "", fmt.Errorf("preparing %s: %w", what, err)
	}
	return dir, nil
}

// identityFile is in each directory whose name identifies a configuration, and contains that name: compiler
// caches can use either.
const identityFile = "identity"

func writeIdentity(dir, name string) error {
	return os.WriteFile(filepath.Join(dir, identityFile), []byte(name+"\n"), 0o644)
}

func identity(dir string) (key, file string) {
	return "cairn-" + filepath.Base(dir), filepath.Join(dir, identityFile)
}

// fillCache calls fill with a temporary directory and renames that to dir. In a race, all use the first one's.
func fillCache(dir string, fill func(tmp string) error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "new-")
	if err != nil {
		return err
	}
	defer verb.Temporary.Add(tmp)()
	defer verb.RemoveAll(tmp)
	if err := fill(tmp); err != nil {
		return err
	}
	// A cache may be shared; MkdirTemp makes directories for one user.
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if os.Rename(tmp, dir) == nil || Exists(dir) { // another process was faster
		return nil
	}
	if err := verb.Replace(tmp, dir); err != nil && !Exists(dir) { // on Windows something may have a file of it open
		return err
	}
	return nil
}

// fillToolchain puts the stand-in for the assembler, the header and the runtime
// into tmp.
func fillToolchain(ctx context.Context, tmp, self string, c Compiler, opts ShimOptions) error {
	target := c.target(ctx, opts.Target)
	if why := driver.Foreign(target); why != "" {
		return foreignError(why)
	}
	opts.Machine = driver.MachineOf(target)
	opts.Object, opts.MSVC = driver.ObjectOf(target), driver.IsMSVC(target)
	opts.Android = driver.IsAndroid(target)
	if why := opts.lacks(c, target); why != "" {
		return foreignError(why)
	}
	if err := opts.findAssembler(ctx, c, self); err != nil {
		return err
	}
	if err := opts.writeBinutils(ctx, tmp, c); err != nil {
		return err
	}
	for _, sub := range []string{"bin", "include"} {
		if err := os.Mkdir(filepath.Join(tmp, sub), 0o755); err != nil {
			return err
		}
	}
	if err := writeShim(filepath.Join(tmp, "bin"), self, opts); err != nil {
		return err
	}
	if err := opts.writeAround(ctx, filepath.Join(tmp, "bin"), self, c); err != nil {
		return err
	}
	if err := opts.writeProper(ctx, tmp, self, c); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, "include", "cairn.h"), nativert.Header(), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, hiddenFile), nativert.Hidden(), 0o644); err != nil {
		return err
	}
	// musl-gcc, a glibc gcc in disguise, has it in its name only.
	if strings.Contains(filepath.Base(c.Path), "musl") || strings.Contains(target, "musl") {
		if err := os.WriteFile(filepath.Join(tmp, muslFile), nil, 0o644); err != nil {
			return err
		}
	}
	if opts.Android {
		if err := os.WriteFile(filepath.Join(tmp, androidFile), nil, 0o644); err != nil {
			return err
		}
	}
	if c.writesRemarks(ctx, &opts) {
		if err := os.WriteFile(filepath.Join(tmp, remarksFile), nil, 0o644); err != nil {
			return err
		}
	}
	if err := opts.writeApart(ctx, tmp, c); err != nil {
		return err
	}
	return withSources(tmp, func(src sources) error { return buildRuntime(ctx, tmp, src, c, opts) })
}

// lacks returns a requested feature that the machine does not have, or "".
func (o *ShimOptions) lacks(c Compiler, target string) string {
	switch {
	case o.Mode.HasEdges() && !probe.SupportsEdges(&o.Options):
		return fmt.Sprintf("mode %v supports x86-64 and AArch64 ELF only: use mode full, which records which blocks ran", o.Mode)
	case o.Object == asm.MachO:
		return o.machOLacks(c)
	case o.Object == asm.COFF:
		return o.coffLacks()
	case o.Android:
		return o.androidLacks(target)
	case o.Machine == machine.X86_64:
		return ""
	case o.Prove:
		return "--prove supports x86-64 only"
	case o.Machine != machine.Arm:
		return ""
	case o.Mode.Timed() && o.Runtime != "":
		return fmt.Sprintf("--shared-runtime of mode %v supports x86-64 and AArch64 only", o.Mode)
	case o.Exact:
		return "--clock exact supports x86-64 and AArch64 only: programs for Armv7 cannot read a counter of the processor"
	case o.Flight:
		return "--flight supports x86-64 and AArch64 only: for Armv7 use mode trace, whose log has all calls"
	}
	return ""
}

// findAssembler records the assembler: that of the driver, or, if clang makes code for another machine than
// x86-64, clang itself. The binutils of that machine may be missing, or too old for clang's output.
func (o *ShimOptions) findAssembler(ctx context.Context, c Compiler, self string) (err error) {
	if c.Family == driver.Clang {
		o.Clang = c.Path
	}
	if c.Family == driver.Clang && (o.Machine != machine.X86_64 || o.Object != asm.ELF) {
		o.Assembler = c.Path
		o.AssemblerArgs = append(slices.Clone(o.Target), "-c", "-x", "assembler", "-Wno-unused-command-line-argument")
		return nil
	}
	if o.Assembler, err = realAssembler(ctx, c, self); err != nil {
		return err
	}
	o.Lineless, err = keepsLineless(ctx, o.Assembler)
	return err
}

// tool returns the path of a program of binutils for the driver's output. If clang makes code for another
// machine and there is none for that, it is the host's: LLVM's handle all machines.
func (c Compiler) tool(ctx context.Context, options []string, name string) string {
	path := c.programOf(ctx, options, name)
	if c.Family == driver.Clang && driver.ToolName(path) == name && !isHost(driver.MachineOf(c.target(ctx, options))) {
		if other := c.programOf(ctx, options, "llvm-"+name); filepath.IsAbs(other) {
			return other
		}
	}
	return path
}

// isHost reports whether m is the machine that cairn runs on.
func isHost(m machine.Kind) bool {
	return m == map[string]machine.Kind{"amd64": machine.X86_64, "arm64": machine.AArch64}[runtime.GOARCH]
}

// programOf asks the driver where it finds a program; name if it does not find it.
func (c Compiler) programOf(ctx context.Context, options []string, name string) string {
	out, err := exec.CommandContext(ctx, c.Path, append(slices.Clone(options), "-print-prog-name="+name)...).Output()
	if path := strings.TrimSpace(string(out)); err == nil && path != "" {
		if _, err := exec.LookPath(path); err == nil {
			return path
		}
	}
	return name
}

// realAssembler asks the driver for its assembler.
func realAssembler(ctx context.Context, c Compiler, self string) (string, error) {
	path, err := exec.LookPath(c.tool(ctx, nil, "as"))
	if err == nil && Exists(filepath.Join(filepath.Dir(path), wrapperFile)) {
		path, err = RealTool(driver.ToolName(path))
	}
	if err != nil {
		return "", fmt.Errorf("no assembler found; install binutils: %w", err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil && sameFile(real, self) {
		return "", errors.New("the compiler's assembler is cairn itself; do not put cairn's directory on PATH")
	}
	return path, nil
}

// buildRuntime compiles the runtime and archives it, in a timed mode with that
// of the clock.
func buildRuntime(ctx context.Context, tmp string, src sources, c Compiler, opts ShimOptions) error {
	switch opts.Object {
	case asm.MachO:
		return buildMachO(ctx, tmp, src, c, opts)
	case asm.COFF:
		return buildCOFF(ctx, tmp, src, c, opts)
	}
	// A C++ or Fortran driver compiles C as well, if the file's name ends in .c.
	var members []string
	target, flags := nativert.X86_64, opts.Target
	switch opts.Machine {
	case machine.AArch64:
		target = nativert.AArch64
	case machine.Arm:
		target = nativert.Arm
	}
	build := runtimeBuild{src, c, target, opts}
	objects := nativert.Objects(target, opts.DefaultDir)
	if opts.Runtime != "" && !opts.Mode.Timed() {
		var err error
		if objects, err = build.image(ctx, tmp); err != nil {
			return err
		}
	}
	if err := compileObjects(ctx, src, c, append(slices.Clone(flags), nativert.Flags(target)...), objects...); err != nil {
		return err
	}
	members = append(members, names(objects)...)
	if err := build.addLast(ctx, tmp); err != nil {
		return err
	}
	if opts.Mode.Timed() {
		objects = nativert.TimedObjects(target, opts.Options)
		if opts.Mode == prof.ModeTrace {
			objects = nativert.TraceObjects(target, opts.DefaultDir, opts.Depth)
		}
		if opts.Mode == prof.ModeSpike && target == nativert.X86_64 { // hooks are code of that machine
			objects = append(objects, nativert.HookObjects()...)
		}
		err := compileObjects(ctx, src, c, append(slices.Clone(flags), nativert.TimedFlags(target)...), objects...)
		if err != nil {
			return err
		}
		members = append(members, names(objects)...)
		if opts.Android || opts.Machine == machine.Arm { // libraries have the runtime themselves, or that of the executable
			return build.archive(ctx, filepath.Join(tmp, archiveName), members)
		}
		if members, err = build.addHost(ctx, tmp, members); err != nil {
			return err
		}
	}
	return build.archive(ctx, filepath.Join(tmp, archiveName), members)
}

// archive makes an archive of objects.
func (b runtimeBuild) archive(ctx context.Context, path string, members []string) error {
	cmd := exec.CommandContext(ctx, b.compiler.tool(ctx, b.opts.Target, "ar"), append([]string{"rcs", path}, members...)...)
	cmd.Dir = b.src.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ar: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}
