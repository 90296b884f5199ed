package merge

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/prof"

	"pgregory.net/rapid"
)

// orderMap returns a map of functions that count calls, and of others with slots.
func orderMap(counts, slots int) *prof.Map {
	return newMap(counts+slots, func(i int) (prof.Mode, int, int) {
		if i < counts {
			return prof.ModeCount, 0, 0
		}
		return prof.ModeOrder, 0, 0
	}, nil)
}

// runOf returns the run that executed functions of m in the given order.
func runOf(m *prof.Map, funcs []uint32, key uint64) *Run {
	r := &Run{Data: make([]byte, m.RawSize), Weight: 1, Key: key}
	index := uint32(0)
	for _, fn := range funcs {
		f := &m.Funcs[fn]
		if f.Mode.HasSlots() {
			r.Data[f.Record] = 1
			r.Slots = append(r.Slots, uint32(f.Record))
			r.Next++
			continue
		}
		index++
		binary.LittleEndian.PutUint32(r.Data[f.Record:], ^uint32(0))
		binary.LittleEndian.PutUint32(r.Data[f.Record+wire.OrderOffset:], index)
	}
	return r
}

func TestAddRun(t *testing.T) {
	t.Parallel()
	for _, shape := range [][2]int{{6, 0}, {0, 6}} {
		m := orderMap(shape[0], shape[1])
		acc := NewAccumulator(NewLayout(m), 9)
		traces := [][]uint32{{3, 1, 5}, {1}, {}, {5, 4, 3, 2, 1, 0}}
		for i, funcs := range traces {
			r := runOf(m, funcs, uint64(100-i))
			r.Scenario = "s"
			if err := acc.AddRun(r); err != nil {
				t.Fatal(err)
			}
		}
		got := acc.Module()
		want := []prof.Trace{
			{Scenario: "s", Weight: 1, Key: 97, Funcs: traces[3]},
			{Scenario: "s", Weight: 1, Key: 99, Funcs: traces[1]},
			{Scenario: "s", Weight: 1, Key: 100, Funcs: traces[0]},
		}
		if !reflect.DeepEqual(got.Traces, want) || got.TracesSeen != 3 || got.Raws != 4 {
			t.Errorf("%d, %d: traces %+v, want %+v", shape[0], shape[1], got.Traces, want)
		}
		sums := make([]uint64, len(m.Funcs))
		for i := range got.Counts {
			sums[i] = got.Counts[i].OrderSum
		}
		if want := []uint64{6, 2 + 1 + 5, 4, 1 + 3, 2, 3 + 1}; !slices.Equal(sums, want) {
			t.Errorf("%d, %d: order sums %v, want %v", shape[0], shape[1], sums, want)
		}
	}
}

// TestAddRunCut has a buffer without its first two entries, and with one entry that occurs
// twice.
func TestAddRunCut(t *testing.T) {
	t.Parallel()
	m := orderMap(0, 4)
	acc := NewAccumulator(NewLayout(m), 1)
	r := runOf(m, []uint32{2, 0, 2}, 1)
	r.Next = 5
	if err := acc.AddRun(r); err != nil {
		t.Fatal(err)
	}
	got := acc.Module()
	if want := []prof.Trace{{Weight: 1, Key: 1, Cut: true, Funcs: []uint32{2, 0}}}; !reflect.DeepEqual(got.Traces, want) {
		t.Errorf("traces %+v, want %+v", got.Traces, want)
	}
	if got.Counts[2].OrderSum != 3 || got.Counts[0].OrderSum != 4 {
		t.Errorf("order sums %d and %d, want 3 and 4", got.Counts[2].OrderSum, got.Counts[0].OrderSum)
	}
	bad := runOf(m, []uint32{1}, 1)
	bad.Slots[0] = 99
	var e *SlotError
	if err := acc.AddRun(bad); !errors.As(err, &e) || e.Record != 99 || acc.Raws() != 1 {
		t.Errorf("a slot without a function: %v, %d raw files", err, acc.Raws())
	}
}

// TestSample shares runs out among accumulators and profiles: the sample is
// the same.
func TestSample(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := orderMap(2, 3)
		l, limit := NewLayout(m), rapid.IntRange(0, 5).Draw(t, "limit")
		whole := NewAccumulator(l, limit)
		parts := []*Accumulator{NewAccumulator(l, limit), NewAccumulator(l, limit), NewAccumulator(l, limit)}
		for range rapid.IntRange(0, 20).Draw(t, "runs") {
			funcs := rapid.Permutation([]uint32{0, 1, 2, 3, 4}).Draw(t, "funcs")[:rapid.IntRange(1, 5).Draw(t, "length")]
			r := runOf(m, funcs, rapid.Uint64Range(0, 30).Draw(t, "key"))
			r.Scenario = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "scenario")
			for _, acc := range []*Accumulator{whole, rapid.SampledFrom(parts).Draw(t, "part")} {
				if err := acc.AddRun(r); err != nil {
					t.Fatal(err)
				}
			}
		}
		parts[0].Merge(parts[1])
		got, other, want := parts[0].Module(), parts[2].Module(), whole.Module()
		if err := Modules(&got, &other); err != nil {
			t.Fatal(err)
		}
		Sample(&got, limit)
		if len(got.Traces) == 0 && len(want.Traces) == 0 {
			return
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("in parts %+v\nat once %+v", got, want)
		}
	})
}

// TestSampleUniform draws random keys and checks that each run is equally likely to be kept.
func TestSampleUniform(t *testing.T) {
	t.Parallel()
	const runs, limit, rounds = 20, 5, 4000
	m := orderMap(0, runs)
	l := NewLayout(m)
	keys := rand.New(rand.NewPCG(5, 6))
	kept := make([]int, runs)
	for range rounds {
		acc := NewAccumulator(l, limit)
		for fn := range uint32(runs) {
			if err := acc.AddRun(runOf(m, []uint32{fn}, keys.Uint64())); err != nil {
				t.Fatal(err)
			}
		}
		for _, tr := range acc.Module().Traces {
			kept[tr.Funcs[0]]++
		}
	}
	// 1000 expected, with a standard deviation of 27.
	for fn, n := range kept {
		if n < 870 || n > 1130 {
			t.Errorf("run %d stayed %d times of %d, about %d expected", fn, n, rounds, rounds*limit/runs)
		}
	}
}
