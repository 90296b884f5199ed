package model

import (
	"math"
	"slices"

	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/profdiff"
	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// maxChanged is how many functions a list of changes names.
const maxChanged = 500

// changes compares the profile with another one.
func (b *builder) changes() {
	if b.in.Against == nil || b.in.Profile == nil {
		return
	}
	was := b.in.Against.Profile
	r := profdiff.Profiles(was, b.in.Profile)
	c := &Changes{Against: b.in.Against.Path, Both: r.Both, Same: r.Same, Lists: []Changed{}}
	for i, p := range []*prof.Profile{was, b.in.Profile} {
		c.sum(i, p)
	}
	for _, list := range []struct {
		kind  string
		funcs []profdiff.Func
	}{
		{"only_then", r.OnlyA}, {"only_now", r.OnlyB}, {"gone", r.Gone}, {"new", r.New}, {"blocks", r.Blocks}, {"calls", r.Moved},
	} {
		if len(list.funcs) > 0 {
			c.Lists = append(c.Lists, b.changed(list.kind, list.funcs))
		}
	}
	stablesort.Func(c.Lists, byCount)
	b.m.Changes = c
}

// sum adds up one of the profiles.
func (c *Changes) sum(i int, p *prof.Profile) {
	for k := range p.Modules {
		m := &p.Modules[k]
		s := coverage.Summarize(m)
		c.Runs[i] += m.Raws
		c.Blocks[i][0] += s.Blocks.Covered
		c.Blocks[i][1] += s.Blocks.Total
		list := sourcefunc.Of(&m.Map)
		c.Functions[i][1] += len(list)
		for n := range list {
			if list[n].Ran(m) {
				c.Functions[i][0]++
			}
			c.Calls[i] += float64(list[n].Counts(m).Calls)
		}
	}
}

// changed adds a list of functions that differ.
func (b *builder) changed(kind string, funcs []profdiff.Func) Changed {
	out := Changed{Kind: kind, Count: len(funcs), Functions: []int{}}
	for i := range funcs {
		f := &funcs[i]
		id, ok := b.byFunc[f.B.Func]
		if !ok {
			id = b.function(f.Name, f.File, 0)
		}
		if len(out.Functions) < maxChanged && !slices.Contains(out.Functions, id) {
			out.Functions = append(out.Functions, id)
		}
		fn := &b.m.Functions[id]
		if fn.Change == nil {
			fn.Change = &Change{Kind: kind}
		}
		fn.Change.Lost += len(f.Lost)
		fn.Change.Gained += len(f.Gained)
		if before, now := f.A.CallsPerRun(), f.B.CallsPerRun(); before+now > 0 {
			fn.Change.Before, fn.Change.Now = round(before), round(now)
		}
	}
	return out
}

// round leaves three decimals.
func round(x float64) float64 { return math.Round(1000*x) / 1000 }
