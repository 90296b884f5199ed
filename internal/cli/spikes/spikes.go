// Package spikes has the commands that find calls that took too long, in programs that are
// built for it, started by cairn, or already running.
package spikes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/spikes"
	"github.com/cairnprof/cairn/internal/verb"
)

type spikesFlags struct {
	written *report.Objects // JSON while programs run; nil before the first
	verb.DisplayFlags
	sort      string
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
	fl.StringVar(&f.sort, "sort", string(spikes.ByWorst), "order of spikes: worst, seen (most frequent first) or time (latest first)")
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
	switch spikes.Order(f.sort) {
	case spikes.ByWorst, spikes.BySeen, spikes.ByTime:
	default:
		return verb.Usagef("--sort %s: must be worst, seen or time", f.sort)
	}
	if f.top < 0 {
		return verb.Usagef("--top %d: must not be negative", f.top)
	}
	return nil
}

// spikeSet is the logs of one command.
type spikeSet struct {
	logs    []*tracelog.Log
	files   []*logfile.File
	set     *spikes.Set
	names   *spikeNames
	writer  *spikes.Writer
	streams *verb.Streams
	threads []string
	modules [][]int // numbers of the modules of each log
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
	t := &spikeSet{streams: s, threads: f.threads}
	defer t.Close()
	if t.names, err = newSpikeNames(s, f.Names(), f.debug, !f.noInlined); err != nil {
		return err
	}
	if f.following {
		return f.follow(ctx, t, style, args)
	}
	if err := t.open(args); err != nil {
		return err
	}
	t.writer = &spikes.Writer{Set: t.set, Name: t.names.name, Style: style, Short: f.noInlined}
	if err := t.fill(); err != nil {
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
		return t.writeJSON(s.Out, &f.DisplayFlags)
	}
	return f.writeText(t, style)
}

// programDirs takes the directories without logs, which have programs or debug files, from the arguments, unless no
// argument has logs.
func (f *spikesFlags) programDirs(args []string) []string {
	var logs, others []string
	for _, arg := range args {
		if found, err := spikeLogs([]string{arg}); verb.IsDir(arg) && err != nil && len(found) == 0 {
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

// Close closes all files.
func (t *spikeSet) Close() {
	for _, f := range t.files {
		f.Close()
	}
	if t.names != nil {
		t.names.Close()
	}
}

// spikeLogs are the logs that arguments name: files, patterns, directories.
func spikeLogs(args []string) ([]string, error) {
	paths, err := logfile.Expand(args)
	if err != nil {
		return nil, err
	}
	var logs []string
	for _, path := range paths {
		if st, err := os.Stat(path); err != nil || !st.IsDir() {
			logs = append(logs, path)
			continue
		}
		found := len(logs)
		err := filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			name := strings.TrimSuffix(strings.TrimSuffix(file, ".gz"), ".zst")
			if err == nil && d.Type().IsRegular() && strings.HasSuffix(name, wire.Suffix) {
				logs = append(logs, file)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(logs) == found {
			return nil, fmt.Errorf("%s: contains no log of spikes (*%s)", path, wire.Suffix)
		}
	}
	return logs, nil
}

// open opens the logs that args name.
func (t *spikeSet) open(args []string) error {
	paths, err := spikeLogs(args)
	if err != nil {
		return err
	}
	var about []spikes.Log
	for _, path := range paths {
		file, err := logset.OpenFile(t.streams, path, "not a log of spikes", kind.Kind.IsSpikes)
		if err != nil {
			return err
		}
		t.files = append(t.files, file)
		log, err := tracelog.Open(file, file.Size, file.Name)
		if err != nil {
			return err
		}
		t.logs = append(t.logs, log)
		windows, err := windowsOf(file)
		if err != nil {
			return err
		}
		about = append(about, t.about(log, windows))
	}
	t.set = spikes.New(about, t.address)
	return nil
}

// about records the data of a log other than its spikes.
func (t *spikeSet) about(log *tracelog.Log, windows map[uint64]spikes.Window) spikes.Log {
	for i, d := range log.Damage {
		if i == logset.MaxDamage {
			verb.Note(t.streams, "%s: %d more damaged regions were skipped", log.Name, len(log.Damage)-i)
			break
		}
		verb.Note(t.streams, "%v", d)
	}
	threads := make(map[uint32]string)
	for _, th := range log.Threads {
		threads[th.TID] = th.Name
	}
	numbers := make([]int, len(log.Modules))
	for i := range log.Modules {
		numbers[i] = t.names.module(&log.Modules[i], log.Name)
	}
	t.modules = append(t.modules, numbers)
	return spikes.Log{
		Name: log.Name, Header: log.Header, Threads: threads, Trailer: log.Trailer, Stalls: log.Stalls, Freezes: log.Freezes, Settings: log.Settings, Frames: log.Frames, Lost: log.Damaged, Windows: windows,
	}
}

// address is a spikes.Addresser.
func (t *spikeSet) address(log int, pc, time uint64) spikes.Address {
	l := t.logs[log]
	i := l.ModuleIndex(pc, time)
	if i < 0 {
		return spikes.Address{Module: -1, Offset: pc}
	}
	return spikes.Address{Module: t.modules[log][i], Offset: pc - l.Modules[i].Bias}
}

// wants reports whether a thread is selected.
func (t *spikeSet) wants(log int, tid uint32) bool {
	if len(t.threads) == 0 {
		return true
	}
	id, name := strconv.FormatUint(uint64(tid), 10), t.set.Logs[log].Threads[tid]
	for _, want := range t.threads {
		if want == id || want == name {
			return true
		}
	}
	return false
}

// each calls do for every selected episode of every log.
func (t *spikeSet) each(do func(log int, e *tracelog.Episode) error) error {
	for i, log := range t.logs {
		for e, err := range log.Episodes() {
			var d *calllog.Damage
			switch {
			case errors.As(err, &d): // it has been reported
			case err != nil:
				return err
			case t.wants(i, e.TID):
				if err := do(i, e); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// fill reads all spikes, and how often each was seen.
func (t *spikeSet) fill() error {
	err := t.each(func(log int, e *tracelog.Episode) error {
		t.set.Add(log, e)
		return nil
	})
	if err != nil {
		return err
	}
	if len(t.threads) > 0 {
		if len(t.set.Groups) == 0 {
			verb.Note(t.streams, "no spike in such a thread")
		}
	}
	for i, log := range t.logs {
		t.addOpen(i, log)
		if err := t.callers(i, log); err != nil {
			return err
		}
		if len(t.threads) > 0 {
			continue // counts are of all threads
		}
		for n, err := range log.Seen() {
			if err != nil {
				return err
			}
			t.set.Count(i, n)
		}
	}
	return t.set.Settle(t.names.name, t.each)
}

// addOpen adds the calls of selected threads that have not ended, and those that did not return.
func (t *spikeSet) addOpen(i int, log *tracelog.Log) {
	for _, e := range log.Open {
		if t.wants(i, e.TID) {
			t.set.AddOpen(i, e)
		}
	}
	for _, e := range log.Left {
		if t.wants(i, e.TID) {
			t.set.Add(i, e)
		}
	}
}

// callers reads the ends of selected callers.
func (t *spikeSet) callers(i int, log *tracelog.Log) error {
	for c, err := range log.Callers() {
		if err != nil {
			return err
		}
		if t.wants(i, c.TID) {
			t.set.AddCaller(i, c)
		}
	}
	return nil
}

// shown returns the stacks to show.
func (f *spikesFlags) shown(t *spikeSet, top int) []*spikes.Group {
	groups := t.set.Ranked(spikes.Order(f.sort))
	if top > 0 {
		groups = groups[:min(top, len(groups))]
	}
	return groups
}

// left returns the number of stacks that are not shown.
func (f *spikesFlags) left(t *spikeSet, groups []*spikes.Group) int {
	return len(t.set.Ranked(spikes.Order(f.sort))) - len(groups)
}

// of is the spike of a group that is shown for all.
func (f *spikesFlags) of(g *spikes.Group) *spikes.Spike {
	if spikes.Order(f.sort) == spikes.ByTime && g.Worst.Blame == nil {
		return g.Last
	}
	return g.Worst
}

// writeOpen prints calls that have not ended.
func (f *spikesFlags) writeOpen(b *bufio.Writer, t *spikeSet, open []*spikes.Spike) error {
	left := 0
	if f.top > 0 {
		left = max(len(open)-f.top, 0)
	}
	for _, sp := range open[:len(open)-left] {
		if err := t.writer.Spike(b, spikes.Alone(sp), sp); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	if left > 0 {
		fmt.Fprintf(b, "%s more that have not ended (--top 0 shows all)\n\n", report.Plural(left, "call"))
	}
	return nil
}

func (f *spikesFlags) writeText(t *spikeSet, style report.Style) error {
	b := bufio.NewWriter(t.streams.Out)
	open, going := t.set.Open(t.names.name)
	sure, doubtful := t.set.Alike(open)
	if err := f.writeOpen(b, t, sure); err != nil {
		return err
	}
	groups := f.shown(t, f.top)
	for _, text := range t.writer.Freezes() {
		fmt.Fprintf(b, "%s\n\n", text)
	}
	for _, g := range groups {
		if err := t.writer.Spike(b, g, f.of(g)); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	if n := f.left(t, groups); n > 0 {
		fmt.Fprintf(b, "%s more (--top 0 shows all)\n\n", report.Plural(n, "stack"))
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
	if text := t.writer.Lasting(); text != "" {
		fmt.Fprintf(b, "%s\n\n", text)
	}
	if lines := t.writer.Waiting(f.top); len(lines) > 0 {
		fmt.Fprintf(b, "%s\n\n", strings.Join(lines, "\n"))
	}
	if text := t.writer.Going(going); text != "" {
		fmt.Fprintf(b, "%s\n\n", text)
	}
	if err := f.writeSnapshots(b, t); err != nil {
		return err
	}
	t.writeEnd(b, style)
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

func (t *spikeSet) suggestions() []suggestionJSON {
	list := []suggestionJSON{}
	for _, g := range t.set.Suggest(t.names.name) {
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
func (t *spikeSet) writeJSON(w io.Writer, display *verb.DisplayFlags) error {
	b := bufio.NewWriter(w)
	enc := display.Objects(b)
	open, going := t.set.Open(t.names.name)
	for _, sp := range slices.Concat(open, going) {
		if err := enc.Encode(t.writer.Object(spikes.Alone(sp), sp)); err != nil {
			return err
		}
	}
	err := t.each(func(log int, e *tracelog.Episode) error {
		sp := t.set.Spike(log, e)
		g := t.set.GroupOf(log, e)
		if sp.Snapshot() {
			g = spikes.Alone(sp)
		}
		if g == nil {
			return nil
		}
		return enc.Encode(t.writer.Object(g, sp))
	})
	if err != nil {
		return err
	}
	for i, log := range t.logs {
		for _, e := range log.Left {
			if g := t.set.GroupOf(i, e); g != nil && t.wants(i, e.TID) {
				if err := enc.Encode(t.writer.Object(g, t.set.Spike(i, e))); err != nil {
					return err
				}
			}
		}
	}
	for _, g := range t.set.Callers {
		if err := enc.Encode(t.writer.Object(g, g.Worst)); err != nil {
			return err
		}
	}
	if err := enc.Encode(map[string]any{"version": 1, "suggestions": t.suggestions()}); err != nil {
		return err
	}
	for _, r := range t.set.FreezeRows() {
		if err := enc.Encode(freezeOf(&t.set.Logs[r.Log], &r)); err != nil {
			return err
		}
	}
	for i := range t.set.Logs {
		if err := enc.Encode(gapsOf(&t.set.Logs[i])); err != nil {
			return err
		}
	}
	if err := enc.Encode(map[string]any{"version": 1, "reach": t.set.Reach()}); err != nil {
		return err
	}
	if err := enc.Close(); err != nil {
		return err
	}
	return b.Flush()
}
