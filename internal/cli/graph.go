package cli

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/trace"
)

type graphFlags struct {
	traceFlags
	names                   displayFlags
	format, out             string
	label, edgeLabel, shade string
	minPercent              float64
	pattern                 string
}

func newGraphCmd(s *Streams) *cobra.Command {
	var f graphFlags
	c := &cobra.Command{
		Use:   "graph LOG... [flags]",
		Short: "Draw who called whom in a trace, and what that cost",
		Long: `graph joins the calls in logs to one graph: a node for each function, an edge for
each pair of a caller and a callee, whatever the rest of the stack was. Nodes and
edges can be labelled and coloured by the same numbers that cairn account has;
those of an edge are of the calls along it. The node "outside" is where threads
begin.

A big program makes a big graph. --min-percent leaves out functions, and edges,
whose total is below that share of the traced time; --regexp leaves out edges at
which neither end matches.`,
		Example: `  cairn graph --map ./app --shade self --min-percent 1 xray-log.app.* | dot -Tsvg -o app.svg
  cairn graph --map ./app --format mermaid --edge-label calls xray-log.app.*`,
		Args: exactFiles("graph", "logs of calls", 1, -1),
		RunE: func(c *cobra.Command, args []string) error {
			if f.names.json && c.Flags().Changed("format") && f.format != "json" {
				return usagef("--json and --format %s: choose one", f.format)
			}
			if f.names.json {
				f.format = "json"
			}
			f.names.json = f.format == "json"
			return f.run(c.Context(), s, args)
		},
	}
	f.register(c)
	keys := keyList(append(costNames(), "none"))
	c.Flags().StringVar(&f.format, "format", "dot", "`format` of the graph: dot, json or mermaid")
	c.Flags().BoolVar(&f.names.json, "json", false, "the same as --format json")
	c.Flags().StringVarP(&f.out, "output", "o", "-", "write to this `file`")
	c.Flags().StringVar(&f.label, "label", "total", "label nodes with this `key`: "+keys)
	c.Flags().StringVar(&f.edgeLabel, "edge-label", "calls", "label edges with this `key`")
	c.Flags().StringVar(&f.shade, "shade", "self", "colour nodes and edges by this `key`")
	c.Flags().Float64Var(&f.minPercent, "min-percent", 0, "leave out what took less than this `share` of all time")
	registerRegexp(c, &f.pattern, "only edges from or to functions whose name matches this `pattern`")
	f.names.registerNames(c)
	return c
}

// costGraph is a graph that is ready to be written.
type costGraph struct {
	nodes []graphNode // by id; the outside, if it has an edge, comes last
	edges []graphEdge // by caller, then callee
	unit  string
	// What to show; nil for nothing. JSON has all.
	label, edgeLabel, shade *costKey
}

type graphNode struct {
	account.Function
	trace.Func
	shown   string
	outside bool
}

// graphEdge is an edge between two nodes, by index.
type graphEdge struct {
	from, to int
	account.Costs
	kind     string // of edges that are no calls
	inferred bool   // it was not seen
}

func (f *graphFlags) run(ctx context.Context, s *Streams, args []string) error {
	writers := map[string]func(io.Writer, *costGraph) error{"dot": writeDot, "mermaid": writeMermaid, "json": writeGraphJSON}
	write, ok := writers[f.format]
	if !ok {
		return usagef("--format %s: there is dot, json and mermaid", f.format)
	}
	if !(f.minPercent >= 0 && f.minPercent <= 100) {
		return usagef("--min-percent %v is not between 0 and 100", f.minPercent)
	}
	var g costGraph
	for _, k := range []struct {
		flag, name string
		key        **costKey
	}{{"label", f.label, &g.label}, {"edge-label", f.edgeLabel, &g.edgeLabel}, {"shade", f.shade, &g.shade}} {
		key, ok := findCostKey(k.name)
		switch {
		case ok:
			*k.key = &key
		case k.name != "none":
			return usagef("--%s %s: there is %s", k.flag, k.name, keyList(append(costNames(), "none")))
		}
	}
	filter, err := newNameFilter(f.pattern)
	if err != nil {
		return err
	}
	logs, err := f.open(s, args, f.names.names())
	if err != nil {
		return err
	}
	defer logs.Close()
	g.keep(logs)
	results, err := logs.account(ctx, f.options())
	if err != nil {
		return err
	}
	trie := merged(results)
	g.unit = logs.Clock.Unit()
	left := g.build(trie, logs, f.threshold(trie), func(n *graphNode) bool { return filter.match(n.Name) })
	if len(g.nodes) == 0 {
		note(s, "the graph is empty")
	} else if left > 0 {
		note(s, "%s with their edges left out", plural(left, "function"))
	}
	return writeFile(s, f.out, func(w io.Writer) error { return write(w, &g) })
}

// keep puts calls in the place of numbers that the logs do not have.
func (g *costGraph) keep(logs *traceSet) {
	calls, _ := findCostKey("calls")
	for _, k := range []**costKey{&g.label, &g.edgeLabel, &g.shade} {
		if *k != nil && !logs.knows((*k).name) {
			*k = &calls
		}
	}
}

// threshold returns the time below which functions and edges are left out.
func (f *graphFlags) threshold(trie *calltrie.Trie) float64 {
	var all uint64
	for _, n := range trie.Nodes() {
		if n.Parent == calltrie.Root {
			all += n.Total
		}
	}
	return float64(all) * f.minPercent / 100
}

// build fills in nodes and edges and returns how many functions it left out:
// those whose total is below least, and those without an edge that match takes.
func (g *costGraph) build(trie *calltrie.Trie, logs *traceSet, least float64, match func(*graphNode) bool) (left int) {
	var nodes []graphNode
	index := make(map[trace.FuncID]int)
	for _, fn := range account.Functions(trie) {
		known := logs.Funcs[fn.Func]
		known.Name = logs.symbol(fn.Func)
		index[fn.Func] = len(nodes)
		nodes = append(nodes, graphNode{Function: fn, Func: known, shown: logs.name(fn.Func)})
	}
	index[account.Outside] = len(nodes)
	nodes = append(nodes, graphNode{outside: true, shown: "outside"})
	keep := func(n *graphNode) bool { return n.outside || float64(n.Total) >= least }
	used := make([]bool, len(nodes))
	for _, e := range account.Edges(trie) {
		from, to := index[e.Caller], index[e.Callee]
		a, b := &nodes[from], &nodes[to]
		if keep(a) && keep(b) && float64(e.Total) >= least && (!a.outside && match(a) || match(b)) {
			g.edges = append(g.edges, graphEdge{from: from, to: to, Costs: e.Costs})
			used[from], used[to] = true, true
		}
	}
	// A function whose every edge is too small is left out with them, unless it
	// is big itself.
	at := make([]int, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		if used[i] || !n.outside && keep(n) && match(n) {
			at[i] = len(g.nodes)
			g.nodes = append(g.nodes, *n)
		} else if !n.outside {
			left++
		}
	}
	for i := range g.edges {
		e := &g.edges[i]
		e.from, e.to = at[e.from], at[e.to]
	}
	return left
}

// shade returns how much of a value there is next to the largest one, from 0 to
// 1. It is the root of the share, as otherwise most functions would look alike.
func (g *costGraph) shades() (node, edge func(*account.Costs) float64) {
	most := func(list []*account.Costs) func(*account.Costs) float64 {
		if g.shade == nil || len(list) == 0 {
			return func(*account.Costs) float64 { return 0 }
		}
		top := slices.MaxFunc(list, func(a, b *account.Costs) int { return compareBy(g.shade, a, b) })
		return func(c *account.Costs) float64 { return rootShare(g.shade.of(c), g.shade.of(top)) }
	}
	var nodes, edges []*account.Costs
	for i := range g.nodes {
		nodes = append(nodes, &g.nodes[i].Costs)
	}
	for i := range g.edges {
		edges = append(edges, &g.edges[i].Costs)
	}
	return most(nodes), most(edges)
}
