package toolchain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/instrument/native"
	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/verb"
)

// Exists reports whether there is a file, whatever it is.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// InstrumentFlags are the flags that cc and build share.
type InstrumentFlags struct {
	Shim ShimOptions
	use  useOptions

	// As they are spelled.
	mode, clock, tick string
	only, skip        []string
	frames            bool
}

func (f *InstrumentFlags) Register(flags *pflag.FlagSet) {
	flags.StringVar(&f.mode, "mode", "cover", "what to record: cover, block, count, full, order, block+order, spike, stacks or trace")
	flags.IntVar(&f.Shim.Slots, "order-slots", 0, "with modes order and block+order: room for the last `n` first executions; 0 for as many as there are functions")
	flags.BoolVar(&f.Shim.Atomic, "atomic", false, "count with locked instructions: exact under threads, slower")
	flags.StringArrayVar(&f.only, "only", nil, "instrument only functions whose name (mangled or demangled) or source path matches this `regexp`; repeatable")
	flags.StringArrayVar(&f.skip, "skip", nil, "leave out functions whose name or source path matches this `regexp`; repeatable")
	flags.IntVar(&f.Shim.MinInsns, "min-instructions", 0, "leave out functions with fewer than `n` instructions")
	flags.IntVar(&f.Shim.Groups, "groups", 0, "instrument a part of the functions only: share them out among `n` groups")
	flags.IntVar(&f.Shim.Group, "group", 0, "with --groups: instrument group `i`, from 0; cairn merge --join makes one profile of all")
	flags.IntVar(&f.Shim.Small, "small", DefaultSmall, "with mode spike: leave out functions with fewer than `n` instructions and no loop that call nothing that\ncan block; 0 for none")
	flags.StringVar(&f.clock, "clock", clockCoarse, "with mode spike: the clock that calls are timed by, coarse, which a thread keeps, or exact, the processor's counter, which costs more")
	flags.StringVar(&f.tick, "tick", tickThread, "with modes spike and stacks: what keeps the coarse clock while CAIRN_SPIKE does not say, thread or signal, which is timers of each thread as well")
	flags.StringVar(&f.Shim.Threshold, "threshold", "", "with mode spike: how long a call must take to be a spike while CAIRN_SPIKE does not say, such as `1ms`; 10ms if not given")
	flags.BoolVar(&f.Shim.Counts, "counts", false, "with mode stacks: count calls, and measure no time")
	flags.BoolVar(&f.Shim.Longest, "max", false, "with mode stacks: tell the longest call of each stack, too")
	flags.IntVar(&f.Shim.Depth, "depth", 0, "with modes stacks and trace: leave out calls more than `n` deep: their time is\nthat of the last function above; 0 for none")
	flags.BoolVar(&f.Shim.Flight, "flight", false, "with mode spike: record which functions were called, so that the calls before and in a spike are kept")
	flags.BoolVar(&f.frames, "frames", false, "with mode spike: for programs that count frames by CAIRN_FRAME(): a threshold of 1ms if none is given")
	flags.BoolVar(&f.Shim.Control, "control", false, "with mode spike: have the program listen to cairn spike set though CAIRN_SPIKE does not say so")
	flags.StringVar(&f.Shim.DefaultDir, "default-dir", ".", "where the program writes its raw files while CAIRN_DIR is unset; none for nowhere")
	flags.StringVar(&f.Shim.Runtime, "shared-runtime", "", "keep the runtime in a file in this `directory`, which programs map when they start, and not in each program;\nwhere it is missing they run and record nothing")
	flags.BoolVar(&f.Shim.Prove, "prove", false, "assemble each file without probes, too, and check that the code with probes does the same")
	flags.BoolVar(&f.Shim.Lenient, "lenient", false, "build what cannot be instrumented as it is, without an error")
}

// RegisterUse registers the flags of a build by a profile.
func (f *InstrumentFlags) RegisterUse(flags *pflag.FlagSet) {
	flags.StringVar(&f.use.Profile, "use", "", "build without probes, laid out by this profile, a .mip `file`")
	flags.BoolVar(&f.use.NoSplit, "no-split", false, "with --use: leave blocks that never ran where they are")
	flags.StringVar(&f.use.Algorithm, "algorithm", string(order.Startup), "with --use: how to order functions, see cairn order")
}

// Check validates what pflag cannot.
func (f *InstrumentFlags) Check(flags *pflag.FlagSet) error {
	if f.use.Profile != "" {
		return f.checkUse(flags)
	}
	for _, name := range []string{"no-split", "algorithm"} {
		if flags.Changed(name) {
			return verb.Usagef("--%s is for a build by a profile: give one with --use", name)
		}
	}
	if err := f.checkMode(); err != nil {
		return err
	}
	if err := f.checkTimed(flags); err != nil {
		return err
	}
	if err := f.checkProve(); err != nil {
		return err
	}
	if err := f.checkGroups(flags); err != nil {
		return err
	}
	if err := f.checkSharedRuntime(); err != nil {
		return err
	}
	if f.Shim.DefaultDir == "none" {
		f.Shim.DefaultDir = ""
	}
	var err error
	if f.Shim.Only, err = CompileAll(f.only); err != nil {
		return err
	}
	f.Shim.Skip, err = CompileAll(f.skip)
	return err
}

// checkUse validates the flags of a build by a profile and reads it.
func (f *InstrumentFlags) checkUse(flags *pflag.FlagSet) error {
	ofProbes := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(InstrumentFlags).Register(ofProbes)
	var err error
	ofProbes.VisitAll(func(flag *pflag.Flag) {
		if err == nil && flags.Changed(flag.Name) {
			err = verb.Usagef("--use builds without probes: --%s is for a build with them", flag.Name)
		}
	})
	if err != nil {
		return err
	}
	if !slices.Contains(order.Algorithms(), order.Algorithm(f.use.Algorithm)) {
		return verb.Usagef("--algorithm %s: there is %s", f.use.Algorithm, JoinAlgorithms())
	}
	p, err := f.use.load()
	if err != nil {
		return err
	}
	f.use.NoSplit = f.use.NoSplit || !hasBlocks(p)
	f.Shim = ShimOptions{Use: &f.use}
	return nil
}

// RunCompiler becomes the compiler, with our arguments among its own. It
// returns only if that fails.
func RunCompiler(ctx context.Context, s *verb.Streams, f InstrumentFlags, name string, args []string) error {
	os.Setenv(catch.EnvCaught, "1") // what we compile for ourselves is not for a build around us
	c, err := FindCompiler(name)
	if err != nil {
		return err
	}
	if launcherAt(c.Path) != "" {
		behind, rest, err := throughLauncher(c.Path, args)
		if err != nil {
			return err
		}
		if behind == nil {
			return become(c.Path, append([]string{name}, args...))
		}
		c, name, args = *behind, behind.Path, rest
	}
	cmd := driver.Parse(c.Family, args, ReadResponse)
	argv := append([]string{name}, args...)
	if cmd.Compiles && os.Getenv(catch.EnvLaunch) != "" {
		if err := logEvent(buildEvent{Ran: true}); err != nil {
			return err
		}
	}
	if AsksIdentity(args) {
		if err := f.tellIdentity(s, c); err != nil {
			return err
		}
		return c.become(ctx, argv, "")
	}
	check := isCheck(&cmd)
	if f.Shim.Use != nil {
		if !cmd.Compiles && !cmd.Links || check {
			return c.become(ctx, argv, "")
		}
		return useCompiler(ctx, s, c, cmd, f.Shim, argv)
	}
	if cmd.Refusal == "" && (cmd.Compiles || cmd.Links) {
		cmd.Refusal = driver.Cross(c.Path)
	}
	if cmd.Refusal == "" && cmd.Bare && f.Shim.Mode.Timed() {
		cmd.Refusal = driver.NotBare
	}
	if !cmd.Compiles && !cmd.Links && cmd.Refusal == "" {
		return c.become(ctx, argv, "")
	}
	var tc driver.Toolchain
	if cmd.Refusal == "" {
		tc, err = prepare(ctx, c, f.Shim)
	}
	var foreign foreignError
	switch {
	case errors.As(err, &foreign):
		cmd.Refusal = foreign.Error()
	case err != nil:
		return err
	}
	if cmd.Refusal != "" && check {
		return c.become(ctx, argv, "")
	}
	if cmd.Refusal != "" {
		return f.refuse(ctx, c, &cmd, argv)
	}
	if check {
		return runCheck(ctx, c, &cmd, argv, tc.Archive)
	}
	if cmd.Links && (cmd.GC || cmd.Shared) {
		if l := c.Linker(ctx, &cmd); l.Err == nil {
			cmd.Linker = l.word()
		}
	}
	if cmd.Links && cmd.Strips {
		fmt.Fprintln(s.Err, "cairn: cc: not stripping at link time, the map would be lost; run strip after cairn map")
	}
	return c.become(ctx, append(argv[:1:1], cmd.Args(args, tc)...), filepath.Dir(tc.Bin), driverEnv(cmd)...)
}

// refuse says why a command cannot be instrumented, or, if it may be built without
// probes, becomes the compiler.
func (f *InstrumentFlags) refuse(ctx context.Context, c Compiler, cmd *driver.Command, argv []string) error {
	if !f.Shim.Lenient {
		return fmt.Errorf("cc: %s; or build it uninstrumented with --lenient", cmd.Refusal)
	}
	for _, src := range cmd.Sources {
		if err := logEvent(buildEvent{Result: native.Result{Source: src}, Untouched: cmd.Refusal}); err != nil {
			return err
		}
	}
	return c.become(ctx, argv, "")
}

// driverEnv is what a driver that has our arguments hands down to the tools
// that it starts.
func driverEnv(cmd driver.Command) []string {
	var env []string
	if sources := absolute(cmd.Sources); len(sources) > 0 {
		env = append(env, envSources+"="+strings.Join(sources, "\n"))
	}
	return env
}

// become replaces the process by a program, with env added to its environment. No tool
// below it is caught by a build around us: a driver that has our arguments hands them
// down, in response files, too.
func become(path string, argv []string, env ...string) error {
	env = append(env, catch.EnvCaught+"=1")
	if err := syscall.Exec(path, argv, append(os.Environ(), env...)); err != nil {
		return fmt.Errorf("cc: running %s: %w", path, err)
	}
	return nil
}

// absolute cleans the sources' paths, so that filters see the same path
// wherever the compiler is started. A path stays relative as its user wrote
// it if the directory is unknown.
func absolute(sources []string) []string {
	out := make([]string, len(sources))
	for i, src := range sources {
		out[i] = src
		if abs, err := filepath.Abs(src); err == nil && src != "-" {
			out[i] = abs
		}
	}
	return out
}

// maxResponse bounds a response file.
const maxResponse = 64 << 20

// ReadResponse reads a response file of a command line (@file).
func ReadResponse(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if info.Size() > maxResponse {
		return "", fmt.Errorf("%s: response file of %d bytes", name, info.Size())
	}
	text, err := os.ReadFile(name)
	return string(text), err
}
