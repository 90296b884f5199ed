package pages

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/prof"
)

// WindowSize is the size in bytes of the aligned windows that Linux maps at once when a page
// is in the page cache (fault-around). With a warm cache a run has a fault for each window
// rather than for each page.
const WindowSize = 1 << 16

// Program is a linked program with the positions of a profile's functions.
type Program struct {
	Layout *Layout
	Match  *Match
}

// Trace returns the pages of the program that a run of the profile touches, its steps, and the
// number of functions of the trace that are not in the program.
func (p *Program) Trace(trace *prof.Trace, pageSize uint64) (run *Run, steps []Step, missing int) {
	steps, missing = p.Layout.Extents(p.Match, trace.Funcs)
	return Compute(p.Layout.Text, steps, pageSize), steps, missing
}

// Scenario is the runs of one scenario.
type Scenario struct {
	Name   string
	Traces []prof.Trace
}

// Scenarios groups traces by scenario, in the order of first occurrence.
func Scenarios(traces []prof.Trace) []Scenario {
	var out []Scenario
	index := map[string]int{}
	for _, t := range traces {
		i, ok := index[t.Scenario]
		if !ok {
			i = len(out)
			index[t.Scenario] = i
			out = append(out, Scenario{Name: t.Scenario})
		}
		out[i].Traces = append(out[i].Traces, t)
	}
	return out
}

// Longest returns the run of s that executed the most functions, the first of several.
func (s *Scenario) Longest() *prof.Trace {
	i := 0
	for k := range s.Traces {
		if len(s.Traces[k].Funcs) > len(s.Traces[i].Funcs) {
			i = k
		}
	}
	return &s.Traces[i]
}

// Summary has weighted means over the runs of a scenario.
type Summary struct {
	Functions  float64 // executed, and in the program
	Missing    float64 // executed, and not in the program
	Bytes      float64 // of Functions
	Pages      float64 // touched
	Bound      float64 // pages that Bytes fill
	Area       float64 // mean of the curve, in pages
	Windows    float64 // aligned windows of WindowSize touched
	BlockPages float64 // with a block that ran in any run; equals Pages without block coverage
}

// Summarize returns the summary of the runs of s. Block coverage is that of m.
func (p *Program) Summarize(m *prof.Module, s *Scenario, pageSize uint64) Summary {
	var sum Summary
	weights := 0.0
	for i := range s.Traces {
		t := &s.Traces[i]
		run, steps, missing := p.Trace(t, pageSize)
		blocks, _ := p.Layout.Blocks(m, p.Match, t.Funcs)
		w := float64(max(t.Weight, 1))
		weights += w
		sum.add(&Summary{
			Functions: float64(len(steps)), Missing: float64(missing), Bytes: float64(run.Bytes),
			Pages: float64(run.Touched()), Bound: float64(run.Bound()), Area: run.Area(),
			Windows:    float64(Compute(p.Layout.Text, steps, WindowSize).Touched()),
			BlockPages: float64(Compute(p.Layout.Text, blocks, pageSize).Touched()),
		}, w)
	}
	return sum.over(weights)
}

// Mean returns the mean of summaries, with equal weights.
func Mean(all []Summary) Summary {
	var sum Summary
	for i := range all {
		sum.add(&all[i], 1)
	}
	return sum.over(float64(len(all)))
}

func (s *Summary) fields() []*float64 {
	return []*float64{&s.Functions, &s.Missing, &s.Bytes, &s.Pages, &s.Bound, &s.Area, &s.Windows, &s.BlockPages}
}

func (s *Summary) add(t *Summary, weight float64) {
	from := t.fields()
	for i, f := range s.fields() {
		*f += weight * *from[i]
	}
}

func (s Summary) over(weights float64) Summary {
	for _, f := range s.fields() {
		*f /= cmp.Or(weights, 1)
	}
	return s
}

// HasBlocks reports whether m has block coverage.
func HasBlocks(m *prof.Module) bool {
	return slices.ContainsFunc(m.Funcs, func(f prof.Func) bool { return f.Mode.HasBlocks() })
}
