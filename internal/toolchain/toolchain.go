// Package toolchain has the programs that stand in for compilers, assemblers and linkers
// during a build, the cache of what they are set up with, and the runtime built for each
// compiler.
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
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/instrument/nativert"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// ShimOptions are what cairn cc tells the cairn that stands in for the
// assembler. They lie in a file beside it, so that they reach it whoever
// starts it: the driver, a link-time optimiser, a compiler cache.
type ShimOptions struct {
	Assembler string   `json:"assembler"` // the real one
	Mode      string   `json:"mode"`
	Atomic    bool     `json:"atomic,omitempty"`
	Only      []string `json:"only,omitempty"`
	Skip      []string `json:"skip,omitempty"`
	MinInsns  int      `json:"min_instructions,omitempty"`
	Groups    int      `json:"groups,omitempty"` // of functions, of which one is instrumented
	Group     int      `json:"group,omitempty"`  // that one, from 0
	Lenient   bool     `json:"lenient,omitempty"`
	Prove     bool     `json:"prove,omitempty"` // hold each object against the plain one
	Small     int      `json:"small,omitempty"` // timed modes leave out smaller functions without a loop
	Threshold string   `json:"threshold,omitempty"`
	Control   bool     `json:"control,omitempty"` // of mode spike: programs have a control socket
	Flight    bool     `json:"flight,omitempty"`  // of mode spike: threads record their calls
	Counts    bool     `json:"counts,omitempty"`  // of mode stacks: no times
	Longest   bool     `json:"longest,omitempty"` // of mode stacks: the longest call of each stack
	Depth     int      `json:"depth,omitempty"`   // of modes stacks and trace: deeper calls are not told apart
	Clock     string   `json:"clock,omitempty"`   // of mode spike: exact, or coarse if empty
	Tick      string   `json:"tick,omitempty"`    // of modes spike and stacks: signal, or thread if empty
	// OrderSlots is a power of two, or 0 for a slot for each function.
	OrderSlots int `json:"order_slots,omitempty"`
	// Runtime is the directory that programs map the runtime from; "" if it is linked in.
	Runtime string `json:"runtime,omitempty"`

	Use *useOptions `json:"use,omitempty"` // no probes: build by a profile
}

// Timed reports whether the mode is one that measures time.
func (o *ShimOptions) Timed() bool {
	mode, _ := prof.ParseMode(o.Mode)
	return mode.Timed()
}

// spikes reports whether the mode is the one that looks for spikes.
func (o *ShimOptions) spikes() bool { return o.Mode == prof.ModeSpike.String() }

// stacks reports whether the mode is the one that adds calls up by stack.
func (o *ShimOptions) stacks() bool { return o.Mode == prof.ModeStacks.String() }

// exact reports whether calls are timed by the processor's counter.
func (o *ShimOptions) exact() bool { return o.Clock == clockExact }

// traces reports whether the mode is the one that logs all calls.
func (o *ShimOptions) traces() bool { return o.Mode == prof.ModeTrace.String() }

// shimOptionsFile is the file that tells cairn, called as, that it is to
// stand in for the assembler.
const shimOptionsFile = "cairn-as.json"

// Compiler is a driver's executable and what identifies its version.
type Compiler struct {
	Path   string // as found, absolute
	real   string // links resolved
	Family driver.Family
	cache  *launch // what it is run through by become, or nil
}

// FindCompiler finds a compiler by its name or path.
func FindCompiler(name string) (Compiler, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return Compiler{}, verb.Usagef("cc: no compiler %q found; write: cairn cc [flags] gcc -O2 -c x.c", name)
	}
	if path, err = filepath.Abs(path); err != nil {
		return Compiler{}, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Compiler{}, err
	}
	return Compiler{Path: path, real: real, Family: driver.FamilyOf(path, real)}, nil
}

// prepare returns the toolchain for a compiler and options, which it builds
// on first use.
func prepare(ctx context.Context, c Compiler, opts ShimOptions, defaultDir string) (driver.Toolchain, error) {
	dir, err := Cached("", "the runtime for "+c.Path, c, opts, defaultDir, func(tmp, self string) error {
		return fillToolchain(ctx, tmp, self, c, opts, defaultDir)
	})
	if err != nil {
		return driver.Toolchain{}, err
	}
	tc := driver.Toolchain{
		Bin:     filepath.Join(dir, "bin"),
		Include: filepath.Join(dir, "include"),
		Archive: filepath.Join(dir, "libcairn.a"),
		Hidden:  filepath.Join(dir, hiddenFile),
		Timed:   opts.Timed(),
		Trace:   opts.traces(),
	}
	if err := usable(tc.Bin); err != nil {
		return tc, fmt.Errorf("the runtime for %s in the cache is of no use: %w; remove %s or set CAIRN_CACHE", c.Path, err, dir)
	}
	tc.Musl = Exists(filepath.Join(dir, muslFile))
	if opts.Runtime != "" {
		return tc, placeRuntime(dir, opts.Runtime)
	}
	return tc, nil
}

// usable checks what a driver would pass over in silence: without our
// assembler in bin, it takes the system's.
func usable(bin string) error {
	if _, err := os.Stat(filepath.Join(bin, "as")); err != nil {
		return err
	}
	options, err := os.Open(filepath.Join(bin, shimOptionsFile))
	if err != nil {
		return err
	}
	return options.Close()
}

const (
	// muslFile is there if the compiler's C library is musl.
	muslFile = "musl"
	// hiddenFile is a version script of what stays inside a shared object.
	hiddenFile = "hidden.map"
)

// target asks the driver which machine and system it makes code for; "" if it does
// not say.
func (c Compiler) target(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, c.Path, "-dumpmachine").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// foreignError is why a compiler for another machine is refused.
type foreignError string

func (e foreignError) Error() string { return string(e) }

// toolchainKey names a toolchain by everything that it depends on.
func toolchainKey(self string, c Compiler, opts ShimOptions, defaultDir string) (string, error) {
	h := sha256.New()
	for _, path := range []string{self, c.real} {
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
	}
	fmt.Fprintf(h, "%s %q\n", c.Path, defaultDir)
	if err := json.NewEncoder(h).Encode(opts); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

// Cached returns the directory of the cache for a compiler and options. If it
// is not there, fill fills it with what it is for; self is this program.
func Cached(prefix, what string, c Compiler, opts ShimOptions, defaultDir string, fill func(tmp, self string) error) (dir string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cache, err := verb.CacheDir()
	if err != nil {
		return "", err
	}
	key, err := toolchainKey(self, c, opts, defaultDir)
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

// identityFile is in each directory whose name stands for a configuration, and has that
// name as its content: caches of compilers can be told of one or the other.
const identityFile = "identity"

func writeIdentity(dir, name string) error {
	return os.WriteFile(filepath.Join(dir, identityFile), []byte(name+"\n"), 0o644)
}

func identity(dir string) (key, file string) {
	return "cairn-" + filepath.Base(dir), filepath.Join(dir, identityFile)
}

// fillCache has fill fill a temporary directory and renames it to dir. Whoever
// loses a race finds the winner's.
func fillCache(dir string, fill func(tmp string) error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "new-")
	if err != nil {
		return err
	}
	defer verb.Temporary.Add(tmp)()
	defer os.RemoveAll(tmp)
	if err := fill(tmp); err != nil {
		return err
	}
	// A cache may be shared; MkdirTemp makes directories for one user.
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil && !Exists(dir) {
		return err
	}
	return nil
}

// fillToolchain puts the stand-in for the assembler, the header and the runtime
// into tmp.
func fillToolchain(ctx context.Context, tmp, self string, c Compiler, opts ShimOptions, defaultDir string) error {
	target := c.target(ctx)
	if why := driver.Foreign(target); why != "" {
		return foreignError(why)
	}
	var err error
	if opts.Assembler, err = realAssembler(ctx, c, self); err != nil {
		return err
	}
	for _, sub := range []string{"bin", "include", "src"} {
		if err := os.Mkdir(filepath.Join(tmp, sub), 0o755); err != nil {
			return err
		}
	}
	if err := writeShim(filepath.Join(tmp, "bin"), self, opts); err != nil {
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
	return buildRuntime(ctx, tmp, c, opts, defaultDir)
}

// realAssembler asks the driver for its assembler.
func realAssembler(ctx context.Context, c Compiler, self string) (string, error) {
	out, err := exec.CommandContext(ctx, c.Path, "-print-prog-name=as").Output()
	if err != nil {
		return "", fmt.Errorf("asking it for its assembler: %w", err)
	}
	path, err := exec.LookPath(strings.TrimSpace(string(out)))
	if err != nil {
		return "", fmt.Errorf("no assembler found; install binutils: %w", err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil && real == self {
		return "", errors.New("its assembler is cairn already; do not put cairn's directory on PATH")
	}
	return path, nil
}

// buildRuntime compiles the runtime and archives it, in a timed mode with that
// of the clock.
func buildRuntime(ctx context.Context, tmp string, c Compiler, opts ShimOptions, defaultDir string) error {
	src := filepath.Join(tmp, "src")
	for _, f := range nativert.Sources() {
		if err := os.WriteFile(filepath.Join(src, f.Name), f.Data, 0o644); err != nil {
			return err
		}
	}
	// A C++ or Fortran driver compiles C as well, if the file says so.
	members := []string{"rcs", filepath.Join(tmp, "libcairn.a")}
	objects := nativert.Objects(defaultDir)
	if opts.Runtime != "" {
		path, err := buildImage(ctx, tmp, src, c, opts.Runtime, defaultDir)
		if err != nil {
			return err
		}
		objects = nativert.MappedObjects(path)
	}
	for _, o := range objects {
		if err := compileObject(ctx, src, c, nativert.Flags, o); err != nil {
			return err
		}
		members = append(members, o.Name)
	}
	if opts.Timed() {
		mode, _ := prof.ParseMode(opts.Mode)
		objects = nativert.TimedObjects(nativert.TimedOptions{Dir: defaultDir, Threshold: opts.Threshold, Control: opts.Control, Mode: mode, Flight: opts.Flight, Counts: opts.Counts, Depth: opts.Depth, Exact: opts.exact(), Signals: opts.Tick == tickSignal})
		if opts.traces() {
			objects = nativert.TraceObjects(defaultDir, opts.Depth)
		}
		if opts.spikes() {
			objects = append(objects, nativert.HookObjects()...)
		}
		for _, o := range objects {
			if err := compileObject(ctx, src, c, nativert.TimedFlags, o); err != nil {
				return err
			}
			members = append(members, o.Name)
		}
	}
	cmd := exec.CommandContext(ctx, "ar", members...)
	cmd.Dir = src
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ar: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}
