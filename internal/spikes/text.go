package spikes

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/report"
)

// Writer prints spikes as text.
type Writer struct {
	Set   *Set
	Name  Namer
	Style report.Style
	// Short leaves out functions that were inlined.
	Short bool
}

// line is a line of a spike's text: the columns, and the text after them.
type line struct {
	index          string // "  9)"
	function, file string
	rest           string
	color          report.Color
}

// The columns of functions and places are as wide as the widest cell, but not
// wider than this.
const maxFunction, maxFile = 48, 60

// Spike prints one spike of a group: the stack with how long each call had been running when the peak ended,
// what took the time below it, and the callers as they ended.
func (w *Writer) Spike(out io.Writer, g *Group, sp *Spike) error {
	b := bufio.NewWriter(out)
	if sp.Open != nil {
		fmt.Fprintln(b, w.openHead(sp))
	} else {
		fmt.Fprintln(b, w.head(g, sp))
	}
	if text := g.Reasons(); text != "" {
		fmt.Fprintln(b, "  why: "+text)
	}
	if win, ok := w.Set.Logs[sp.Log].Windows[sp.Number]; ok && sp.Blame == nil {
		fmt.Fprintln(b, w.Style.Paint(report.Dim, fmt.Sprintf("  window: %s in the %s before its end (--window %d)",
			count(win.Calls, "call", "calls"), Duration(since(win.To, win.From)), sp.Number)))
	}
	lines := append(w.stack(sp), w.waitLines(w.waitPlace(sp), sp)...)
	lines = append(lines, w.heldBy(sp).lines()...)
	lines = append(lines, w.inner(sp)...)
	var below []line
	for i := range sp.Children {
		below = append(below, w.child(sp, &sp.Children[i]))
	}
	if sp.Blame != nil {
		below = w.below(sp)
	}
	lines = append(lines, fold(below)...)
	for _, t := range sp.Texts {
		if t.Kind == tracelog.Message {
			lines = append(lines, line{function: strconv.Quote(t.Text), color: report.Amber})
		}
	}
	w.write(b, append(lines, fold(w.parents(sp))...))
	return b.Flush()
}

// fold keeps only the first and the last of many consecutive lines about one function.
func fold(lines []line) []line {
	const shown = 4
	var out []line
	for len(lines) > 0 {
		n := 1
		for n < len(lines) && lines[n].function == lines[0].function {
			n++
		}
		row := lines[:n]
		lines = lines[n:]
		if n > shown {
			more := line{function: fmt.Sprintf("(%s more of %s)", report.Count(n-2), row[0].function), color: report.Dim}
			row = []line{row[0], more, row[n-1]}
		}
		out = append(out, row...)
	}
	return out
}

// head is the first line.
func (w *Writer) head(g *Group, sp *Spike) string {
	s, paint := w.Set, w.Style.Paint
	text := paint(report.Bold, "snapshot") + "  "
	if !sp.Snapshot() {
		text = paint(report.Bold, "spike") + " " + paint(report.Hot, Interval(sp.Ran())) + "  "
	}
	if name := s.Thread(sp); name != "" {
		text += "thread " + report.Printable(name)
	} else {
		text += "thread " + strconv.FormatUint(uint64(sp.TID), 10)
	}
	if len(s.Logs) > 1 {
		text += " of process " + strconv.FormatUint(uint64(s.Logs[sp.Log].Header.PID), 10)
	}
	if sp.Frame != 0 {
		text += "  frame " + strconv.FormatUint(sp.Frame, 10)
	}
	text += "  at " + seconds(s.At(sp))
	if y := sp.Why(); y != nil {
		if why := y.Text(sp.alive()); why != "" {
			text += ": " + paint(report.Bold, why)
			if by := w.endedBy(sp, why); by != "" {
				text += ", " + paint(report.Bold, by)
			}
		}
	}
	var more []string
	if g.Seen > 1 {
		text := "seen " + report.Count(g.Seen) + " times"
		if g.Limit > sp.Ran().Lo {
			text += ", worst " + g.WorstText()
		}
		more = append(more, text)
	}
	if sp.Blind > 0 {
		more = append(more, "the clock was late for "+Duration(sp.Blind)+" of it")
	}
	if sp.Frozen > sp.Peak.Hi/20 {
		more = append(more, "the process stood still for "+Duration(sp.Frozen)+" of it")
	}
	if sp.Awaited > 0 {
		more = append(more, "ranked without the wait for work")
	}
	if sp.Suspended.Hi > 0 {
		more = append(more, "suspended for another "+Interval(sp.Suspended))
	}
	more = append(more, g.remarks(sp)...)
	if len(more) > 0 {
		text += "   (" + strings.Join(more, "; ") + ")"
	}
	return text
}

// remarks describe the flags of an episode of the group.
func (g *Group) remarks(sp *Spike) []string {
	list := sp.remarks()
	if g.Idle == Doubtful {
		list = append(list, "it may have been idle")
	}
	if g.Behind() {
		list = append(list, "ranked behind what the other threads did")
	}
	return list
}

// remarks describe the flags of an episode.
func (sp *Spike) remarks() []string {
	var list []string
	for _, r := range []struct {
		flag tracelog.EpisodeFlags
		text string
	}{
		{tracelog.Preempted, "the thread lost its processor"},
		{tracelog.BeforeFork, "entered before the process forked"},
		{tracelog.Cut, "outer callers are unknown"},
		{tracelog.NoUnwinder, "the stack was walked by frame pointers"},
		{tracelog.CallerOnly, "only the immediate caller is known"},
		{tracelog.ChildrenCut, "some of its long calls are unknown"},
	} {
		if sp.Flags&r.flag != 0 {
			list = append(list, r.text)
		}
	}
	return list
}

// stack returns a line for each call, the outermost first. Repetitions in a recursion are shown as one line.
func (w *Writer) stack(sp *Spike) []line {
	const shown = 3 // calls of one function in a row
	var lines []line
	n := len(sp.Stack)
	row, last, left := 0, Place{}, 0
	for i := n - 1; i >= 0; i-- {
		loc := w.Name(sp.Addrs[i], sp.isCall(i))
		outer := loc.Outer()
		if same := outer.Function == last.Function && outer.Symbol != ""; same {
			row++
		} else {
			row, last = 0, outer
		}
		// The last two calls of a row lead to the peak.
		if row >= shown && i > 1 && w.Name(sp.Addrs[i-1], sp.isCall(i-1)).Outer().Function == last.Function {
			left++
			continue
		}
		if left > 0 {
			lines = append(lines, line{function: fmt.Sprintf("(%s more of %s)", report.Count(left), last.Function), color: report.Dim})
			left = 0
		}
		lines = append(lines, w.frame(sp, i, &loc)...)
		if i > 0 && sp.Stack[i-1].Flags&tracelog.GapBefore != 0 {
			lines = append(lines, line{function: "(" + gapText(sp) + ")", color: report.Dim})
		}
	}
	return lines
}

// frame returns the line of a call, and one for each function that was inlined into it.
func (w *Writer) frame(sp *Spike, i int, loc *Location) []line {
	f := &sp.Stack[i]
	l := w.place(loc.Outer(), loc)
	l.index = strconv.Itoa(len(sp.Stack)-1-i) + ")"
	switch {
	case i == 0 && sp.Blame != nil:
		l.rest, l.color = Interval(sp.Ran())+"   LONG CALLER, "+Interval(sp.Blame.Own)+" of it in no long call", report.Bold
		l.file = opening(loc)
	case i == 0 && sp.Open != nil:
		l.rest, l.color = Interval(sp.Peak)+"   HAS NOT ENDED", report.Bold
	case i == 0 && f.Flags&tracelog.Left != 0:
		l.rest, l.color = Interval(sp.Ran())+"   PEAK CHILD, left by "+w.Set.leftBy(sp), report.Bold
		l.file = opening(loc)
	case i == 0 && !sp.Snapshot():
		l.rest, l.color = Interval(sp.Ran())+"   PEAK CHILD", report.Bold
		// The time was spent in the function, not at the place where the call ended.
		l.file = opening(loc)
		if p := w.waitPlace(sp); p != nil {
			l.file = at(p.At.File, p.At.Line)
		}
	case f.Timed():
		l.rest = "so far " + Interval(f.Time)
	}
	if d := sp.said(f.SP, tracelog.Section); d != "" {
		l.function += " [" + d + "]"
	}
	if d := sp.said(f.SP, tracelog.Description); d != "" {
		l.rest += "   " + strconv.Quote(d)
	}
	lines := []line{l}
	if !w.Short && i > 0 {
		for _, p := range loc.Places[1:] {
			in := w.place(p, loc)
			in.function, in.color = "  "+in.function, report.Dim
			in.rest = "inlined"
			lines = append(lines, in)
		}
	}
	return lines
}

// said returns the text that the program logged for the call with a stack pointer.
func (sp *Spike) said(pointer uint32, kind tracelog.TextKind) string {
	for _, t := range sp.Texts {
		if t.Kind == kind && t.SP == pointer {
			return t.Text
		}
	}
	return ""
}

// gapText describes the number of frames that a stack lacks.
func gapText(sp *Spike) string {
	if n := int64(sp.Found) - int64(len(sp.Stack)); n > 0 {
		return count(uint64(n), "call", "calls") + " omitted"
	}
	return "calls omitted"
}

// opening returns the location where a function begins, or the module if it is unknown.
func opening(loc *Location) string {
	p := loc.Outer()
	if p.File == "" {
		return loc.Module
	}
	return at(p.File, cmp.Or(p.Opening, p.Line))
}

func (w *Writer) place(p Place, loc *Location) line {
	l := line{function: p.Function, file: at(p.File, p.Line)}
	if p.File == "" {
		l.file = loc.Module
	}
	return l
}

// at formats file:line.
func at(file string, n int) string {
	if file == "" || n == 0 {
		return file
	}
	return file + ":" + strconv.Itoa(n)
}

// child returns the line of a callee of the peak, with its share of the peak.
func (w *Writer) child(sp *Spike, c *tracelog.Entry) line {
	loc := w.Name(w.Set.address(sp.Log, c.PC, sp.Time), c.Flags&tracelog.Exact == 0)
	l := line{index: "of which", function: loc.Outer().Function, file: opening(&loc), rest: Interval(c.Time)}
	if d := sp.said(c.SP, tracelog.Section); d != "" {
		l.function += " [" + d + "]"
	}
	if part := sp.Share(c); part >= 0 {
		l.rest += fmt.Sprintf(" (%.0f %%)", 100*part)
	}
	return l
}

// below returns a line for each function that a long caller called.
func (w *Writer) below(sp *Spike) []line {
	var lines []line
	for i := range sp.Blame.Below {
		b := &sp.Blame.Below[i]
		loc := w.Name(b.At, b.isCall)
		l := line{index: "of which", function: loc.Outer().Function, file: opening(&loc), rest: Interval(b.Time)}
		l.rest += fmt.Sprintf(" (%.0f %%)", 100*sp.part(b.Time))
		if b.Calls > 1 {
			t := w.Set.Logs[sp.Log].Trailer
			l.rest += " in " + report.Count(b.Calls) + " calls" + either(t != nil && t.Limited > 0, " or more", "") + ", the longest " + Interval(b.Longest)
		}
		lines = append(lines, l)
	}
	return lines
}

// part returns a time as part of a spike's time, 0 to 1.
func (sp *Spike) part(of tracelog.Interval) float64 {
	return min(1, float64(mean(of))/float64(max(1, mean(sp.Ran()))))
}

// Share is the part of a peak's time that a child took, 0 to 1; -1 if not known.
func (sp *Spike) Share(c *tracelog.Entry) float64 {
	if sp.Peak.Hi == 0 || !c.Timed() {
		return -1
	}
	return min(1, float64(mean(c.Time))/float64(max(1, mean(sp.Ran()))))
}

// parents returns a line for each caller that ended, the innermost first. One that is missing between others
// did not return, or was judged by another rule.
func (w *Writer) parents(sp *Spike) []line {
	ended := make(map[int]*tracelog.Parent)
	var lines []line
	outermost := 0
	for i := range sp.Parents {
		p := &sp.Parents[i]
		k := sp.entryOf(p.SP)
		if k < 0 {
			loc := w.Name(w.Set.address(sp.Log, p.PC, sp.Time), true)
			lines = append(lines, line{index: "-)", function: loc.Outer().Function, rest: "took " + Interval(p.Time)})
			continue
		}
		ended[k] = p
		outermost = max(outermost, k)
	}
	var inner []line
	for k := 1; k <= outermost; k++ {
		l := line{index: strconv.Itoa(len(sp.Stack)-1-k) + ")", function: w.Name(sp.Addrs[k], sp.isCall(k)).Outer().Function}
		switch p := ended[k]; {
		case p != nil && p.Flags&tracelog.Left != 0:
			l.rest = "left after " + Interval(p.Time)
		case p != nil:
			l.rest = "took " + Interval(p.Time)
		case sp.Abandoned(k):
			l.rest, l.color = "no end seen: left by exception or longjmp, or has its own threshold", report.Dim
		default:
			continue
		}
		inner = append(inner, l)
	}
	return append(inner, lines...)
}

// entryOf returns the index in the stack of the call with a stack pointer, -1 if none. The peak has ended, so
// it is excluded. Logs of Go programs have frames without a time so far.
func (sp *Spike) entryOf(pointer uint32) int {
	untimed := -1
	for i := 1; i < len(sp.Stack); i++ {
		switch e := &sp.Stack[i]; {
		case e.SP != pointer:
		case e.Timed():
			return i
		case untimed < 0 && pointer != 0:
			untimed = i
		}
	}
	return untimed
}

// Abandoned reports whether a call that took too long has no end although an outer one has: an exception or
// longjmp left it, or marks suppressed its report.
func (sp *Spike) Abandoned(k int) bool {
	e := &sp.Stack[k]
	return e.Timed() && e.Flags&tracelog.Ignored == 0 && e.Time.Lo >= sp.Threshold
}

// write prints lines in columns.
func (w *Writer) write(b *bufio.Writer, lines []line) {
	function, file, index := 0, 0, 4
	for i := range lines {
		l := &lines[i]
		l.function, l.file = report.Printable(l.function), report.Printable(l.file)
		if w.Style.Width > 0 { // programs need the full text
			l.function, l.file = report.Shorten(l.function, maxFunction), report.ShortenPath(l.file, maxFile)
		}
		room := 0
		if l.index != "" && !strings.HasSuffix(l.index, ")") {
			room = len(l.index) + 1
		}
		if l.file+l.rest != "" {
			function = max(function, min(utf8.RuneCountInString(l.function)+room, maxFunction))
		}
		file = max(file, min(utf8.RuneCountInString(l.file), maxFile))
		if strings.HasSuffix(l.index, ")") {
			index = max(index, len(l.index)+1)
		}
	}
	for _, l := range lines {
		head := strings.Repeat(" ", max(0, index-len(l.index))) + l.index + " "
		if !strings.HasSuffix(l.index, ")") { // below the peak
			head = strings.Repeat(" ", index+1)
			if l.index != "" {
				head += l.index + " "
			}
		}
		text := l.function
		pad := func(s string, n int) string { return strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s))) }
		room := function - max(0, utf8.RuneCountInString(head)-index-1)
		b.WriteString(head + w.Style.Paint(l.color, text))
		if l.file+l.rest != "" {
			b.WriteString(pad(text, room) + "  " + w.Style.Paint(report.Dim, l.file))
		}
		if l.rest != "" {
			b.WriteString(pad(l.file, file) + "  " + w.Style.Paint(restColor(l), l.rest))
		}
		b.WriteByte('\n')
	}
}

func restColor(l line) report.Color {
	if l.color == report.Bold {
		return report.Bold
	}
	return report.Plain
}
