package calls

import (
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/waiting"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// stackPart is a part of the stacks of a trie, which is ranked for itself. They are in the order of the output.
type stackPart uint8

const (
	allParts      stackPart = iota // in logs without waits
	processorPart                  // functions, by their time on a processor
	waitingPart                    // waits
	idlePart                       // waits for work
)

// parts returns the ranked stacks of a group: of each part that it has.
func (f *stacksFlags) parts(g logset.Group, set *logset.Set, key func(*calltrie.Stats) uint64, filter verb.NameFilter) []*stackList {
	split := waiting.Divide(g.Trie, set.WaitOf)
	parts := []stackPart{allParts}
	if split != nil {
		parts = []stackPart{processorPart, waitingPart}
		if split.Idle() > 0 {
			parts = append(parts, idlePart)
		}
	}
	var lists []*stackList
	for _, part := range parts {
		l := &stackList{Group: g, part: part, split: split}
		f.rank(l, set, key, filter)
		lists = append(lists, l)
	}
	return lists
}

// holds reports whether a node is in the part of the list.
func (l *stackList) holds(id calltrie.NodeID, n *calltrie.Node) bool {
	switch l.part {
	case processorPart:
		return l.split.For(id) == ""
	case waitingPart:
		return l.split.For(id) != "" && (n.Self > n.Idle || n.Self == 0)
	case idlePart:
		return n.Idle > 0
	}
	return true
}

// self returns the time of a node in the part of the list.
func (l *stackList) self(id calltrie.NodeID, n *calltrie.Node) uint64 {
	switch {
	case !l.holds(id, n):
		return 0
	case l.part == waitingPart:
		return n.Self - min(n.Idle, n.Self)
	case l.part == idlePart:
		return n.Idle
	}
	return n.Self
}

// waits returns how much of the total of a node was in waits.
func (l *stackList) waits(id calltrie.NodeID, n *calltrie.Node) uint64 {
	if l.split == nil {
		return 0
	}
	return min(l.split.Waits(id), n.Total)
}

// key returns the value by which a node is ranked in its part.
func (l *stackList) key(id calltrie.NodeID, by string, key func(*calltrie.Stats) uint64) uint64 {
	n := l.Trie.Node(id)
	switch {
	case by == "calls":
		return n.Calls
	case l.part > processorPart:
		return l.self(id, n)
	case by == "total":
		return n.Total - l.waits(id, n)
	}
	return key(&n.Stats)
}

// order returns the value by which a node is ordered: waits for other threads come behind other waits.
func (l *stackList) order(id calltrie.NodeID, by string, key uint64) uint64 {
	const first = 1 << 63
	if by == "calls" || l.part == waitingPart && waiting.ForThreads(l.split.For(id)) {
		return min(key, first-1)
	}
	return min(key, first-1) | first
}

// matches reports whether the innermost function of a stack matches, or of a wait the one that waited.
func (l *stackList) matches(set *logset.Set, id calltrie.NodeID, n *calltrie.Node, filter verb.NameFilter) bool {
	if filter.Match(set.Funcs.Name(n.Func)) {
		return true
	}
	return l.part > processorPart && n.Parent != calltrie.Root && filter.Match(set.Funcs.Name(l.Trie.Node(n.Parent).Func))
}

// rankText is what a list is ranked by, and of how much.
func (f *stacksFlags) rankText(l *stackList, set *logset.Set) string {
	text := rankText[f.by]
	if l.split == nil {
		return text
	}
	time, of := l.split.Processor, set.PartName(waiting.Processor)
	switch l.part {
	case waitingPart:
		time, of = l.split.Waiting(), "waiting"
	case idlePart:
		time, of = l.split.Idle(), "waiting for work, with nothing begun"
	}
	if f.by == "calls" {
		return fmt.Sprintf("%s, %s", text, of)
	} else if l.part > processorPart {
		text = "time"
	}
	return fmt.Sprintf("%s %s: %s", text, of, partOf(set, time, l.split))
}

// partOf is a part of the time of a trie.
func partOf(t *logset.Set, time uint64, d *waiting.Division) string {
	all := d.Processor + d.Waiting() + d.Idle()
	return fmt.Sprintf("%s of the %s of all threads (%s)", t.Sum(time), t.Sum(all), share(time, all))
}

// waitTable is the table of waits by what they were for, without idle ones.
func waitTable(t *logset.Set, d *waiting.Division) *report.Table {
	table := &report.Table{Columns: []report.Column{
		{Title: "waits", Align: report.Right},
		{Title: "time", Align: report.Right},
		{Align: report.Right},
		{Title: "for"},
		{Title: "most of it in", Shrink: report.Shorten},
		{Shrink: report.ShortenPath, Optional: true},
	}}
	all := d.Waiting()
	for i := range d.Sums {
		s := &d.Sums[i]
		time := s.Time - s.Idle
		if time == 0 && s.Idle > 0 {
			continue
		}
		who, place := "", ""
		if s.MostTime > 0 && s.Most != 0 {
			who, place = t.Name(s.Most), t.Place(s.Most)
			if s.MostTime < time {
				who += " (" + share(s.MostTime, time) + ")"
			}
		}
		table.Add(report.Text(report.Count(s.Count)), report.Text(t.Duration(time)), report.Text(share(time, all)), report.Text(s.For),
			report.Text(who), report.Cell{Text: place, Color: report.Dim})
	}
	return table
}

// splitRows puts the rows of waits, and of functions that do nothing else in the logs, after those of functions,
// and returns the number of the latter.
func splitRows(rows []accountRow) (ordered []accountRow, functions int) {
	isWait := func(r accountRow) bool { return r.Wait != "" || r.Calls == r.waits.Calls }
	waits := slices.DeleteFunc(slices.Clone(rows), func(r accountRow) bool { return !isWait(r) })
	ordered = slices.DeleteFunc(rows, isWait)
	return append(ordered, waits...), len(ordered)
}

// idleText says how much of the time of goroutines is idle, and why it is not ranked.
func idleText(t *logset.Set, d *waiting.Division) string {
	if d.Idle() == 0 {
		return ""
	}
	return "waiting for work, with nothing begun: " + partOf(t, d.Idle(), d)
}

// waitJSON says of a function what its caller waited for, or how much of its time was in waits.
type waitJSON struct {
	Wait  string `json:"wait,omitempty"`
	Idle  uint64 `json:"idle,omitempty"`
	Waits uint64 `json:"waits,omitempty"` // part of the total
}

func (l *stackList) waitJSON(id calltrie.NodeID) waitJSON {
	if l.split == nil {
		return waitJSON{}
	}
	return waitJSON{l.split.For(id), l.Trie.Node(id).Idle, l.split.Waits(id)}
}

// partsJSON is the time of logs with waits, in parts.
type partsJSON struct {
	Processor uint64        `json:"processor"` // time outside of waits
	Waiting   []waitSumJSON `json:"waiting"`
}

// waitSumJSON is the waits for one thing.
type waitSumJSON struct {
	For   string `json:"for"`
	Count uint64 `json:"count"`
	Time  uint64 `json:"time"`
	Idle  uint64 `json:"idle"` // part of the time
}

// add adds the parts of a trie.
func (p *partsJSON) add(d *waiting.Division) *partsJSON {
	if p == nil {
		p = &partsJSON{Waiting: []waitSumJSON{}}
	}
	p.Processor += d.Processor
next:
	for i := range d.Sums {
		s := &d.Sums[i]
		for k := range p.Waiting {
			if w := &p.Waiting[k]; w.For == s.For {
				w.Count, w.Time, w.Idle = w.Count+s.Count, w.Time+s.Time, w.Idle+s.Idle
				continue next
			}
		}
		p.Waiting = append(p.Waiting, waitSumJSON{s.For, s.Count, s.Time, s.Idle})
	}
	return p
}
