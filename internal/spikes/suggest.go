package spikes

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/calls/quantile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Suggestion is a mark that would suppress expected spikes.
type Suggestion struct {
	Place  Place // of the function's beginning
	Markup string
	Why    string
	weight uint64
}

// profile summarizes what the logs show of one function.
type profile struct {
	place            Place
	waits            bool
	asPeak, asParent uint64
	onStack          uint64 // episodes that have it above the peak
	times            quantile.Sketch
}

// Suggest looks for calls that are expected to take long. Short calls are not in a log, so "always" means:
// whenever the log shows the function at all.
func (s *Set) Suggest(name Namer) []Suggestion {
	var list []Suggestion
	for _, p := range s.profiles(name) {
		if sug, ok := p.suggest(); ok {
			list = append(list, sug)
		}
	}
	stablesort.Func(list, func(a, b Suggestion) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.Place.Function, b.Place.Function), cmp.Compare(a.Place.File, b.Place.File))
	})
	return list
}

// profiles sums up places in the code by function.
func (s *Set) profiles(name Namer) map[function]*profile {
	all := make(map[function]*profile)
	get := func(a Address, call bool) *profile {
		loc := name(a, call)
		if loc.Outer().Symbol == "" {
			return nil
		}
		key := functionOf(&loc)
		p := all[key]
		if p == nil {
			p = &profile{place: loc.Outer()}
			p.place.Line = cmp.Or(p.place.Opening, p.place.Line)
			p.waits = waits(p.place.Symbol)
			all[key] = p
		}
		return p
	}
	for a, d := range s.calls {
		if p := get(a, true); p != nil {
			p.asPeak += d.asPeak
			p.asParent += d.asParent
			p.times.Merge(&d.times)
		}
	}
	for _, g := range s.Groups {
		seen := make(map[*profile]bool)
		for _, a := range g.Worst.Addrs[min(1, len(g.Worst.Addrs)):] {
			if p := get(a, true); p != nil && !seen[p] {
				seen[p] = true
				p.onStack += g.Written
			}
		}
	}
	return all
}

// suggest returns a suggestion for a function, if there is one.
func (p *profile) suggest() (Suggestion, bool) {
	const (
		fewest = 5   // with fewer calls nothing is concluded
		spread = 1.5 // of durations that are always the same
	)
	sug := Suggestion{Place: p.place, weight: p.asPeak + p.asParent}
	if sug.weight < fewest {
		return sug, false
	}
	p95 := p.times.Quantile(0.95)
	ms, verbs := Milliseconds(p95), verbsOf(p.place, p95)
	switch {
	case p.waits && p.asPeak > 0:
		sug.Markup = verbs.pause
		sug.Why = fmt.Sprintf("its name suggests a wait: %s; around the wait, or %s in the function", count(p.asPeak, "spike", "spikes"), verbs.ignore)
	case p.asPeak == 0 && 2*p.asParent > p.onStack:
		sug.Markup = verbs.threshold
		sug.Why = fmt.Sprintf("a caller that took much longer than the peak in %s of the %s below it, and never a peak; 95 %% were below %s ms. %s if any duration is acceptable",
			report.Count(p.asParent), count(max(p.onStack, p.asParent), "spike", "spikes"), ms, verbs.ignore)
	case p.asPeak >= 2*fewest && float64(p95) <= spread*float64(p.times.Quantile(0.5)):
		sug.Markup = verbs.threshold
		sug.Why = fmt.Sprintf("%s of nearly one length: 95 %% were below %s ms. Only if that duration is expected",
			count(p.asPeak, "spike", "spikes"), ms)
	default:
		return sug, false
	}
	return sug, true
}

// verbs are the marks of a language.
type verbs struct{ threshold, ignore, pause string }

// verbsOf returns the marks of a function's language, cairn.h or package mark, with a threshold above ns.
func verbsOf(p Place, ns uint64) verbs {
	if !strings.HasSuffix(p.File, ".go") {
		return verbs{"CAIRN_THRESHOLD(" + Milliseconds(ns) + ");", "CAIRN_IGNORE();", "cairn_pause(); ... cairn_resume();"}
	}
	// A Duration is a whole number.
	d, unit := roundUp(ns), "time.Nanosecond"
	for _, u := range []string{"time.Microsecond", "time.Millisecond"} {
		if d%1000 == 0 {
			d, unit = d/1000, u
		}
	}
	return verbs{fmt.Sprintf("s.Threshold(%d * %s)", d, unit), "s.Ignore()", "p := mark.Pause(); ...; p.Resume()"}
}

// Milliseconds returns a threshold above ns: rounded up to two digits.
func Milliseconds(ns uint64) string {
	return strconv.FormatFloat(float64(roundUp(ns))/1e6, 'f', -1, 64)
}

// roundUp returns the next number with two digits and zeros.
func roundUp(ns uint64) uint64 {
	grain := uint64(1)
	for ns/grain >= 100 {
		grain *= 10
	}
	return (ns/grain + 1) * grain
}

// waits guesses from its name that a function's purpose is to wait.
func waits(symbol string) bool {
	s := strings.ToLower(symbol)
	return slices.ContainsFunc([]string{"wait", "sleep", "poll", "idle", "block_until", "select_loop"}, func(w string) bool {
		return strings.Contains(s, w)
	})
}
