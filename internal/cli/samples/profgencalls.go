package samples

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/costgraph"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/internal/verb"
)

// ofCalls returns a function that writes a call graph.
func (f *profgenFlags) ofCalls(s *verb.Streams, graph *profgen.CallGraph) func(io.Writer) error {
	g := callWriter{graph, f.names.Names()}
	all := len(g.Edges)
	g.Edges = slices.DeleteFunc(g.Edges, func(e profgen.CallEdge) bool { return g.small(&e, f.minPercent/100) })
	if left := all - len(g.Edges); left > 0 {
		verb.Note(s, "%s of %s omitted because of --min-percent", report.Count(left), report.Plural(all, "edge"))
	}
	switch {
	case f.json:
		return g.json
	case f.format == formatDot:
		return func(w io.Writer) error { return costgraph.WriteDot(w, g.drawing()) }
	case f.format == formatMermaid:
		return func(w io.Writer) error { return costgraph.WriteMermaid(w, g.drawing()) }
	}
	return g.table
}

// callWriter writes a call graph of samples.
type callWriter struct {
	*profgen.CallGraph
	names *report.Names
}

// small reports whether an edge has less than a share of all calls, and of all samples.
func (g callWriter) small(e *profgen.CallEdge, share float64) bool {
	less := func(part, all uint64) bool { return all == 0 || float64(part) < share*float64(all) }
	return share > 0 && less(e.Calls, g.CallGraph.Calls) && less(e.Samples, g.CallGraph.Samples)
}

// table writes the edges, those with the most calls first, then with the most samples.
func (g callWriter) table(w io.Writer) error {
	t := report.NewTable(">CALLS", ">SAMPLES", "KIND", "~CALLER", "~CALLEE", "INFERRED BY")
	edges := slices.Clone(g.Edges)
	stablesort.Func(edges, func(a, b profgen.CallEdge) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(b.Samples, a.Samples))
	})
	for i := range edges {
		e := &edges[i]
		rules := ""
		if e.Inferred() {
			rules = strings.Join(e.Rules, ", ")
		}
		t.Row(report.Count(e.Calls), report.Count(e.Samples), e.Kind.String(), g.names.Show(g.Nodes[e.Caller].Name), g.names.Show(g.Nodes[e.Callee].Name),
			rules)
	}
	return t.Write(w, report.Style{})
}

// drawing returns the graph as cairn callgraph draws it: by samples and calls, or by calls
// alone where there are no stacks, or by samples alone where there are no branches.
func (g callWriter) drawing() *costgraph.Graph {
	key := func(name string) *account.Key {
		k, _ := account.FindKey(name)
		return &k
	}
	d := &costgraph.Graph{Unit: "samples", Label: key("total"), EdgeLabel: key("calls"), Shade: key("self")}
	if g.Samples == 0 {
		d.Label, d.Shade = key("calls"), key("calls")
	}
	weight := func(e *profgen.CallEdge) uint64 { return e.Calls }
	if g.CallGraph.Calls == 0 {
		d.EdgeLabel, weight = key("total"), func(e *profgen.CallEdge) uint64 { return e.Samples }
	}
	d.Shade.Name += ", of edges " + d.EdgeLabel.Name
	at := make([]int, len(g.Nodes)) // index of a node in the drawing, 1 more
	node := func(i int) int {
		if at[i] == 0 {
			n := &g.Nodes[i]
			d.Nodes = append(d.Nodes, costgraph.Node{
				Function: account.Function{Func: n.ID, Costs: account.Costs{Calls: n.Calls, Total: n.Total, Self: n.Self}},
				Func:     n.Func, Shown: g.names.Show(n.Name), Outside: n.Outside,
			})
			at[i] = len(d.Nodes)
		}
		return at[i] - 1
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		d.Edges = append(d.Edges, costgraph.Edge{
			From: node(e.Caller), To: node(e.Callee), Costs: account.Costs{Calls: e.Calls, Total: e.Samples, Self: weight(e)},
			Kind: edgeKind(e), Inferred: e.Inferred(),
		})
	}
	return d
}

// edgeKind is the label in a drawing of an edge that is not a plain call.
func edgeKind(e *profgen.CallEdge) string {
	if e.Kind == profgen.PlainCall {
		return ""
	}
	return e.Kind.String()
}

// json writes all that is known.
func (g callWriter) json(w io.Writer) error {
	type nodeJSON struct {
		ID        uint32 `json:"id"`
		Name      string `json:"name"`
		Demangled string `json:"demangled"`
		Object    string `json:"object,omitempty"`
		Address   uint64 `json:"address,omitempty"`
		Outside   bool   `json:"outside,omitempty"`
		Calls     uint64 `json:"calls"`
		Samples   uint64 `json:"samples"`
		Self      uint64 `json:"self"`
	}
	type edgeJSON struct {
		From     uint32   `json:"from"`
		To       uint32   `json:"to"`
		Kind     string   `json:"kind"` // call, tail call or frames missing
		Calls    uint64   `json:"calls"`
		Samples  uint64   `json:"samples"`
		Inferred bool     `json:"inferred,omitempty"` // no branch of it was observed
		Rules    []string `json:"rules,omitempty"`    // rules that restored it on stacks
	}
	doc := struct {
		Samples uint64     `json:"samples"`
		Calls   uint64     `json:"calls"`
		Nodes   []nodeJSON `json:"nodes"`
		Edges   []edgeJSON `json:"edges"`
	}{g.Samples, g.Calls, []nodeJSON{}, []edgeJSON{}}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		doc.Nodes = append(doc.Nodes, nodeJSON{uint32(n.ID), n.Name, g.names.Show(n.Name), n.Object, n.Addr, n.Outside, n.Calls, n.Total, n.Self})
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		doc.Edges = append(doc.Edges, edgeJSON{
			uint32(g.Nodes[e.Caller].ID), uint32(g.Nodes[e.Callee].ID), e.Kind.String(), e.Calls, e.Samples, e.Inferred(), e.Rules,
		})
	}
	return report.WriteJSON(w, doc)
}
