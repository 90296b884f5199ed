package calltable

import (
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/ranking"
	"github.com/cairnprof/cairn/internal/calls/waiting"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/report"
)

// rankText is what a list is ranked by, and of how much.
func (f *Stacks) rankText(l *stackList, set *logset.Set) string {
	text := rankText[f.By]
	if l.Split == nil {
		return text
	}
	time, of := l.Split.Processor, set.PartName(waiting.Processor)
	switch l.Part {
	case ranking.Waiting:
		time, of = l.Split.Waiting(), "waiting"
	case ranking.Idle:
		time, of = l.Split.Idle(), "waiting for work, with nothing begun"
	}
	if f.By == "calls" {
		return fmt.Sprintf("%s, %s", text, of)
	} else if l.Part > ranking.Processor {
		text = "time"
	}
	return fmt.Sprintf("%s %s: %s", text, of, partOf(set, time, l.Split))
}

// partOf is a part of the time of a trie.
func partOf(t *logset.Set, time uint64, d *waiting.Division) string {
	all := d.Processor + d.Waiting() + d.Idle()
	return fmt.Sprintf("%s of the %s of all threads (%s)", t.Sum(time), t.Sum(all), share(time, all))
}

// waitTable is the table of waits by what they were for, without idle ones.
func waitTable(t *logset.Set, d *waiting.Division) *report.Table {
	table := report.NewTable(">waits", ">time", ">", "for", "~most of it in", "?/")
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
	if l.Split == nil {
		return waitJSON{}
	}
	return waitJSON{l.Split.For(id), l.Trie.Node(id).Idle, l.Split.Waits(id)}
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

// inits matches the functions that initialize a package of Go. Every program has dozens of them, which take microseconds:
// text leaves these out, with a line; other formats have them.
var inits = lazyregexp.New(`^[^ ]*\.init(\.[0-9]+)?$`)

// isShortInit reports whether a function of a Go program initializes a package, and did so in less than a millisecond.
func isShortInit(t *logset.Set, fn calllog.FuncID, total uint64) bool {
	const most = 1e6
	return t.Clock.Hz != 0 && t.Clock.Nanoseconds(total) < most && inits().MatchString(t.Symbol(fn))
}

// initsText is a line about those that were left out, "" if there are none.
func initsText(o ranking.Omitted, t *logset.Set) string {
	if o.Count == 0 {
		return ""
	}
	return fmt.Sprintf("and %s of packages that took less than 1 ms each, %s in all (--json has them)",
		report.Plural(o.Count, "init function"), t.Duration(o.Time))
}
