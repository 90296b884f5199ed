package costgraph

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/report"
)

func compareBy(k *account.Key, a, b *account.Costs) int { return cmp.Compare(k.Of(a), k.Of(b)) }

// rootShare returns the square root of the share of part in whole.
func rootShare(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return math.Sqrt(float64(part) / float64(whole))
}

// mixColor returns the colour at x, from 0 to 1, between two.
func mixColor(from, to [3]float64, x float64) string {
	mix := func(i int) int { return int(from[i] + (to[i]-from[i])*x + 0.5) }
	return fmt.Sprintf("#%02x%02x%02x", mix(0), mix(1), mix(2))
}

// Nodes go from paper to a warm red that black text can be read on; edges from
// grey to a darker red.
var (
	nodeCold, nodeHot = [3]float64{0xfd, 0xf6, 0xe3}, [3]float64{0xf4, 0x7c, 0x5c}
	edgeCold, edgeHot = [3]float64{0x93, 0xa1, 0xa1}, [3]float64{0xb3, 0x1b, 0x1b}
)

// nodeLines are the lines of a node's label.
func (g *Graph) nodeLines(n *Node) []string {
	lines := []string{report.Shorten(n.Shown, report.MaxDotLabel)}
	if g.Label != nil && !n.Outside {
		lines = append(lines, g.labelText(g.Label, &n.Costs))
	}
	return lines
}

// edgeLines are the lines of an edge's label.
func (g *Graph) edgeLines(e *Edge) []string {
	var lines []string
	if g.EdgeLabel != nil {
		lines = append(lines, g.EdgeLabel.Text(&e.Costs, g.Unit, g.Step))
	}
	if e.Kind != "" {
		lines = append(lines, e.Kind)
	}
	if e.Inferred {
		lines = append(lines, "inferred")
	}
	return lines
}

// legend describes the content of a drawing.
func (g *Graph) legend() string {
	var parts []string
	for _, p := range []struct {
		what string
		key  *account.Key
	}{{"nodes: ", g.Label}, {"edges: ", g.EdgeLabel}, {"colour: ", g.Shade}} {
		if p.key != nil {
			parts = append(parts, p.what+p.key.Name)
		}
	}
	return strings.Join(parts, ", ")
}

// labelText formats a number with its name.
func (g *Graph) labelText(k *account.Key, c *account.Costs) string {
	if k.Name == "calls" && c.Calls == 1 {
		return "1 call"
	}
	if k.Name == "calls" {
		return report.Count(c.Calls) + " calls"
	}
	text := k.Text(c, g.Unit, g.Step)
	if text == "" {
		return k.Name + " not known"
	}
	return k.Name + " " + text
}

// WriteDot writes the graph for Graphviz.
func WriteDot(w io.Writer, g *Graph) error {
	b := bufio.NewWriter(w)
	b.WriteString(`digraph calls {
  rankdir=LR;
  graph [fontname="monospace", fontsize=10, label="` + g.legend() + `"];
  node [shape=box, style="rounded,filled", color="#93a1a1", fontname="monospace", fontsize=10];
  edge [fontname="monospace", fontsize=8];
`)
	nodeShade, edgeShade := g.shades()
	for i := range g.Nodes {
		n := &g.Nodes[i]
		lines := g.nodeLines(n)
		for k := range lines {
			lines[k] = report.DotEscape(lines[k])
		}
		extra := ""
		if n.Outside {
			extra = `, style="rounded,dashed"`
		}
		fmt.Fprintf(b, "  n%d [label=\"%s\", tooltip=\"%s\", fillcolor=\"%s\"%s];\n", i,
			strings.Join(lines, `\n`), report.DotEscape(nodeTip(n)), mixColor(nodeCold, nodeHot, nodeShade(&n.Costs)), extra)
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		label := ""
		if lines := g.edgeLines(e); len(lines) > 0 {
			label = fmt.Sprintf("label=\"%s\", ", report.DotEscape(strings.Join(lines, "\n")))
		}
		if e.Inferred {
			label += "style=dashed, "
		}
		x := edgeShade(&e.Costs)
		fmt.Fprintf(b, "  n%d -> n%d [%scolor=\"%s\", penwidth=%.2f];\n", e.From, e.To, label, mixColor(edgeCold, edgeHot, x), 1+2*x)
	}
	b.WriteString("}\n")
	return b.Flush()
}

// nodeTip is the tooltip of a node: its full name.
func nodeTip(n *Node) string {
	if place := report.SourceText(n.File, n.Line); place != "" {
		return n.Shown + " " + place
	}
	return n.Shown
}

// WriteMermaid writes the graph as a Mermaid flow chart, as wikis draw it.
func WriteMermaid(w io.Writer, g *Graph) error {
	b := bufio.NewWriter(w)
	b.WriteString("flowchart LR\n")
	nodeShade, edgeShade := g.shades()
	for i := range g.Nodes {
		n := &g.Nodes[i]
		lines := g.nodeLines(n)
		for k := range lines {
			lines[k] = mermaidText(lines[k])
		}
		shape := [2]string{"[", "]"}
		if n.Outside {
			shape = [2]string{"([", "])"}
		}
		fmt.Fprintf(b, "  n%d%s\"%s\"%s\n", i, shape[0], strings.Join(lines, "<br/>"), shape[1])
		if g.Shade != nil && !n.Outside {
			fmt.Fprintf(b, "  style n%d fill:%s,stroke:#93a1a1,color:#1c2024\n", i, mixColor(nodeCold, nodeHot, nodeShade(&n.Costs)))
		}
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		label, arrow := "", "-->"
		if lines := g.edgeLines(e); len(lines) > 0 {
			label = fmt.Sprintf("|\"%s\"|", mermaidText(strings.Join(lines, ", ")))
		}
		if e.Inferred {
			arrow = "-.->"
		}
		fmt.Fprintf(b, "  n%d %s%s n%d\n", e.From, arrow, label, e.To)
		if g.Shade != nil {
			x := edgeShade(&e.Costs)
			fmt.Fprintf(b, "  linkStyle %d stroke:%s,stroke-width:%.2fpx\n", i, mixColor(edgeCold, edgeHot, x), 1+2*x)
		}
	}
	return b.Flush()
}

// mermaidText writes all characters that Mermaid, Markdown or HTML could interpret as numeric
// entities, which Mermaid decodes.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\"#&<>;`\\*_~{}[]()|$%:/@", r) {
			fmt.Fprintf(&b, "#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// WriteJSON writes all costs of the graph.
func WriteJSON(w io.Writer, g *Graph) error {
	type nodeJSON struct {
		ID        *uint32 `json:"id"` // of the function; null for the outside
		Name      string  `json:"name"`
		Demangled string  `json:"demangled"`
		File      string  `json:"file,omitempty"`
		Line      int     `json:"line,omitempty"`
		Outside   bool    `json:"outside,omitempty"`
		*account.CostsJSON
	}
	type edgeJSON struct {
		From *uint32 `json:"from"`
		To   *uint32 `json:"to"`
		account.CostsJSON
	}
	out := struct {
		Unit  string     `json:"unit"`
		Step  uint64     `json:"step,omitempty"`
		Nodes []nodeJSON `json:"nodes"`
		Edges []edgeJSON `json:"edges"`
	}{g.Unit, g.Step, make([]nodeJSON, len(g.Nodes)), make([]edgeJSON, len(g.Edges))}
	id := func(i int) *uint32 {
		if g.Nodes[i].Outside {
			return nil
		}
		return new(uint32(g.Nodes[i].Function.Func))
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		j := nodeJSON{ID: id(i), Name: n.Name, Demangled: n.Shown, File: n.File, Line: n.Line, Outside: n.Outside}
		if n.Outside {
			j.Name, j.Demangled = "[outside]", "[outside]"
		} else {
			costs := n.Costs.JSON()
			j.CostsJSON = &costs
		}
		out.Nodes[i] = j
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		out.Edges[i] = edgeJSON{id(e.From), id(e.To), e.Costs.JSON()}
	}
	return report.WriteJSON(w, out)
}
