package spikes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// InFrame lists what took too long in a frame.
type InFrame struct {
	Spikes []uint64 // numbers of the first ones
	Eaters []Eater  // the most time first
}

// Eater is a function that took time of a frame.
type Eater struct {
	At     Address
	isCall bool
	Time   uint64 // ns, lower bounds, that its callees do not explain
	Calls  uint64
	// Callers are those of its longest call, the outermost first: if it is a peak those on its stack, otherwise those
	// that took too long as well. Those that contain all the work of the thread are left out.
	Callers []Eater
	longest uint64
}

// Name returns the function's name.
func (e *Eater) Name(name Namer) Place {
	loc := name(e.At, e.isCall)
	return loc.Outer()
}

// Chain returns the names of the callers and of the function itself, the outermost first.
func (e *Eater) Chain(name Namer) []string {
	var chain []string
	for i := range e.Callers {
		chain = append(chain, e.Callers[i].Name(name).Function)
	}
	return append(chain, e.Name(name).Function)
}

// ChainText joins the names of a chain of calls. Of a long one it has the ends.
func ChainText(chain []string) string {
	const first, last = 2, 3
	var text strings.Builder
	for i, name := range chain {
		switch left := len(chain) - first - last; {
		case left > 1 && i == first:
			fmt.Fprintf(&text, " > (%d more)", left)
			continue
		case left > 1 && i > first && i < first+left:
			continue
		case i > 0:
			text.WriteString(" > ")
		}
		text.WriteString(report.Printable(name))
	}
	return text.String()
}

// callers returns the callers of a call, the outermost first: of a peak those on its stack, of others those that took too
// long as well. Calls that contain all the work of the thread, and their callers, are left out.
func (s *Set) callers(c *call, name Namer) (list []Eater) {
	outer := int32(-1) // the outermost of them, or, if it is lasting, what contains them
	for k := c.parent; k >= 0 && (outer < 0 || !s.long[outer].lasting); k = s.long[k].parent {
		outer = k
		if p := &s.long[k]; !p.lasting {
			list = append(list, Eater{At: p.at, isCall: !p.exact})
		}
	}
	slices.Reverse(list)
	if outer < 0 || c.group == nil || !c.peak {
		return list
	}
	of := func(a Address, isCall bool) function {
		loc := name(a, isCall)
		return functionOf(&loc)
	}
	o, sp := &s.long[outer], c.group.Worst // a spike of the same stack
	n := len(sp.Addrs) - 1
	for ; n > 0 && of(sp.Addrs[n], sp.isCall(n)) != of(o.at, !o.exact); n-- {
	}
	if o.lasting {
		n--
	}
	if n <= 0 {
		return list
	}
	list = list[:0]
	for ; n > 0; n-- {
		list = append(list, Eater{At: sp.Addrs[n], isCall: sp.isCall(n)})
	}
	return list
}

// Frames returns what took too long in the longest frames of each log, by frame number, after Settle. A call
// that explains nothing of its caller's time is part of the caller.
func (s *Set) Frames(name Namer) []map[uint64]*InFrame {
	out := make([]map[uint64]*InFrame, len(s.Logs))
	for i := range s.Logs {
		out[i] = make(map[uint64]*InFrame)
		if f := s.Logs[i].Frames; f != nil {
			for _, x := range f.Longest {
				out[i][x.Number] = s.inFrame(i, &x, name)
			}
		}
	}
	return out
}

// inFrame returns what took too long in one frame.
func (s *Set) inFrame(log int, x *tracelog.Frame, name Namer) *InFrame {
	const most = 8 // spikes of a frame
	in := &InFrame{Spikes: []uint64{}}
	by := make(map[function]int)
	start := since(x.End, x.Took)
	for i := range s.long {
		c := &s.long[i]
		if c.log != log {
			continue
		}
		if c.peak && c.frame == x.Number && len(in.Spikes) < most {
			in.Spikes = append(in.Spikes, c.episode)
		}
		if c.end <= start || c.end > x.End || c.lasting || c.quiet || s.absorbed(c) {
			continue
		}
		took := min(c.blame.Lo, since(c.end, start))
		if took == 0 {
			continue
		}
		loc := name(c.at, !c.exact)
		k, ok := by[functionOf(&loc)]
		if !ok {
			k = len(in.Eaters)
			by[functionOf(&loc)] = k
			in.Eaters = append(in.Eaters, Eater{At: c.at, isCall: !c.exact})
		}
		e := &in.Eaters[k]
		e.Time += took
		e.Calls++
		if took > e.longest {
			e.longest, e.Callers = took, s.callers(c, name)
		}
	}
	step := s.Logs[log].step()
	in.Eaters = slices.DeleteFunc(in.Eaters, func(e Eater) bool { return e.Time < step })
	stablesort.Func(in.Eaters, func(a, b Eater) int { return cmp.Compare(b.Time, a.Time) })
	return in
}

// step is that of the clock of a log, in ns: what is shorter is not known.
func (l *Log) step() uint64 {
	if l.Trailer == nil || l.Trailer.Exact {
		return 0
	}
	return l.Trailer.Period
}

// FramesText describes how long the frames of a process took.
func FramesText(f *tracelog.Frames) string {
	text := fmt.Sprintf("%s: mean %s, longest %s; ", count(f.Count, "frame", "frames"), Duration(f.Sum/max(1, f.Count)), Duration(f.Worst))
	if f.Over == 0 {
		return text + "none longer than " + Duration(f.Budget)
	}
	return text + fmt.Sprintf("%s longer than %s (%s %%)", report.Count(f.Over), Duration(f.Budget),
		report.Decimal(100*float64(f.Over)/float64(max(1, f.Count))))
}

// Sparkline draws the longest frame of each part of the run as bars of up to width characters; the longest of
// all has full height. A bar stands for `each` frames. over marks bars of frames longer than the budget.
func Sparkline(f *tracelog.Frames, width int) (bars string, over []bool, each uint64) {
	const eighths = "▁▂▃▄▅▆▇█"
	width = max(1, width)
	step := max(1, (len(f.Buckets)+width-1)/width)
	var b strings.Builder
	for i := 0; i < len(f.Buckets); i += step {
		worst := uint64(0)
		late := false
		for _, x := range f.Buckets[i:min(i+step, len(f.Buckets))] {
			worst = max(worst, x.Worst)
			late = late || x.Over > 0
		}
		height := min(7, int(8*float64(worst)/float64(max(1, f.Worst))))
		b.WriteString(string([]rune(eighths)[height]))
		over = append(over, late)
	}
	return b.String(), over, f.Each * uint64(step)
}
