package ptrace

import "github.com/cairnprof/cairn/prof"

// Recording is a run of a program in the form of a profile.
type Recording struct {
	Module *prof.Module
	Run    *Run
	// Derived is set if the program has no build id and the hash of its file is used instead.
	Derived bool
}

// module makes a profile of one run of the program that m describes.
func module(m *prof.Map, calls []FirstCall, scenario string) *prof.Module {
	out := &prof.Module{Map: *m, Raws: 1, Counts: make([]prof.Counts, len(m.Funcs)), TracesSeen: uint64(min(len(calls), 1))}
	index := make(map[uint64]uint32, len(m.Funcs))
	for i := range m.Funcs {
		index[m.Funcs[i].Addr()] = uint32(i)
	}
	trace := prof.Trace{Scenario: scenario, Weight: 1}
	for _, c := range calls {
		i, ok := index[c.Entry]
		if !ok {
			continue
		}
		trace.Funcs = append(trace.Funcs, i)
		out.Counts[i] = prof.Counts{
			Runs: 1, OrderSum: uint64(len(trace.Funcs)),
			Callers: []prof.Site{{Addr: c.Return, Runs: 1}},
		}
	}
	if len(trace.Funcs) > 0 {
		out.Traces = []prof.Trace{trace}
	}
	return out
}
