package spikelist

import (
	"fmt"
	"io"
	"slices"

	"github.com/cairnprof/cairn/format/sarif"
	"github.com/cairnprof/cairn/internal/inputs/spikeset"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/spikes"
	"github.com/cairnprof/cairn/internal/verb"
)

// writeSARIF writes a result for each shown stack, at the location of the call that took too
// long.
func (f *Choice) writeSARIF(t *spikeset.Set) error {
	top := f.Top
	if !f.TopGiven {
		top = spikeset.PageStacks
	}
	groups, left := t.Shown(f.Sort, top)
	err := verb.WriteFile(t.Streams, f.SARIF, func(w io.Writer) error {
		x := sarif.NewWriter(w, &sarif.Tool{Name: "cairn", Version: verb.Version(), URL: verb.HomePage, Rules: []sarif.Rule{
			{ID: "call-too-long", Short: "Call that took too long", Full: "A single call took longer than the threshold."},
		}})
		for _, g := range groups {
			o := t.Writer.Object(g, spikeset.Example(g, f.Sort))
			if err := x.Write(sarifResult(o)); err != nil {
				return err
			}
		}
		return x.Close()
	})
	if err == nil {
		if left > 0 {
			verb.Note(t.Streams, "%s: %s omitted (--top 0 has all)", f.SARIF, report.Plural(left, "stack"))
		}
		fmt.Fprintf(t.Streams.Remarks(), "%s: %s\n", f.SARIF, report.Plural(len(groups), "stack"))
	}
	return err
}

func sarifResult(o *spikes.Object) *sarif.Result {
	r := &sarif.Result{
		Level: sarif.Warning,
		Text: fmt.Sprintf("A call of %s took %s (threshold %s, seen %s).", o.Peak.Function,
			rangeText(o.Interval), report.Duration(o.Limit, "ns"), report.Plural(int(o.Seen), "time")),
		Places:      []sarif.Place{place(&o.Peak)},
		Fingerprint: o.Peak.Symbol,
	}
	stack := sarif.Stack{Text: "the stack of the longest call"}
	for i := range slices.Backward(o.Stack) {
		for k := range slices.Backward(o.Stack[i].Inlined) {
			stack.Frames = append(stack.Frames, place(&o.Stack[i].Inlined[k]))
		}
		stack.Frames = append(stack.Frames, place(&o.Stack[i].Site))
	}
	r.Stacks = []sarif.Stack{stack}
	return r
}

// rangeText returns "between 5 ms and 6 ms".
func rangeText(r spikes.Range) string {
	lo, hi := report.Duration(r[0], "ns"), report.Duration(r[1], "ns")
	if lo == hi {
		return lo
	}
	return "between " + lo + " and " + hi
}

func place(s *spikes.Site) sarif.Place {
	return sarif.Place{File: s.File, From: s.Line, Function: s.Function}
}
