package coverlist

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/edges"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/prof"
)

// outside is the word for where control goes that leaves a function, or goes on in a way that is not known.
const outside = "out"

// ways are where control went from a block: each block that follows it, also if it never went there.
type ways struct {
	next []uint64 // parallel to Flow.Next
	out  uint64   // to the outside
}

// waysOf returns the ways of each block of a function in mode edge.
func waysOf(fn *prof.Func, times []uint64) []ways {
	all := make([]ways, len(fn.Flow))
	for i := range all {
		all[i].next = make([]uint64, len(fn.Flow[i].Next))
	}
	for _, e := range edges.Of(fn, times) {
		if e.To == edges.Outside {
			all[e.From].out = e.Times
			continue
		}
		for k, to := range fn.Flow[e.From].Next {
			if to == e.To {
				all[e.From].next[k] = e.Times
			}
		}
	}
	return all
}

// waysText returns where control went from a block: "3: 998, out: 2".
func (f *shownFunc) waysText(w *ways, flow *prof.Flow) string {
	var words []string
	for k, to := range flow.Next {
		words = append(words, fmt.Sprintf("%d: %s", to, f.count(w.next[k])))
	}
	if flow.Leaves {
		words = append(words, outside+": "+f.count(w.out))
	}
	return strings.Join(words, ", ")
}

const estimatedLegend = "~ estimated from samples, in their unit: 0 is what was not sampled, which may have run"

// count returns a number of executions, with a mark if it is an estimate.
func (f *shownFunc) count(n uint64) string {
	if f.fn.Mode.Estimated() && n > 0 {
		return "~" + report.Count(n)
	}
	return report.Count(n)
}

// writeTimes prints how often each block of a function ran, its lines, and how often control went on to which block.
func (f *shownFunc) writeTimes(w io.Writer, style report.Style) error {
	times := f.fn.Executions(f.counts)
	if times == nil {
		return nil
	}
	file, _ := f.module.Definition(f.fn)
	table := report.NewTable("", ">block", ">executions", "went on to", "/source")
	all := waysOf(f.fn, times)
	for b := range coverage.Blocks(f.fn) {
		where := localSpans(f.module.BlockSpans(b), file)
		if where == "" {
			where = fmt.Sprintf("%#x-%#x", b.Lo, b.Hi)
		}
		table.Row("", strconv.Itoa(b.Index), f.count(times[b.Index]), f.waysText(&all[b.Index], &f.fn.Flow[b.Index]), where)
	}
	return table.Write(w, style)
}

// addTimes adds executions to the blocks of a function in mode edge.
func addTimes(blocks []blockJSON, fn *prof.Func, c *prof.Counts) {
	times := fn.Executions(c)
	for i := range blocks {
		blocks[i].Times = &times[i]
	}
	for _, e := range edges.Of(fn, times) {
		j := edgeJSON{Times: e.Times}
		if e.To != edges.Outside {
			j.Block = &e.To
		}
		blocks[e.From].To = append(blocks[e.From].To, j)
	}
}
