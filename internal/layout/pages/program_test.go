package pages

import (
	"math"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// TestSummarize has two functions of a page and a half each. A run of weight 3 has both, a run
// of weight 1 only the first, and one function is not in the program.
func TestSummarize(t *testing.T) {
	t.Parallel()
	m := &prof.Module{
		Map: prof.Map{Funcs: []prof.Func{
			fn("a", Span{0x10000, 0x1800}), fn("b", Span{0x11800, 0x1800}), fn("gone", Span{0x20000, 16}),
		}},
		Counts: make([]prof.Counts, 3),
	}
	// b is in the next window of 64 KiB.
	l := FromSymbols(Span{0x10000, 0x20000}, []Symbol{{"a", 0x10000, 0x1800}, {"b", 0x20000, 0x1800}})
	p := &Program{Layout: l, Match: MatchNames(&m.Map, l)}
	scenarios := Scenarios([]prof.Trace{
		{Scenario: "x", Weight: 1, Funcs: []uint32{0}},
		{Scenario: "y", Weight: 7, Funcs: []uint32{2}},
		{Scenario: "x", Weight: 3, Funcs: []uint32{0, 2, 1}},
	})
	if len(scenarios) != 2 || scenarios[0].Name != "x" || len(scenarios[0].Traces) != 2 {
		t.Fatalf("scenarios %+v", scenarios)
	}
	if longest := scenarios[0].Longest(); len(longest.Funcs) != 3 {
		t.Errorf("longest run %v", longest.Funcs)
	}
	want := Summary{
		Functions: 1.75, Missing: 0.75, Bytes: 0x1800 * 1.75, Pages: 3.5, Bound: 2.75,
		Area: (2 + 3*3) / 4.0, Windows: 1.75, BlockPages: 3.5,
	}
	got := p.Summarize(m, &scenarios[0], 4096)
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	mean := Mean([]Summary{got, p.Summarize(m, &scenarios[1], 4096)})
	if mean.Pages != 1.75 || mean.Missing != 0.875 {
		t.Errorf("mean %+v", mean)
	}
	if none := Mean(nil); math.IsNaN(none.Pages) {
		t.Error("the mean of nothing is not a number")
	}
	if HasBlocks(m) || !HasBlocks(&prof.Module{Map: prof.Map{Funcs: []prof.Func{{Mode: prof.ModeFull}}}}) {
		t.Error("HasBlocks")
	}
}

// TestMatchIsOneToOne checks that each function of a layout belongs to one function of the map,
// unless the linker folded functions, which then share an address.
func TestMatchIsOneToOne(t *testing.T) {
	t.Parallel()
	m := &prof.Map{}
	var symbols []Symbol
	for i := range uint64(300) {
		name := string(rune('a' + i%7))
		m.Funcs = append(m.Funcs, fn(name, Span{0x1000 + 64*i, 1 + i*i%50}))
		symbols = append(symbols, Symbol{name, 0x90000 - 64*i, 1 + i*i%50})
	}
	match := MatchNames(m, FromSymbols(Span{0x1000, 0x100000}, symbols))
	seen := slices.Clone(match.Funcs)
	slices.Sort(seen)
	if len(slices.Compact(seen)) != 300 || seen[0] != 0 {
		t.Errorf("matched %v", match.Funcs)
	}
}
