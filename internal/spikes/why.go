package spikes

import (
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/saturate"
)

// Why holds the known reasons why a call took long.
type Why struct {
	tracelog.Usage
	Slept tracelog.Interval // its time without the processor
	Call  string            // the system call that it waited in most, "" if it is not known or it waited in none
	Wait  *waited           // what it waited for the longest, nil if that is not known
	// Awaited is the part of Slept, in nanoseconds, in which it waited for work with nothing begun, 0 if that does not
	// matter.
	Awaited uint64
	// Tight says that the counts are mostly of the call, not of the time before it.
	Tight bool
}

// waited is what a call waited for.
type waited tracelog.Wait

// Why returns the known reasons why a spike took long, nil if there are none.
func (sp *Spike) Why() *Why {
	y := whyOf(sp.Usage, sp.Wait, sp.Time, sp.alive())
	if y != nil {
		y.Awaited = sp.Awaited
	}
	return y
}

// whyOf returns why a call took long that ended at a time.
func whyOf(u *tracelog.Usage, w *tracelog.Wait, end uint64, time tracelog.Interval) *Why {
	if u == nil {
		return nil
	}
	y := &Why{Usage: *u, Slept: less(time, u.CPU), Wait: (*waited)(w)}
	if u.InCall > 0 {
		y.Call = u.Call
	}
	y.Tight = u.Since != 0 && since(end, u.Since) <= time.Hi+time.Hi/4
	return y
}

// most reports whether a part is at least that many tenths of a whole.
func most(part, whole, tenths uint64) bool {
	return float64(part)*10 >= float64(whole)*float64(tenths)
}

// Text describes the reasons in a few words.
func (y *Why) Text(time tracelog.Interval) string {
	var words []string
	switch {
	case most(y.CPU.Lo, time.Hi, 9):
		words = append(words, "ran all the time")
	case y.Wait.mainly(tracelog.ReasonSystem, time):
		main, _ := y.Wait.main()
		words = append(words, "in system calls or C "+Duration(min(main.Time, time.Hi))+" of "+Interval(time))
	case y.Slept.Hi == 0 || !most(y.Slept.Hi, time.Lo, 1):
		words = append(words, "ran nearly all the time")
	case y.Awaited > 0:
		words = append(words, processor+" "+of(tracelog.Interval{Lo: since(y.Slept.Lo, y.Awaited), Hi: since(y.Slept.Hi, y.Awaited)}, time)+
			", for work "+y.in()+either(y.Wait.what() != "", " "+y.Wait.what(), "")+" the rest")
	case most(y.Slept.Lo, time.Lo, 1):
		words = append(words, y.waited()+" "+of(y.Slept, time)+y.where())
	case most(y.CPU.Lo, time.Hi, 1):
		words = append(words, "ran at least "+of(tracelog.Interval{Lo: y.CPU.Lo, Hi: y.CPU.Lo}, time)+either(most(y.CPU.Lo, time.Hi, 5), "", ", the rest is not known"))
	default:
		words = append(words, "the cause is not known")
	}
	count := func(n uint32, one, many string, least uint32) {
		if n >= least {
			words = append(words, either(y.Tight, "", "at most ")+count(uint64(n), one, many))
		}
	}
	count(y.Major, "major page fault", "major page faults", 1)
	count(y.Minor, "page fault", "page faults", 100)
	return strings.Join(words, ", ")
}

const processor = "waited for a processor"

// waited describes what a thread did that did not run.
func (y *Why) waited() string {
	if y.Wait != nil && len(y.Wait.Reasons) > 0 {
		if main, all := y.Wait.main(); most(main.Time, all, 9) {
			return y.Wait.word(main.Reason)
		}
		return "waited"
	}
	if 2*uint32(y.Ready) > uint32(y.Waits) || y.Waits == 0 && y.Voluntary == 0 && y.Involuntary > 0 {
		return processor
	}
	return "slept"
}

// word names a reason. The runtime of Go waits for terminals and pipes as for the network.
func (w *waited) word(reason tracelog.WaitReason) string {
	if on := w.On & kinds; reason == tracelog.ReasonNetwork && (on == tracelog.WaitFile || on == tracelog.WaitInternal) {
		return "waited"
	}
	return reasonWords[reason]
}

// main returns the reason with the most time, and the time of all.
func (w *waited) main() (main tracelog.WaitTime, all uint64) {
	for _, r := range w.Reasons {
		all = saturate.Add(all, r.Time)
		if r.Time > main.Time {
			main = r
		}
	}
	return main, all
}

// mainly reports whether a goroutine was most of a time in a kind of wait.
func (w *waited) mainly(reason tracelog.WaitReason, time tracelog.Interval) bool {
	if w == nil || len(w.Reasons) == 0 {
		return false
	}
	main, _ := w.main()
	return main.Reason == reason && most(main.Time, time.Hi, 5)
}

// where describes in which system call a thread waited, and what for.
func (y *Why) where() string {
	if y.Wait != nil && len(y.Wait.Reasons) > 0 {
		main, all := y.Wait.main()
		what := ""
		if text := y.Wait.what(); main.Reason == tracelog.ReasonNetwork && text != "" {
			what = " " + text
		}
		if most(main.Time, all, 9) {
			return what
		}
		if !most(main.Time, all, 5) {
			return ""
		}
		return ", most of that " + strings.TrimPrefix(strings.Replace(y.Wait.word(main.Reason), "slept", "asleep", 1), "waited ") + what
	}
	if y.in() == "" {
		return ""
	}
	text := " " + y.in()
	if 10*uint32(y.InCall) < 9*uint32(y.Waits) {
		return ", most" + text
	}
	if what := y.Wait.what(); what != "" {
		text += " " + what
	}
	return text
}

// in names the system call in which a thread waited.
func (y *Why) in() string {
	if y.Call == "" || 2*uint32(y.Ready) > uint32(y.Waits) {
		return ""
	}
	return "in " + y.Call
}

// of formats a part of a duration: "24.9 of 25.0 ms".
func of(part, whole tracelog.Interval) string {
	a, b := Interval(part), Interval(whole)
	number, unit, _ := strings.Cut(a, " ")
	if strings.HasSuffix(b, " "+unit) {
		a = number
	}
	return a + " of " + b
}
