package merge

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/prof"
)

// edgeMap has a function in mode edge: block 0 goes on to 1 or 2, both to 3, which goes back to 1 or leaves. Blocks 1 and 3
// have counters.
func edgeMap() *prof.Map {
	f := prof.Func{
		Name: "f", Mode: prof.ModeEdge, Fragments: []prof.Fragment{{Addr: 0x401000, Size: 32, Blocks: []uint32{4, 8, 12}}},
		Flow:    []prof.Flow{{Next: []uint32{1, 2}, Entered: true}, {Next: []uint32{3}}, {Next: []uint32{3}}, {Next: []uint32{1}, Leaves: true}},
		Implied: []prof.Implied{{Block: 2}},
	}
	return &prof.Map{BuildID: "\x12\x34", Module: "app", RawAddr: rawAddr, RawSize: wire.RecordSize(true, true, true, f.NumProbes()), Funcs: []prof.Func{f}}
}

// edgeImage is the image of a run with so many calls, and executions of the blocks with counters.
func edgeImage(calls uint32, times ...uint64) []byte {
	data := binary.LittleEndian.AppendUint32(nil, -calls)
	data = binary.LittleEndian.AppendUint32(data, 1)
	for _, n := range times {
		data = binary.LittleEndian.AppendUint64(data, n)
	}
	return data
}

// TestEdges checks the sums of blocks with and without counters, of several runs and accumulators.
func TestEdges(t *testing.T) {
	t.Parallel()
	l := NewLayout(edgeMap())
	a, b := NewAccumulator(l, 0), NewAccumulator(l, 0)
	for _, add := range []struct {
		to   *Accumulator
		data []byte
	}{
		{a, edgeImage(10, 14, 18)},                                 // 4 calls went to 2, and 8 rounds came back to 1
		{b, edgeImage(3, 3, 3)},                                    // none went to 2
		{b, edgeImage(2, 0, 2)[:wire.CountSize+2*wire.EdgeSize-7]}, // the end of the data truncates zeros
	} {
		if err := add.to.Add(add.data); err != nil {
			t.Fatal(err)
		}
	}
	a.Merge(b)
	c := a.Counts()[0]
	want := prof.Counts{Runs: 3, Calls: 15, OrderSum: 3, Blocks: []uint64{2, 2, 3}, Times: []uint64{17, 6, 23}}
	if c.Runs != want.Runs || c.Calls != want.Calls || c.Inexact || !slices.Equal(c.Blocks, want.Blocks) || !slices.Equal(c.Times, want.Times) {
		t.Errorf("counts %+v, want %+v", c, want)
	}
	m := a.Module()
	sum := clone(&m)
	addCounts(&sum.Counts[0], &m.Counts[0])
	if !slices.Equal(sum.Counts[0].Times, []uint64{34, 12, 46}) || !slices.Equal(m.Counts[0].Times, want.Times) {
		t.Errorf("the sum of two profiles has %v", sum.Counts[0].Times)
	}
}

// TestEdgesContradict checks that counts that no run has, as of threads that lost increments, are marked, and those of
// runs of which only the order is known say nothing of blocks.
func TestEdgesContradict(t *testing.T) {
	t.Parallel()
	m := edgeMap()
	l := NewLayout(m)
	a := NewAccumulator(l, 0)
	if err := a.Add(edgeImage(10, 4, 2)); err != nil { // 3 ran more rarely than 1
		t.Fatal(err)
	}
	if c := a.Counts()[0]; !c.Inexact || slices.Max(c.Times) > 100 {
		t.Errorf("counts %+v", c)
	}
	a = NewAccumulator(l, 0)
	if err := a.addImage(FirstExecutions(m, []uint32{0})); err != nil {
		t.Fatal(err)
	}
	if c := a.Counts()[0]; c.Runs != 1 || slices.Max(c.Times) > 0 || slices.Max(c.Blocks) > 0 {
		t.Errorf("an order says nothing of blocks: %+v", c)
	}
	a = NewAccumulator(l, 0)
	if err := a.addImage(&Run{Data: edgeImage(10, 1<<60, 1<<60), Single: true, MaxCalls: 1000}); err != nil {
		t.Fatal(err)
	}
	if c := a.Counts()[0]; slices.Max(c.Times) > 1000 || !c.Inexact {
		t.Errorf("a false run has the weight %v", c.Times)
	}
}
