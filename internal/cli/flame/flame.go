// Package flame has the command that draws stacks, of logs of calls or of samples, as flame
// graphs.
package flame

import (
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/calls/waiting"
	"github.com/cairnprof/cairn/internal/cli/calls"
	"github.com/cairnprof/cairn/internal/output/flamefile"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/verb"
)

const flameHelp = `flame draws logs of calls as a flame graph: each function is a bar below the bar of
its caller, as wide as its share of the time. Bars below a function are sorted by
width, not by time of call.

Other inputs, of which the width is the number of samples, or what they count:
  samples        of perf record or cairn record, with the names of the files that ran, or of
                 programs among the arguments: other code is [outside]. Frames that tail calls
                 erased are restored (see cairn profgen -h)
  stacks with    text of perf script with symbols, output of bpftrace, DTrace and sample
  names          (macOS), call trees copied from Instruments, simpleperf report-sample,
                 profiles of pprof, and folded stacks of any tool: main;work 12

The formats; pages and pictures need no other file, and have a light and a dark mode:
  html    an interactive page: zoom, search, time or calls, callers instead of callees,
          the median and percentiles of single calls, a table of functions
  svg     a picture; details of a bar are shown under the mouse pointer
  folded  folded stacks, with _[k] after functions of the kernel, _[i] after inlined ones
          and _[j] after code generated at run time

Only the largest stacks, by time or by calls, have bars of their own: as many as
--max-stacks, and with --min-percent only those with at least that share. The others
are merged into a bar "n more" for each caller; the table and all sums include them.
With --regexp, the functions that match are outermost, without their callers.

Logs of Go programs have the waits of goroutines, those of native ones calls of functions
that wait, such as pthread_join. The graph has one part of the time, --part:
  processor  functions by their time on a processor, or outside of such calls (default)
  waiting    waits: what was waited for is outermost, and the functions that waited
             are below it
  idle       waits for work, with nothing begun
  all        all, with waits as callees of the functions that waited`

// Flame returns the command cairn flame.
func Flame(s *verb.Streams) *cobra.Command {
	var f flamefile.Choice
	c := &cobra.Command{
		Use:   "flame LOG|SAMPLES|PROGRAM... [-o FILE.html]",
		Short: "Draw the call stacks of logs or samples as a flame graph",
		Long:  flameHelp,
		Example: `  cairn flame ./app xray-log.app.*
  cairn flame --by calls --per-thread ./app -o calls.svg log.zst
  cairn flame perf.data
  cairn flame ./app perf.data
  perf script | cairn flame -
  cairn flame --kernel-frames one -o - --format folded out.perf`,
		Args: verb.ExactFiles("flame", "a log", 1, -1),
		RunE: func(c *cobra.Command, args []string) error { return f.Write(c.Context(), s, args) },
	}
	calls.RegisterLogs(c, &f.Choice)
	fl := c.Flags()
	fl.StringVarP(&f.Out, "output", "o", "flame.html", "write to this `file`, - for standard output")
	flamefile.Formats().Register(c, &f.Format, "", " (default by the file's name, else html)")
	fl.StringVar(&f.By, "by", string(flamegraph.ByTotal), "width of bars: `key` is total, self or calls; can be changed in the page")
	verb.Values(c, "by", flamegraph.ByTotal, flamegraph.BySelf, flamegraph.ByCalls)
	fl.BoolVar(&f.PerThread, "per-thread", false, "draw each thread separately")
	fl.IntVar(&f.MaxStacks, "max-stacks", flamegraph.DefaultNodes, "draw the `n` largest stacks, and merge the others")
	fl.Float64Var(&f.MinPercent, "min-percent", 0, "merge stacks below this share of the whole, in `percent`")
	fl.StringVar(&f.TimePart, "part", "", "draw this `part` of the time: processor, waiting, idle or all")
	verb.Values(c, "part", append(waiting.PartNames[:], flamefile.AllParts)...)
	fl.StringVar(&f.Title, "title", "", "`text` at the top (default the names of the logs)")
	verb.RegisterRegexp(c, &f.Regexp, "begin with the functions that match this `pattern`")
	fl.IntVar(&f.Width, "width", flamegraph.DefaultWidth, "width of an SVG in `pixels`")
	fl.StringSliceVar(&f.Binaries, "binary", nil, "of samples: draw only the code of this `file`, in place of all that ran; repeatable")
	fl.StringVar(&f.Infer, "infer-missing-frames", string(pipeline.InferFull), "of samples: `how` to restore frames that tail calls erased: full, llvm, none")
	verb.Values(c, "infer-missing-frames", pipeline.InferFull, pipeline.InferLLVM, pipeline.InferNone)
	fl.StringVar(&f.Event, "event", "", "of stacks with names: draw the samples of this `event`, default that of the first")
	fl.StringVar(&f.Kernel, "kernel-frames", flamefile.KernelAll, "of samples: draw functions of the kernel as `how`: all, one (frame), none (their time is that of the callers)")
	verb.Values(c, "kernel-frames", flamefile.KernelAll, flamefile.KernelOne, flamefile.KernelNone)
	f.Names.RegisterNames(c)
	verb.Hide(c, "binary")
	verb.Group(c, "Of samples, and stacks with names", "binary", "infer-missing-frames", "event", "kernel-frames")
	verb.Seldom(c, "max-stacks", "min-percent", "width", "short-names")
	return c
}
