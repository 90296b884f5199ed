package spikes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/saturate"
)

// reason is why spikes of a group took long.
type reason struct {
	Text  string
	Calls uint64 // spikes of which it is the main reason
	Time  uint64 // ns, of all spikes: lower bounds, or as the program measured it
}

// reasonWords name the reasons of Go programs.
var reasonWords = map[tracelog.WaitReason]string{
	tracelog.ReasonOther:     "waited for something else",
	tracelog.ReasonChannel:   "waited for a channel",
	tracelog.ReasonLock:      "waited for a lock",
	tracelog.ReasonNetwork:   "waited for the network",
	tracelog.ReasonSleep:     "slept",
	tracelog.ReasonGC:        "waited for the garbage collector",
	tracelog.ReasonProcessor: "waited for a processor",
	tracelog.ReasonStopped:   "stopped with the world",
	tracelog.ReasonSystem:    "in system calls or C",
	tracelog.ReasonRWLock:    "waited for a RWMutex",
	tracelog.ReasonGroup:     "waited for a WaitGroup",
	tracelog.ReasonCond:      "waited for a Cond",
}

// parts divides the time of a spike by reasons.
func (y *Why) parts(time tracelog.Interval) []reason {
	if y == nil {
		return nil
	}
	list := []reason{{Text: "ran", Time: y.CPU.Lo}}
	if y.Wait != nil && len(y.Wait.Reasons) > 0 {
		for _, r := range y.Wait.Reasons {
			list = append(list, reason{Text: cmp.Or(reasonWords[r.Reason], fmt.Sprintf("waited (reason %d)", r.Reason)), Time: r.Time})
		}
		return list
	}
	slept := y.Slept.Lo
	if y.Waits == 0 {
		if y.waited() == processor {
			return append(list, reason{Text: processor, Time: slept})
		}
		return append(list, reason{Text: "slept", Time: slept})
	}
	if y.Awaited > 0 {
		return append(list, reason{Text: processor, Time: since(slept, y.Awaited)})
	}
	part := func(n uint16) uint64 { return uint64(float64(slept) * float64(n) / float64(y.Waits)) }
	list = append(list, reason{Text: processor, Time: part(y.Ready)})
	if y.Call != "" {
		list = append(list, reason{Text: "slept in " + y.Call, Time: part(y.InCall)})
	}
	rest := int(y.Waits) - int(y.Ready)
	if y.Call != "" {
		rest -= int(y.InCall)
	}
	return append(list, reason{Text: "slept", Time: part(uint16(max(0, rest)))})
}

// explain adds the reasons of a spike to those of its group.
func (g *Group) explain(y *Why, time tracelog.Interval) {
	list := y.parts(time)
	if len(list) == 0 {
		return
	}
	main := slices.MaxFunc(list, func(a, b reason) int { return cmp.Compare(a.Time, b.Time) })
	if g.reasons == nil {
		g.reasons = make(map[string]reason)
	}
	for _, r := range list {
		if r.Time == 0 {
			continue
		}
		sum := g.reasons[r.Text]
		sum.Text, sum.Time = r.Text, saturate.Add(sum.Time, r.Time)
		if r.Text == main.Text {
			sum.Calls++
		}
		g.reasons[r.Text] = sum
	}
	g.explained++
}

// Reasons describes why the spikes of a group took long, if there are several: "34 of 54 waited for a lock,
// 2.6 s in all; 17 slept, 0.9 s". It is "" if nothing is known.
func (g *Group) Reasons() string {
	if g.explained < 2 {
		return ""
	}
	const least, most = 50, 4 // part of the whole time that is named, reasons
	list := g.reasonsOf()
	total := uint64(0)
	for _, r := range list {
		total = saturate.Add(total, r.Time)
	}
	var words []string
	for _, r := range list {
		if r.Calls == 0 || len(words) == most || len(words) > 0 && r.Time < total/least {
			continue
		}
		n := report.Count(r.Calls)
		if len(words) == 0 {
			n = either(r.Calls == g.explained, "all ", "") + report.Count(r.Calls) + either(r.Calls == g.explained, "", " of "+report.Count(g.explained))
		}
		words = append(words, n+" "+r.Text+", "+Duration(r.Time)+either(len(words) == 0, " in all", ""))
	}
	return strings.Join(words, "; ")
}
