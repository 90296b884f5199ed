package spikelist

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/inputs/spikeset"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/internal/verb"
)

// runWindow prints the calls around a spike.
func (f *Choice) runWindow(ctx context.Context, s *verb.Streams, args []string, style report.Style) error {
	paths, err := spikeset.Paths(args)
	if err != nil {
		return err
	}
	if len(paths) != 1 {
		return verb.Usagef("--window: spike numbers are per log: give one log, not %d", len(paths))
	}
	logs := logset.Choice{Spike: f.Window, Unlike: "not a log with the calls around spikes, as programs built with --flight write"}
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
	tree.table = report.NewTable(">time", ">self", ">calls", "~function", "/")
	tree.add(calltrie.Root, 0)
	if err := tree.table.Write(b, style); err != nil {
		return err
	}
	if tree.cut > 0 {
		fmt.Fprintf(b, "%s more with less time: cairn stacks --spike %d shows them\n", report.Plural(tree.cut, "line"), f.Window.Number)
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
