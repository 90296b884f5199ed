package flamegraph

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"

	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/report/webpage"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// tableRows is the minimum number of listed functions, those with the most self time first. Functions with a
// bar are always listed.
const tableRows = 1000

// pageRows is how deep the stacks of a page are: no screen shows deeper ones.
const pageRows = 1000

// function is a row of the table: all stacks that end in it.
type function struct {
	name int32
	side [2]struct{ self, total, calls, longest uint64 }
}

// functions sums the nodes of each function. A call within a call of the same
// function is not counted again in its total.
func (t *tree) functions() []function {
	list := make([]function, len(t.names))
	for i := range list {
		list[i].name = int32(i)
	}
	children := t.childLists()
	active := make([]int32, len(t.names)) // how often each is on the current stack
	stack := []int32{0}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if i < 0 {
			active[t.nodes[^i].name]--
			continue
		}
		if n := &t.nodes[i]; !n.label {
			f := &list[n.name]
			for k := range f.side {
				s := n.side[k]
				f.side[k].self = saturate.Add(f.side[k].self, s.Self)
				f.side[k].calls = saturate.Add(f.side[k].calls, s.Calls)
				f.side[k].longest = max(f.side[k].longest, s.Max)
				if active[n.name] == 0 {
					f.side[k].total = saturate.Add(f.side[k].total, s.Total)
				}
			}
			active[n.name]++
			stack = append(stack, ^i)
		}
		stack = append(stack, children[i]...)
	}
	return list
}

// listed returns the functions of a page: those of bars, and those at the head of the table. Names of bars
// become indexes of it.
func (d *drawing) listed() []function {
	all := d.functions()
	bySelf := slices.Clone(all)
	stablesort.Func(bySelf, func(a, b function) int {
		for _, v := range [3][2]uint64{
			{saturate.Add(a.side[0].self, a.side[1].self), saturate.Add(b.side[0].self, b.side[1].self)},
			{saturate.Add(a.side[0].total, a.side[1].total), saturate.Add(b.side[0].total, b.side[1].total)},
			{saturate.Add(a.side[0].calls, a.side[1].calls), saturate.Add(b.side[0].calls, b.side[1].calls)},
		} {
			if c := cmp.Compare(v[1], v[0]); c != 0 {
				return c
			}
		}
		return cmp.Compare(d.names[a.name], d.names[b.name])
	})
	drawn := make([]bool, len(all))
	for i := range d.bars {
		if b := &d.bars[i]; !b.label && b.merged == 0 {
			drawn[b.name] = true
		}
	}
	where := make([]int32, len(all))
	var list []function
	for i, f := range bySelf {
		if drawn[f.name] || i < tableRows {
			where[f.name] = int32(len(list))
			list = append(list, f)
		}
	}
	for i := range d.bars {
		if b := &d.bars[i]; !b.label && b.merged == 0 {
			b.name = where[b.name]
		}
	}
	return list
}

// WriteData writes the JSON that the page draws: see drawing.data.
func WriteData(w io.Writer, doc Document, o Options) (Summary, error) {
	t, err := doc.tree()
	if err != nil {
		return Summary{}, fmt.Errorf("flame graph: %w", err)
	}
	t.rows = pageRows
	d, err := t.prune(&o, []int{total, self, calls})
	if err != nil {
		return Summary{}, fmt.Errorf("flame graph: %w", err)
	}
	data, err := d.data()
	if err != nil {
		return Summary{}, fmt.Errorf("flame graph: %w", err)
	}
	_, err = w.Write(data)
	return d.Summary, err
}

// data is the drawing as JSON, in columns: a hundred thousand objects with a
// dozen keys each would be several times as large. A key is a line.
//
//	step     that of the clock in ns: the spread is known to it
//	names    of the functions, in the order of the table, then the labels
//	shades   the colours of the functions
//	kinds    the kinds of the functions that have one, and kindNames what they are called
//	calls    false if there are none, as of samples
//	depth    of each bar: a bar is below the last one before it that is less deep
//	name     of each bar, an index into names; -n for a merged one of n stacks
//	sides    one, or two of a Diff; all numbers are in the unit of time:
//	  total self calls   of each bar
//	  spread             min, median, 90 %, 99 % and max of each bar with more
//	                     than one call that was not merged, five numbers each; the
//	                     minimum is greater than the median if both are not known,
//	                     and so may be the maximum, which is then 0
//	  deduced open       bars, and how many of their calls are such, by turns
//	  functions          self, total and calls of each function, by turns
func (d *drawing) data() ([]byte, error) {
	var w columns
	functions := d.listed()
	names := make([]string, 0, len(functions)+len(d.labels))
	shades := make([]int, 0, len(functions))
	kinds := make([]int, 0, len(functions)) // bytes would be written as text
	for _, f := range functions {
		names = append(names, d.names[f.name])
		shades = append(shades, webpage.Shade(d.names[f.name]))
		kinds = append(kinds, int(d.kind(f.name)))
	}
	w.open('{')
	w.json("title", d.title)
	w.json("notes", append([]string{}, d.notes...))
	w.json("unit", d.unit)
	w.json("step", d.step)
	w.json("by", Measures()[d.by])
	w.json("labels", d.sides)
	w.json("stacks", d.Stacks)
	w.json("merged", d.Merged)
	w.json("functions", len(functions))
	w.json("unlisted", len(d.names)-len(functions))
	w.json("names", append(names, d.labels...))
	w.json("shades", shades)
	if slices.Max(append(kinds, 0)) > 0 {
		w.json("kinds", kinds)
		w.json("kindNames", kindNames)
	}
	if !d.calls {
		w.json("calls", false)
	}
	w.numbers("depth", func(yield func(uint64) bool) {
		for i := range d.bars {
			if !yield(uint64(d.bars[i].depth)) {
				return
			}
		}
	})
	w.key("name")
	w.open('[')
	for i := range d.bars {
		w.comma()
		w.buf = strconv.AppendInt(w.buf, d.bars[i].shown(len(functions)), 10)
	}
	w.close(']')
	w.key("sides")
	w.open('[')
	for k := range d.sides {
		w.side(d, k, functions)
	}
	w.close(']')
	w.close('}')
	return w.buf, w.err
}

// shown returns the value of a bar in the column "name".
func (b *bar) shown(functions int) int64 {
	switch {
	case b.merged > 0:
		return -int64(b.merged)
	case b.label:
		return int64(functions) + int64(b.name)
	}
	return int64(b.name)
}

// side writes the values of all bars and functions on one side.
func (w *columns) side(d *drawing, k int, functions []function) {
	column := func(key string, value func(*calltrie.Stats) uint64) {
		w.numbers(key, func(yield func(uint64) bool) {
			for i := range d.bars {
				if !yield(value(&d.bars[i].side[k])) {
					return
				}
			}
		})
	}
	pairs := func(key string, value func(*calltrie.Stats) uint64) {
		w.numbers(key, func(yield func(uint64) bool) {
			for i := range d.bars {
				if v := value(&d.bars[i].side[k]); v > 0 && !(yield(uint64(i)) && yield(v)) {
					return
				}
			}
		})
	}
	w.open('{')
	column("total", func(s *calltrie.Stats) uint64 { return s.Total })
	column("self", func(s *calltrie.Stats) uint64 { return s.Self })
	column("calls", func(s *calltrie.Stats) uint64 { return s.Calls })
	pairs("deduced", func(s *calltrie.Stats) uint64 { return s.Deduced })
	pairs("open", func(s *calltrie.Stats) uint64 { return s.Open })
	w.numbers("spread", func(yield func(uint64) bool) {
		for i := range d.bars {
			b := &d.bars[i]
			if s := &b.side[k]; s.Calls < 2 || b.merged > 0 {
				continue
			}
			values, known := spread(&b.side[k])
			if !known {
				values[0] = 1 // more than the median
			}
			for _, v := range values {
				if !yield(v) {
					return
				}
			}
		}
	})
	w.numbers("functions", func(yield func(uint64) bool) {
		for i := range functions {
			f := &functions[i].side[k]
			if !(yield(f.self) && yield(f.total) && yield(f.calls)) {
				return
			}
		}
	})
	w.numbers("longest", func(yield func(uint64) bool) {
		for i := range functions {
			if !yield(functions[i].side[k].longest) {
				return
			}
		}
	})
	w.close('}')
}

// maxValue is the index of the greatest value in a spread.
const maxValue = 4

// spread returns the least, the median, the 90th and 99th percentile and the greatest time of single calls.
// Approximate percentiles are limited to the exact bounds. known is false in a log of sums, which has at most the
// greatest, 0 if it has not.
func spread(s *calltrie.Stats) (values [maxValue + 1]uint64, known bool) {
	q := func(p float64) uint64 { return min(max(s.Latency.Quantile(p), s.Min), s.Max) }
	if s.Latency.Count() == 0 {
		return [maxValue + 1]uint64{maxValue: s.Max}, false
	}
	return [maxValue + 1]uint64{s.Min, q(0.5), q(0.9), q(0.99), s.Max}, true
}

// columns writes JSON, a line for each key.
type columns struct {
	buf []byte
	err error
}

// comma separates a value from the one before it.
func (w *columns) comma() {
	if n := len(w.buf); n > 0 {
		if c := w.buf[n-1]; c != '{' && c != '[' && c != ':' {
			w.buf = append(w.buf, ',')
		}
	}
}

func (w *columns) open(bracket byte) {
	w.comma()
	w.buf = append(w.buf, bracket)
}

func (w *columns) close(bracket byte) { w.buf = append(w.buf, bracket) }

// key accepts only names that need no escapes.
func (w *columns) key(key string) {
	w.comma()
	w.buf = append(w.buf, "\n\""+key+"\":"...)
}

func (w *columns) number(v uint64) {
	w.comma()
	w.buf = strconv.AppendUint(w.buf, v, 10)
}

// numbers writes a column.
func (w *columns) numbers(key string, values iter.Seq[uint64]) {
	w.key(key)
	w.open('[')
	for v := range values {
		w.number(v)
	}
	w.close(']')
}

// json writes a value as encoding/json does: it escapes what could end a script.
func (w *columns) json(key string, v any) {
	w.key(key)
	text, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.buf = append(w.buf, text...)
}
