package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/samples/tailcall"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// The forms of call graphs.
const (
	formatCallgraph = "callgraph"
	formatDot       = "dot"
	formatMermaid   = "mermaid"
)

// ofCalls reports whether it is a call graph that is written.
func (f *profgenFlags) ofCalls() bool {
	return f.format == formatCallgraph || f.format == formatDot || f.format == formatMermaid
}

// calls returns what writes the call graph.
func (r *profgenRun) calls(s *Streams, counts *unwind.Result) (func(io.Writer) error, error) {
	var by tailcall.Inferrer
	if len(counts.Moments) > 0 {
		var err error
		if by, err = r.stackInferrer(counts); err != nil {
			return nil, err
		}
	}
	g := callWriter{profgen.Calls(counts, r.code, by), r.names.names()}
	all := len(g.Edges)
	if all == 0 {
		return nil, fmt.Errorf("%s: the samples show no call", strings.Join(r.binaries, ", "))
	}
	g.Edges = slices.DeleteFunc(g.Edges, func(e profgen.CallEdge) bool { return g.small(&e, r.minPercent/100) })
	if left := all - len(g.Edges); left > 0 {
		note(s, "%s of %s left out, as --min-percent asks for", report.Count(left), plural(all, "edge"))
	}
	switch {
	case r.json:
		return g.json, nil
	case r.format == formatDot:
		return func(w io.Writer) error { return writeDot(w, g.drawing()) }, nil
	case r.format == formatMermaid:
		return func(w io.Writer) error { return writeMermaid(w, g.drawing()) }, nil
	}
	return g.table, nil
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
	t := report.Table{Columns: []report.Column{
		{Title: "CALLS", Align: report.Right},
		{Title: "SAMPLES", Align: report.Right},
		{Title: "KIND"},
		{Title: "CALLER", Shrink: report.Shorten},
		{Title: "CALLEE", Shrink: report.Shorten},
		{Title: "INFERRED BY"},
	}}
	edges := slices.Clone(g.Edges)
	slices.SortStableFunc(edges, func(a, b profgen.CallEdge) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(b.Samples, a.Samples))
	})
	for i := range edges {
		e := &edges[i]
		rules := ""
		if e.Inferred() {
			rules = strings.Join(e.Rules, ", ")
		}
		t.Add(report.Text(report.Count(e.Calls)), report.Text(report.Count(e.Samples)), report.Text(e.Kind.String()),
			report.Text(g.names.Show(g.Nodes[e.Caller].Name)), report.Text(g.names.Show(g.Nodes[e.Callee].Name)), report.Text(rules))
	}
	return t.Write(w, report.Style{})
}

// drawing returns the graph as cairn graph draws it: by samples and calls, or by calls
// alone where there are no stacks, or by samples alone where there are no branches.
func (g callWriter) drawing() *costGraph {
	key := func(name string) *costKey {
		k, _ := findCostKey(name)
		return &k
	}
	d := &costGraph{unit: "samples", label: key("total"), edgeLabel: key("calls"), shade: key("self")}
	if g.Samples == 0 {
		d.label, d.shade = key("calls"), key("calls")
	}
	weight := func(e *profgen.CallEdge) uint64 { return e.Calls }
	if g.CallGraph.Calls == 0 {
		d.edgeLabel, weight = key("total"), func(e *profgen.CallEdge) uint64 { return e.Samples }
	}
	d.shade.name += ", of edges " + d.edgeLabel.name
	at := make([]int, len(g.Nodes)) // index of a node in the drawing, 1 more
	node := func(i int) int {
		if at[i] == 0 {
			n := &g.Nodes[i]
			d.nodes = append(d.nodes, graphNode{
				Function: account.Function{Func: n.ID, Costs: account.Costs{Calls: n.Calls, Total: n.Total, Self: n.Self}},
				Func:     n.Func, shown: g.names.Show(n.Name), outside: n.Outside,
			})
			at[i] = len(d.nodes)
		}
		return at[i] - 1
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		d.edges = append(d.edges, graphEdge{
			from: node(e.Caller), to: node(e.Callee), Costs: account.Costs{Calls: e.Calls, Total: e.Samples, Self: weight(e)},
			kind: edgeKind(e), inferred: e.Inferred(),
		})
	}
	return d
}

// edgeKind is what a drawing says of an edge that is no plain call.
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
		Inferred bool     `json:"inferred,omitempty"` // no branch of it was seen
		Rules    []string `json:"rules,omitempty"`    // that put it on stacks
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
