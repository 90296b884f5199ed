package calls

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/costgraph"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/output"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// GraphFlags are the flags of cairn callgraph for logs of calls, and those for the output of
// any call graph.
type GraphFlags struct {
	logset.Choice
	names                   verb.DisplayFlags
	format, out             string
	label, edgeLabel, shade string
	minPercent              float64
	pattern                 string
}

var graphFormats = output.Formats[func(io.Writer, *costgraph.Graph) error]{
	{Name: "dot", Rules: costgraph.WriteDot},
	{Name: "json", Rules: costgraph.WriteJSON},
	{Name: "mermaid", Rules: costgraph.WriteMermaid},
}

// Register adds the flags to a command. It returns those that apply to logs of calls only.
func (f *GraphFlags) Register(c *cobra.Command) *pflag.FlagSet {
	RegisterLogs(c, &f.Choice)
	keys := verb.Alternatives(append(account.KeyNames(), "none"))
	c.Flags().StringVar(&f.label, "label", "total", "label of nodes: `key` is "+keys)
	c.Flags().StringVar(&f.edgeLabel, "edge-label", "calls", "label edges by this `key`")
	c.Flags().StringVar(&f.shade, "shade", "self", "colour nodes and edges by this `key`")
	for _, flag := range []string{"label", "edge-label", "shade"} {
		verb.Values(c, flag, append(account.KeyNames(), "none")...)
	}
	c.Flags().Float64Var(&f.minPercent, "min-percent", 0, "omit functions and edges with less than this `share` of all time, in percent")
	verb.RegisterRegexp(c, &f.pattern, "only edges from or to functions that match this `pattern`")
	ofLogs := pflag.NewFlagSet("", pflag.ContinueOnError)
	ofLogs.AddFlagSet(c.Flags())
	graphFormats.Register(c, &f.format, "dot", ", which is for logs of calls")
	c.Flags().BoolVar(&f.names.Json, "json", false, "the same as --format json")
	c.Flags().StringVarP(&f.out, "output", "o", "-", "write to this `file`")
	f.names.RegisterNames(c)
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if f.names.Json && c.Flags().Changed("format") && f.format != "json" {
			return verb.Usagef("--json and --format %s cannot be used together", f.format)
		}
		if f.names.Json {
			f.format = "json"
		}
		f.names.Json = f.format == "json"
		return nil
	}
	return ofLogs
}

// Output returns how the graph is written.
func (f *GraphFlags) Output() (format, path string, names *report.Names) {
	return f.format, f.out, f.names.Names()
}

// Run draws the call graph of logs of calls.
func (f *GraphFlags) Run(ctx context.Context, s *verb.Streams, args []string) error {
	x, err := graphFormats.Named(f.format)
	if err != nil {
		return err
	}
	write := x.Rules
	if !(f.minPercent >= 0 && f.minPercent <= 100) {
		return verb.Usagef("--min-percent %v is not between 0 and 100", f.minPercent)
	}
	var g costgraph.Graph
	for _, k := range []struct {
		flag, name string
		key        **account.Key
	}{{"label", f.label, &g.Label}, {"edge-label", f.edgeLabel, &g.EdgeLabel}, {"shade", f.shade, &g.Shade}} {
		key, ok := account.FindKey(k.name)
		switch {
		case ok:
			*k.key = &key
		case k.name != "none":
			return verb.Usagef("--%s %s: must be one of %s", k.flag, k.name, verb.Alternatives(append(account.KeyNames(), "none")))
		}
	}
	filter, err := verb.NewNameFilter(f.pattern)
	if err != nil {
		return err
	}
	f.Sums = true
	logs, err := f.Open(s, args, f.names.Names())
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
	left := g.Build(trie, logs.Describe, f.minPercent, func(n *costgraph.Node) bool { return filter.Match(n.Name) })
	if len(g.Nodes) == 0 {
		verb.Note(s, "the graph is empty")
	} else if left > 0 {
		verb.Note(s, "%s omitted, with all edges", report.Plural(left, "function"))
	}
	return verb.WriteFile(s, f.out, func(w io.Writer) error { return write(w, &g) })
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
