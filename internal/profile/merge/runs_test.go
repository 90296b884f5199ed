package merge

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/prof"
)

// heldModule returns a module of one function that ran in the runs with these IDs.
func heldModule(ids ...uint64) *prof.Module {
	m := newMap(1, func(int) (prof.Mode, int, int) { return prof.ModeCover, 1, 0 }, nil)
	acc := NewAccumulator(NewLayout(m), 0)
	for _, id := range ids {
		if err := acc.AddRun(&Run{ID: id, Data: []byte{1}}); err != nil {
			panic(err)
		}
	}
	module := acc.Module()
	return &module
}

// idsFrom returns n IDs as good as random.
func idsFrom(seed, n uint64) (ids []uint64) {
	for i := range n {
		ids = append(ids, RunID(seed<<32+i+1, 7))
	}
	return ids
}

// TestRunSetOrder joins sets in other orders and groups. It checks that the result is the same,
// exact or a sketch.
func TestRunSetOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]uint64{10, prof.MaxExactRuns, prof.MaxExactRuns + 1, 2*prof.MaxExactRuns + 7}).Draw(t, "runs")
		ids := idsFrom(1, n)
		want := runSet(slices.Clone(ids), false)
		if want.Sketch != (n > prof.MaxExactRuns) || len(want.IDs) != int(n) {
			t.Fatalf("%d of %d runs, a sketch: %t", len(want.IDs), n, want.Sketch)
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		rng.Shuffle(len(ids), func(i, k int) { ids[i], ids[k] = ids[k], ids[i] })
		var got prof.RunSet
		for len(ids) > 0 {
			cut := rng.IntN(len(ids)) + 1
			part := runSet(slices.Clone(ids[:cut]), false)
			got, ids = joinRuns(&part, &got), ids[cut:]
		}
		if !reflect.DeepEqual(got, want) {
			t.Error("the sets differ")
		}
	})
}

// TestHolds asks a sketch of 100,000 runs for others: fewer than one in a million may
// seem to be there.
func TestHolds(t *testing.T) {
	t.Parallel()
	s := runSet(idsFrom(1, 100_000), false)
	for _, id := range idsFrom(1, 100_000) {
		if !Holds(&s, id) {
			t.Fatalf("run %#x is forgotten", id)
		}
	}
	for _, id := range idsFrom(2, 100_000) {
		if Holds(&s, id) {
			t.Errorf("run %#x was never there", id)
		}
	}
	if Holds(&s, 0) || RunID(0, 5) != 0 || RunID(1, 5) == RunID(1, 6) {
		t.Error("runs that are unknown, or of other processes")
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	many := idsFrom(1, 2*prof.MaxExactRuns)
	for name, tc := range map[string]struct {
		a, b []uint64
		raws uint64
		err  error
	}{
		"apart":            {[]uint64{1, 2}, []uint64{3}, 3, nil},
		"the same":         {[]uint64{1, 2}, []uint64{2, 1}, 2, ErrHeld},
		"within":           {[]uint64{1, 2, 3}, []uint64{2}, 3, ErrHeld},
		"around":           {[]uint64{2}, []uint64{1, 2, 3}, 3, nil},
		"partly":           {[]uint64{1, 2}, []uint64{2, 3}, 2, ErrPartly},
		"unknown":          {[]uint64{0, 0}, []uint64{0}, 3, nil},
		"unknown, too":     {[]uint64{1, 2}, []uint64{0, 2}, 2, ErrPartly},
		"nothing":          {nil, nil, 0, nil},
		"sketch, apart":    {many, idsFrom(2, 9), uint64(len(many)) + 9, nil},
		"sketch, the same": {many, many, uint64(len(many)), ErrHeld},
		"sketch, within":   {many, many[5:9], uint64(len(many)), ErrHeld},
		"sketch, around":   {many[5:9], many, uint64(len(many)), nil},
		"sketch, partly":   {many, append(idsFrom(2, 9), many[:2]...), uint64(len(many)), ErrPartly},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := heldModule(tc.a...), heldModule(tc.b...)
			p := &prof.Profile{Modules: []prof.Module{*a}}
			err := Join(p, &prof.Profile{Modules: []prof.Module{*b}})
			if got := p.Modules[0]; !errors.Is(err, tc.err) || got.Raws != tc.raws || got.Counts[0].Runs != tc.raws {
				t.Errorf("Join = %v, %d runs, want %v, %d", err, got.Raws, tc.err, tc.raws)
			}
		})
	}
}

// TestInexact sums runs of a function that is counted by locked instructions and of
// one that is not, of processes with one thread and with several.
func TestInexact(t *testing.T) {
	t.Parallel()
	m := newMap(2, func(int) (prof.Mode, int, int) { return prof.ModeCount, 1, 0 }, nil)
	m.Funcs[1].Atomic = true
	both := FirstExecutions(m, []uint32{0, 1}).Data
	for name, tc := range map[string]struct {
		single []bool
		want   [2]bool
	}{
		"one thread":      {[]bool{true, true}, [2]bool{false, false}},
		"several threads": {[]bool{false}, [2]bool{true, false}},
		"once":            {[]bool{true, false, true}, [2]bool{true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acc := NewAccumulator(NewLayout(m), 0)
			for _, single := range tc.single {
				if err := acc.AddRun(&Run{Data: both, Single: single}); err != nil {
					t.Fatal(err)
				}
			}
			if err := acc.AddRun(&Run{}); err != nil { // threads that called neither
				t.Fatal(err)
			}
			counts := acc.Counts()
			if got := [2]bool{counts[0].Inexact, counts[1].Inexact}; got != tc.want {
				t.Errorf("inexact %t, want %t", got, tc.want)
			}
		})
	}
}
