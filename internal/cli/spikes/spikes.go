// Package spikes has the commands that find calls that took too long, in programs that are
// built for it, started by cairn, or already running.
package spikes

import (
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/output/spikelist"
	"github.com/cairnprof/cairn/internal/spikes"
	"github.com/cairnprof/cairn/internal/verb"
)

const spikesHelp = `spikes reads the logs that programs of mode spike write (*.cairnlog) and shows each
call that took longer than the threshold: its stack, with how long the callers had
been running; the callees that took the time; and how long the callers took in the end.
A caller that took longer than its threshold even without these calls is ranked as a
spike of its own. Of spikes with equal stacks only the longest is shown. A directory stands for the logs in it;
logs can be compressed with gzip or zstd, and can be of processes that are still
running or were killed.

A duration is an interval, 16.2..16.4 ms, which contains the true value. Only calls
whose lower bound reaches the threshold are shown.

Function names are read from the programs and libraries, at the path in the log or
beside the log, if they are of the build that wrote it; other programs, debug files and
directories with them can be among the arguments.
  --table  a line for each function that took too long by itself
  --json   a list: every spike as an object, on a line of its own, then the callers that are
           ranked with them, then {"suggestions": ...}, for each log when its clock was
           late, {"gaps_ns": [[from, to]], ...}, and {"reach": ...}
  --html   a page with a picture of each spike over time
  --sarif  a SARIF 2.1.0 log, which code scanning and editors show in the source
  --window the calls before and during a spike, as a tree: for programs built with
           --flight. cairn stacks, callgraph, flame, query and convert read these
           calls as well, with --spike
  --frames the durations of frames marked by CAIRN_FRAME(), and the functions that
           took the time of the longest frames; CAIRN_SPIKE=budget=16.7ms sets their
           maximum duration
  --follow new spikes as they occur, of programs that are running or start a log in a
           directory, until all have ended or Ctrl-C; with --jsonl an object per line.
           Callers that end much later than the spike are not shown
The output ends with the limits of the logs: the threshold, how often the clock was
updated, when it was late, and what was omitted.`

// Spikes returns the command cairn spikes.
func Spikes(s *verb.Streams) *cobra.Command {
	var f spikelist.Choice
	c := &cobra.Command{
		Use:   "spikes LOG|DIR|PROGRAM...",
		Short: "Show calls that took too long, with their stacks",
		Long:  spikesHelp,
		Example: `  cairn spikes raws
  cairn spikes --sort seen --top 3 app.debug raws/*.cairnlog
  cairn spikes --window 3 raws/app.*.cairnlog
  cairn spikes --html spikes.html raws`,
		Args: verb.ExactFiles("spikes", "a log", 1, -1),
		RunE: func(c *cobra.Command, args []string) error {
			f.TopGiven = c.Flags().Changed("top")
			return f.Write(c.Context(), s, args)
		},
	}
	f.DisplayFlags.Register(c)
	f.RegisterLines(c)
	fl := c.Flags()
	fl.StringVar((*string)(&f.Sort), "sort", string(spikes.ByWorst), "order of spikes: worst, seen (most frequent first) or time (latest first)")
	verb.Values(c, "sort", spikes.ByWorst, spikes.BySeen, spikes.ByTime)
	fl.IntVar(&f.Top, "top", 10, "show `n` stacks, or functions with --table; 0 for all. The default is 200 for --html and --sarif;\n--json always prints all")
	fl.StringSliceVar(&f.Threads, "thread", nil, "only threads with these names or `ids`")
	fl.BoolVar(&f.Table, "table", false, "list functions, not spikes")
	fl.StringVar(&f.HTML, "html", "", "write a page to this `file`, - for standard output")
	fl.StringVar(&f.SARIF, "sarif", "", "write SARIF to this `file`, - for standard output")
	fl.Var(&f.Window, "window", "show the calls before and during spike `n`, for a program built with --flight;\n0 for the last calls of each thread")
	fl.StringArrayVar(&f.Debug, "debug", nil, "name functions by this program or debug `file`, found by its build id, or by those below a directory; repeatable")
	verb.Hide(c, "debug")
	fl.BoolVar(&f.Following, "follow", false, "show new spikes of running programs as they occur, until all have ended")
	fl.BoolVar(&f.Frames, "frames", false, "list the longest frames, with the spikes in them")
	fl.BoolVar(&f.NoInlined, "no-inlined", false, "omit inlined functions (large programs are read faster)")
	verb.Rules(c, verb.Excludes("frames", "follow", "table", "html", "sarif", "window"),
		verb.Excludes("follow", "table", "html", "sarif", "window"),
		verb.Excludes("jsonl", "table", "frames").Because("it is for lists of spikes; --json is for these as well"),
		verb.OnlyOne("html", "sarif", "window", "table"), verb.OnlyOne("html", "sarif", "window", "json"),
		verb.OnlyOne("html", "sarif", "window", "jsonl"))
	return c
}
