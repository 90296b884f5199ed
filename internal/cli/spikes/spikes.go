// Package spikes has the commands that find calls that took too long, in programs that are
// built for it, started by cairn, or already running.
package spikes

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/inputs/spikeset"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/spikes"
	"github.com/cairnprof/cairn/internal/verb"
)

type spikesFlags struct {
	written *report.Objects // JSON while programs run; nil before the first
	verb.DisplayFlags
	sort      spikes.Order
	top       int
	threads   []string
	table     bool
	html      string
	sarif     string
	window    logset.Spike
	debug     []string
	noInlined bool
	following bool
	frames    bool
	topGiven  bool
}

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
           --flight. cairn stacks, account, callgraph, flame, query and convert
           read these calls as well, with --spike
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
	var f spikesFlags
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
			f.topGiven = c.Flags().Changed("top")
			return f.run(c.Context(), s, args)
		},
	}
	f.DisplayFlags.Register(c)
	f.RegisterLines(c)
	fl := c.Flags()
	fl.StringVar((*string)(&f.sort), "sort", string(spikes.ByWorst), "order of spikes: worst, seen (most frequent first) or time (latest first)")
	verb.Values(c, "sort", spikes.ByWorst, spikes.BySeen, spikes.ByTime)
	fl.IntVar(&f.top, "top", 10, "show `n` stacks, or functions with --table; 0 for all. The default is 200 for --html and --sarif;\n--json always prints all")
	fl.StringSliceVar(&f.threads, "thread", nil, "only threads with these names or `ids`")
	fl.BoolVar(&f.table, "table", false, "list functions, not spikes")
	fl.StringVar(&f.html, "html", "", "write a page to this `file`, - for standard output")
	fl.StringVar(&f.sarif, "sarif", "", "write SARIF to this `file`, - for standard output")
	fl.Var(&f.window, "window", "show the calls before and during spike `n`, for a program built with --flight;\n0 for the last calls of each thread")
	fl.StringArrayVar(&f.debug, "debug", nil, "name functions by this program or debug `file`, found by its build id, or by those below a directory; repeatable")
	verb.Hide(c, "debug")
	fl.BoolVar(&f.following, "follow", false, "show new spikes of running programs as they occur, until all have ended")
	fl.BoolVar(&f.frames, "frames", false, "list the longest frames, with the spikes in them")
	fl.BoolVar(&f.noInlined, "no-inlined", false, "omit inlined functions (large programs are read faster)")
	verb.Rules(c, verb.Excludes("frames", "follow", "table", "html", "sarif", "window"),
		verb.Excludes("follow", "table", "html", "sarif", "window"),
		verb.Excludes("jsonl", "table", "frames").Because("it is for lists of spikes; --json is for these as well"),
		verb.OnlyOne("html", "sarif", "window", "table"), verb.OnlyOne("html", "sarif", "window", "json"),
		verb.OnlyOne("html", "sarif", "window", "jsonl"))
	return c
}

// check validates the command line.
func (f *spikesFlags) check() error {
	switch f.sort {
	case spikes.ByWorst, spikes.BySeen, spikes.ByTime:
	default:
		return verb.Usagef("--sort %s: must be worst, seen or time", f.sort)
	}
	if f.top < 0 {
		return verb.Usagef("--top %d: must not be negative", f.top)
	}
	return nil
}

func (f *spikesFlags) run(ctx context.Context, s *verb.Streams, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	style, err := f.Style(s)
	if err != nil {
		return err
	}
	args, binaries := verb.SplitBinaries(args)
	if len(args) == 0 && len(binaries) > 0 {
		return verb.Usagef("spikes: no log given: %s is a program, which names the functions of logs", binaries[0])
	}
	f.debug = append(f.debug, binaries...)
	if !f.following { // logs may begin later
		args = f.programDirs(args)
	}
	if f.window.Given {
		return f.runWindow(ctx, s, args, style)
	}
	t := &spikeset.Set{Streams: s, Threads: f.threads}
	defer t.Close()
	if t.Names, err = spikeset.NewNames(s, f.Names(), f.debug, !f.noInlined); err != nil {
		return err
	}
	if f.following {
		return f.follow(ctx, t, style, args)
	}
	if err := t.Open(args); err != nil {
		return err
	}
	t.Writer = &spikes.Writer{Set: t.Spikes, Name: t.Names.Name, Style: style, Short: f.noInlined}
	if err := t.Fill(); err != nil {
		return err
	}
	switch {
	case f.frames:
		return f.writeFrames(t, style)
	case f.sarif != "":
		return f.writeSARIF(t)
	case f.html != "":
		return f.writeHTML(t)
	case f.table:
		return f.writeTable(t, style)
	case f.Json:
		return writeJSON(t, s.Out, &f.DisplayFlags)
	}
	return f.writeText(t, style)
}

// programDirs takes the directories without logs, which have programs or debug files, from the arguments, unless no
// argument has logs.
func (f *spikesFlags) programDirs(args []string) []string {
	var logs, others []string
	for _, arg := range args {
		if found, err := spikeset.Paths([]string{arg}); verb.IsDir(arg) && err != nil && len(found) == 0 {
			others = append(others, arg)
		} else {
			logs = append(logs, arg)
		}
	}
	if len(logs) == 0 {
		return args
	}
	f.debug = append(f.debug, others...)
	return logs
}

// writeOpen prints calls that have not ended.
func (f *spikesFlags) writeOpen(b *bufio.Writer, t *spikeset.Set, open []*spikes.Spike) error {
	left := 0
	if f.top > 0 {
		left = max(len(open)-f.top, 0)
	}
	for _, sp := range open[:len(open)-left] {
		if err := t.Writer.Spike(b, spikes.Alone(sp), sp); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	if left > 0 {
		fmt.Fprintf(b, "%s more that have not ended (--top 0 shows all)\n\n", report.Plural(left, "call"))
	}
	return nil
}

func (f *spikesFlags) writeText(t *spikeset.Set, style report.Style) error {
	b := bufio.NewWriter(t.Streams.Out)
	open, going := t.Spikes.Open(t.Names.Name)
	sure, doubtful := t.Spikes.Alike(open)
	if err := f.writeOpen(b, t, sure); err != nil {
		return err
	}
	groups, left := t.Shown(f.sort, f.top)
	for _, text := range t.Writer.Freezes() {
		fmt.Fprintf(b, "%s\n\n", text)
	}
	for _, g := range groups {
		if err := t.Writer.Spike(b, g, spikeset.Example(g, f.sort)); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	if left > 0 {
		fmt.Fprintf(b, "%s more (--top 0 shows all)\n\n", report.Plural(left, "stack"))
	}
	if len(groups) == 0 {
		ended := ""
		if len(open) > 0 {
			ended = " that have ended"
		}
		fmt.Fprintf(b, "no spikes%s\n\n", ended)
	}
	if err := f.writeOpen(b, t, doubtful); err != nil {
		return err
	}
	if text := t.Writer.Lasting(); text != "" {
		fmt.Fprintf(b, "%s\n\n", text)
	}
	if lines := t.Writer.Waiting(f.top); len(lines) > 0 {
		fmt.Fprintf(b, "%s\n\n", strings.Join(lines, "\n"))
	}
	if text := t.Writer.Going(going); text != "" {
		fmt.Fprintf(b, "%s\n\n", text)
	}
	if err := f.writeSnapshots(b, t); err != nil {
		return err
	}
	writeEnd(t, b, style)
	return b.Flush()
}

// suggestionJSON is a line of mark-up in JSON.
type suggestionJSON struct {
	Function string `json:"function"`
	Symbol   string `json:"symbol"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Markup   string `json:"markup"`
	Why      string `json:"why"`
}

func suggestions(t *spikeset.Set) []suggestionJSON {
	list := []suggestionJSON{}
	for _, g := range t.Spikes.Suggest(t.Names.Name) {
		list = append(list, suggestionJSON{g.Place.Function, g.Place.Symbol, g.Place.File, g.Place.Line, g.Markup, g.Why})
	}
	return list
}

// freezeJSON is a time in which a process stood still, in nanoseconds since its log began.
type freezeJSON struct {
	Freeze  [2]uint64 `json:"freeze_ns"`
	Waited  uint64    `json:"waited_ns"` // of that, for a processor, at most
	CPU     uint64    `json:"cpu_ns"`    // processor time of the process in it, at most
	Calls   uint64    `json:"calls"`     // that took longer because of it
	Log     string    `json:"log"`
	Version int       `json:"version"`
}

func freezeOf(l *spikes.Log, f *spikes.FreezeRow) freezeJSON {
	start := l.Header.Monotonic
	return freezeJSON{[2]uint64{f.From - min(f.From, start), f.To - min(f.To, start)}, f.Waited, f.CPU, f.Calls, l.Name, 1}
}

// gapsJSON is when the clock of a process was late, in nanoseconds since its log began: calls
// that began or ended then may not have been found.
type gapsJSON struct {
	Gaps    [][2]uint64 `json:"gaps_ns"`
	Late    uint64      `json:"late"` // gaps that there were, of which short ones may not be listed
	Log     string      `json:"log"`
	Version int         `json:"version"`
}

func gapsOf(l *spikes.Log) gapsJSON {
	out := gapsJSON{Gaps: [][2]uint64{}, Log: l.Name, Version: 1}
	if l.Trailer != nil {
		out.Late = l.Trailer.Late
	}
	for _, s := range l.Stalls {
		out.Gaps = append(out.Gaps, [2]uint64{s.From - min(s.From, l.Header.Monotonic), s.To - min(s.To, l.Header.Monotonic)})
	}
	return out
}

// objects returns what writes JSON while programs run; closeObjects ends it.
func (f *spikesFlags) objects(s *verb.Streams) *report.Objects {
	if f.written == nil {
		f.written = f.Objects(s.Out)
	}
	return f.written
}

func (f *spikesFlags) closeObjects(s *verb.Streams) error {
	if !f.Json {
		return nil
	}
	return f.objects(s).Close()
}

// writeJSON prints an object for each spike, in the order of the logs.
func writeJSON(t *spikeset.Set, w io.Writer, display *verb.DisplayFlags) error {
	b := bufio.NewWriter(w)
	enc := display.Objects(b)
	open, going := t.Spikes.Open(t.Names.Name)
	for _, sp := range slices.Concat(open, going) {
		if err := enc.Encode(t.Writer.Object(spikes.Alone(sp), sp)); err != nil {
			return err
		}
	}
	err := t.Each(func(log int, e *tracelog.Episode) error {
		sp := t.Spikes.Spike(log, e)
		g := t.Spikes.GroupOf(log, e)
		if sp.Snapshot() {
			g = spikes.Alone(sp)
		}
		if g == nil {
			return nil
		}
		return enc.Encode(t.Writer.Object(g, sp))
	})
	if err != nil {
		return err
	}
	for i, log := range t.Logs {
		for _, e := range log.Left {
			if g := t.Spikes.GroupOf(i, e); g != nil && t.Wants(i, e.TID) {
				if err := enc.Encode(t.Writer.Object(g, t.Spikes.Spike(i, e))); err != nil {
					return err
				}
			}
		}
	}
	for _, g := range t.Spikes.Callers {
		if err := enc.Encode(t.Writer.Object(g, g.Worst)); err != nil {
			return err
		}
	}
	if err := enc.Encode(map[string]any{"version": 1, "suggestions": suggestions(t)}); err != nil {
		return err
	}
	for _, r := range t.Spikes.FreezeRows() {
		if err := enc.Encode(freezeOf(&t.Spikes.Logs[r.Log], &r)); err != nil {
			return err
		}
	}
	for i := range t.Spikes.Logs {
		if err := enc.Encode(gapsOf(&t.Spikes.Logs[i])); err != nil {
			return err
		}
	}
	if err := enc.Encode(map[string]any{"version": 1, "reach": t.Spikes.Reach()}); err != nil {
		return err
	}
	if err := enc.Close(); err != nil {
		return err
	}
	return b.Flush()
}
