package build

import (
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
)

// CC returns the command cairn cc.
func CC(s *verb.Streams) *cobra.Command {
	var f toolchain.InstrumentFlags
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
				return verb.Usagef("cc: no compiler given; write: cairn cc [flags] gcc -O2 -c x.c")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.Check(c.Flags()); err != nil {
				return err
			}
			return toolchain.RunCompiler(c.Context(), s, f, args[0], args[1:])
		},
	}
	c.Flags().SetInterspersed(false)
	f.Register(c.Flags())
	f.RegisterUse(c.Flags())
	return c
}
