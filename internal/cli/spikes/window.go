package spikes

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/spikes"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/internal/verb"
)

// drawWindows adds the calls around its spikes to a page.
func (f *spikesFlags) drawWindows(t *spikeSet, page *spikes.Page, groups []*spikes.Group) error {
	page.Timelines = make([]*spikes.Timeline, len(groups))
	for log, file := range t.files {
		if len(t.set.Logs[log].Windows) == 0 {
			continue
		}
		// Notes about the log have been printed before.
		quiet := &verb.Streams{Out: io.Discard, Err: io.Discard}
		set := &logset.Set{Streams: quiet, Names: f.Names(), Shown: make(map[calllog.FuncID]string), Unmarked: make(map[calllog.FuncID]calllog.FuncID), Files: t.files[log : log+1]}
		w, err := tracelog.OpenWindows(file, file.Size, file.Name, &set.Objects, tracelog.AllWindows)
		if err != nil {
			return err
		}
		set.Logs = []calllog.Log{w}
		if set.Funcs, err = set.LoadFuncs(nil); err != nil {
			return err
		}
		for i, g := range groups {
			sp := f.of(g)
			if sp.Log != log || len(sp.Stack) == 0 {
				continue
			}
			at := w.Of(sp.Number, sp.TID, sp.Stack[0].SP)
			if at < 0 {
				continue
			}
			if page.Timelines[i], err = spikes.NewTimeline(w, at, sp.Time, set.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// windowsOf finds which spikes of a log have a window, by their numbers.
func windowsOf(file *logfile.File) (map[uint64]spikes.Window, error) {
	if kind.Of(file.Head(logfile.HeadSize)) != kind.WindowLog {
		return nil, nil
	}
	w, err := tracelog.OpenWindows(file, file.Size, file.Name, nil, tracelog.AllWindows)
	if err != nil {
		return nil, err
	}
	list := make(map[uint64]spikes.Window)
	for i := range w.Windows {
		win := &w.Windows[i]
		all, ok := list[win.Episode]
		if !ok {
			all = spikes.Window{From: win.From, To: win.To}
		}
		list[win.Episode] = spikes.Window{Calls: all.Calls + win.Calls, From: min(all.From, win.From), To: max(all.To, win.To)}
	}
	return list, nil
}

// runWindow prints the calls around a spike.
func (f *spikesFlags) runWindow(ctx context.Context, s *verb.Streams, args []string, style report.Style) error {
	paths, err := spikeLogs(args)
	if err != nil {
		return err
	}
	if len(paths) != 1 {
		return verb.Usagef("--window: spike numbers are per log: give one log, not %d", len(paths))
	}
	logs := logset.Choice{Spike: f.window}
	set, err := logs.Open(s, paths, f.Names())
	if err != nil {
		return err
	}
	defer set.Close()
	results, err := set.Account(ctx, logs.Options)
	if err != nil {
		return err
	}
	trie := logset.Merged(results)
	tree := windowTree{set: set, trie: trie, callees: trie.Children(), left: windowLines}
	b := bufio.NewWriter(s.Out)
	tree.table = &report.Table{Columns: []report.Column{
		{Title: "time", Align: report.Right},
		{Title: "self", Align: report.Right},
		{Title: "calls", Align: report.Right},
		{Title: "function", Shrink: report.Shorten},
		{Shrink: report.ShortenPath},
	}}
	tree.add(calltrie.Root, 0)
	if err := tree.table.Write(b, style); err != nil {
		return err
	}
	if tree.cut > 0 {
		fmt.Fprintf(b, "%s more with less time: cairn stacks --spike %d shows them\n", report.Plural(tree.cut, "line"), f.window.Number)
	}
	return b.Flush()
}

// A window has as many lines, and a function as many callees that have one.
const (
	windowLines   = 60
	windowCallees = 8
)

// windowTree prints a trie: callers and callees, with calls of one function by one caller in
// one line.
type windowTree struct {
	set     *logset.Set
	trie    *calltrie.Trie
	table   *report.Table
	callees [][]calltrie.NodeID
	left    int
	cut     int // number of omitted lines
}

func (w *windowTree) add(id calltrie.NodeID, depth int) {
	callees := slices.Clone(w.callees[id])
	stablesort.Func(callees, func(a, b calltrie.NodeID) int {
		x, y := &w.trie.Node(a).Stats, &w.trie.Node(b).Stats
		return cmp.Or(cmp.Compare(y.Total, x.Total), cmp.Compare(y.Calls, x.Calls), cmp.Compare(a, b))
	})
	for i, c := range callees {
		if i >= windowCallees || w.left == 0 {
			w.cut += len(callees) - i
			return
		}
		w.left--
		n := w.trie.Node(c)
		w.table.Add(report.Text(w.set.Sum(n.Stats.Total)), report.Text(w.set.Sum(n.Stats.Self)), report.Text(report.Count(n.Stats.Calls)),
			report.Text(strings.Repeat("  ", depth)+w.set.Name(n.Func)), report.Cell{Text: w.set.Place(n.Func), Color: report.Dim})
		w.add(c, depth+1)
	}
}
