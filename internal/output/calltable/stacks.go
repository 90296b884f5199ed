// Package calltable lists the stacks and the functions of logs of calls with their costs, and their waits apart.
package calltable

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/ranking"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/output/callfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// Stacks is which stacks are listed, in which order.
type Stacks struct {
	logset.Choice
	verb.DisplayFlags
	By        string
	Top       int
	PerThread bool
	Folded    bool
	Regexp    string
}

// A stackList is the ranked stacks of a group, or of a part of it.
type stackList struct {
	*ranking.List
	group logset.Group
}

// Write prints the stacks of the logs among args.
func (f *Stacks) Write(ctx context.Context, s *verb.Streams, args []string) error {
	if f.By == "count" { // llvm-xray's word
		f.By = "calls"
	}
	if !slices.Contains(ranking.Keys, f.By) {
		return verb.Usagef("--by %s: must be self, total or calls", f.By)
	}
	filter, err := verb.NewNameFilter(f.Regexp)
	if err != nil {
		return err
	}
	style, err := f.Style(s)
	if err != nil {
		return err
	}
	f.Sums = true
	set, err := f.Open(s, args, f.Names())
	if err != nil {
		return err
	}
	defer set.Close()
	f.By = set.Known(f.By)
	results, err := set.Account(ctx, f.Options)
	if err != nil {
		return err
	}
	groups := set.MarkedGroups(results, f.PerThread)
	if f.Folded {
		callfile.NoteDepth(set, results)
		return callfile.WriteFolded(set, s.Out, groups, callfile.StackWeight(f.By), filter)
	}
	order := ranking.Order{By: f.By, Top: f.Top, WaitOf: set.WaitOf, Match: func(fn calllog.FuncID) bool { return filter.Match(set.Funcs.Name(fn)) }}
	if f.Regexp == "" && !f.Json {
		order.Omit = func(fn calllog.FuncID, total uint64) bool { return isShortInit(set, fn, total) }
	}
	var lists []*stackList
	for _, g := range groups {
		for _, l := range ranking.Rank(g.Trie, order) {
			lists = append(lists, &stackList{l, g})
		}
	}
	if f.Json {
		return f.writeJSON(s.Out, set, lists)
	}
	return f.writeText(s.Out, set, lists, style)
}

func (f *Stacks) writeText(w io.Writer, set *logset.Set, lists []*stackList, style report.Style) error {
	b := bufio.NewWriter(w)
	for i, l := range lists {
		if i > 0 {
			b.WriteByte('\n')
		}
		head := fmt.Sprintf("top %d of %s by %s", len(l.Nodes), report.Plural(l.Found, "stack"), f.rankText(l, set))
		if l.group.Label != "" {
			head = l.group.Label + ": " + head
		}
		fmt.Fprintln(b, style.Paint(report.Bold, head))
		if l.Part == ranking.Waiting {
			if err := waitTable(set, l.Split).Write(b, style); err != nil {
				return err
			}
		}
		for rank := range l.Nodes {
			b.WriteByte('\n')
			if err := l.write(b, set, rank, style); err != nil {
				return err
			}
		}
		if text := initsText(l.Omitted, set); text != "" {
			fmt.Fprintf(b, "\n%s\n", style.Paint(report.Dim, text))
		}
	}
	return b.Flush()
}

var rankText = map[string]string{"self": "self time", "total": "total time", "calls": "calls"}

// write prints the stack of that rank: its numbers, then its functions, outermost first, each with the
// cost of its calls on this stack.
func (l *stackList) write(w io.Writer, set *logset.Set, rank int, style report.Style) error {
	id := l.Nodes[rank]
	leaf := l.Trie.Node(id)
	number, calls := style.Paint(report.Bold, "#"+strconv.Itoa(rank+1)), report.Plural(int(leaf.Calls), "call")
	t := report.NewTable(">calls")
	timed := set.Knows("total")
	if timed {
		if l.Part > ranking.Processor {
			fmt.Fprintf(w, "%s %s (%s), %s for %s\n", number, style.Paint(report.Amber, set.Sum(l.Self(id, leaf))),
				share(l.Self(id, leaf), l.Sum), report.Plural(int(leaf.Calls), "wait"), l.Split.For(id))
		} else {
			fmt.Fprintf(w, "%s %s self (%s), %s total, %s\n", number,
				style.Paint(report.Amber, set.Sum(leaf.Self)), share(leaf.Self, l.Sum), set.Sum(leaf.Total-l.Waits(id, leaf)), calls)
		}
		t.Head(">total")
		if l.Split != nil {
			t.Head(">waits")
		}
		t.Head(">self")
	} else {
		fmt.Fprintf(w, "%s %s\n", number, calls)
	}
	t.Head("~function", "?/")
	nodes := path(l.Trie, id)
	for depth, node := range nodes {
		if middle := len(nodes) - 2*stackEnd; middle > stackEnd && depth >= stackEnd && depth < len(nodes)-stackEnd {
			if depth == stackEnd {
				t.Add(append(make([]report.Cell, len(t.Columns)-2), report.Cell{
					Text: strings.Repeat(" ", maxIndent) + "... " + report.Plural(middle, "function") + " between", Color: report.Dim,
				}, report.Cell{})...)
			}
			continue
		}
		n := l.Trie.Node(node)
		name := strings.Repeat(" ", min(depth, maxIndent)) + set.Name(n.Func)
		color := report.Plain
		if node == id {
			color = report.Bold
		}
		cells := []report.Cell{report.Text(report.Count(n.Calls))}
		if timed {
			cells = append(cells, report.Text(set.Sum(n.Total)))
			if l.Split != nil {
				cells = append(cells, report.Text(set.Sum(l.Waits(node, n))))
			}
			cells = append(cells, report.Text(set.Sum(n.Self)))
		}
		t.Add(append(cells, report.Cell{Text: name, Color: color}, report.Cell{Text: set.Place(n.Func), Color: report.Dim})...)
	}
	return t.Write(w, style)
}

// maxIndent is how far stacks are indented: deeper ones go on straight down.
const maxIndent = 40

// stackEnd is how many functions of a deep stack are shown, outermost and innermost.
const stackEnd = 50

// path returns the nodes from the outermost to id.
func path(t *calltrie.Trie, id calltrie.NodeID) []calltrie.NodeID {
	var nodes []calltrie.NodeID
	for ; id != calltrie.Root; id = t.Node(id).Parent {
		nodes = append(nodes, id)
	}
	slices.Reverse(nodes)
	return nodes
}

// share is part of whole in percent.
func share(part, whole uint64) string {
	if whole == 0 {
		return "0 %"
	}
	return report.Decimal(100*float64(part)/float64(whole)) + " %"
}

// stackJSON is a stack in JSON. Times are in the document's unit.
type stackJSON struct {
	Thread *threadJSON `json:"thread,omitempty"`
	account.CostsJSON
	waitJSON
	Frames []frameJSON `json:"frames"` // outermost first
}

type threadJSON struct {
	Log string `json:"log"`
	PID uint32 `json:"pid"`
	TID uint32 `json:"tid"`
	// Stack is the number of the thread's stack, if each is shown separately: 0 is its own.
	Stack uint32 `json:"stack,omitempty"`
}

// frameJSON is a function of a stack, and the cost of its calls there.
type frameJSON struct {
	ID        uint32 `json:"id"`
	Name      string `json:"name"`
	Demangled string `json:"demangled"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Calls     uint64 `json:"calls"`
	Total     uint64 `json:"total"`
	Self      uint64 `json:"self"`
	Inferred  uint64 `json:"inferred,omitempty"`
	waitJSON
}

// writeJSON writes stack by stack: all of them, each with its frames, can be much larger than
// the trie.
func (f *Stacks) writeJSON(w io.Writer, set *logset.Set, lists []*stackList) error {
	doc := struct {
		unitJSON
		Found int    `json:"found"` // stacks, before --top
		Self  uint64 `json:"self"`  // of all stacks
		*partsJSON
	}{unitJSON: unitOf(&set.Clock)}
	for _, l := range lists {
		doc.Found += l.Found
		doc.Self += l.Sum
		if l.Part == ranking.Waiting {
			doc.partsJSON = doc.partsJSON.add(l.Split)
		}
	}
	return report.WriteJSONList(w, doc, "stacks", func(yield func(any) bool) {
		for _, l := range lists {
			for _, id := range l.Nodes {
				if !yield(l.json(set, id)) {
					return
				}
			}
		}
	})
}

func (l *stackList) json(set *logset.Set, id calltrie.NodeID) *stackJSON {
	n := &l.Trie.Node(id).Stats
	costs := account.NewCosts(n, n.Total)
	out := &stackJSON{CostsJSON: costs.JSON(), waitJSON: l.waitJSON(id)}
	if th := l.group.Thread; th != nil {
		out.Thread = &threadJSON{th.Log.File, th.PID, th.TID, th.Thread.Thread.Stack}
	}
	for _, node := range path(l.Trie, id) {
		n := l.Trie.Node(node)
		fn := set.Funcs[n.Func]
		out.Frames = append(out.Frames, frameJSON{
			ID: uint32(set.Number(n.Func)), Name: set.Symbol(n.Func), Demangled: set.Name(n.Func), File: fn.File, Line: fn.Line,
			Calls: n.Calls, Total: n.Total, Self: n.Self, Inferred: n.Inferred, waitJSON: l.waitJSON(node),
		})
	}
	return out
}
