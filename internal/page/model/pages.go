package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/layout/pages"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/prof"
)

// PageSize is the size of pages in bytes.
const PageSize = 4096

// Limits of drawings.
const (
	maxScenarios = 40
	maxCurve     = 400
)

// alignment is the alignment of functions in a predicted layout, as with gcc and clang.
const alignment = 16

// Labels of layouts.
const (
	linkedLabel  = "as linked"
	orderedLabel = "by cairn order"
)

// pages adds which pages the runs touch, as the program is linked and in a computed order.
func (b *builder) pages() {
	p := b.in.Program
	if p == nil {
		return
	}
	m := &b.in.Profile.Modules[p.Module]
	traces := order.TracesOf(m)
	if len(traces) == 0 {
		return
	}
	scenarios := pages.Scenarios(traces)
	if n := len(scenarios) - maxScenarios; n > 0 {
		scenarios = scenarios[:maxScenarios]
		b.m.Limits = append(b.m.Limits, fmt.Sprintf("Pages are shown for the first %d of %d scenarios.", maxScenarios, maxScenarios+n))
	}
	programs := []pages.Program{p.Program}
	out := &Pages{Binary: p.Name, PageSize: PageSize, Scenarios: []PageScenario{}}
	out.Layouts = append(out.Layouts, b.layout(linkedLabel, p, &p.Program))
	if ordered, ok := orderedProgram(m, traces, p); ok {
		programs = append(programs, ordered)
		out.Layouts = append(out.Layouts, b.layout(orderedLabel, p, &ordered))
	}
	for i := range scenarios {
		out.Scenarios = append(out.Scenarios, pageScenario(m, &scenarios[i], programs))
		if len(m.Traces) > 0 {
			sc := &out.Scenarios[i]
			b.m.Scenarios = append(b.m.Scenarios, Scenario{sc.Name, sc.Runs, sc.Functions})
		}
	}
	b.m.Pages = out
}

// orderedProgram returns m with its functions in the order that cairn order computes, one
// after the other, followed by the parts that the compiler split off.
func orderedProgram(m *prof.Module, traces []prof.Trace, p *Program) (pages.Program, bool) {
	in := order.FromModule(m, p.Edges)
	in.Traces = traces
	r, err := order.Compute(in, order.Startup, order.Options{PageSize: PageSize})
	if err != nil {
		return pages.Program{}, false
	}
	addr := p.Layout.Text.Addr
	l := &pages.Layout{Text: pages.Span{Addr: addr}, Funcs: make([]pages.Func, len(m.Funcs))}
	at := addr
	place := func(size uint64) pages.Span {
		s := pages.Span{Addr: at, Size: size}
		at = (at + size + alignment - 1) &^ (alignment - 1)
		return s
	}
	for _, i := range r.Order {
		l.Funcs[i] = pages.Func{Name: m.Funcs[i].Name, Spans: []pages.Span{place(uint64(m.Funcs[i].Fragments[0].Size))}}
	}
	for i := range m.Funcs {
		for _, fr := range m.Funcs[i].Fragments[1:] {
			l.Funcs[i].Spans = append(l.Funcs[i].Spans, place(uint64(fr.Size)))
		}
	}
	l.Text.Size = at - addr
	return pages.Program{Layout: l, Match: pages.Same(&m.Map)}, true
}

// layout returns the functions on the pages of a program.
func (b *builder) layout(label string, of *Program, p *pages.Program) PageLayout {
	m := &b.in.Profile.Modules[of.Module]
	ids := make([]int, len(p.Layout.Funcs))
	for i := range ids {
		ids[i] = -1
	}
	for i, at := range p.Match.Funcs {
		if at >= 0 {
			ids[at] = b.byFunc[&m.Funcs[i]]
		}
	}
	on := p.Layout.OnPages(PageSize)
	l := PageLayout{Label: label, Address: p.Layout.Text.Addr &^ (PageSize - 1), Pages: make([][]int, len(on))}
	for i, funcs := range on {
		l.Pages[i] = []int{}
		for _, f := range funcs {
			if id := ids[f]; id >= 0 && !slices.Contains(l.Pages[i], id) {
				l.Pages[i] = append(l.Pages[i], id)
			}
		}
	}
	return l
}

// pageScenario returns the pages that a scenario touches in each program.
func pageScenario(m *prof.Module, s *pages.Scenario, programs []pages.Program) PageScenario {
	out := PageScenario{Name: s.Name, Runs: len(s.Traces)}
	longest := s.Longest()
	for i := range programs {
		p := &programs[i]
		sum := p.Summarize(m, s, PageSize)
		if i == 0 {
			out.Functions, out.Bytes, out.Least = sum.Functions, sum.Bytes, sum.Bound
		}
		run, _, _ := p.Trace(longest, PageSize)
		t := Touched{Pages: sum.Pages, Windows: sum.Windows, Steps: make([]int, len(run.Pages)), Curve: thin(run.Curve)}
		if pages.HasBlocks(m) && i == 0 {
			t.Blocks = sum.BlockPages
		}
		for k := range run.Pages {
			t.Steps[k] = run.Pages[k].Step
		}
		if i == 0 {
			out.Bounds = thin(run.Least)
		}
		out.Touch = append(out.Touch, t)
	}
	return out
}

// thin returns the points of a curve at which it rises, and its end: at most maxCurve points.
func thin(curve []int) [][2]int {
	points := [][2]int{}
	height := -1
	for i, n := range curve {
		if n != height || i == len(curve)-1 {
			points = append(points, [2]int{i + 1, n})
			height = n
		}
	}
	if len(points) <= maxCurve {
		return points
	}
	some := make([][2]int, maxCurve)
	for i := range some {
		some[i] = points[i*(len(points)-1)/(maxCurve-1)]
	}
	return some
}

// figures adds the numbers of the overview, most important first.
func (b *builder) figures() {
	add := func(f Figure) { b.m.Figures = append(b.m.Figures, f) }
	if len(b.in.Modules) > 0 {
		funcs := b.defined.Plus(coverage.Tally{Covered: b.absents.Ran, Total: b.absents.Total})
		calls, atLeast, counted := 0.0, false, false
		for i := range b.m.Functions {
			if f := &b.m.Functions[i]; f.Calls != nil {
				counted = true
				calls += float64(*f.Calls)
				atLeast = atLeast || f.AtLeast && *f.Calls > 0
			}
		}
		f := Figure{ID: "functions", Value: float64(funcs.Covered), Of: float64(funcs.Total), Unknown: float64(b.absents.Unknown)}
		c := Figure{ID: "calls", Value: calls, AtLeast: atLeast}
		if ch := b.m.Changes; ch != nil {
			f.Before, f.Has = float64(ch.Functions[0][0]), true
			c.Before, c.Has = ch.Calls[0], true
		}
		add(f)
		b.coveredFigure(add)
		if counted {
			add(c)
		}
	}
	if p := b.m.Pages; p != nil {
		f := Figure{ID: "pages"}
		n := float64(len(p.Scenarios))
		for i := range p.Scenarios {
			f.Value += p.Scenarios[i].Touch[0].Pages / n
			f.Then += p.Scenarios[i].Touch[len(p.Layouts)-1].Pages / n
		}
		f.Of = float64(len(p.Layouts[0].Pages))
		add(f)
	}
	if s := b.m.Spikes; s != nil {
		f := Figure{ID: "spikes", Of: float64(len(s.Groups) + s.Left + len(s.Open) + s.OpenLeft)}
		for _, g := range slices.Concat(s.Groups, s.Open) {
			f.Value = max(f.Value, float64(longest(g)))
		}
		add(f)
	}
	if c := b.m.Calls; c != nil {
		add(Figure{ID: "time", Value: float64(c.Time), Of: float64(c.Calls)})
	}
	if s := b.m.Samples; s != nil {
		add(Figure{ID: "samples", Value: float64(s.Restored), Of: float64(s.Count)})
	}
}

// coveredFigure adds the lines, or the blocks where lines are not known.
func (b *builder) coveredFigure(add func(Figure)) {
	var lines [3]int
	for i := range b.m.Files {
		for k, n := range b.m.Files[i].Lines {
			lines[k] += n
		}
	}
	if sum := lines[0] + lines[1] + lines[2]; sum > 0 {
		add(Figure{ID: "lines", Value: float64(lines[0]), Of: float64(sum), Unknown: float64(lines[2])})
		return
	}
	var blocks Tally
	for i := range b.m.Modules {
		blocks[0] += b.m.Modules[i].Blocks[0]
		blocks[1] += b.m.Modules[i].Blocks[1]
	}
	if blocks[1] > 0 {
		add(Figure{ID: "blocks", Value: float64(blocks[0]), Of: float64(blocks[1])})
	}
}

// byCount orders lists of changes.
func byCount(x, y Changed) int { return cmp.Compare(y.Count, x.Count) }
