package spikes

import (
	"cmp"
	"slices"
)

// Row is a function in which spikes happened: it was the first of its chain to
// take too long.
type Row struct {
	Place   Place // of the function's beginning
	Module  string
	Seen    uint64
	Stacks  int
	Worst   uint64 // ns, lower bound
	Mean    uint64 // ns, of the lower bounds of those in the logs
	Blind   uint64 // ns in which the clock was late
	Sum     uint64 // ns, lower bounds
	written uint64
}

// function tells functions apart.
type function struct{ module, name, file string }

func functionOf(l *Location) function {
	p := l.Outer()
	return function{l.Module, cmp.Or(p.Symbol, p.Function), p.File}
}

// Rows returns the functions that peaks are in, in an order; by time, that in
// which the last spike happened comes first.
func (s *Set) Rows(by Order, name Namer) []Row {
	rows := make(map[function]*Row)
	var list []*Row
	last := make(map[*Row]uint64)
	for _, g := range s.Groups {
		if len(g.Worst.Addrs) == 0 {
			continue
		}
		loc := name(g.Worst.Addrs[0], g.Worst.isCall(0))
		r := rows[functionOf(&loc)]
		if r == nil {
			r = &Row{Place: loc.Outer(), Module: loc.Module}
			r.Place.Line = cmp.Or(r.Place.Opening, r.Place.Line)
			rows[functionOf(&loc)] = r
			list = append(list, r)
		}
		r.Seen = add(r.Seen, g.Seen)
		r.Stacks++
		r.Worst = max(r.Worst, g.Limit)
		r.Blind, r.Sum = add(r.Blind, g.Blind), add(r.Sum, g.Sum)
		r.written += g.Written
		last[r] = max(last[r], s.wall(g.Last))
	}
	key := func(r *Row) uint64 { return r.Worst }
	switch by {
	case BySeen:
		key = func(r *Row) uint64 { return r.Seen }
	case ByTime:
		key = func(r *Row) uint64 { return last[r] }
	}
	slices.SortStableFunc(list, func(a, b *Row) int {
		return cmp.Or(cmp.Compare(key(b), key(a)), cmp.Compare(b.Worst, a.Worst), cmp.Compare(a.Place.Function, b.Place.Function))
	})
	out := make([]Row, len(list))
	for i, r := range list {
		out[i] = *r
		out[i].Mean = r.Sum / max(1, r.written)
	}
	return out
}

// BlindShare is the part of the spikes' time in which the clock was late, 0 to 1.
func (r *Row) BlindShare() float64 {
	if r.Sum == 0 {
		return 0
	}
	return min(1, float64(r.Blind)/float64(r.Sum))
}
