package graphfile

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/output/coverlist"
	"github.com/cairnprof/cairn/internal/profile/callgraph"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// OfProfile is the profile whose call graph is drawn.
type OfProfile struct {
	gather.Choice
	External bool // functions outside it, such as those of the C library
}

// Form is how a call graph is written.
type Form struct {
	Format, Path string
	Names        *report.Names
}

// Run draws the call graph of a profile.
func (f *OfProfile) Run(ctx context.Context, s *verb.Streams, to Form) error {
	if to.Format != "dot" && to.Format != "json" {
		return verb.Usagef("--format %s: must be dot or json", to.Format)
	}
	p, err := f.Open(ctx, s)
	if err != nil {
		return err
	}
	g := callgraph.Build(p, f.External)
	if len(g.Edges) == 0 {
		verb.Note(s, "%s has no call edges: they need --mode=full, or runs of cairn order --run", f.Path)
	}
	return verb.WriteFile(s, to.Path, func(w io.Writer) error {
		if to.Format == "json" {
			return graphJSON(w, p, g)
		}
		return graphDot(w, p, g, to.Names)
	})
}

func graphDot(w io.Writer, p *prof.Profile, g *callgraph.Graph, names *report.Names) error {
	b := bufio.NewWriter(w)
	b.WriteString(`digraph calls {
  rankdir=LR;
  node [shape=box, style="rounded,filled", fillcolor="#fdf6e3", color="#93a1a1", fontname="monospace", fontsize=10];
  edge [color="#586e75", fontname="monospace", fontsize=8];
`)
	for i, n := range g.Nodes {
		label, extra := report.DotEscape(report.Shorten(names.Show(n.Name), report.MaxDotLabel)), ""
		if n.Module < 0 {
			extra = `, style="rounded,dashed"`
		} else if c := &p.Modules[n.Module].Counts[n.Func]; c.Calls > 0 {
			label += `\n` + coverlist.CallText(c) + " calls"
		}
		fmt.Fprintf(b, "  n%d [label=\"%s\"%s];\n", i, label, extra)
	}
	for _, e := range g.Edges {
		style := "solid"
		switch e.Kind {
		case callgraph.Implied:
			style = "dashed"
		case callgraph.Possible:
			style = "dotted"
		}
		fmt.Fprintf(b, "  n%d -> n%d [style=%s];\n", e.From, e.To, style)
	}
	b.WriteString("}\n")
	return b.Flush()
}

func graphJSON(w io.Writer, p *prof.Profile, g *callgraph.Graph) error {
	type nodeJSON struct {
		ID        string  `json:"id"`
		Name      string  `json:"name"`
		Demangled string  `json:"demangled"`
		Module    string  `json:"module,omitempty"`
		File      string  `json:"file,omitempty"`
		External  bool    `json:"external,omitempty"`
		Runs      uint64  `json:"runs,omitempty"`
		Calls     *uint64 `json:"calls,omitempty"`
		Inexact   bool    `json:"calls_inexact,omitempty"`
	}
	type edgeJSON struct {
		From   string `json:"from"`
		To     string `json:"to"`
		Kind   string `json:"kind"`
		Blocks []int  `json:"blocks,omitempty"`
		Runs   uint64 `json:"runs,omitempty"`
	}
	out := struct {
		Nodes []nodeJSON `json:"nodes"`
		Edges []edgeJSON `json:"edges"`
	}{make([]nodeJSON, len(g.Nodes)), make([]edgeJSON, len(g.Edges))}
	id := func(i int) string { return "n" + strconv.Itoa(i) }
	var names report.Names
	for i, n := range g.Nodes {
		j := nodeJSON{ID: id(i), Name: n.Name, Demangled: names.Show(n.Name), External: n.Module < 0}
		if !j.External {
			m := &p.Modules[n.Module]
			fn, c := &m.Funcs[n.Func], &m.Counts[n.Func]
			j.Module, j.File, j.Runs = m.Module, fn.File, c.Runs
			if fn.Mode.HasCalls() {
				j.Calls, j.Inexact = &c.Calls, c.Inexact
			}
		}
		out.Nodes[i] = j
	}
	for i, e := range g.Edges {
		out.Edges[i] = edgeJSON{id(e.From), id(e.To), e.Kind.String(), e.Blocks, e.Runs}
	}
	return report.WriteJSON(w, out)
}
