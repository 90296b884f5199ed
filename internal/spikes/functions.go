package spikes

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Row is a function that took too long itself: the first of a chain to, or a caller whose callees do not
// explain its time.
type Row struct {
	Place   Place // of the function's beginning
	Module  string
	Seen    uint64 // calls that took too long, including those that were only counted
	Callers int    // functions that called it in these calls
	Worst   uint64 // ns, lower bound, of the longest call
	Most    uint64 // ns, lower bound: the most that callees do not explain in one call
	Self    uint64 // ns, lower bounds, outside all callees that took too long
	last    uint64
	behind  bool // it only waited for other threads
	callers map[function]bool
}

// function identifies a function.
type function struct{ module, name, file string }

func functionOf(l *Location) function {
	p := l.Outer()
	return function{l.Module, cmp.Or(p.Symbol, p.Function), p.File}
}

// rows makes a row of each function.
type rows struct {
	name  Namer
	by    map[function]*Row
	order []*Row
}

// of returns the row of the function with an address, nil if the function gets no row.
func (t *rows) of(a Address, call, begin bool) *Row {
	loc := t.name(a, call)
	r := t.by[functionOf(&loc)]
	if r == nil && begin {
		r = &Row{Place: loc.Outer(), Module: loc.Module, behind: true, callers: make(map[function]bool)}
		r.Place.Line = cmp.Or(r.Place.Opening, r.Place.Line)
		t.by[functionOf(&loc)] = r
		t.order = append(t.order, r)
	}
	return r
}

// Rows returns the functions that took too long themselves, in an order; by time, the function with the latest
// spike is first.
func (s *Set) Rows(by Order, name Namer) []Row {
	t := rows{name: name, by: make(map[function]*Row)}
	for _, g := range slices.Concat(s.Groups, s.Callers) {
		if len(g.Worst.Addrs) == 0 || g.Unranked() {
			continue
		}
		r := t.of(g.Worst.Addrs[0], g.Worst.isCall(0), true)
		if g.Worst.Blame == nil {
			r.Seen = saturate.Add(r.Seen, g.Seen)
		}
		r.Most, r.Worst = max(r.Most, g.Limit), max(r.Worst, g.Limit)
		r.last = max(r.last, s.wall(g.Last))
		r.behind = r.behind && g.Behind() && by == ByWorst
		if len(g.Worst.Addrs) > 1 {
			loc := name(g.Worst.Addrs[1], g.Worst.isCall(1))
			r.callers[functionOf(&loc)] = true
		}
	}
	for i := range s.long {
		c := &s.long[i]
		r := t.of(c.at, !c.exact, false)
		if r == nil || c.lasting {
			continue
		}
		if !c.peak {
			r.Seen = saturate.Add(r.Seen, 1)
		}
		r.Worst, r.Self = max(r.Worst, ran(c.time, c.suspended).Lo), saturate.Add(r.Self, c.own.Lo)
	}
	key := func(r *Row) uint64 { return r.Most }
	switch by {
	case BySeen:
		key = func(r *Row) uint64 { return r.Seen }
	case ByTime:
		key = func(r *Row) uint64 { return r.last }
	}
	stablesort.Func(t.order, func(a, b *Row) int {
		return cmp.Or(behind(a.behind, b.behind), cmp.Compare(key(b), key(a)), cmp.Compare(b.Most, a.Most), cmp.Compare(a.Place.Function, b.Place.Function))
	})
	out := make([]Row, len(t.order))
	for i, r := range t.order {
		out[i] = *r
		out[i].Callers = len(r.callers)
	}
	return out
}
