package flamegraph

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// noStats are those of a side on which a function was not called.
var noStats calltrie.Stats

// tree is a document in the form that is drawn: nodes with one or two sides, below a root for everything.
type tree struct {
	title  string
	notes  []string
	unit   string
	step   uint64   // of the clock, in nanoseconds
	calls  bool     // nodes have calls
	sides  []string // what the sides are called; one, "", for a Profile
	names  []string // of functions
	kinds  []Kind   // of functions, nil if all are Plain
	labels []string // of the root and of groups
	nodes  []node   // parents before their children; the root is the first
	rows   int32    // nodes that are deeper are merged; 0 if all are drawn
}

// node is a function under its callers, or a label.
type node struct {
	parent int32
	name   int32 // index into names, or into labels
	label  bool
	side   [2]*calltrie.Stats
}

// root returns the node that all others are below.
func root() node { return node{parent: -1, label: true, side: [2]*calltrie.Stats{&noStats, &noStats}} }

func (p *Profile) tree() (*tree, error) {
	t := &tree{title: p.Title, notes: p.Notes, unit: p.Unit, step: p.Step, calls: !p.Sampled, sides: []string{""}, labels: []string{"all"}, nodes: []node{root()}}
	index := make(map[calllog.FuncID]int32)
	for _, g := range p.Groups {
		if g.Trie == nil {
			return nil, fmt.Errorf("group %q has no trie", g.Label)
		}
		top := int32(0)
		if g.Label != "" {
			top = int32(len(t.nodes))
			n := root()
			n.parent, n.name = 0, int32(len(t.labels))
			t.labels = append(t.labels, report.Printable(g.Label))
			t.nodes = append(t.nodes, n)
		}
		base := int32(len(t.nodes)) - 1 // nodes of a trie but its root follow as they are
		for _, n := range g.Trie.Nodes() {
			name, ok := index[n.Func]
			if !ok {
				name = int32(len(t.names))
				index[n.Func] = name
				t.names = append(t.names, report.Printable(p.Name(n.Func)))
				if p.Kind != nil {
					t.kinds = append(t.kinds, p.Kind(n.Func))
				}
			}
			parent := top
			if n.Parent != calltrie.Root {
				parent = base + int32(n.Parent)
			}
			t.nodes = append(t.nodes, node{parent: parent, name: name, side: [2]*calltrie.Stats{&n.Stats, &noStats}})
		}
	}
	return t, nil
}

func (d *Diff) tree() (*tree, error) {
	t := &tree{
		title: d.Title, notes: d.Notes, unit: d.Unit, calls: true, sides: []string{d.Before, d.After},
		labels: []string{"all"}, nodes: []node{root()},
	}
	for _, name := range d.Names {
		t.names = append(t.names, report.Printable(name))
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		switch {
		case n.Func < 0 || n.Func >= len(d.Names):
			return nil, fmt.Errorf("node %d refers to function %d of %d", i, n.Func, len(d.Names))
		case n.Parent < -1 || n.Parent >= i:
			return nil, fmt.Errorf("node %d has parent %d, which does not precede it", i, n.Parent)
		}
		t.nodes = append(t.nodes, node{
			parent: int32(n.Parent) + 1, name: int32(n.Func), side: [2]*calltrie.Stats{&n.A, &n.B},
		})
	}
	return t, nil
}

// weights are the widths of nodes by each measure, on one side.
type weights [3][]float64

// The measures as indexes into weights.
const (
	total = iota
	self
	calls
)

func (m Measure) index() int { return max(slices.Index(Measures(), m), 0) }

// weigh returns the widths of all nodes. Callees are never wider in all than their node, even if a damaged log
// makes them longer.
func (t *tree) weigh(side int) weights {
	var w weights
	for m := range w {
		w[m] = make([]float64, len(t.nodes))
	}
	for i := len(t.nodes) - 1; i >= 0; i-- {
		n := &t.nodes[i]
		s := n.side[side]
		w[total][i] = max(w[total][i], float64(s.Total))
		w[self][i] += float64(s.Self)
		w[calls][i] += float64(s.Calls)
		if i > 0 {
			for m := range w {
				w[m][n.parent] += w[m][i]
			}
		}
	}
	return w
}

// share returns the largest share of the whole that node i has, by any of the
// measures on any side.
func share(sides []weights, measures []int, i int) float64 {
	most := 0.0
	for _, w := range sides {
		for _, m := range measures {
			if all := w[m][0]; all > 0 {
				most = max(most, w[m][i]/all)
			}
		}
	}
	return most
}

// bar is a drawn bar: a node, or several merged ones.
type bar struct {
	depth  int32
	name   int32 // as of a node; -1 of a merged one
	label  bool
	merged int // how many nodes it stands for, 0 for the node itself
	side   [2]calltrie.Stats
}

// drawing is a pruned tree, with bars in the order of drawing: each is followed by those below it, the widest
// first, merged ones last.
type drawing struct {
	*tree
	by   int // measure
	bars []bar
	Summary
}

// prune merges nodes that are too small by all of the given measures, nil for the drawn one.
func (t *tree) prune(o *Options, measures []int) (*drawing, error) {
	if len(t.nodes) > math.MaxInt32-1 {
		return nil, errors.New("more than 2,147,483,646 stacks: draw threads one by one")
	}
	sides := make([]weights, len(t.sides))
	for k := range sides {
		sides[k] = t.weigh(k)
	}
	d := &drawing{tree: t, by: o.By.index(), Summary: Summary{Title: t.title}}
	if share(sides, []int{d.by}, 0) == 0 {
		d.by = calls // no call took any time
	}
	if measures == nil {
		measures = []int{d.by}
	}
	keep := t.choose(o, sides, measures)
	d.emit(t.children(sides), keep)
	d.summarize()
	return d, nil
}

// choose returns which nodes are kept. The ancestors of a kept node always are: they are at least as wide, and
// before it. So are all labels.
func (t *tree) choose(o *Options, sides []weights, measures []int) []bool {
	keep := make([]bool, len(t.nodes))
	shares := make([]float64, len(t.nodes))
	depth := make([]int32, len(t.nodes))
	var list []int32
	for i := range t.nodes {
		keep[i] = t.nodes[i].label // a thread gets its bar even if it did nothing
		if i > 0 {
			depth[i] = depth[t.nodes[i].parent] + 1
		}
		shares[i] = share(sides, measures, i)
		if !keep[i] && shares[i] >= o.MinShare && (t.rows == 0 || depth[i] < t.rows) {
			list = append(list, int32(i))
		}
	}
	if most := cmp.Or(o.MaxNodes, DefaultNodes); len(list) > most {
		stablesort.Func(list, func(a, b int32) int {
			return cmp.Or(cmp.Compare(shares[b], shares[a]), cmp.Compare(a, b))
		})
		list = list[:max(most, 0)]
	}
	for _, i := range list {
		keep[i] = true
	}
	return keep
}

// kind returns the kind of a function.
func (t *tree) kind(name int32) Kind {
	if t.kinds == nil {
		return Plain
	}
	return t.kinds[name]
}

// shown returns the kinds of drawn bars that have their own colour, ascending.
func (d *drawing) shown() []Kind {
	var has [kinds]bool
	for i := range d.bars {
		if b := &d.bars[i]; !b.label && b.merged == 0 {
			has[d.kind(b.name)] = true
		}
	}
	var list []Kind
	for k := Kernel; k < kinds; k++ {
		if has[k] {
			list = append(list, k)
		}
	}
	return list
}

// name returns the text of a node's bar.
func (t *tree) name(n *node) string {
	if n.label {
		return t.labels[n.name]
	}
	return t.names[n.name]
}

// children returns the children of each node, those with the most time first;
// groups stay as they were given.
func (t *tree) children(sides []weights) [][]int32 {
	list := t.childLists()
	for _, l := range list {
		slices.SortFunc(l, func(a, b int32) int {
			x, y := &t.nodes[a], &t.nodes[b]
			if x.label && y.label {
				return cmp.Compare(a, b)
			}
			for m := range sides[0] {
				wa, wb := 0.0, 0.0
				for _, w := range sides {
					wa += w[m][a]
					wb += w[m][b]
				}
				if c := cmp.Compare(wb, wa); c != 0 {
					return c
				}
			}
			return cmp.Or(cmp.Compare(t.name(x), t.name(y)), cmp.Compare(a, b))
		})
	}
	return list
}

// childLists returns the children of each node in no order of meaning.
func (t *tree) childLists() [][]int32 {
	sizes := make([]int32, len(t.nodes))
	for i := 1; i < len(t.nodes); i++ {
		sizes[t.nodes[i].parent]++
	}
	room := make([]int32, len(t.nodes)-1)
	list := make([][]int32, len(t.nodes))
	for i, n := range sizes {
		list[i], room = room[:0:n], room[n:]
	}
	for i := 1; i < len(t.nodes); i++ {
		p := t.nodes[i].parent
		list[p] = append(list[p], int32(i))
	}
	return list
}

// emit lists the bars of all kept nodes and of the nodes merged below them.
func (d *drawing) emit(children [][]int32, keep []bool) {
	gone := make([]bar, len(d.nodes)) // the merged bar below each node
	into := make([]int32, len(d.nodes))
	for i := 1; i < len(d.nodes); i++ {
		n := &d.nodes[i]
		if keep[i] {
			continue
		}
		into[i] = n.parent
		first := keep[n.parent]
		if !first {
			into[i] = into[n.parent]
		}
		gone[into[i]].swallow(n, first)
	}
	depth := make([]int32, len(d.nodes))
	// On the stack, ^i stands for what was merged below node i.
	stack := []int32{0}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if i < 0 {
			b := &gone[^i]
			b.depth, b.name = depth[^i]+1, -1
			d.bars = append(d.bars, *b)
			continue
		}
		n := &d.nodes[i]
		if i > 0 {
			depth[i] = depth[n.parent] + 1
		}
		d.bars = append(d.bars, bar{depth: depth[i], name: n.name, label: n.label, side: [2]calltrie.Stats{*n.side[0], *n.side[1]}})
		if gone[i].merged > 0 {
			stack = append(stack, ^i)
		}
		for _, c := range slices.Backward(children[i]) {
			if keep[c] {
				stack = append(stack, c)
			}
		}
	}
	d.fillLabels()
}

// swallow adds a node to a merged bar. Only the totals of outermost nodes are added, as they include those
// below.
func (b *bar) swallow(n *node, outermost bool) {
	b.merged++
	for k := range b.side {
		s, o := &b.side[k], n.side[k]
		s.Calls = saturate.Add(s.Calls, o.Calls)
		s.Self = saturate.Add(s.Self, o.Self)
		s.Deduced += o.Deduced
		s.Open += o.Open
		if outermost {
			s.Total = saturate.Add(s.Total, o.Total)
		}
	}
}

// fillLabels gives the root and the groups the time of what is below them.
func (d *drawing) fillLabels() {
	var above []int // the bars above the current one
	for i := range d.bars {
		b := &d.bars[i]
		above = append(above[:b.depth], i)
		if b.label {
			continue
		}
		for k := len(above) - 2; k >= 0 && d.bars[above[k]].label; k-- {
			for side := range b.side {
				s := &d.bars[above[k]].side[side]
				s.Total = saturate.Add(s.Total, b.side[side].Total)
			}
		}
	}
}

// summarize counts what was merged.
func (d *drawing) summarize() {
	var all, merged float64
	for i := range d.bars {
		b := &d.bars[i]
		var v float64
		for k := range d.sides {
			if d.by == calls {
				v += float64(b.side[k].Calls)
			} else {
				v += float64(b.side[k].Self)
			}
		}
		all += v
		if b.merged > 0 {
			merged += v
			d.Merged += b.merged
		}
	}
	for i := range d.nodes {
		if !d.nodes[i].label {
			d.Stacks++
		}
	}
	if all > 0 {
		d.MergedShare = merged / all
	}
}
