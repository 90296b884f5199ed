// Package graphfile writes call graphs of profiles and of logs of calls.
package graphfile

import (
	"context"
	"io"

	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/costgraph"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/output"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// OfLogs is the logs whose call graph is drawn, and how. Names, Format and Out are those of any call graph.
type OfLogs struct {
	logset.Choice
	Names                   verb.DisplayFlags
	Format, Out             string
	Label, EdgeLabel, Shade string
	MinPercent              float64
	Pattern                 string
}

// Formats are those of call graphs.
var Formats = output.Formats[func(io.Writer, *costgraph.Graph) error]{
	{Name: "dot", Rules: costgraph.WriteDot},
	{Name: "json", Rules: costgraph.WriteJSON},
	{Name: "mermaid", Rules: costgraph.WriteMermaid},
}

// Run draws the call graph of logs of calls.
func (f *OfLogs) Run(ctx context.Context, s *verb.Streams, args []string) error {
	x, err := Formats.Named(f.Format)
	if err != nil {
		return err
	}
	write := x.Rules
	if !(f.MinPercent >= 0 && f.MinPercent <= 100) {
		return verb.Usagef("--min-percent %v is not between 0 and 100", f.MinPercent)
	}
	var g costgraph.Graph
	for _, k := range []struct {
		flag, name string
		key        **account.Key
	}{{"label", f.Label, &g.Label}, {"edge-label", f.EdgeLabel, &g.EdgeLabel}, {"shade", f.Shade, &g.Shade}} {
		key, ok := account.FindKey(k.name)
		switch {
		case ok:
			*k.key = &key
		case k.name != "none":
			return verb.Usagef("--%s %s: must be one of %s", k.flag, k.name, verb.Alternatives(append(account.KeyNames(), "none")))
		}
	}
	filter, err := verb.NewNameFilter(f.Pattern)
	if err != nil {
		return err
	}
	f.Sums = true
	logs, err := f.Open(s, args, f.Names.Names())
	if err != nil {
		return err
	}
	defer logs.Close()
	keepKnown(&g, logs)
	results, err := logs.Account(ctx, f.Options)
	if err != nil {
		return err
	}
	trie := logset.Merged(results)
	g.Unit, g.Step = logs.Clock.Unit(), logs.Clock.Step
	left := g.Build(trie, logs.Describe, f.MinPercent, func(n *costgraph.Node) bool { return filter.Match(n.Name) })
	if len(g.Nodes) == 0 {
		verb.Note(s, "the graph is empty")
	} else if left > 0 {
		verb.Note(s, "%s omitted, with all edges", report.Plural(left, "function"))
	}
	return verb.WriteFile(s, f.Out, func(w io.Writer) error { return write(w, &g) })
}

// keepKnown replaces keys that the logs do not have by calls.
func keepKnown(g *costgraph.Graph, logs *logset.Set) {
	calls, _ := account.FindKey("calls")
	for _, k := range []**account.Key{&g.Label, &g.EdgeLabel, &g.Shade} {
		if *k != nil && !logs.Knows((*k).Name) {
			*k = &calls
		}
	}
}
