package costgraph

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"html"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/report"
)

// hostileNames are names that would end a label or mean something in one.
var hostileNames = []string{
	`operator"" _q(unsigned long long)`, `a\`, `\`, `\\N`, `\n\l\r`, `{a|b}`, `<port> x`, `&lt;`, `&amp;#92;`, `#quot;`, `#35;`,
	`"]; n9 [label="`, "`code`", "**bold** _it_ ~~x~~", "1. list", "a-->b", "%% comment", "end", "subgraph", `<script>alert(1)</script>`,
	"café µ 漢字", "\x00\x1b[31m\n\t", "\xff\xfe", "", " ", "$$x$$", "@{ shape: x }", "click n0 call x()", strings.Repeat("é\"", 100),
}

// graphOf returns a graph of functions with these names, each calling the next.
func graphOf(names ...string) *Graph {
	calls, _ := account.FindKey("calls")
	g := &Graph{Unit: "ns", Label: &calls, EdgeLabel: &calls, Shade: &calls}
	for i, name := range names {
		costs := account.Costs{Calls: uint64(i + 1)}
		g.Nodes = append(g.Nodes, Node{Shown: report.Printable(name), Function: account.Function{Costs: costs}})
		g.Edges = append(g.Edges, Edge{From: i, To: (i + 1) % len(names), Costs: costs})
	}
	return g
}

// wantLabels are the labels of graphOf's nodes.
func wantLabels(names []string) []string {
	var want []string
	for i, name := range names {
		want = append(want, report.Shorten(report.Printable(name), report.MaxDotLabel), report.Plural(i+1, "call"))
	}
	return want
}

var dotLine = regexp.MustCompile(`^  (n\d+( -> n\d+)?|graph|node|edge) \[((\w+=("([^"\\]|\\.)*"|[\w.]+)(, )?)+)\];$`)

// dotLabels takes a drawing apart by the grammar of dot as far as ours goes, and
// returns the lines of the nodes' labels.
func dotLabels(text string) ([]string, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	last := len(lines) - 1
	if lines[0] != "digraph calls {" || lines[last] != "}" {
		return nil, fmt.Errorf("no digraph: %q", text)
	}
	var labels []string
	for _, line := range lines[2:last] {
		m := dotLine.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("no statement: %q", line)
		}
		if m[1][0] != 'n' || m[1] == "node" || m[2] != "" {
			continue
		}
		label := regexp.MustCompile(`^label="(([^"\\]|\\.)*)"`).FindStringSubmatch(m[3])
		var b strings.Builder
		for i := 0; i < len(label[1]); i++ {
			c := label[1][i]
			if c == '\\' {
				i++
				if c = label[1][i]; c == 'n' {
					c = '\n'
				}
			}
			b.WriteByte(c)
		}
		for line := range strings.SplitSeq(b.String(), "\n") {
			labels = append(labels, html.UnescapeString(line))
		}
	}
	return labels, nil
}

var (
	mermaidNode = regexp.MustCompile(`^  n\d+\["([^"]*)"\]$`)
	mermaidRest = regexp.MustCompile(`^  (style n\d+ [\w:,#-]+|n\d+ -->\|"[^"|]*"\| n\d+|linkStyle \d+ [\w:,#.-]+)$`)
	mermaidSign = regexp.MustCompile(`#\d+;`)
)

func mermaidLabels(text string) ([]string, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0] != "flowchart LR" {
		return nil, fmt.Errorf("no flow chart: %q", text)
	}
	var labels []string
	for _, line := range lines[1:] {
		m := mermaidNode.FindStringSubmatch(line)
		if m == nil {
			if !mermaidRest.MatchString(line) {
				return nil, fmt.Errorf("no statement: %q", line)
			}
			continue
		}
		for part := range strings.SplitSeq(m[1], "<br/>") {
			if bare := mermaidSign.ReplaceAllString(part, ""); strings.ContainsAny(bare, "\"#&<>;`\\*_~{}[]()|") {
				return nil, fmt.Errorf("%q has signs of Mermaid's own", part)
			}
			labels = append(labels, mermaidSign.ReplaceAllStringFunc(part, func(s string) string {
				n, _ := strconv.Atoi(s[1 : len(s)-1])
				return string(rune(n))
			}))
		}
	}
	return labels, nil
}

// checkNames writes both drawings and reads the names back.
func checkNames(names []string) error {
	want := strings.Join(wantLabels(names), "\n")
	var dot, mermaid bytes.Buffer
	if err := WriteDot(&dot, graphOf(names...)); err != nil {
		return err
	}
	if err := WriteMermaid(&mermaid, graphOf(names...)); err != nil {
		return err
	}
	got, err := dotLabels(dot.String())
	if err == nil && strings.Join(got, "\n") != want {
		err = fmt.Errorf("dot: %q, want %q", got, want)
	}
	if err != nil {
		return err
	}
	if got, err = mermaidLabels(mermaid.String()); err == nil && strings.Join(got, "\n") != want {
		err = fmt.Errorf("mermaid: %q, want %q", got, want)
	}
	return err
}

// TestGraphNames checks that drawings are well-formed and have the names, whatever functions
// are called.
func TestGraphNames(t *testing.T) {
	t.Parallel()
	if err := checkNames(hostileNames); err != nil {
		t.Error(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.SampledFrom(hostileNames),
			rapid.StringMatching(`["\\&#;<>{}|a-z0-9 ]{0,20}`))
		if err := checkNames(rapid.SliceOfN(name, 1, 5).Draw(t, "names")); err != nil {
			t.Fatal(err)
		}
	})
}

// Graphviz reads the same.
func TestGraphNamesInGraphviz(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("dot"); err != nil {
		t.Skip("Graphviz is not installed")
	}
	var dot bytes.Buffer
	if err := WriteDot(&dot, graphOf(hostileNames...)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("dot", "-Tsvg")
	cmd.Stdin = &dot
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var svg struct {
		Graph struct {
			Nodes []struct {
				Class string   `xml:"class,attr"`
				Texts []string `xml:"g>a>text"`
				Bare  []string `xml:"text"` // without a tooltip
			} `xml:"g"`
		} `xml:"g"`
	}
	if err := xml.Unmarshal(out, &svg); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range svg.Graph.Nodes {
		if n.Class == "node" {
			got = append(append(got, n.Texts...), n.Bare...)
		}
	}
	// Graphviz makes several blanks hard ones, and leaves out empty lines.
	plain := func(lines []string) string {
		var kept []string
		for _, l := range lines {
			if l = strings.ReplaceAll(l, "\u00a0", " "); strings.TrimSpace(l) != "" {
				kept = append(kept, l)
			}
		}
		return strings.Join(kept, "\n")
	}
	if want := wantLabels(hostileNames); plain(got) != plain(want) {
		t.Errorf("got\n%q\nwant\n%q", plain(got), plain(want))
	}
}
