package difflist

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/calls/stackdiff"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/page/single"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// A Side is the logs of one side of a comparison.
type Side struct {
	Label string
	Trie  *calltrie.Trie
	Set   *logset.Set
}

// Logs is a comparison of logs on its way to the output.
type Logs struct {
	*stackdiff.Result
	SideA, SideB Side
	Key          stackdiff.Key
	Unit         string
	Show         *report.Names
	Limit        int // of each list; 0 for none
}

// WriteFlame draws both sides as one flame graph.
func (d *Logs) WriteFlame(s *verb.Streams, path string) error {
	doc := &flamegraph.Diff{
		Title: fmt.Sprintf("%s and %s", filepath.Base(d.SideA.Label), filepath.Base(d.SideB.Label)),
		Unit:  d.Unit, Before: d.SideA.Label, After: d.SideB.Label,
	}
	if a, b := len(d.SideA.Set.Logs), len(d.SideB.Set.Logs); a > 1 || b > 1 {
		doc.Notes = append(doc.Notes, fmt.Sprintf("Calls and times are means of %s and of %s.", report.Plural(a, "log"), report.Plural(b, "log")))
	}
	for _, name := range d.Names {
		doc.Names = append(doc.Names, d.Show.Show(name))
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		doc.Nodes = append(doc.Nodes, flamegraph.DiffNode{
			Func: n.Func, Parent: n.Parent,
			A: meanStats(n.StatsA, &n.A), B: meanStats(n.StatsB, &n.B),
		})
	}
	draw := single.Flame
	if strings.HasSuffix(path, ".svg") {
		draw = flamegraph.WriteSVG
	}
	err := verb.WriteFile(s, path, func(w io.Writer) error {
		_, err := draw(w, doc, flamegraph.Options{})
		return err
	})
	if err == nil && path != "-" {
		verb.Note(s, "wrote the flame graph to %s", path)
	}
	return err
}

// meanStats returns the statistics of a stack, nil if a side has none, with the mean over the
// runs.
func meanStats(s *calltrie.Stats, mean *stackdiff.Values) calltrie.Stats {
	if s == nil {
		return calltrie.Stats{}
	}
	out := *s
	out.Calls, out.Total, out.Self = roundedUp(mean.Calls), roundedUp(mean.Total), roundedUp(mean.Self)
	return out
}

func roundedUp(x float64) uint64 { return uint64(math.Ceil(x)) }
