package timeline

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/stackdiff"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/report/webpage"
	"github.com/cairnprof/cairn/internal/saturate"
)

// graphVersion is the version of Graph.
const graphVersion = 1

// Graph is stacks and functions with their costs, as the page's flame graph takes them: in
// columns, since objects with many keys are several times as large.
type Graph struct {
	Version int    `json:"version"`
	Title   string `json:"title,omitempty"`
	Unit    string `json:"unit"` // ns, ticks, samples
	// Step is the step of the clock in ns, see calllog.Clock, and Single says whether the longest calls are known.
	Step   uint64   `json:"step,omitempty"`
	Single bool     `json:"single,omitempty"`
	Sides  []string `json:"sides"` // the compared sides: one, "", or two
	Names  []string `json:"names"`
	Shades []int    `json:"shades"`
	// Nodes, parents before their children: the index of the parent, -1 for none; the index of
	// the function, -1 for several merged ones; and the costs of each side.
	Parent []int32 `json:"parent"`
	Name   []int32 `json:"name"`
	Nodes  []Costs `json:"nodes"`
	// Functions: the index of the name, and the costs of each side. Calls within calls of the
	// same function count once in a total.
	Function  []int32  `json:"function"`
	Functions []Costs  `json:"functions"`
	Merged    int      `json:"merged"` // stacks that were merged
	Notes     []string `json:"notes"`
}

// Costs are columns.
type Costs struct {
	Calls []uint64 `json:"calls"`
	Total []uint64 `json:"total"`
	Self  []uint64 `json:"self"`
	Max   []uint64 `json:"max"`
}

func (c *Costs) add(calls, total, self, most uint64) {
	c.Calls, c.Total = append(c.Calls, calls), append(c.Total, total)
	c.Self, c.Max = append(c.Self, self), append(c.Max, most)
}

// graphDepth is how deep the stacks of a graph are: no screen shows deeper ones.
const graphDepth = 1000

// GraphNodes is how many stacks a graph has by default.
const GraphNodes = 20_000

// NewGraph returns the graph of a trie, with at most this many of its largest stacks.
func NewGraph(t *calltrie.Trie, unit string, name func(calllog.FuncID) string, most int) *Graph {
	g := newGraph(unit, "")
	index := make(map[calllog.FuncID]int32)
	number := func(fn calllog.FuncID) int32 {
		n, ok := index[fn]
		if !ok {
			n = g.name(name(fn))
			index[fn] = n
		}
		return n
	}
	stacks := make([]stack, t.Len()-1)
	for id, n := range t.Nodes() {
		g.Single = g.Single || n.Max > 0 || n.Latency.Count() > 0
		stacks[id-1] = stack{int32(n.Parent) - 1, number(n.Func), [2]*calltrie.Stats{&n.Stats}}
	}
	g.stacks(stacks, most)
	for _, f := range account.Functions(t) {
		g.Function = append(g.Function, number(f.Func))
		g.Functions[0].add(f.Calls, f.Total, f.Self, f.Max)
	}
	return g
}

// NewDiff returns the graph of the differences between two sides, which are sums of all runs.
func NewDiff(d *stackdiff.Result, unit, before, after string, show func(string) string, most int) *Graph {
	g := newGraph(unit, before, after)
	for _, n := range d.Names {
		g.name(show(n))
	}
	none := &calltrie.Stats{}
	stacks := make([]stack, len(d.Nodes))
	for i := range d.Nodes {
		n := &d.Nodes[i]
		stacks[i] = stack{int32(n.Parent), int32(n.Func), [2]*calltrie.Stats{cmp.Or(n.StatsA, none), cmp.Or(n.StatsB, none)}}
	}
	g.stacks(stacks, most)
	for i := range d.Funcs {
		f := &d.Funcs[i]
		g.Function = append(g.Function, int32(f.Func))
		for k, v := range [...]*stackdiff.Values{&f.A, &f.B} {
			g.Functions[k].add(uint64(v.Calls), uint64(v.Total), uint64(v.Self), 0)
		}
	}
	return g
}

func newGraph(unit string, sides ...string) *Graph {
	return &Graph{
		Version: graphVersion, Unit: unit, Sides: sides, Names: []string{}, Shades: []int{}, Parent: []int32{}, Name: []int32{}, Function: []int32{},
		Nodes: make([]Costs, len(sides)), Functions: make([]Costs, len(sides)), Notes: []string{},
	}
}

func (g *Graph) name(text string) int32 {
	text = report.Printable(text)
	g.Names = append(g.Names, text)
	g.Shades = append(g.Shades, webpage.Shade(text))
	return int32(len(g.Names) - 1)
}

// stack is a function below its callers.
type stack struct {
	parent, name int32
	side         [2]*calltrie.Stats
}

// stacks adds the largest stacks, of all sides together, and merges the others below each
// node.
func (g *Graph) stacks(list []stack, most int) {
	weight := make([]uint64, len(list))
	depth := make([]int32, len(list))
	order := make([]int32, 0, len(list))
	for i := range list {
		if p := list[i].parent; p >= 0 {
			depth[i] = depth[p] + 1
		}
		if depth[i] < graphDepth {
			order = append(order, int32(i))
		}
		for k := range g.Sides {
			weight[i] = saturate.Add(weight[i], list[i].side[k].Total)
		}
	}
	if len(order) > most {
		slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(weight[b], weight[a]), cmp.Compare(a, b)) })
		order = order[:most]
	}
	keep := make([]bool, len(list))
	for _, i := range order {
		for ; i >= 0 && !keep[i]; i = list[i].parent {
			keep[i] = true
		}
	}
	where := make([]int32, len(list)) // in the graph, or that of the merged one
	rest := make(map[int32]int32)     // merged ones by parent
	for i := range list {
		s := &list[i]
		parent := int32(-1)
		if s.parent >= 0 {
			parent = where[s.parent]
		}
		switch {
		case keep[i]:
			where[i] = g.node(parent, s.name, s)
		case s.parent >= 0 && !keep[s.parent]:
			where[i] = parent
			g.merge(parent, s, false)
		default:
			at, ok := rest[parent]
			if !ok {
				at = g.node(parent, -1, nil)
				rest[parent] = at
			}
			where[i] = at
			g.merge(at, s, true)
		}
	}
}

func (g *Graph) node(parent, name int32, s *stack) int32 {
	g.Parent, g.Name = append(g.Parent, parent), append(g.Name, name)
	for k := range g.Nodes {
		if s == nil {
			g.Nodes[k].add(0, 0, 0, 0)
			continue
		}
		st := s.side[k]
		g.Nodes[k].add(st.Calls, st.Total, st.Self, st.Max)
	}
	return int32(len(g.Parent) - 1)
}

// merge adds a stack to a merged one. The totals of nested stacks are part of those of the
// outer ones.
func (g *Graph) merge(at int32, s *stack, outermost bool) {
	g.Merged++
	for k := range g.Nodes {
		c, st := &g.Nodes[k], s.side[k]
		c.Calls[at] = saturate.Add(c.Calls[at], st.Calls)
		c.Self[at] = saturate.Add(c.Self[at], st.Self)
		c.Max[at] = max(c.Max[at], st.Max)
		if outermost {
			c.Total[at] = saturate.Add(c.Total[at], st.Total)
		}
	}
}
