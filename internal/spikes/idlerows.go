package spikes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// IdleRow is a place at which threads waited for work.
type IdleRow struct {
	Function, Where string // where it waited, and its callers
	Worst           *Spike
	Seen, Sum       uint64 // waits, including those that were only counted, and ns of those in the logs
}

// IdleRows returns where threads waited for work, the most time first.
func (w *Writer) IdleRows() []IdleRow { return w.rowsOf(func(g *Group) bool { return g.Idle == Idle }) }

// SuspendedRows returns which calls took long only since their stacks were suspended, the most time first.
func (w *Writer) SuspendedRows() []IdleRow {
	return w.rowsOf(func(g *Group) bool { return g.suspended })
}

// rowsOf returns the places of some groups.
func (w *Writer) rowsOf(in func(*Group) bool) []IdleRow {
	by := make(map[[2]string]*IdleRow)
	var rows []*IdleRow
	for _, g := range slices.Concat(w.Set.Groups, w.Set.Callers) {
		if !in(g) || len(g.Worst.Addrs) == 0 {
			continue
		}
		loc := w.Name(g.Worst.Addrs[0], g.Worst.isCall(0))
		key := [2]string{report.Printable(loc.Outer().Function), w.chain(g.Worst)}
		r := by[key]
		if r == nil {
			r = &IdleRow{Function: key[0], Where: key[1], Worst: g.Worst}
			by[key] = r
			rows = append(rows, r)
		}
		if g.Worst.Peak.Lo > r.Worst.Peak.Lo {
			r.Worst = g.Worst
		}
		r.Seen, r.Sum = saturate.Add(r.Seen, g.Seen), saturate.Add(r.Sum, g.Sum)
	}
	stablesort.Func(rows, func(a, b *IdleRow) int { return cmp.Compare(b.Sum, a.Sum) })
	out := make([]IdleRow, len(rows))
	for i, r := range rows {
		out[i] = *r
	}
	return out
}

// chain names the callers of a spike, the outermost first.
func (w *Writer) chain(sp *Spike) string {
	const most = 8
	var names []string
	for i := len(sp.Addrs) - 1; i > 0; i-- {
		loc := w.Name(sp.Addrs[i], sp.isCall(i))
		if n := report.Printable(loc.Outer().Function); len(names) == 0 || names[len(names)-1] != n {
			names = append(names, n)
		}
	}
	if n := len(names); n > most {
		names = append([]string{names[0], "..."}, names[n-most+2:]...)
	}
	return strings.Join(names, " > ")
}

// Waiting lists where threads waited for work, and which calls took long only since their stacks were suspended, one
// place a line, at most top of each, 0 for all; none if there are none.
func (w *Writer) Waiting(top int) []string {
	lines := placeLines("waited for work with nothing begun, and not ranked:", w.IdleRows(), top)
	return append(lines, placeLines("suspended while other coroutines had the thread, and not ranked:", w.SuspendedRows(), top)...)
}

// placeLines returns a heading and a line for each row, at most top of them, 0 for all.
func placeLines(heading string, rows []IdleRow, top int) []string {
	if len(rows) == 0 {
		return nil
	}
	lines := []string{heading}
	shown := len(rows)
	if top > 0 {
		shown = min(top, shown)
	}
	for _, r := range rows[:shown] {
		text := "  " + r.Function
		if y := r.Worst.Why(); y != nil {
			how := y.in()
			if y.Wait != nil && len(y.Wait.Reasons) > 0 {
				how = y.waited()
			}
			if how = strings.TrimSpace(how + " " + y.Wait.what()); how != "" {
				text += " " + how
			}
		}
		text += fmt.Sprintf(": longest %s", Interval(r.Worst.Peak))
		if r.Worst.wasSuspended() {
			text += ", ran for " + Interval(r.Worst.Ran())
		}
		if r.Seen > 1 {
			text += fmt.Sprintf(", seen %s, %s in all", count(r.Seen, "time", "times"), Duration(r.Sum))
		}
		lines = append(lines, text)
		if r.Where != "" {
			lines = append(lines, "      in "+r.Where)
		}
	}
	if n := len(rows) - shown; n > 0 {
		lines = append(lines, "  "+count(uint64(n), "more place", "more places")+" (--top 0 lists all)")
	}
	return lines
}

// reasonsOf returns the kinds of reasons of a group's spikes with their sums, the most time first.
func (g *Group) reasonsOf() []reason {
	list := slices.Collect(maps.Values(g.reasons))
	stablesort.Func(list, func(a, b reason) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Text, b.Text))
	})
	return list
}
