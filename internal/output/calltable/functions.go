package calltable

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/ranking"
	"github.com/cairnprof/cairn/internal/calls/waiting"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/internal/verb"
)

// Functions is which functions are listed, in which order.
type Functions struct {
	logset.Choice
	verb.DisplayFlags
	Sort      string
	Reverse   bool
	Top       int
	Pattern   string
	CSV       bool
	Recursive bool
	Only      bool // recursive calls and those that contain them
	PerThread bool
}

// accountRow is a function on its way to the output.
type accountRow struct {
	account.Function
	calllog.Func        // name, file and line
	shown        string // the name as displayed
	waits        waiting.FunctionWaits
}

// order returns how --sort compares. Numbers descend; ties are in the order of
// the functions' ids.
func (f *Functions) order() (func(a, b accountRow) int, error) {
	var compare func(a, b accountRow) int
	key, ok := account.FindKey(f.Sort)
	switch {
	case ok:
		compare = func(a, b accountRow) int { return cmp.Compare(key.Of(&b.Costs), key.Of(&a.Costs)) }
	case f.Sort == "name" || f.Sort == "func":
		compare = func(a, b accountRow) int { return cmp.Compare(a.shown, b.shown) }
	case f.Sort == "id" || f.Sort == "funcid":
		compare = func(a, b accountRow) int { return cmp.Compare(a.Function.Func, b.Function.Func) }
	default:
		return nil, verb.Usagef("--sort %s: must be one of %s", f.Sort, verb.Alternatives(append(account.KeyNames(), "name", "id")))
	}
	if f.Reverse {
		forward := compare
		compare = func(a, b accountRow) int { return forward(b, a) }
	}
	return func(a, b accountRow) int {
		return cmp.Or(compare(a, b), cmp.Compare(a.Function.Func, b.Function.Func))
	}, nil
}

// accountTable is the table of all threads, or of one.
type accountTable struct {
	thread *logset.ThreadTrie // nil for all
	split  *waiting.Division  // nil if nothing waits
	rows   []accountRow       // functions, then waits
	inits  ranking.Omitted
	shown  int // functions among them
	funcs  int // before --top
}

// Write prints the functions of the logs among args.
func (f *Functions) Write(ctx context.Context, s *verb.Streams, args []string) error {
	style, err := f.Style(s)
	if err != nil {
		return err
	}
	if _, err := f.order(); err != nil { // before the logs are read
		return err
	}
	filter, err := verb.NewNameFilter(f.Pattern)
	if err != nil {
		return err
	}
	f.Sums = true
	logs, err := f.Open(s, args, f.Names())
	if err != nil {
		return err
	}
	defer logs.Close()
	f.Sort = logs.Known(f.Sort)
	order, err := f.order()
	if err != nil {
		return err
	}
	if f.Only {
		if err := logs.NeedCalls("--recursive-calls-only"); err != nil {
			return err
		}
		logs.Replay = account.RunRecursive
	}
	results, err := logs.Account(ctx, f.Options)
	if err != nil {
		return err
	}
	var tables []accountTable
	for _, g := range logs.Groups(results, f.PerThread) {
		t := f.tableOf(g.Trie, logs, filter, order)
		t.thread = g.Thread
		tables = append(tables, t)
	}
	switch {
	case f.Json:
		return f.writeJSON(s.Out, tables, &logs.Clock)
	case f.CSV:
		return f.writeCSV(s.Out, tables)
	}
	return f.writeText(s, tables, logs, style)
}

// tableOf returns the rows of a group of threads, those that are shown.
func (f *Functions) tableOf(trie *calltrie.Trie, logs *logset.Set, filter verb.NameFilter, order func(a, b accountRow) int) accountTable {
	t := accountTable{split: waiting.Divide(trie, logs.WaitOf)}
	t.rows = accountRows(trie, logs, filter, t.split)
	if t.split != nil && f.Pattern == "" && !f.Json && !f.CSV {
		t.rows = slices.DeleteFunc(t.rows, func(r accountRow) bool {
			short := isShortInit(logs, r.Function.Func, r.Total)
			if short {
				t.inits.Add(r.Total)
			}
			return short
		})
	}
	stablesort.Func(t.rows, order)
	t.rows, t.funcs = splitRows(t.rows)
	t.shown = t.funcs
	if f.Top > 0 && f.Top < t.funcs {
		t.rows, t.shown = slices.Delete(t.rows, f.Top, t.funcs), f.Top
	}
	return t
}

// accountRows returns the functions that have calls and match the filter.
func accountRows(trie *calltrie.Trie, logs *logset.Set, filter verb.NameFilter, split *waiting.Division) []accountRow {
	var rows []accountRow
	one := logs.OneBody()
	waits := split.ByFunctionOf(one)
	for _, fn := range account.FunctionsOf(trie, one) {
		if fn.Calls == 0 {
			continue
		}
		if known, shown := logs.Describe(fn.Func); filter.Match(known.Name) {
			rows = append(rows, accountRow{fn, known, shown, waits[fn.Func]})
		}
	}
	return rows
}

func (f *Functions) writeText(s *verb.Streams, tables []accountTable, logs *logset.Set, style report.Style) error {
	shown := 0
	for i := range tables {
		t := &tables[i]
		if t.thread != nil && len(t.rows) > 0 {
			if shown > 0 {
				fmt.Fprintln(s.Out)
			}
			fmt.Fprintln(s.Out, style.Paint(report.Bold, t.thread.Label+":"))
		}
		shown += len(t.rows)
		if err := f.writeTable(s.Out, t, logs, style); err != nil {
			return err
		}
	}
	if shown == 0 {
		verb.Note(s, "no functions to show")
	}
	return nil
}

// writeTable prints the functions of a table, and then its waits by what they were for.
func (f *Functions) writeTable(w io.Writer, t *accountTable, logs *logset.Set, style report.Style) error {
	head := func(format string, args ...any) {
		fmt.Fprintln(w, style.Paint(report.Bold, fmt.Sprintf(format, args...)))
	}
	if t.split != nil && len(t.rows) > 0 {
		head("%s: %s", logs.PartName(waiting.Processor), partOf(logs, t.split.Processor, t.split))
	}
	if err := f.table(t.rows[:t.shown], logs, t.split).Write(w, style); err != nil {
		return err
	}
	if more := t.funcs - t.shown; more > 0 {
		fmt.Fprintln(w, style.Paint(report.Dim, fmt.Sprintf("and %s more", report.Plural(more, "function"))))
	}
	if text := initsText(t.inits, logs); text != "" {
		fmt.Fprintln(w, style.Paint(report.Dim, text))
	}
	if t.split == nil || t.shown == len(t.rows) {
		return nil
	}
	fmt.Fprintln(w)
	head("waiting: %s", partOf(logs, t.split.Waiting(), t.split))
	if err := waitTable(logs, t.split).Write(w, style); err != nil {
		return err
	}
	if text := idleText(logs, t.split); text != "" {
		fmt.Fprintln(w)
		head("%s", text)
	}
	return nil
}

func (f *Functions) table(rows []accountRow, logs *logset.Set, split *waiting.Division) *report.Table {
	var keys []account.Key
	table := &report.Table{}
	for _, k := range account.Keys {
		if k.Name == "total" && f.Recursive || k.Name == "sum" && !f.Recursive || !logs.Knows(k.Name) {
			continue
		}
		keys = append(keys, k)
		table.Head(">" + k.Name)
		if split != nil && (k.Name == "total" || k.Name == "sum") {
			table.Head(">waits")
		}
	}
	if split != nil {
		table.Head(">")
	}
	endless := slices.ContainsFunc(rows, func(r accountRow) bool { return r.Deduced+r.Open > 0 })
	if endless {
		table.Head(">no exit")
	}
	table.Head("~function", "?/")
	for i := range rows {
		r := &rows[i]
		var cells []report.Cell
		costs := r.Costs
		costs.Self -= r.waits.Self
		for _, k := range keys {
			cells = append(cells, report.Text(k.Text(&costs, logs.Clock.Unit(), logs.Clock.Step)))
			if split != nil && (k.Name == "total" || k.Name == "sum") {
				cells = append(cells, report.Text(logs.Sum(r.waits.Total)))
			}
		}
		if split != nil {
			cells = append(cells, report.Text(share(costs.Self, split.Processor)))
		}
		if endless {
			text := ""
			if n := r.Deduced + r.Open; n > 0 {
				text = report.Count(n)
			}
			cells = append(cells, report.Cell{Text: text, Color: report.Amber})
		}
		table.Add(append(cells, report.Text(r.shown), report.Cell{Text: report.SourceText(r.File, r.Line), Color: report.Dim})...)
	}
	return table
}

// writeCSV writes one row for each function, for each thread if they are separate.
func (f *Functions) writeCSV(w io.Writer, tables []accountTable) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true // RFC 4180
	var head []string
	if f.PerThread {
		head = append(head, "log", "pid", "tid")
	}
	head = append(append(append(head, "id"), account.KeyNames()...), "no_exit", "open", "function", "symbol", "file", "line")
	waits := slices.ContainsFunc(tables, func(t accountTable) bool { return t.split != nil })
	if waits {
		head = append(head, "wait", "waits", "idle")
	}
	_ = out.Write(head) // Error returns it
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	for i := range tables {
		t := &tables[i]
		for k := range t.rows {
			r := &t.rows[k]
			var record []string
			if t.thread != nil {
				record = append(record, t.thread.Log.File, number(uint64(t.thread.PID)), number(uint64(t.thread.TID)))
			}
			record = append(record, number(uint64(r.Function.Func)))
			for _, key := range account.Keys {
				if text := number(key.Of(&r.Costs)); key.Known(&r.Costs) {
					record = append(record, text)
				} else {
					record = append(record, "")
				}
			}
			line := ""
			if r.Line > 0 {
				line = strconv.Itoa(r.Line)
			}
			record = append(record, number(r.Deduced), number(r.Open), r.shown, r.Name, r.File, line)
			if waits {
				record = append(record, r.Wait, number(r.waits.Total), number(r.waits.Idle))
			}
			_ = out.Write(record)
		}
	}
	out.Flush()
	return out.Error()
}

// unitJSON says what the times of a document are.
type unitJSON struct {
	Unit string `json:"unit"`
	// Step is the step of the clock in nanoseconds: times of single calls are less than what they are plus this.
	Step uint64 `json:"step,omitempty"`
}

func unitOf(c *calllog.Clock) unitJSON { return unitJSON{c.Unit(), c.Step} }

func (f *Functions) writeJSON(w io.Writer, tables []accountTable, clock *calllog.Clock) error {
	type functionJSON struct {
		ID        uint32 `json:"id"`
		Name      string `json:"name"`
		Demangled string `json:"demangled"`
		Object    string `json:"object,omitempty"`
		File      string `json:"file,omitempty"`
		Line      int    `json:"line,omitempty"`
		account.CostsJSON
		waitJSON
	}
	type tableJSON struct {
		threadJSON
		*partsJSON
		Functions []functionJSON `json:"functions"`
	}
	convert := func(rows []accountRow) []functionJSON {
		list := make([]functionJSON, len(rows))
		for i := range rows {
			r := &rows[i]
			list[i] = functionJSON{uint32(r.Function.Func), r.Name, r.shown, r.Object, r.File, r.Line, r.Costs.JSON(), waitJSON{r.Wait, r.waits.Idle, r.waits.Total}}
		}
		return list
	}
	partsOf := func(t *accountTable) (p *partsJSON) {
		if t.split != nil {
			p = p.add(t.split)
		}
		return p
	}
	if !f.PerThread {
		return report.WriteJSON(w, struct {
			unitJSON
			*partsJSON
			Functions []functionJSON `json:"functions"`
		}{unitOf(clock), partsOf(&tables[0]), convert(tables[0].rows)})
	}
	threads := make([]tableJSON, len(tables))
	for i := range tables {
		t := &tables[i]
		threads[i] = tableJSON{threadJSON{t.thread.Log.File, t.thread.PID, t.thread.TID, t.thread.Thread.Thread.Stack}, partsOf(t), convert(t.rows)}
	}
	return report.WriteJSON(w, struct {
		unitJSON
		Threads []tableJSON `json:"threads"`
	}{unitOf(clock), threads})
}
