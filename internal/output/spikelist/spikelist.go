// Package spikelist shows calls that took too long: as text, tables, JSON, pages, and while programs run.
package spikelist

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/inputs/spikeset"
	"github.com/cairnprof/cairn/internal/page/single"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/spikes"
	"github.com/cairnprof/cairn/internal/verb"
)

// Choice is which spikes are shown, and how.
type Choice struct {
	written *report.Objects // JSON while programs run; nil before the first
	verb.DisplayFlags
	Sort      spikes.Order
	Top       int
	Threads   []string
	Table     bool
	HTML      string
	SARIF     string
	Window    logset.Spike
	Debug     []string
	NoInlined bool
	Following bool
	Frames    bool
	TopGiven  bool
}

// check validates the command line.
func (f *Choice) check() error {
	switch f.Sort {
	case spikes.ByWorst, spikes.BySeen, spikes.ByTime:
	default:
		return verb.Usagef("--sort %s: must be worst, seen or time", f.Sort)
	}
	if f.Top < 0 {
		return verb.Usagef("--top %d: must not be negative", f.Top)
	}
	return nil
}

// Write shows the spikes of the logs among args.
func (f *Choice) Write(ctx context.Context, s *verb.Streams, args []string) error {
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
	f.Debug = append(f.Debug, binaries...)
	if !f.Following { // logs may begin later
		args = f.programDirs(args)
	}
	if f.Window.Given {
		return f.runWindow(ctx, s, args, style)
	}
	t := &spikeset.Set{Streams: s, Threads: f.Threads}
	defer t.Close()
	if t.Names, err = spikeset.NewNames(s, f.Names(), f.Debug, !f.NoInlined); err != nil {
		return err
	}
	if f.Following {
		return f.follow(ctx, t, style, args)
	}
	if err := t.Open(args); err != nil {
		return err
	}
	t.Writer = &spikes.Writer{Set: t.Spikes, Name: t.Names.Name, Style: style, Short: f.NoInlined}
	if err := t.Fill(); err != nil {
		return err
	}
	switch {
	case f.Frames:
		return f.writeFrames(t, style)
	case f.SARIF != "":
		return f.writeSARIF(t)
	case f.HTML != "":
		return f.writeHTML(t)
	case f.Table:
		return f.writeTable(t, style)
	case f.Json:
		return writeJSON(t, s.Out, &f.DisplayFlags)
	}
	return f.writeText(t, style)
}

// programDirs takes the directories without logs, which have programs or debug files, from the arguments, unless no
// argument has logs.
func (f *Choice) programDirs(args []string) []string {
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
	f.Debug = append(f.Debug, others...)
	return logs
}

// WriteOpen prints calls that have not ended.
func (f *Choice) WriteOpen(b *bufio.Writer, t *spikeset.Set, open []*spikes.Spike) error {
	left := 0
	if f.Top > 0 {
		left = max(len(open)-f.Top, 0)
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

func (f *Choice) writeText(t *spikeset.Set, style report.Style) error {
	b := bufio.NewWriter(t.Streams.Out)
	open, going := t.Spikes.Open(t.Names.Name)
	sure, doubtful := t.Spikes.Alike(open)
	if err := f.WriteOpen(b, t, sure); err != nil {
		return err
	}
	groups, left := t.Shown(f.Sort, f.Top)
	for _, text := range t.Writer.Freezes() {
		fmt.Fprintf(b, "%s\n\n", text)
	}
	for _, g := range groups {
		if err := t.Writer.Spike(b, g, spikeset.Example(g, f.Sort)); err != nil {
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
	if err := f.WriteOpen(b, t, doubtful); err != nil {
		return err
	}
	if text := t.Writer.Lasting(); text != "" {
		fmt.Fprintf(b, "%s\n\n", text)
	}
	if lines := t.Writer.Waiting(f.Top); len(lines) > 0 {
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

// objects returns what writes JSON while programs run; CloseObjects ends it.
func (f *Choice) objects(s *verb.Streams) *report.Objects {
	if f.written == nil {
		f.written = f.Objects(s.Out)
	}
	return f.written
}

// CloseObjects ends the list of JSON objects that was begun while programs ran.
func (f *Choice) CloseObjects(s *verb.Streams) error {
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

// writeHTML writes a page with the spikes that are shown.
func (f *Choice) writeHTML(t *spikeset.Set) error {
	top := f.Top
	if !f.TopGiven {
		top = spikeset.PageStacks
	}
	page, err := t.Page(f.Sort, top)
	if err != nil {
		return err
	}
	err = verb.WriteFile(t.Streams, f.HTML, func(w io.Writer) error { return single.Spikes(w, page) })
	if err == nil {
		open := ""
		if n := len(page.Open); n > 0 {
			open = ", " + report.Plural(n, "call") + " that " + report.Either(uint64(n), "has", "have") + " not ended"
		}
		fmt.Fprintf(t.Streams.Remarks(), "%s: %s%s\n", f.HTML, report.Plural(len(page.Spikes), "stack"), open)
	}
	return err
}

// writeSnapshots prints the latest of the stacks that programs requested.
func (f *Choice) writeSnapshots(b *bufio.Writer, t *spikeset.Set) error {
	list := t.Spikes.Snapshots
	left := 0
	if f.Top > 0 && len(list) > f.Top {
		left = len(list) - f.Top
	}
	for _, sp := range list[left:] {
		if err := t.Writer.Spike(b, spikes.Alone(sp), sp); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	if left > 0 {
		fmt.Fprintf(b, "%s before them (--top 0 shows all)\n\n", report.Plural(left, "snapshot"))
	}
	return nil
}
