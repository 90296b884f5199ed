package order

import (
	"math/bits"
	"runtime"
	"slices"
	"sync"

	"github.com/cairnprof/cairn/prof"
)

// codeAlign is the alignment of functions that Evaluate assumes. gcc and clang
// use 16 bytes at -O2 on x86-64.
const codeAlign = 16

// maxSize limits the sizes of functions. Sizes come from a file, so they may be impossibly
// large.
const maxSize = 1 << 26

// alignedSize returns the bytes that a function of a size occupies.
func alignedSize(size uint64) uint64 {
	return (min(max(size, 1), maxSize) + codeAlign - 1) &^ (codeAlign - 1)
}

// unseenLimit is the share of unseen bytes above which HeldOut.Warn is set. Below it, the
// order determines the pages; above it, the missing runs do.
const unseenLimit = 0.05

// TraceStats evaluates an order for one trace.
type TraceStats struct {
	Scenario string
	Weight   uint64
	Funcs    int     // functions that ran
	Bytes    uint64  // their size
	Bound    uint64  // pages that Bytes fill: no order touches fewer
	Pages    uint64  // pages the order touches
	Area     float64 // mean over the trace of the pages touched so far
}

// HeldOut evaluates an order for a scenario that it was computed without.
type HeldOut struct {
	Scenario    string
	Traces      int
	Pages       float64 // weighted mean over its traces
	Bound       float64 // weighted mean over its traces
	UnseenFuncs float64 // share of its functions that are in no other scenario, 0 to 1
	UnseenBytes float64 // the same in bytes
	Warn        bool    // the share of unseen bytes is above 5 %
}

// Evaluate evaluates order for each trace of in, assuming that the linker places the functions
// one after the other from a page border on, each aligned to 16 bytes. Functions that are not
// in order follow by address. pageSize is in bytes; 0 means 4096. It returns nil if in refers
// to functions that do not exist.
//
// A function counts with its full extent. For real programs, the result is within 3 pages of
// the measured number, of 7 to 430; counting only entries gives up to a quarter too few.
func Evaluate(in *Input, order []uint32, pageSize uint64) []TraceStats {
	if in.check() != nil {
		return nil
	}
	pageSize = pageSizeOr4K(pageSize)
	b := newBuilder(in)
	b.add(order)
	l := newLayout(in, b.finish().Order, pageSize)
	traces := firstUses(in)
	stats := make([]TraceStats, len(traces))
	for t := range traces {
		stats[t] = l.trace(in, &traces[t])
	}
	return stats
}

func pageSizeOr4K(pageSize uint64) uint64 {
	if pageSize == 0 {
		return 4096
	}
	return pageSize
}

// layout has the pages of each function in an order.
type layout struct {
	pageSize    uint64
	first, last []uint64 // page numbers, by function
}

func newLayout(in *Input, order []uint32, pageSize uint64) *layout {
	l := &layout{pageSize: pageSize, first: make([]uint64, len(in.Funcs)), last: make([]uint64, len(in.Funcs))}
	var at uint64
	for _, f := range order {
		size := min(max(in.Funcs[f].Size, 1), maxSize)
		l.first[f], l.last[f] = at/pageSize, (at+size-1)/pageSize
		at += alignedSize(size)
	}
	return l
}

func (l *layout) trace(in *Input, t *trace) TraceStats {
	s := TraceStats{Scenario: t.scenario, Weight: t.weight, Funcs: len(t.funcs)}
	touched := map[uint64]uint64{} // bitmaps of 64 pages
	var area uint64
	for _, f := range t.funcs {
		s.Bytes += in.Funcs[f].Size
		s.Pages += touch(touched, l.first[f], l.last[f])
		area += s.Pages
	}
	s.Bound = (s.Bytes + l.pageSize - 1) / l.pageSize
	if len(t.funcs) > 0 {
		s.Area = float64(area) / float64(len(t.funcs))
	}
	return s
}

// touch marks the pages from first to last and returns how many were not marked before.
func touch(touched map[uint64]uint64, first, last uint64) uint64 {
	var fresh uint64
	for word := first / 64; word <= last/64; word++ {
		mask := ^uint64(0)
		if word == first/64 {
			mask &= ^uint64(0) << (first % 64)
		}
		if word == last/64 {
			mask &= ^uint64(0) >> (63 - last%64)
		}
		fresh += uint64(bits.OnesCount64(mask &^ touched[word]))
		touched[word] |= mask
	}
	return fresh
}

// maxFolds is the maximum number of orders that LeaveOneOut computes.
const maxFolds = 20

// LeaveOneOut returns for each scenario of in, in the order of their first trace, the
// evaluation of the order that alg computes from the others. With more than 20 scenarios,
// every 20th is held out together, so that only 20 orders are computed. Traces without a
// scenario name are separate scenarios. The counts and the call graph are not used, because
// they include the scenario's own runs. The result is empty if there are fewer than two
// scenarios, if in refers to functions that do not exist, or if alg does not exist.
func LeaveOneOut(in *Input, alg Algorithm, opts Options, pageSize uint64) []HeldOut {
	groups := scenarios(in)
	if len(groups) < 2 || in.check() != nil || !slices.Contains(Algorithms(), alg) {
		return nil
	}
	held := make([]HeldOut, len(groups))
	var wait sync.WaitGroup
	running := make(chan struct{}, runtime.GOMAXPROCS(0))
	for first := range min(len(groups), maxFolds) {
		running <- struct{}{}
		wait.Go(func() {
			defer func() { <-running }()
			out := make([]bool, len(in.Traces))
			for g := first; g < len(groups); g += maxFolds {
				for _, t := range groups[g] {
					out[t] = true
				}
			}
			train := without(in, out)
			r, err := Compute(train, alg, opts)
			for g := first; g < len(groups) && err == nil; g += maxFolds {
				held[g] = holdOut(in, train, r.Order, groups[g], pageSize)
			}
		})
	}
	wait.Wait()
	return held
}

// scenarios returns the indexes of the traces of each scenario.
func scenarios(in *Input) [][]int {
	var groups [][]int
	index := map[string]int{}
	for t := range in.Traces {
		name := in.Traces[t].Scenario
		g, ok := index[name]
		if !ok || name == "" {
			g = len(groups)
			index[name] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], t)
	}
	return groups
}

// without returns in with the traces that are not in out, and the data of functions computed
// from these alone.
func without(in *Input, out []bool) *Input {
	train := &Input{Funcs: make([]Func, len(in.Funcs))}
	for i, f := range in.Funcs {
		train.Funcs[i] = Func{Size: f.Size, Addr: f.Addr, Content: f.Content}
	}
	for t := range in.Traces {
		if !out[t] {
			train.Traces = append(train.Traces, in.Traces[t])
		}
	}
	setMeanOrder(train)
	return train
}

// holdOut evaluates the order computed from train for a scenario's traces.
func holdOut(in, train *Input, order []uint32, group []int, pageSize uint64) HeldOut {
	test := &Input{Funcs: in.Funcs}
	for _, t := range group {
		test.Traces = append(test.Traces, in.Traces[t])
	}
	h := unseen(in, train.Traces, test)
	var weights float64
	for _, s := range Evaluate(test, order, pageSize) {
		w := float64(s.Weight)
		weights += w
		h.Pages += float64(w * float64(s.Pages))
		h.Bound += float64(w * float64(s.Bound))
	}
	if weights > 0 {
		h.Pages /= weights
		h.Bound /= weights
	}
	return h
}

// setMeanOrder sets the counts that follow from in's traces alone.
func setMeanOrder(in *Input) {
	for _, t := range firstUses(in) {
		for i, f := range t.funcs {
			fn := &in.Funcs[f]
			fn.MeanOrder += float64(i + 1)
			fn.Runs++
		}
	}
	for i := range in.Funcs {
		if n := in.Funcs[i].Runs; n > 0 {
			in.Funcs[i].MeanOrder /= float64(n)
		}
	}
}

// unseen compares the functions of test's traces with those of train.
func unseen(in *Input, train []prof.Trace, test *Input) HeldOut {
	seen := make([]bool, len(in.Funcs))
	for t := range train {
		for _, f := range train[t].Funcs {
			seen[f] = true
		}
	}
	h := HeldOut{Scenario: test.Traces[0].Scenario, Traces: len(test.Traces)}
	var funcs, bytes, newFuncs, newBytes float64
	for _, t := range firstUses(test) {
		for _, f := range t.funcs {
			size := float64(in.Funcs[f].Size)
			funcs++
			bytes += size
			if !seen[f] {
				newFuncs++
				newBytes += size
			}
		}
	}
	if funcs > 0 {
		h.UnseenFuncs = newFuncs / funcs
	}
	if bytes > 0 {
		h.UnseenBytes = newBytes / bytes
	}
	h.Warn = h.UnseenBytes > unseenLimit
	return h
}
