package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// selfTime is the time of a function without its callees, 0 if no log has it.
func (f *Function) selfTime() uint64 {
	if f.Time == nil {
		return 0
	}
	return f.Time.Self
}

// timedCalls is the number of a function's calls in logs.
func (f *Function) timedCalls() uint64 {
	if f.Time == nil {
		return 0
	}
	return f.Time.Calls
}

// selfSamples is the number of samples that are in a function and not in its callees.
func (f *Function) selfSamples() uint64 {
	if f.Samples == nil {
		return 0
	}
	return f.Samples.Self
}

// restored is the number of samples in which a function's frame was restored.
func (f *Function) restored() uint64 {
	if f.Samples == nil {
		return 0
	}
	return f.Samples.Restored
}

// measured reports whether a sum of times has enough steps of the clock: the sum of n of them is known to about one in
// the root of n.
func (c *Calls) measured(time uint64) bool {
	const steps = 25
	return time >= steps*c.Step
}

// maxHalf is how many functions are worth a sentence if they have half of the whole: if it takes more, none of them is
// a place to begin.
const maxHalf = 24

// half returns the functions with the largest values that together have half of the whole, largest first. It returns
// nil if one has it alone, or if more than maxHalf are needed.
func (m *Model) half(whole uint64, value func(*Function) uint64) []int {
	of := func(i int) uint64 { return value(&m.Functions[i]) }
	var list []int
	for i := range m.Functions {
		if of(i) > 0 {
			list = append(list, i)
		}
	}
	stablesort.Func(list, func(a, b int) int { return cmp.Compare(of(b), of(a)) })
	sum := uint64(0)
	for n, i := range list[:min(len(list), maxHalf)] {
		sum = saturate.Add(sum, of(i))
		if sum >= whole-whole/2 {
			if n == 0 {
				return nil
			}
			return list[:n+1]
		}
	}
	return nil
}

// enumerated is the names of functions in a sentence: at most three of them, and how many more there are.
func (m *Model) enumerated(list []int) string {
	const most = 3
	var names []string
	for _, i := range list[:min(len(list), most)] {
		name := m.shown(i)
		if slices.Contains(names, name) { // functions of one name with other parameters
			name = cmp.Or(m.Functions[i].Name, m.Functions[i].Symbol)
		}
		names = append(names, name)
	}
	if more := len(list) - len(names); more > 0 {
		names = append(names, report.Plural(more, "other"))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// foundHalf is the functions that together take half of the time. Where waits are known they are part of it, and of no
// use here.
func foundHalf(m *Model) *Finding {
	if m.Calls == nil || len(m.Calls.Waits) > 0 || !m.Calls.measured(m.Calls.Time/maxHalf) {
		return nil
	}
	list := m.half(m.Calls.Time, (*Function).selfTime)
	if list == nil {
		return nil
	}
	text := fmt.Sprintf("%s themselves take half of the time: %s.", report.Plural(len(list), "function"), m.enumerated(list))
	return &Finding{"half", text, "functions", map[string]string{"sort": "self-"}, nil}
}

// foundHalfSamples is the functions that together have half of the samples.
func foundHalfSamples(m *Model) *Finding {
	if m.Samples == nil {
		return nil
	}
	list := m.half(m.Samples.Count, (*Function).selfSamples)
	if list == nil {
		return nil
	}
	text := fmt.Sprintf("%s themselves have half of the samples: %s.", report.Plural(len(list), "function"), m.enumerated(list))
	return &Finding{"half", text, "functions", map[string]string{"sort": "sampled-"}, nil}
}

// Calls of one function that are worth a sentence: so many, and one in so many of all.
const (
	manyCalls = 1000
	oneCallIn = 20
)

// foundCalled is the function with the most calls, if that is not the one with the most time of its own.
func foundCalled(m *Model) *Finding {
	if m.Calls == nil || m.Calls.Time == 0 {
		return nil
	}
	first, _ := m.most((*Function).selfTime)
	at, calls := m.most((*Function).timedCalls)
	if at < 0 || at == first || calls < manyCalls || calls < m.Calls.Calls/oneCallIn {
		return nil
	}
	f := &m.Functions[at]
	text := fmt.Sprintf("%s was called most often: %s times, %s of all calls", m.shown(at), report.Count(calls), share(min(calls, m.Calls.Calls), m.Calls.Calls))
	if m.Calls.measured(f.Time.Self) {
		text += fmt.Sprintf("; it takes %s of the time itself", share(min(f.Time.Self, m.Calls.Time), m.Calls.Time))
	}
	return &Finding{"called", text + ".", "function", map[string]string{"f": f.Key}, nil}
}

// foundCounted is the function with the most calls in a profile, if no log has their times.
func foundCounted(m *Model) *Finding {
	if m.Calls != nil {
		return nil
	}
	counted := func(f *Function) uint64 {
		if f.Calls == nil {
			return 0
		}
		return *f.Calls
	}
	all := uint64(0)
	for i := range m.Functions {
		all = saturate.Add(all, counted(&m.Functions[i]))
	}
	at, calls := m.most(counted)
	if at < 0 || calls < manyCalls || calls < all/oneCallIn {
		return nil
	}
	f, atLeast := &m.Functions[at], ""
	if f.AtLeast {
		atLeast = "at least "
	}
	text := fmt.Sprintf("%s was called most often: %s%s times, %s of all calls.", m.shown(at), atLeast, report.Count(calls), share(calls, all))
	return &Finding{"called", text, "function", map[string]string{"f": f.Key}, nil}
}

// foundRestored is how many samples have callers that tail calls had erased.
func foundRestored(m *Model) *Finding {
	if m.Samples == nil || m.Samples.Restored == 0 || m.Samples.Count == 0 {
		return nil
	}
	text := fmt.Sprintf("Tail calls had erased callers from %s of the samples; they are restored", share(m.Samples.Restored, m.Samples.Count))
	at, _ := m.most((*Function).restored)
	if at < 0 {
		return &Finding{"restored", text + ".", "samples", nil, nil}
	}
	return &Finding{"restored", text + ", most often " + m.shown(at) + ".", "function", map[string]string{"f": m.Functions[at].Key}, nil}
}

// foundOthers is the stacks that took too long beside the one with the longest call, and the one that foundHeld has.
func foundOthers(m *Model) *Finding {
	if m.Spikes == nil || len(m.Spikes.Groups) == 0 {
		return nil
	}
	groups, at, more := m.Spikes.Groups, -1, m.Spikes.Left
	first, held := longestGroup(groups), heldGroup(groups)
	for i, g := range groups {
		if i == first || i == held {
			continue
		}
		more++
		if at < 0 || longest(g) > longest(groups[at]) {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	g := groups[at]
	text := fmt.Sprintf("%s took too long, ", report.Plural(more, "more stack"))
	text += fmt.Sprintf("the longest for at least %s in %s", report.Duration(longest(g), report.Nanoseconds), g.Peak.Function)
	if g.Why != nil && g.Why.Text != "" && longest(g) == g.Interval[0] {
		text += ": " + g.Why.Text
	}
	return &Finding{"others", text + ".", "spikes", map[string]string{"n": strconv.Itoa(at)}, nil}
}
