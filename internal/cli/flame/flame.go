// Package flame has the command that draws stacks, of logs of calls or of samples, as flame
// graphs.
package flame

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/calls/waiting"
	"github.com/cairnprof/cairn/internal/cli/calls"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/inputs/sampleset"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/output"
	"github.com/cairnprof/cairn/internal/page/single"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/carried"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/samples/samplefile"
	"github.com/cairnprof/cairn/internal/samples/stackfile"
	"github.com/cairnprof/cairn/internal/verb"
)

type flameFlags struct {
	logset.Choice
	names      verb.DisplayFlags
	out        string
	format     string
	write      writeGraph
	by         string
	title      string
	regexp     string
	perThread  bool
	minPercent float64
	maxStacks  int
	width      int
	part       string

	// Of samples in place of logs.
	binaries []string
	tables   *pipeline.Tables // of the files that were found without binaries
	kept     *samplefile.Kept // the samples, if they were read to find the files
	infer    string
	// Of stacks with names.
	event  string
	kernel string
	marked func(calllog.FuncID) string // names for other tools, nil for those that are shown
}

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

// writeGraph writes a graph in a format.
type writeGraph func(*flameFlags, io.Writer, flamegraph.Document, flamegraph.Options) (flamegraph.Summary, error)

// formats returns the formats of cairn flame.
func formats() output.Formats[writeGraph] {
	return output.Formats[writeGraph]{
		{Name: "html", Suffixes: []string{".html", ".htm"}, Rules: func(_ *flameFlags, w io.Writer, doc flamegraph.Document, opt flamegraph.Options) (flamegraph.Summary, error) {
			return single.Flame(w, doc, opt)
		}},
		{Name: "svg", Suffixes: []string{".svg"}, Rules: func(_ *flameFlags, w io.Writer, doc flamegraph.Document, opt flamegraph.Options) (flamegraph.Summary, error) {
			return flamegraph.WriteSVG(w, doc, opt)
		}},
		{Name: "folded", Suffixes: []string{".folded"}, Rules: (*flameFlags).writeFolded},
	}
}

// Flame returns the command cairn flame.
func Flame(s *verb.Streams) *cobra.Command {
	var f flameFlags
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
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), s, args) },
	}
	calls.RegisterLogs(c, &f.Choice)
	fl := c.Flags()
	fl.StringVarP(&f.out, "output", "o", "flame.html", "write to this `file`, - for standard output")
	formats().Register(c, &f.format, "", " (default by the file's name, else html)")
	fl.StringVar(&f.by, "by", string(flamegraph.ByTotal), "width of bars: `key` is total, self or calls; can be changed in the page")
	verb.Values(c, "by", flamegraph.ByTotal, flamegraph.BySelf, flamegraph.ByCalls)
	fl.BoolVar(&f.perThread, "per-thread", false, "draw each thread separately")
	fl.IntVar(&f.maxStacks, "max-stacks", flamegraph.DefaultNodes, "draw the `n` largest stacks, and merge the others")
	fl.Float64Var(&f.minPercent, "min-percent", 0, "merge stacks below this share of the whole, in `percent`")
	fl.StringVar(&f.part, "part", "", "draw this `part` of the time: processor, waiting, idle or all")
	verb.Values(c, "part", append(waiting.PartNames[:], allParts)...)
	fl.StringVar(&f.title, "title", "", "`text` at the top (default the names of the logs)")
	verb.RegisterRegexp(c, &f.regexp, "begin with the functions that match this `pattern`")
	fl.IntVar(&f.width, "width", flamegraph.DefaultWidth, "width of an SVG in `pixels`")
	fl.StringSliceVar(&f.binaries, "binary", nil, "of samples: draw only the code of this `file`, in place of all that ran; repeatable")
	fl.StringVar(&f.infer, "infer-missing-frames", string(pipeline.InferFull), "of samples: `how` to restore frames that tail calls erased: full, llvm, none")
	verb.Values(c, "infer-missing-frames", pipeline.InferFull, pipeline.InferLLVM, pipeline.InferNone)
	fl.StringVar(&f.event, "event", "", "of stacks with names: draw the samples of this `event`, default that of the first")
	fl.StringVar(&f.kernel, "kernel-frames", kernelAll, "of samples: draw functions of the kernel as `how`: all, one (frame), none (their time is that of the callers)")
	verb.Values(c, "kernel-frames", kernelAll, kernelOne, kernelNone)
	f.names.RegisterNames(c)
	verb.Hide(c, "binary")
	verb.Group(c, "Of samples, and stacks with names", "binary", "infer-missing-frames", "event", "kernel-frames")
	verb.Seldom(c, "max-stacks", "min-percent", "width", "short-names")
	return c
}

// check validates the flags before a long log is read, and sets the format.
func (f *flameFlags) check() error {
	x, err := formats().Select(f.format, f.out, "html")
	if err != nil {
		return err
	}
	f.format, f.write = x.Name, x.Rules
	if !slices.Contains([]string{kernelAll, kernelOne, kernelNone}, f.kernel) {
		return verb.Usagef("--kernel-frames %s: must be all, one or none", f.kernel)
	}
	if !slices.Contains(flamegraph.Measures(), flamegraph.Measure(f.by)) {
		return verb.Usagef("--by %s: must be total, self or calls", f.by)
	}
	if math.IsNaN(f.minPercent) || f.minPercent < 0 || f.minPercent > 100 {
		return verb.Usagef("--min-percent %v: must be from 0 to 100", f.minPercent)
	}
	const most = 1_000_000
	if f.maxStacks < 1 || f.maxStacks > most {
		return verb.Usagef("--max-stacks %d: must be from 1 to %d", f.maxStacks, most)
	}
	if f.part != "" && f.part != allParts && !slices.Contains(waiting.PartNames[:], f.part) {
		return verb.Usagef("--part %s: must be processor, waiting, idle or all", f.part)
	}
	if f.width < 200 || f.width > 20_000 {
		return verb.Usagef("--width %d: must be from 200 to 20000", f.width)
	}
	return nil
}

func (f *flameFlags) run(ctx context.Context, s *verb.Streams, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	filter, err := verb.NewNameFilter(f.regexp)
	if err != nil {
		return err
	}
	doc, err := f.document(ctx, s, args, filter)
	if err != nil {
		return err
	}
	if doc.Groups == nil {
		verb.Note(s, "no calls to draw")
	}
	opt := flamegraph.Options{By: flamegraph.Measure(f.by), MinShare: f.minPercent / 100, MaxNodes: f.maxStacks, Width: f.width}
	var sum flamegraph.Summary
	err = verb.WriteFile(s, f.out, func(w io.Writer) (err error) {
		sum, err = f.write(f, w, doc, opt)
		return err
	})
	if err != nil {
		return err
	}
	f.say(s, sum, doc.Unit)
	return nil
}

// document returns the graph of any kind of inputs, without groups if it is empty.
func (f *flameFlags) document(ctx context.Context, s *verb.Streams, args []string, filter verb.NameFilter) (*flamegraph.Profile, error) {
	if len(f.binaries) > 0 {
		return f.ofSamples(ctx, s, args, filter)
	}
	args, named := logset.SplitNames(args)
	if len(args) == 0 {
		return f.ofLogs(ctx, s, named, filter) // which says what is missing
	}
	args, err := expandSampled(args)
	if err != nil {
		return nil, err
	}
	s, head := peek(s, args[0])
	switch {
	case stackfile.Detect(head), carried.Detect(head) && args[0] != logfile.Stdin && len(named) == 0:
		return f.ofNamed(ctx, s, args, filter)
	case samplefile.Detect(head) && args[0] == logfile.Stdin && len(named) == 0:
		return nil, errors.New("standard input: samples without names are read twice: give a file, or name the binaries")
	case samplefile.Detect(head) && len(named) > 0:
		f.binaries = named
		return f.ofSamples(ctx, s, args, filter)
	case samplefile.Detect(head):
		found, err := sampleset.FindBinaries(ctx, s, args)
		if err != nil {
			return nil, err
		}
		f.binaries, f.tables, f.kept = found.Binaries, found.Tables, found.Kept
		return f.ofSamples(ctx, s, args, filter)
	}
	return f.ofLogs(ctx, s, append(args, named...), filter)
}

// ofLogs returns the calls of logs.
func (f *flameFlags) ofLogs(ctx context.Context, s *verb.Streams, args []string, filter verb.NameFilter) (*flamegraph.Profile, error) {
	f.Sums, f.Unlike = true, "neither a log of calls nor samples nor stacks"
	set, err := f.Open(s, args, f.names.Names())
	if err != nil {
		return nil, err
	}
	defer set.Close()
	f.by = set.Known(f.by)
	results, err := set.Account(ctx, f.Options)
	if err != nil {
		return nil, err
	}
	doc, err := f.profile(set, results, filter)
	if err != nil {
		return nil, err
	}
	if doc.Groups == nil && hasCalls(results) { // a page without them is no use, and may replace one
		return nil, fmt.Errorf("%s: no calls of functions that match %s", set.Logs[0].Info().File, f.regexp)
	}
	return doc, nil
}

func hasCalls(results []*account.Result) bool {
	return slices.ContainsFunc(results, func(r *account.Result) bool {
		return slices.ContainsFunc(r.Threads, func(th account.Thread) bool { return th.Trie.Len() > 1 })
	})
}

// say prints the path of the drawing and what was omitted.
func (f *flameFlags) say(s *verb.Streams, sum flamegraph.Summary, unit string) {
	text := report.Plural(sum.Stacks, "stack")
	if sum.Merged > 0 {
		what := "time"
		switch {
		case f.by == string(flamegraph.ByCalls):
			what = "calls"
		case unit != report.Nanoseconds && unit != "ticks":
			what = unit
		}
		text += fmt.Sprintf(" (%s merged, with %.2g%% of the %s)", report.Count(sum.Merged), 100*sum.MergedShare, what)
	}
	where := f.out
	if where == "-" {
		where = f.format
	}
	fmt.Fprintf(s.Remarks(), "%s: %s\n", where, text)
}

// profile returns the graph of logs, without groups if it is empty.
func (f *flameFlags) profile(set *logset.Set, results []*account.Result, filter verb.NameFilter) (*flamegraph.Profile, error) {
	doc := &flamegraph.Profile{Title: set.Title(), Unit: set.Clock.Unit(), Step: set.Clock.Step, Name: set.Name}
	var times waitTimes
	for _, g := range set.MarkedGroups(results, f.perThread) {
		if d := waiting.Divide(g.Trie, set.WaitOf); d != nil && f.part != allParts {
			times.add(d)
			g.Trie = d.Split(times.part(f.part))
		} else if f.part != "" && f.part != allParts && f.part != waiting.PartNames[waiting.Processor] {
			continue
		}
		doc.Groups = append(doc.Groups, flamegraph.Group{Label: g.Label, Trie: g.Trie})
	}
	f.choose(doc, func(id calllog.FuncID) bool { return filter.Match(set.Funcs.Name(id)) })
	doc.Notes = slices.Concat(times.notes(f.part, set), flameNotes(set, results, doc), doc.Notes)
	if doc.Groups == nil && f.regexp == "" && f.part != "" && hasCalls(results) {
		return nil, fmt.Errorf("%s: the logs have no such part: --part %s", set.Logs[0].Info().File, f.part)
	}
	return doc, nil
}

// choose keeps the selected part of a document.
func (f *flameFlags) choose(doc *flamegraph.Profile, match func(calllog.FuncID) bool) {
	if f.title != "" {
		doc.Title = f.title
	}
	var kept []flamegraph.Group
	for _, g := range doc.Groups {
		if f.regexp != "" {
			g.Trie = flamegraph.Below(g.Trie, match)
		}
		if g.Trie.Len() > 1 {
			kept = append(kept, g)
		}
	}
	doc.Groups = kept
	if f.regexp != "" {
		doc.Notes = append(doc.Notes, "Only calls of functions that match "+f.regexp+".")
	}
}

// flameNotes describe how much was drawn and the accuracy of its numbers.
func flameNotes(set *logset.Set, results []*account.Result, doc *flamegraph.Profile) []string {
	if doc.Groups == nil {
		return []string{"There are no calls to draw."}
	}
	var made, deduced, open uint64
	what := "call"
	for _, g := range doc.Groups {
		for _, n := range g.Trie.Nodes() {
			if n.Parent == calltrie.Root && set.WaitOf(n.Func) != "" {
				what = "wait"
			}
			if what == "wait" && n.Parent != calltrie.Root {
				continue
			}
			made += n.Calls
			deduced += n.Deduced
			open += n.Open
		}
	}
	threads := 0
	for _, r := range results {
		threads += len(r.Threads)
	}
	notes := []string{fmt.Sprintf("%s in %s.", report.Plural(int(made), what), report.Plural(threads, "thread"))}
	if deduced > 0 {
		notes = append(notes, fmt.Sprintf("%s no exit in the log: the time is a lower bound.",
			report.Count(deduced)+" "+report.Either(deduced, "call has", "calls have")))
	}
	if open > 0 {
		notes = append(notes, fmt.Sprintf("%s still running at the end.",
			report.Count(open)+" "+report.Either(open, "call was", "calls were")))
	}
	if set.Clock.Hz == 0 {
		notes = append(notes, "The log does not say how long a tick is.")
	}
	return notes
}
