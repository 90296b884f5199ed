package graphfile

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/profile/callgraph"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/prof"
)

// TestDotNames lets Graphviz read graphs of functions with names that have characters with a meaning in its language.
func TestDotNames(t *testing.T) {
	t.Parallel()
	dot, err := exec.LookPath("dot")
	if err != nil {
		t.Skip("needs dot")
	}
	names := []string{`a"]; evil [label="b`, `back\slash`, `end\`, "new\nline", `\N`, "a&quot;b&amp;", "<b>", `q"`, "tab\there", "bell\a", "umlaut ü"}
	m := prof.Module{Map: prof.Map{Module: "app", BuildID: "\x01", RawSize: uint64(len(names))}, Counts: make([]prof.Counts, len(names)), Raws: 1}
	for i, name := range names {
		f := prof.Func{Name: name, Mode: prof.ModeFull, Fragments: []prof.Fragment{{Addr: uint64(0x1000 + 16*i), Size: 16}}}
		f.Calls = []prof.Call{{Callee: names[(i+1)%len(names)]}}
		m.Funcs = append(m.Funcs, f)
		m.Counts[i] = prof.Counts{Runs: 1, Calls: 1}
	}
	p := &prof.Profile{Modules: []prof.Module{m}}
	g := callgraph.Build(p, true)
	var text bytes.Buffer
	if err := graphDot(&text, p, g, &report.Names{}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(dot, "-Tjson0")
	cmd.Stdin = &text
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &text)
	}
	graph := struct {
		Objects []struct{ Name, Label string }
		Edges   []struct{ Tail, Head int }
	}{}
	if err := json.Unmarshal(out, &graph); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, o := range graph.Objects {
		got = append(got, strings.TrimSuffix(o.Label, `\n1 calls`))
	}
	for _, n := range g.Nodes {
		// Labels are as they are written, so that backslashes are double and "&" is an entity.
		want = append(want, strings.NewReplacer(`\`, `\\`, "&", "&amp;").Replace(report.Printable(n.Name)))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("dot reads\n%q, want\n%q", got, want)
	}
	if len(graph.Edges) != len(names) {
		t.Errorf("%d edges of %d", len(graph.Edges), len(names))
	}
}
