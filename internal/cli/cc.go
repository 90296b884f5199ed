package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/instrument/native"
	"github.com/cairnprof/cairn/internal/layout/order"
)

// instrumentFlags are the flags that cc and build share.
type instrumentFlags struct {
	shim       shimOptions
	use        useOptions
	defaultDir string
	frames     bool
}

func (f *instrumentFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.shim.Mode, "mode", "cover", "what to record: cover, block, count, full, order, block+order, spike, stacks or trace")
	flags.IntVar(&f.shim.OrderSlots, "order-slots", 0, "with modes order and block+order: room for the last `n` first executions; 0 for as many as there are functions")
	flags.BoolVar(&f.shim.Atomic, "atomic", false, "count with locked instructions: exact under threads, slower")
	flags.StringArrayVar(&f.shim.Only, "only", nil, "instrument only functions whose name (mangled or demangled) or source path matches this `regexp`; repeatable")
	flags.StringArrayVar(&f.shim.Skip, "skip", nil, "leave out functions whose name or source path matches this `regexp`; repeatable")
	flags.IntVar(&f.shim.MinInsns, "min-instructions", 0, "leave out functions with fewer than `n` instructions")
	flags.IntVar(&f.shim.Groups, "groups", 0, "instrument a part of the functions only: share them out among `n` groups")
	flags.IntVar(&f.shim.Group, "group", 0, "with --groups: instrument group `i`, from 0; cairn merge --join makes one profile of all")
	flags.IntVar(&f.shim.Small, "small", defaultSmall, "with mode spike: leave out functions with fewer than `n` instructions and no loop that call nothing that\ncan block; 0 for none")
	flags.StringVar(&f.shim.Clock, "clock", clockCoarse, "with mode spike: the clock that calls are timed by, coarse, which a thread keeps, or exact, the processor's counter, which costs more")
	flags.StringVar(&f.shim.Tick, "tick", tickThread, "with modes spike and stacks: what keeps the coarse clock while CAIRN_SPIKE does not say, thread or signal, which is timers of each thread as well")
	flags.StringVar(&f.shim.Threshold, "threshold", "", "with mode spike: how long a call must take to be a spike while CAIRN_SPIKE does not say, such as `1ms`; 10ms if not given")
	flags.BoolVar(&f.shim.Counts, "counts", false, "with mode stacks: count calls, and measure no time")
	flags.BoolVar(&f.shim.Longest, "max", false, "with mode stacks: tell the longest call of each stack, too")
	flags.IntVar(&f.shim.Depth, "depth", 0, "with modes stacks and trace: leave out calls more than `n` deep: their time is\nthat of the last function above; 0 for none")
	flags.BoolVar(&f.shim.Flight, "flight", false, "with mode spike: record which functions were called, so that the calls before and in a spike are kept")
	flags.BoolVar(&f.frames, "frames", false, "with mode spike: for programs that count frames by CAIRN_FRAME(): a threshold of 1ms if none is given")
	flags.BoolVar(&f.shim.Control, "control", false, "with mode spike: have the program listen to cairn spike set though CAIRN_SPIKE does not say so")
	flags.StringVar(&f.defaultDir, "default-dir", ".", "where the program writes its raw files while CAIRN_DIR is unset; none for nowhere")
	flags.StringVar(&f.shim.Runtime, "shared-runtime", "", "keep the runtime in a file in this `directory`, which programs map when they start, and not in each program;\nwhere it is missing they run and record nothing")
	flags.BoolVar(&f.shim.Prove, "prove", false, "assemble each file without probes, too, and check that the code with probes does the same")
	flags.BoolVar(&f.shim.Lenient, "lenient", false, "build what cannot be instrumented as it is, without an error")
}

// registerUse registers the flags of a build by a profile.
func (f *instrumentFlags) registerUse(flags *pflag.FlagSet) {
	flags.StringVar(&f.use.Profile, "use", "", "build without probes, laid out by this profile, a .mip `file`")
	flags.BoolVar(&f.use.NoSplit, "no-split", false, "with --use: leave blocks that never ran where they are")
	flags.StringVar(&f.use.Algorithm, "algorithm", string(order.Startup), "with --use: how to order functions, see cairn order")
}

// check validates what pflag cannot.
func (f *instrumentFlags) check(flags *pflag.FlagSet) error {
	if f.use.Profile != "" {
		return f.checkUse(flags)
	}
	for _, name := range []string{"no-split", "algorithm"} {
		if flags.Changed(name) {
			return usagef("--%s is for a build by a profile: give one with --use", name)
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
	for _, patterns := range [][]string{f.shim.Only, f.shim.Skip} {
		if _, err := compileAll(patterns); err != nil {
			return err
		}
	}
	if f.defaultDir == "none" {
		f.defaultDir = ""
	}
	return nil
}

// checkUse validates the flags of a build by a profile and reads it.
func (f *instrumentFlags) checkUse(flags *pflag.FlagSet) error {
	for _, name := range []string{"mode", "atomic", "order-slots", "only", "skip", "min-instructions", "groups", "group", "small", "threshold", "clock", "tick", "frames", "control", "flight", "counts", "max", "depth", "default-dir", "shared-runtime", "prove", "lenient"} {
		if flags.Changed(name) {
			return usagef("--use builds without probes: --%s is for a build with them", name)
		}
	}
	if !slices.Contains(order.Algorithms(), order.Algorithm(f.use.Algorithm)) {
		return usagef("--algorithm %s: there is %s", f.use.Algorithm, joinAlgorithms())
	}
	p, err := f.use.load()
	if err != nil {
		return err
	}
	f.use.NoSplit = f.use.NoSplit || !hasBlocks(p)
	f.shim = shimOptions{Use: &f.use}
	return nil
}

func newCCCmd(s *Streams) *cobra.Command {
	var f instrumentFlags
	c := &cobra.Command{
		Use:   "cc [flags] COMPILER ARGS...",
		Short: "Run a compiler, with probes or by a profile",
		Long: `cc runs a compiler driver (gcc, g++, gfortran, clang, clang++) with its own
arguments. The assembly that the compiler makes gets probes on its way to the
assembler; a link gets the runtime. Everything else is passed on as it is.

The modes:
  cover   which functions ran: 7 bytes of code per function
  block   which basic blocks ran
  count   how often each function was called, and in which order first
  full    count, block, and who called first
  order   cover, and in which order functions were first executed
  block+order
          block, and the same order
  spike   calls that took long, with the stack they were in and what they waited
          for: a log for cairn spikes
  stacks  the calls of each stack and their time, added up while the program
          runs: a small log for the same verbs as trace, without single calls
  trace   every call, its start and its end: a log for cairn stacks, account,
          graph, flame, query and convert
count and full record that order in any case: count+order is count, full+order
is full. In modes order and block+order, --order-slots says how many first
executions a run can tell; with fewer slots than functions, the oldest give way.

The program makes a raw file per module and process, which is its memory:
  CAIRN_DIR=DIR           the directory for raw files, made if missing
  CAIRN_CONTINUOUS=0      it is written at exit, and lost by those that end without
                          C's exit (kill, _exit, Go)
  CAIRN_SIGNAL=N          write the files on signal number N as well
  CAIRN_SCENARIO=NAME     what the run is about: it is kept with its order
A program can ask for it: #include <cairn.h>, cairn_dump(), cairn_reset().
CAIRN_SKIP in front of a function leaves it out.

The runtime is 4.5 KB in each program. With --shared-runtime DIR it is a file in
DIR, written by this command, which programs map when they start; they grow by
0.7 KB. The path is in them as it is at the build: bring the file along to where
they run. A program that does not find it runs as ever and records nothing. The
name has a digest of the content, so one program never gets the runtime of another
version. Who may write the file may run code in the programs. Modes that measure
time have their runtime linked in.

In mode spike every call's start and end is looked at, by a clock that a thread
of the program keeps. Functions with fewer than --small instructions and no loop
are left alone, and so are those whose ends are not understood: cairn build
lists them. The program writes its log while it runs, kill -9 or not:
  CAIRN_SPIKE=WORD,...    threshold=5ms, stderr, off and more, see cairn spikes
The clock is kept by a thread, which may be late where processors are crowded. With
--tick signal each thread keeps it as well, by a timer whose signal comes before the
thread goes on; sleeps and polls of the program then end early now and then.
With --clock exact each call reads the processor's counter. Durations are known to
some tens of nanoseconds then, and thresholds may be as low as 2us, but a program of
short calls takes several times as long.

With --flight each thread records its calls, as many as fit in 8 MB, and those
before and in a spike are kept with it; CAIRN_SPIKE=flight=16MB keeps more.

In mode stacks each thread keeps a tree of its calls, which goes to the log each
second and at the end. The environment is that of mode spike. --counts leaves
out the time of calls, --max adds the longest call of each stack.

In mode trace every start and end of a call is an event in the log, with the time
of such a clock. Each thread writes its own part of the log, kill -9 or not:
  CAIRN_TRACE=WORD,...    size=16MB keeps the last so many; file keeps all;
                          period=1ms is how often the clock moves; off

With --prove each file is assembled without probes as well, and the two objects
are held against each other: the same instructions but for the probes, and probes
that leave registers, flags and the stack as the code behind them needs them. An
object that differs is removed, and the exit code is 1.

With --use nothing is instrumented: functions are laid out in the order that
the profile gives (see cairn order), for whichever linker is in use, and blocks
that never ran are moved out of those that did, if the profile tells of blocks
(modes block, full and block+order). Functions whose shape has changed since are
left as they are. Use the same compiler and flags as for the profile.`,
		Example: `  cairn cc gcc -O2 -g -o app app.c
  make CC="cairn cc --mode full gcc"
  cairn cc --use app.mip gcc -O2 -g -o app app.c
  cmake -DCMAKE_C_COMPILER_LAUNCHER="cairn;cc" -DCMAKE_C_LINKER_LAUNCHER="cairn;cc" ..
  CC="cairn cc gcc" go build -ldflags=-extldflags=-no-pie`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("cc: no compiler given; write: cairn cc [flags] gcc -O2 -c x.c")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(c.Flags()); err != nil {
				return err
			}
			return runCompiler(c.Context(), s, f, args[0], args[1:])
		},
	}
	c.Flags().SetInterspersed(false)
	f.register(c.Flags())
	f.registerUse(c.Flags())
	return c
}

// runCompiler becomes the compiler, with our arguments among its own. It
// returns only if that fails.
func runCompiler(ctx context.Context, s *Streams, f instrumentFlags, name string, args []string) error {
	os.Setenv(catch.EnvCaught, "1") // what we compile for ourselves is not for a build around us
	c, err := findCompiler(name)
	if err != nil {
		return err
	}
	if launcherAt(c.path) != "" {
		behind, rest, err := throughLauncher(c.path, args)
		if err != nil {
			return err
		}
		if behind == nil {
			return become(c.path, append([]string{name}, args...))
		}
		c, name, args = *behind, behind.path, rest
	}
	cmd := driver.Parse(c.family, args, readResponse)
	argv := append([]string{name}, args...)
	if cmd.Compiles && os.Getenv(catch.EnvLaunch) != "" {
		if err := logEvent(buildEvent{Ran: true}); err != nil {
			return err
		}
	}
	if asksIdentity(args) {
		if err := f.tellIdentity(s, c); err != nil {
			return err
		}
		return c.become(ctx, argv, "")
	}
	check := isCheck(&cmd)
	if f.shim.Use != nil {
		if !cmd.Compiles && !cmd.Links || check {
			return c.become(ctx, argv, "")
		}
		return useCompiler(ctx, s, c, cmd, f.shim, argv)
	}
	if cmd.Refusal == "" && (cmd.Compiles || cmd.Links) {
		cmd.Refusal = driver.Cross(c.path)
	}
	if cmd.Refusal == "" && cmd.Bare && f.shim.timed() {
		cmd.Refusal = driver.NotBare
	}
	if !cmd.Compiles && !cmd.Links && cmd.Refusal == "" {
		return c.become(ctx, argv, "")
	}
	var tc driver.Toolchain
	if cmd.Refusal == "" {
		tc, err = prepare(ctx, c, f.shim, f.defaultDir)
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
		if l := c.linker(ctx, &cmd); l.err == nil {
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
func (f *instrumentFlags) refuse(ctx context.Context, c compiler, cmd *driver.Command, argv []string) error {
	if !f.shim.Lenient {
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

func readResponse(name string) (string, error) {
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
