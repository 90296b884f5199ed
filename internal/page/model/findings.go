package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/calls/waiting"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Finding is a sentence of the overview: what the data show that something can be done about, and the view that
// shows it.
type Finding struct {
	Kind string `json:"kind"` // open, spike, held, others, changed, waits, self, half, called, samples, restored, once, pages, missed, file, unknown
	Text string `json:"text"`
	View string `json:"view"`
	// With are the parameters of the view's address.
	With map[string]string `json:"with,omitempty"`
	// Parts are those of the sentence, if they have views of their own.
	Parts []Phrase `json:"parts,omitempty"`
}

// maxFindings is how many sentences the overview has.
const maxFindings = 5

// findings returns the sentences of a model, most important first. What is not known comes last and is never left
// out.
func findings(m *Model) []Finding {
	var list []Finding
	for _, of := range []func(*Model) *Finding{foundOpen, foundSpike, foundHeld, foundOthers, foundChange, foundWaits, foundSelf, foundHalf, foundCalled, foundSamples, foundHalfSamples, foundRestored, foundPages, foundCounted, foundOnce, foundMissed, foundFile} {
		if f := of(m); f != nil {
			list = append(list, *f)
		}
	}
	// Of a call that waited for a known thread, that is the sentence that says most.
	if h := slices.IndexFunc(list, func(f Finding) bool { return f.Kind == "held" }); h > 0 && list[h-1].Kind == "spike" && list[h-1].With["n"] == list[h].With["n"] {
		list = slices.Delete(list, h-1, h)
	}
	unknown := foundUnknown(m)
	return append(list[:min(len(list), maxFindings-len(unknown))], unknown...)
}

// shown is the name of a function, as a sentence has it: of C++ without parameters and template arguments, as lists have it. The
// sentence leads to the function, where the whole name is.
func (m *Model) shown(i int) string {
	f := &m.Functions[i]
	if names := (&report.Names{}); f.Name == names.Show(f.Symbol) {
		names = &report.Names{Short: true}
		return names.Show(f.Symbol)
	}
	return cmp.Or(f.Name, f.Symbol)
}

// most returns the index of the function with the largest value, -1 if all are 0; the first in the list of those
// that are equal.
func (m *Model) most(value func(*Function) uint64) (at int, largest uint64) {
	at = -1
	for i := range m.Functions {
		if v := value(&m.Functions[i]); v > largest {
			at, largest = i, v
		}
	}
	return at, largest
}

// share is a percentage that is neither 0 nor 100 if part is neither 0 nor the whole.
func share(part, whole uint64) string {
	p := 100 * float64(part) / float64(whole)
	switch {
	case part > 0 && p < 0.1:
		return "less than 0.1 %"
	case part < whole && p > 99.9:
		return "more than 99.9 %"
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + " %"
}

// size is a number of bytes, in the units of the page.
func size(n uint64) string {
	for _, u := range []struct {
		limit uint64
		name  string
	}{{1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.limit {
			return strconv.FormatFloat(float64(n)/float64(u.limit), 'f', 1, 64) + " " + u.name
		}
	}
	return report.Plural(int(n), "byte")
}

// have agrees with a number: "1 function has", "2 functions have".
func have(n int, what, one, several string) string {
	return report.Plural(n, what) + " " + report.Either(uint64(n), one, several)
}

// foundOpen is the longest call that has not ended. In the view such calls have the numbers after those of the groups.
func foundOpen(m *Model) *Finding {
	if m.Spikes == nil || len(m.Spikes.Open) == 0 {
		return nil
	}
	g := m.Spikes.Open[0]
	text := fmt.Sprintf("%s has run for at least %s and has not ended", g.Peak.Function, report.Duration(g.Interval[0], report.Nanoseconds))
	if g.Open != nil {
		does := ": it "
		if strings.HasPrefix(g.Open.Text, "on ") {
			does += "is "
		}
		text += does + g.Open.Text
	}
	if more := len(m.Spikes.Open) - 1 + m.Spikes.OpenLeft; more > 0 {
		text += "; " + report.Plural(more, "more call")
	}
	return &Finding{"open", text + ".", "spikes", map[string]string{"n": strconv.Itoa(len(m.Spikes.Groups))}, nil}
}

// foundSpike is the longest call that has ended, and why.
func foundSpike(m *Model) *Finding {
	if m.Spikes == nil || len(m.Spikes.Groups) == 0 {
		return nil
	}
	at := longestGroup(m.Spikes.Groups)
	g := m.Spikes.Groups[at]
	text := fmt.Sprintf("%s took at least %s", g.Peak.Function, report.Duration(longest(g), report.Nanoseconds))
	if g.Why != nil && g.Why.Text != "" {
		// The reason is that of the shown call, which need not be the longest of its stack.
		if shown := g.Interval[0]; longest(g) > shown && g.Caller == nil {
			text += "; one call of " + report.Duration(shown, report.Nanoseconds)
		}
		text += ": " + g.Why.Text
	}
	return &Finding{"spike", text + ".", "spikes", map[string]string{"n": strconv.Itoa(at)}, nil}
}

// foundChange is functions that ran before and do not run now.
func foundChange(m *Model) *Finding {
	if m.Changes == nil {
		return nil
	}
	for _, l := range m.Changes.Lists {
		if l.Kind == "only_then" && l.Count > 0 {
			return &Finding{"changed", have(l.Count, "function", "ran before and does not run now", "ran before and do not run now") + ".", "functions", map[string]string{"only": "changed", "sort": "change-"}, nil}
		}
	}
	return nil
}

// foundWaits is what threads waited for the longest, but for other threads.
func foundWaits(m *Model) *Finding {
	if m.Calls == nil || len(m.Calls.Waits) == 0 {
		return nil
	}
	all := m.Calls.Processor
	var w *Wait
	for i := range m.Calls.Waits {
		at := &m.Calls.Waits[i]
		all = saturate.Add(all, at.Time-min(at.Time, at.Idle))
		if at.Time > at.Idle && !waiting.ForThreads(at.For) && (w == nil || at.Time-at.Idle > w.Time-w.Idle) {
			w = at
		}
	}
	if w == nil || all == 0 {
		return nil
	}
	text := fmt.Sprintf("Waits for %s took %s, %s of the time in which there was work", w.For, report.Duration(w.Time-w.Idle, m.Calls.Unit), share(w.Time-w.Idle, all))
	f := &Finding{Kind: "waits", View: "functions", With: map[string]string{"sort": "waits-"}}
	if w.Most != nil {
		text += ", most of it in " + m.shown(*w.Most)
		f.View, f.With = "function", map[string]string{"f": m.Functions[*w.Most].Key}
	}
	f.Text = text + "."
	return f
}

// foundSelf is the function with the most time of its own.
func foundSelf(m *Model) *Finding {
	if m.Calls == nil || m.Calls.Time == 0 {
		return nil
	}
	at, self := m.most((*Function).selfTime)
	if at < 0 {
		return nil
	}
	about := ""
	if !m.Calls.measured(self) {
		about = "about "
	}
	text := fmt.Sprintf("%s itself takes %s%s of the time of all threads, %s in %s.", m.shown(at), about, share(min(self, m.Calls.Time), m.Calls.Time), report.Duration(self, m.Calls.Unit), report.Plural(int(m.Functions[at].Time.Calls), "call"))
	return &Finding{"self", text, "function", map[string]string{"f": m.Functions[at].Key}, nil}
}

// foundSamples is the function with the most samples.
func foundSamples(m *Model) *Finding {
	if m.Samples == nil || m.Samples.Count == 0 {
		return nil
	}
	at, self := m.most((*Function).selfSamples)
	if at < 0 {
		return nil
	}
	text := fmt.Sprintf("%s itself has %s of the samples (%s of %s).", m.shown(at), share(self, m.Samples.Count), report.Count(self), report.Count(m.Samples.Count))
	return &Finding{"samples", text, "function", map[string]string{"f": m.Functions[at].Key}, nil}
}

// worthOrdering is the number of pages that an order must save to be worth a sentence: their faults take a millisecond
// if they come from a disk.
const worthOrdering = 8

// foundPages is what an order of functions saves.
func foundPages(m *Model) *Finding {
	p := m.Pages
	if p == nil || len(p.Layouts) < 2 || len(p.Scenarios) == 0 {
		return nil
	}
	now, then := 0.0, 0.0
	for i := range p.Scenarios {
		t := p.Scenarios[i].Touch
		now += t[0].Pages / float64(len(p.Scenarios))
		then += t[len(p.Layouts)-1].Pages / float64(len(p.Scenarios))
	}
	// Means are rounded so that no more is promised than is saved.
	saved := int(now - then)
	if saved < worthOrdering {
		return nil
	}
	text := fmt.Sprintf("A run touches %.0f pages of code; with the functions in order (cairn order) it is predicted to touch %s fewer.", now, report.Count(saved))
	return &Finding{"pages", text, "pages", nil, nil}
}

// foundOnce is how much of the code that ran was called only once, as the code of a start is.
func foundOnce(m *Model) *Finding {
	once, ran, n := uint64(0), uint64(0), 0
	for i := range m.Functions {
		f := &m.Functions[i]
		if f.Calls == nil || f.Runs == 0 {
			continue
		}
		ran = saturate.Add(ran, f.Size)
		if *f.Calls == 1 && !f.AtLeast {
			once = saturate.Add(once, f.Size)
			n++
		}
	}
	if n == 0 || ran == 0 {
		return nil
	}
	text := fmt.Sprintf("%s called once, and %s %s of the code of functions that ran (%s).", have(n, "function", "was", "were"), report.Either(uint64(n), "is", "are"), share(once, ran), size(once))
	return &Finding{"once", text, "functions", map[string]string{"only": "ran", "sort": "calls"}, nil}
}

// foundMissed is the functions that never ran: as many as the figure says, and as covered does, which have those that no
// program has, and those that programs have only where they were inlined.
func foundMissed(m *Model) *Finding {
	at := slices.IndexFunc(m.Figures, func(f Figure) bool { return f.ID == "functions" })
	if at < 0 {
		return nil
	}
	known := int(m.Figures[at].Of - m.Figures[at].Unknown)
	n := known - int(m.Figures[at].Value)
	if n == 0 {
		return nil
	}
	absent := 0
	for i := range m.Functions {
		if f := &m.Functions[i]; f.Absent != "" && f.Absent != coverage.InlinedEverywhere && !f.Unknown && f.Runs == 0 {
			absent++
		}
	}
	own, bytes := missedCode(m)
	text := fmt.Sprintf("%s of %s never ran", report.Count(n), report.Plural(known, "function"))
	if bytes > 0 {
		text += ": " + size(bytes) + " of code"
	}
	if absent > 0 {
		text += fmt.Sprintf("; no program has %s of them", report.Count(absent))
	}
	if inlined := n - own - absent; inlined > 0 {
		text += fmt.Sprintf("; %s of them %s only inlined", report.Count(inlined), report.Either(uint64(inlined), "is", "are"))
	}
	return &Finding{"missed", text + ".", "functions", map[string]string{"only": "missed", "sort": "size-"}, nil}
}

// missedCode is the number of functions with code of their own that never ran, and the size of their code. One that several
// programs have is one, and ran if it did in any.
func missedCode(m *Model) (n int, bytes uint64) {
	type place struct {
		symbol     string
		file, line int
	}
	ran := map[place]bool{}
	sizes := map[place]uint64{}
	for i := range m.Functions {
		f := &m.Functions[i]
		if f.Mode == "" {
			continue
		}
		at := place{f.Symbol, f.File, f.Line}
		if _, ok := sizes[at]; !ok {
			sizes[at] = f.Size
		}
		ran[at] = ran[at] || f.Runs > 0
	}
	for at, size := range sizes {
		if !ran[at] {
			n++
			bytes = saturate.Add(bytes, size)
		}
	}
	return n, bytes
}

// foundFile is the file with the most lines that did not run.
func foundFile(m *Model) *Finding {
	all := 0
	list := make([]int, 0, len(m.Files))
	for i := range m.Files {
		all += m.Files[i].Lines[1]
		if m.Files[i].Data != "" {
			list = append(list, i)
		}
	}
	stablesort.Func(list, func(a, b int) int { return cmp.Compare(m.Files[b].Lines[1], m.Files[a].Lines[1]) })
	if len(list) < 2 || m.Files[list[0]].Lines[1] == 0 {
		return nil // of one file the overview says it already
	}
	f := &m.Files[list[0]]
	text := fmt.Sprintf("%s has %s of the %s that did not run.", f.Path, report.Count(f.Lines[1]), report.Plural(all, "line"))
	return &Finding{"file", text, "source", map[string]string{"file": f.Path}, nil}
}

// recordsLines reports whether there are data of more than functions.
func (m *Model) recordsLines() bool {
	return slices.ContainsFunc(m.Functions, func(f Function) bool { return f.Blocks != nil })
}

// foundUnknown is what the data do not show: it is not part of what never ran.
func foundUnknown(m *Model) (list []Finding) {
	at := slices.IndexFunc(m.Figures, func(f Figure) bool { return f.ID == "functions" && f.Unknown > 0 })
	if at >= 0 {
		n := int(m.Figures[at].Unknown)
		list = append(list, Finding{"unknown", "Of " + have(n, "function", "it is not known whether it ran: no program has it, or only inlined", "it is not known whether they ran: no program has them, or only inlined") + ".", "functions", map[string]string{"only": "outside"}, nil})
	}
	lines, all := 0, 0
	for i := range m.Files {
		of := &m.Files[i].Lines
		lines += of[2]
		all += of[0] + of[1] + of[2]
	}
	if lines == 0 {
		return list
	}
	text := fmt.Sprintf("Of %s of %s it is not known whether they ran", report.Count(lines), report.Plural(all, "line"))
	switch {
	case !m.recordsLines():
		text += ": only that functions ran was recorded. Builds with --mode block record lines"
	case 10*lines > all: // not so without optimisation: bench/LINES.md
		text += ": optimised code proves little of them. Of builds with -O0 it is known"
	}
	return append(list, Finding{"unknown", text + ".", "source", nil, nil})
}
