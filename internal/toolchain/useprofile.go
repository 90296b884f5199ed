package toolchain

import (
	"github.com/cairnprof/cairn/internal/instrument/split"
	"github.com/cairnprof/cairn/internal/profile/edges"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/prof"
)

// coldModules asks all modules of a profile: the same source may be in several.
type coldModules struct {
	modules        []*split.ColdProfile
	stale, missing int
}

func newColdModules(p *prof.Profile) *coldModules {
	c := new(coldModules)
	for i := range p.Modules {
		c.modules = append(c.modules, split.NewColdProfile(&p.Modules[i]))
	}
	return c
}

// blocks is a probe.ColdBlocks: a block is cold if it ran in no module that has the function in this shape. Other
// modules may have it in another one, compiled by other options, or have functions of its name from other sources.
func (c *coldModules) blocks(f split.FuncInfo) ([]bool, bool) {
	var cold []bool
	best, stale := 0, false
	for _, m := range c.modules {
		best = max(best, m.Match(f))
	}
	for _, m := range c.modules {
		if m.Match(f) < best {
			continue
		}
		before := m.Stale
		blocks, ok := m.Blocks(f)
		switch {
		case !ok:
			stale = stale || m.Stale > before
		case cold == nil:
			cold = blocks
		default:
			for i := range cold {
				cold[i] = cold[i] && blocks[i]
			}
		}
	}
	switch {
	case cold != nil:
	case stale:
		c.stale++
	default:
		c.missing++
	}
	return cold, cold != nil
}

// flow is a split.Options.Flow: the sums over the modules whose blocks are used.
func (c *coldModules) flow(f split.FuncInfo) *split.Flow {
	best := 0
	for _, m := range c.modules {
		best = max(best, m.Match(f))
	}
	var sum *split.Flow
	for _, m := range c.modules {
		if m.Match(f) < best {
			continue
		}
		funcs, counts := m.Copies(f)
		for i, fn := range funcs {
			if sum == nil {
				sum = &split.Flow{Times: make([]uint64, f.Blocks)}
			}
			addFlow(sum, fn, counts[i])
		}
	}
	return sum
}

// addFlow adds the executions of a function.
func addFlow(sum *split.Flow, fn *prof.Func, counts *prof.Counts) {
	times := fn.Executions(counts)
	for b, n := range times {
		sum.Times[b] = saturate.Add(sum.Times[b], n)
	}
	at := map[[2]int]int{}
	for i, e := range sum.Edges {
		at[[2]int{e.From, e.To}] = i
	}
	for _, e := range edges.Of(fn, times) {
		if e.To == edges.Outside {
			continue
		}
		between := [2]int{int(e.From), int(e.To)}
		if i, ok := at[between]; ok {
			sum.Edges[i].Times = saturate.Add(sum.Edges[i].Times, e.Times)
		} else {
			sum.Edges = append(sum.Edges, split.Edge{From: between[0], To: between[1], Times: e.Times})
		}
	}
}

// executed returns the sum of all counters of a profile.
func executed(p *prof.Profile) (sum uint64) {
	for i := range p.Modules {
		for k := range p.Modules[i].Counts {
			for _, n := range p.Modules[i].Counts[k].Times {
				sum = saturate.Add(sum, n)
			}
		}
	}
	return sum
}

// inside is a split.Options.Inside: the functions that any module has are not those of a library, or are seldom.
func inside(p *prof.Profile) func(string) bool {
	names := map[string]bool{}
	for i := range p.Modules {
		for k := range p.Modules[i].Funcs {
			names[p.Modules[i].Funcs[k].Name] = true
		}
	}
	return func(function string) bool { return names[function] }
}
