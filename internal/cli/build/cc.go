package build

import (
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
)

const ccHelp = `cc runs a compiler driver (gcc, g++, gfortran, clang, clang++) with its own
arguments. It adds probes to the assembly that the compiler emits, before it is
assembled, and adds the runtime to links. Everything else is passed on unchanged.

The modes:
  cover   which functions ran: 7 bytes of code per function
  block   which basic blocks ran
  count   how often each function was called, and the order of first calls
  full    count, block, and the first caller of each function
  order   cover, and the order in which functions were first executed
  block+order
          block, and the same order
  edge    count, and how often each block and branch ran (x86-64 and AArch64 ELF):
          exact frequencies, lines with counts
  spike   calls that took long, with their stack and what they waited for: a log
          for cairn spikes
  stacks  calls and time of each call stack, summed while the program runs: a small
          log for the same commands as trace, without single calls
  trace   the start and end of every call: a log for cairn stacks,
          callgraph, flame, query and convert

Modes count, full and edge always record the order: count+order is the same as count,
and full+order the same as full. In modes order and block+order, --order-slots limits
how many first executions a run records; with fewer slots than functions the oldest
are overwritten.

The program writes one raw file per module and process. The file is mapped into
memory and so is valid at any time. Environment variables of the program:
  CAIRN_DIR=DIR           the directory for raw files; created if missing
  CAIRN_CONTINUOUS=0      write the file at exit instead of mapping it; processes
                          that end without C's exit (kill, _exit, Go) lose it
  CAIRN_SIGNAL=N          also write the files on signal number N
  CAIRN_SCENARIO=NAME     a name for what is run; stored with the run's order
A program can write its data itself: #include <cairn.h>, cairn_dump(), cairn_reset(),
cairn_set_dir("DIR"). CAIRN_SKIP in front of a function excludes it.

The runtime adds 5 KB to each program. With --shared-runtime DIR it is a file in
DIR, which this command writes and programs map when they start; they grow by
0.9 KB. The path is fixed at build time: the file must be at the same path where the
program runs. A program that does not find it runs normally and records nothing. The
file's name contains a digest of its content, so programs never load the runtime of
another version. Anyone who can write to the file can run code in the programs. In
modes spike and stacks, whose runtime has 100 KB, a program grows by 9 KB then, and
one that does not find the file says so. Static programs and those of musl have the
runtime linked in; mode trace and --flight are refused.

Mode spike times every call, by a clock that a thread of the program updates.
Functions with fewer than --small instructions and no loop are not instrumented, nor
are functions whose exits cannot be analysed; cairn build lists the latter. The
program writes its log while it runs, so the log survives kill -9:
  CAIRN_SPIKE=WORD,...    threshold=5ms, stderr, off and more, see cairn spikes
The thread that updates the clock may be late when processors are overloaded. With
--tick signal each thread also updates the clock, by a timer whose signal arrives
before the thread continues; sleeps and polls of the program then sometimes end early.

With --clock exact each call reads the processor's counter. Durations are then
accurate to some tens of nanoseconds, and thresholds may be as low as 2us, but a
program of short calls takes several times as long.

With --flight each thread records its most recent calls, as many as fit in 8 MB, and
those before and during a spike are saved with it; CAIRN_SPIKE=flight=16MB saves more.

In mode stacks each thread keeps a tree of its calls, which is written to the log
every second and at the end. The environment is that of mode spike. --counts omits
the time of calls, --max adds the longest call of each stack.

In mode trace the start and end of every call is an event in the log, with the time
of the same kind of clock. Each thread writes its own part of the log, which survives
kill -9:
  CAIRN_TRACE=WORD,...    size=16MB keeps only the last 16 MB; file keeps all;
                          period=1ms is how often the clock is updated; off

With --prove each file is also assembled without probes, and the two objects are
compared: they must have the same instructions except for the probes, and the probes
must preserve the registers, flags and stack that the following code uses. An object
that fails is removed, and the exit code is 1.

With --use nothing is instrumented. Functions are laid out in the order that the
profile gives (see cairn order), for whichever linker is in use. If the profile has
blocks (modes block, full, block+order and edge), blocks that never ran are moved out of
functions that did. Functions whose control flow has changed since the profile was
taken are left unchanged. Use the same compiler and flags as for the profile.`

// CC returns the command cairn cc.
func CC(s *verb.Streams) *cobra.Command {
	var f toolchain.InstrumentFlags
	c := &cobra.Command{
		Use:   "cc [flags] COMPILER ARGS...",
		Short: "Run a compiler and instrument its output or optimise it by a profile",
		Long:  ccHelp,
		Example: `  cairn cc gcc -O2 -g -o app app.c
  make CC="cairn cc --mode full gcc"
  cairn cc --use app.mip gcc -O2 -g -o app app.c
  cmake -DCMAKE_C_COMPILER_LAUNCHER="cairn;cc" -DCMAKE_C_LINKER_LAUNCHER="cairn;cc" ..
  CC="cairn cc gcc" go build -ldflags=-extldflags=-no-pie`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return verb.Usagef("cc: no compiler given; use: cairn cc [flags] gcc -O2 -c x.c")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.Check(c.Flags()); err != nil {
				return err
			}
			if err := toolchain.CheckDriver(args[0], args[1:]); err != nil {
				return err
			}
			return toolchain.RunCompiler(c.Context(), s, f, args[0], args[1:])
		},
	}
	c.Flags().SetInterspersed(false)
	f.Register(c.Flags())
	f.RegisterUse(c.Flags())
	arrangeFlags(c)
	return c
}

// arrangeFlags has help group the flags that cc and build share, and shells complete their values.
func arrangeFlags(c *cobra.Command) {
	verb.Values(c, "mode", "cover", "block", "count", "full", "order", "block+order", "edge", "spike", "stacks", "trace")
	verb.Values(c, "clock", "coarse", "exact")
	verb.Values(c, "tick", "thread", "signal")
	verb.Values(c, "algorithm", order.Algorithms()...)
	verb.Directories(c, "shared-runtime")
	verb.FilesOf(c, "use", "mip")
	verb.Group(c, "Of modes spike, stacks and trace", "small", "clock", "tick", "threshold", "counts", "max", "depth", "flight", "frames", "control")
	verb.Group(c, "Build by a profile", "use", "fast-start", "no-split", "data-order", "algorithm")
	verb.Seldom(c, "order-slots", "min-instructions", "groups", "group", "small", "tick", "control", "shared-runtime", "lenient",
		"no-split", "data-order", "algorithm")
}
