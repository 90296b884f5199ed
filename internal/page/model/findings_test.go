package model

import (
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/spikes"
)

// TestFindings checks the sentences of the overview against small models.
func TestFindings(t *testing.T) {
	t.Parallel()
	count := func(n uint64) *uint64 { return &n }
	code := []Function{
		{Key: "main", Symbol: "main", File: 0, Line: 1, Mode: "count", Runs: 2, Size: 100, Calls: count(2)},
		{Key: "once", Symbol: "once", File: 0, Line: 5, Mode: "count", Runs: 1, Size: 300, Calls: count(1)},
		{Key: "bound", Symbol: "bound", File: 0, Line: 7, Mode: "count", Runs: 1, Size: 100, Calls: count(1), AtLeast: true},
		{Key: "never", Symbol: "never", File: 0, Line: 9, Mode: "count", Size: 2048, Calls: count(0)},
		{Key: "shared", Symbol: "shared", File: 0, Line: 11, Mode: "count", Size: 50, Calls: count(0)},
		{Key: "shared~2", Symbol: "shared", File: 0, Line: 11, Mode: "count", Runs: 1, Size: 50, Calls: count(3)},
		{Key: "libc", Symbol: "libc", File: -1},
	}
	timed := []Function{
		{Key: "a", Symbol: "_Za", Name: "a()", Time: &Time{Calls: 3, Total: 900, Self: 100}},
		{Key: "b", Symbol: "b", Time: &Time{Calls: 1, Total: 700, Self: 700}},
	}
	one := 1
	for name, tt := range map[string]struct {
		m    Model
		want []string
	}{
		"nothing": {Model{}, nil},
		"profile": {Model{Functions: code, Figures: []Figure{{ID: "functions", Value: 4, Of: 5}}}, []string{
			"1 function was called once, and is 54.5 % of the code of functions that ran (300 bytes).",
			"1 of 5 functions never ran: 2.0 KiB of code.",
		}},
		"counted": {Model{Functions: []Function{
			{Key: "a", Symbol: "a", Mode: "count", Runs: 1, Calls: count(9000), AtLeast: true},
			{Key: "b", Symbol: "b", Mode: "count", Runs: 1, Calls: count(1000)},
		}}, []string{
			"a was called most often: at least 9,000 times, 90.0 % of all calls.",
		}},
		"inlined": {Model{Figures: []Figure{{ID: "functions", Value: 0, Of: 2}}, Functions: []Function{{Key: "f", Symbol: "f", Mode: "cover", Size: 9}, {Key: "in", Symbol: "in", Inlined: &Inlined{Copies: 2}}}}, []string{
			"2 of 2 functions never ran: 9 bytes of code; 1 of them is only inlined.",
		}},
		"absent": {Model{Figures: []Figure{{ID: "functions", Value: 1, Of: 4, Unknown: 1}}, Functions: []Function{
			{Key: "f", Symbol: "f", Mode: "cover", Size: 9},
			{Key: "g", Symbol: "g", Mode: "cover", Runs: 1, Size: 9},
			{Key: "no", Symbol: "no", Absent: "not linked"},
			{Key: "may", Symbol: "may", Absent: "dropped", Unknown: true},
		}}, []string{
			"2 of 3 functions never ran: 9 bytes of code; no program has 1 of them.",
			"Of 1 function it is not known whether it ran: no program has it, or only inlined.",
		}},
		"unknown": {Model{Functions: code, Figures: []Figure{{ID: "functions", Value: 4, Of: 7, Unknown: 2}}}, []string{
			"1 function was called once, and is 54.5 % of the code of functions that ran (300 bytes).",
			"1 of 5 functions never ran: 2.0 KiB of code.",
			"Of 2 functions it is not known whether they ran: no program has them, or only inlined.",
		}},
		"both unknown": {Model{Figures: []Figure{{ID: "functions", Value: 1, Of: 3, Unknown: 2}}, Functions: []Function{{Runs: 1, Blocks: &Tally{1, 2}}}, Files: []File{{Path: "a.c", Lines: [3]int{6, 2, 2}}}}, []string{
			"Of 2 functions it is not known whether they ran: no program has them, or only inlined.",
			"Of 2 of 10 lines it is not known whether they ran: optimised code proves little of them. Of builds with -O0 it is known.",
		}},
		"files": {Model{Files: []File{{Path: "a.c", Lines: [3]int{9, 1, 0}, Data: "x"}, {Path: "b.c", Lines: [3]int{0, 20, 1}, Data: "y"}}}, []string{
			"b.c has 20 of the 21 lines that did not run.",
			"Of 1 of 31 lines it is not known whether they ran: only that functions ran was recorded. Builds with --mode block record lines.",
		}},
		"optimised": {Model{Functions: []Function{{Runs: 1, Blocks: &Tally{1, 2}}}, Files: []File{{Path: "a.c", Lines: [3]int{6, 2, 2}}}}, []string{
			"Of 2 of 10 lines it is not known whether they ran: optimised code proves little of them. Of builds with -O0 it is known.",
		}},
		"calls": {Model{Functions: timed, Calls: &Calls{Unit: "ns", Time: 1000, Processor: 250, Waits: []Wait{
			{For: "work", Count: 1, Time: 5000, Idle: 5000}, {For: "a mutex", Count: 2, Time: 800, Idle: 50, Most: &one},
		}}}, []string{
			"Waits for a mutex took 750 ns, 75.0 % of the time in which there was work, most of it in b.",
			"b itself takes 70.0 % of the time of all threads, 700 ns in 1 call.",
		}},
		"samples": {Model{Functions: []Function{{Symbol: "f", Samples: &Sampled{Self: 1}}, {Symbol: "g", Samples: &Sampled{Self: 2999}}}, Samples: &Samples{Count: 3000}}, []string{
			"g itself has more than 99.9 % of the samples (2,999 of 3,000).",
		}},
		"calls of many": {Model{Functions: []Function{
			{Key: "a", Symbol: "a", Time: &Time{Calls: 1, Total: 1000, Self: 300}},
			{Key: "b", Symbol: "b", Time: &Time{Calls: 5000, Self: 100}},
			{Key: "c", Symbol: "c", Time: &Time{Calls: 2000, Self: 101}},
			{Key: "d", Symbol: "d", Time: &Time{Calls: 2000, Self: 50}},
			{Key: "e", Symbol: "e", Time: &Time{Calls: 999, Self: 49}},
		}, Calls: &Calls{Unit: "ns", Time: 1000, Calls: 10_000}}, []string{
			"a itself takes 30.0 % of the time of all threads, 300 ns in 1 call.",
			"3 functions themselves take half of the time: a, c and b.",
			"b was called most often: 5,000 times, 50.0 % of all calls; it takes 10.0 % of the time itself.",
		}},
		"C++": {Model{Functions: []Function{
			{Key: "a", Symbol: "_ZN1n1fIiEEvT_", Name: "void n::f<int>(int)", Time: &Time{Calls: 1, Self: 300}},
			{Key: "b", Symbol: "_ZN1n1gEi", Name: "n::g(int)", Time: &Time{Calls: 1, Self: 200}},
			{Key: "c", Symbol: "_ZN1n1gEl", Name: "n::g(long)", Time: &Time{Calls: 1, Self: 100}},
		}, Calls: &Calls{Unit: "ns", Time: 1100, Calls: 3}}, []string{
			"n::f itself takes 27.3 % of the time of all threads, 300 ns in 1 call.",
			"3 functions themselves take half of the time: n::f, n::g and n::g(long).",
		}},
		"calls by a coarse clock": {Model{Functions: []Function{
			{Key: "a", Symbol: "a", Time: &Time{Calls: 1, Self: 5e6}},
			{Key: "b", Symbol: "b", Time: &Time{Calls: 5000, Self: 1e6}},
			{Key: "c", Symbol: "c", Time: &Time{Calls: 2000, Self: 4e6}},
		}, Calls: &Calls{Unit: "ns", Time: 10e6, Calls: 10_000, Step: 1e6}}, []string{
			"a itself takes about 50.0 % of the time of all threads, 5.000 ms in 1 call.",
			"b was called most often: 5,000 times, 50.0 % of all calls.",
		}},
		"samples of many": {Model{Functions: []Function{
			{Key: "a", Symbol: "a", Samples: &Sampled{Self: 10, Total: 10}},
			{Key: "b", Symbol: "b", Samples: &Sampled{Self: 20}},
			{Key: "c", Symbol: "c", Samples: &Sampled{Self: 9}},
			{Key: "d", Symbol: "d", Samples: &Sampled{Self: 11, Restored: 40}},
			{Key: "e", Symbol: "e", Samples: &Sampled{Self: 10, Restored: 7}},
		}, Samples: &Samples{Count: 100, Restored: 45}}, []string{
			"b itself has 20.0 % of the samples (20 of 100).",
			"4 functions themselves have half of the samples: b, d, a and 1 other.",
			"Tail calls had erased callers from 45.0 % of the samples; they are restored, most often d.",
		}},
		"pages": {Model{Pages: &Pages{Layouts: make([]PageLayout, 2), Scenarios: []PageScenario{
			{Touch: []Touched{{Pages: 100}, {Pages: 60}}}, {Touch: []Touched{{Pages: 50}, {Pages: 39.1}}},
		}}}, []string{
			"A run touches 75 pages of code; with the functions in order (cairn order) it is predicted to touch 25 fewer.",
		}},
		"no pages": {Model{Pages: &Pages{Layouts: make([]PageLayout, 2), Scenarios: []PageScenario{{Touch: []Touched{{Pages: 10}, {Pages: 9.5}}}}}}, nil},
		"spike": {Model{Spikes: &Spikes{Left: 2, Groups: []*spikes.Object{
			{Peak: spikes.Site{Function: "short"}, Interval: spikes.Range{5000, 6000}, Why: &spikes.WhyObject{Text: "slept"}},
			{Peak: spikes.Site{Function: "lookup"}, Interval: spikes.Range{4000, 5000}, Worst: 3_900_000_000, Why: &spikes.WhyObject{Text: "waited for a mutex that flush held"}},
		}}}, []string{
			"lookup took at least 3.900 s; one call of 4.000 µs: waited for a mutex that flush held.",
			"3 more stacks took too long, the longest for at least 5.000 µs in short: slept.",
		}},
		"held": {Model{Functions: []Function{{Key: "lookup~2", Symbol: "_Zlookup"}, {Key: "flush", Symbol: "flush"}}, Spikes: &Spikes{Groups: []*spikes.Object{
			{Peak: spikes.Site{Function: "lookup()", Symbol: "_Zlookup"}, Interval: spikes.Range{39e8, 40e8}, Why: &spikes.WhyObject{Text: "slept, held by thread 7 in flush", Holder: &spikes.HolderObject{
				Thread: "thread 7", TID: 7, Ended: "held", Waited: 39e8, Stack: []spikes.Site{{Function: "flush"}, {Function: "main"}},
			}}},
		}}}, []string{
			"lookup() waited up to 3.900 s for a lock that thread 7 held in flush.",
		}},
		"held by others": {Model{Spikes: &Spikes{Groups: []*spikes.Object{
			{Peak: spikes.Site{Function: "long"}, Interval: spikes.Range{9e9, 9e9}, Why: &spikes.WhyObject{Text: "ran", Holder: &spikes.HolderObject{TID: 7, Ended: "held", Waited: 4e9}}}, // less than half of it
			{Peak: spikes.Site{Function: "readers"}, Interval: spikes.Range{1e9, 1e9}, Why: &spikes.WhyObject{Holder: &spikes.HolderObject{Thread: "2 readers", Ended: "held", Waited: 1e9}}},
			{Peak: spikes.Site{Function: "await"}, Interval: spikes.Range{1000, 2000}, Why: &spikes.WhyObject{Holder: &spikes.HolderObject{Thread: "goroutine 6", TID: 6, Ended: "woken", Waited: 3000}}},
			{Peak: spikes.Site{Function: "read"}, Interval: spikes.Range{1000, 2000}, Why: &spikes.WhyObject{Holder: &spikes.HolderObject{Thread: "goroutine 5", TID: 5, Ended: "released", Waited: 1500}}},
		}}}, []string{
			"long took at least 9.000 s: ran.",
			"await waited up to 2.000 µs until goroutine 6 woke it in a function that is not known.",
			"2 more stacks took too long, the longest for at least 1.000 s in readers.",
		}},
		"open": {Model{Spikes: &Spikes{
			Groups: []*spikes.Object{{Peak: spikes.Site{Function: "short"}, Interval: spikes.Range{5000, 6000}}},
			Open: []*spikes.Object{
				{Peak: spikes.Site{Function: "lookup"}, Interval: spikes.Range{3_900_000_000, 3_910_000_000}, Open: &spikes.OpenObject{Text: "waits in futex for at least 3.9 s"}},
				{Peak: spikes.Site{Function: "spin"}, Interval: spikes.Range{5000, 6000}, Open: &spikes.OpenObject{Text: "on a processor", Runs: true}},
			},
		}}, []string{
			"lookup has run for at least 3.900 s and has not ended: it waits in futex for at least 3.9 s; 1 more call.",
			"short took at least 5.000 µs.",
		}},
		"changes": {Model{Changes: &Changes{Lists: []Changed{{Kind: "new", Count: 4}, {Kind: "only_then", Count: 1}}}}, []string{
			"1 function ran before and does not run now.",
		}},
	} {
		var got []string
		for _, f := range findings(&tt.m) {
			got = append(got, f.Text)
			whole := ""
			for _, p := range f.Parts {
				whole += p.Text
			}
			if f.Parts != nil && whole != f.Text {
				t.Errorf("%s: parts %q of %q", name, whole, f.Text)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n%q, want\n%q", name, got, tt.want)
		}
	}
}
