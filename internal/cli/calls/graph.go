package calls

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/output"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// GraphFlags are the flags of cairn callgraph for logs of calls, and those for the output of
// any call graph.
type GraphFlags struct {
	LogFlags
	names                   verb.DisplayFlags
	format, out             string
	label, edgeLabel, shade string
	minPercent              float64
	pattern                 string
}

var graphFormats = output.Formats[func(io.Writer, *CostGraph) error]{
	{Name: "dot", Rules: WriteDot},
	{Name: "json", Rules: writeGraphJSON},
	{Name: "mermaid", Rules: WriteMermaid},
}

// Register adds the flags to a command. It returns those that apply to logs of calls only.
func (f *GraphFlags) Register(c *cobra.Command) *pflag.FlagSet {
	f.LogFlags.Register(c)
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

// CostGraph is a graph that is ready to be written.
type CostGraph struct {
	Nodes []GraphNode // by id; the outside, if it has an edge, is last
	Edges []GraphEdge // by caller, then callee
	Unit  string
	Step  uint64 // see calllog.Clock
	// The columns to show; nil for none. JSON has all.
	Label, EdgeLabel, Shade *account.Key
}

// GraphNode is a function of a call graph and the cost of its calls.
type GraphNode struct {
	account.Function
	calllog.Func
	Shown   string
	Outside bool
}

// GraphEdge is an edge between two nodes, by index.
type GraphEdge struct {
	From, To int
	account.Costs
	Kind     string // of edges that are no calls
	Inferred bool   // it was not seen
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
	var g CostGraph
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
	g.keep(logs)
	results, err := logs.Account(ctx, f.Options)
	if err != nil {
		return err
	}
	trie := logset.Merged(results)
	g.Unit, g.Step = logs.Clock.Unit(), logs.Clock.Step
	left := g.build(trie, logs, f.threshold(trie), func(n *GraphNode) bool { return filter.Match(n.Name) })
	if len(g.Nodes) == 0 {
		verb.Note(s, "the graph is empty")
	} else if left > 0 {
		verb.Note(s, "%s omitted, with all edges", report.Plural(left, "function"))
	}
	return verb.WriteFile(s, f.out, func(w io.Writer) error { return write(w, &g) })
}

// keep replaces keys that the logs do not have by calls.
func (g *CostGraph) keep(logs *logset.Set) {
	calls, _ := account.FindKey("calls")
	for _, k := range []**account.Key{&g.Label, &g.EdgeLabel, &g.Shade} {
		if *k != nil && !logs.Knows((*k).Name) {
			*k = &calls
		}
	}
}

// threshold returns the time below which functions and edges are omitted.
func (f *GraphFlags) threshold(trie *calltrie.Trie) float64 {
	var all uint64
	for _, n := range trie.Nodes() {
		if n.Parent == calltrie.Root {
			all += n.Total
		}
	}
	return float64(all) * f.minPercent / 100
}

// build sets the nodes and edges and returns how many functions it omitted: those whose total
// is below least, and those without an edge that match accepts.
func (g *CostGraph) build(trie *calltrie.Trie, logs *logset.Set, least float64, match func(*GraphNode) bool) (left int) {
	var nodes []GraphNode
	index := make(map[calllog.FuncID]int)
	for _, fn := range account.Functions(trie) {
		known := logs.Funcs[fn.Func]
		known.Name = logs.Symbol(fn.Func)
		index[fn.Func] = len(nodes)
		nodes = append(nodes, GraphNode{Function: fn, Func: known, Shown: logs.Name(fn.Func)})
	}
	index[account.Outside] = len(nodes)
	nodes = append(nodes, GraphNode{Outside: true, Shown: "outside"})
	keep := func(n *GraphNode) bool { return n.Outside || float64(n.Total) >= least }
	used := make([]bool, len(nodes))
	for _, e := range account.Edges(trie) {
		from, to := index[e.Caller], index[e.Callee]
		a, b := &nodes[from], &nodes[to]
		if keep(a) && keep(b) && float64(e.Total) >= least && (!a.Outside && match(a) || match(b)) {
			g.Edges = append(g.Edges, GraphEdge{From: from, To: to, Costs: e.Costs})
			used[from], used[to] = true, true
		}
	}
	// A function of which all edges are too small is omitted with them, unless its total is
	// large enough.
	at := make([]int, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		if used[i] || !n.Outside && keep(n) && match(n) {
			at[i] = len(g.Nodes)
			g.Nodes = append(g.Nodes, *n)
		} else if !n.Outside {
			left++
		}
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		e.From, e.To = at[e.From], at[e.To]
	}
	return left
}

// shades returns the ratio of a value to the largest one, from 0 to 1. It is the square root
// of the share, because otherwise most functions would look alike.
func (g *CostGraph) shades() (node, edge func(*account.Costs) float64) {
	most := func(list []*account.Costs) func(*account.Costs) float64 {
		if g.Shade == nil || len(list) == 0 {
			return func(*account.Costs) float64 { return 0 }
		}
		top := slices.MaxFunc(list, func(a, b *account.Costs) int { return compareBy(g.Shade, a, b) })
		return func(c *account.Costs) float64 { return rootShare(g.Shade.Of(c), g.Shade.Of(top)) }
	}
	var nodes, edges []*account.Costs
	for i := range g.Nodes {
		nodes = append(nodes, &g.Nodes[i].Costs)
	}
	for i := range g.Edges {
		edges = append(edges, &g.Edges[i].Costs)
	}
	return most(nodes), most(edges)
}
