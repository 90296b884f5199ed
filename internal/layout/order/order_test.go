package order

import (
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/prof"
)

// inputs draws programs with traces, counts, calls and code.
func inputs(t *rapid.T) *Input {
	n := rapid.IntRange(1, 120).Draw(t, "funcs")
	index := rapid.Uint32Range(0, uint32(n-1))
	in := &Input{Funcs: make([]Func, n)}
	for i := range in.Funcs {
		in.Funcs[i] = Func{
			Size:    rapid.SampledFrom([]uint64{0, 1, 16, 100, 5000, 1 << 40}).Draw(t, "size"),
			Addr:    rapid.Uint64Range(0, 1<<20).Draw(t, "addr"),
			Calls:   rapid.SampledFrom([]uint64{0, 0, 1, 7, 1 << 63, ^uint64(0)}).Draw(t, "calls"),
			Runs:    rapid.Uint64Range(0, 3).Draw(t, "runs"),
			Content: rapid.SliceOfN(rapid.ByteRange(0, 3), 0, 12).Draw(t, "content"),
		}
	}
	for range rapid.IntRange(0, 70).Draw(t, "traces") {
		in.Traces = append(in.Traces, prof.Trace{
			Scenario: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "scenario"),
			Weight:   rapid.SampledFrom([]uint64{0, 1, 5, ^uint64(0)}).Draw(t, "weight"),
			Funcs:    rapid.SliceOfN(index, 0, 40).Draw(t, "trace"),
		})
	}
	for range rapid.IntRange(0, 60).Draw(t, "edges") {
		in.Edges = append(in.Edges, Edge{index.Draw(t, "caller"), index.Draw(t, "callee"), rapid.SampledFrom([]uint64{0, 1, 9, ^uint64(0)}).Draw(t, "weight")})
	}
	setMeanOrder(&Input{Funcs: in.Funcs, Traces: in.Traces})
	return in
}

// TestPermutation checks that the result of every algorithm has each function once, and does
// not change when it is computed again.
func TestPermutation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := inputs(t)
		for _, alg := range Algorithms() {
			opts := Options{Compress: rapid.Bool().Draw(t, "compress"), OutlierFilter: rapid.Bool().Draw(t, "filter")}
			r, err := Compute(in, alg, opts)
			if err != nil {
				t.Fatal(err)
			}
			sorted := slices.Sorted(slices.Values(r.Order))
			for i, f := range sorted {
				if int(f) != i {
					t.Fatalf("%s: not a permutation: %v", alg, r.Order)
				}
			}
			if len(sorted) != len(in.Funcs) || r.Placed() > len(sorted) {
				t.Fatalf("%s: %d of %d functions, %d placed", alg, len(sorted), len(in.Funcs), r.Placed())
			}
			again, err := Compute(in, alg, opts)
			if err != nil || !reflect.DeepEqual(r, again) {
				t.Fatalf("%s: first %v, then %v, %v", alg, r, again, err)
			}
			for _, s := range Evaluate(in, r.Order, 0) {
				if s.Funcs > 0 && s.Area > float64(s.Pages) {
					t.Fatalf("%s: area above pages: %+v", alg, s)
				}
			}
		}
	})
}

// TestThreads checks that the order does not depend on the number of threads.
func TestThreads(t *testing.T) {
	in := readProgram(t, "python")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, alg := range Algorithms() {
		var orders [][]uint32
		for _, threads := range []int{1, 8} {
			runtime.GOMAXPROCS(threads)
			r, err := Compute(in, alg, Options{})
			if err != nil {
				t.Fatal(err)
			}
			orders = append(orders, r.Order)
		}
		if !slices.Equal(orders[0], orders[1]) {
			t.Errorf("%s: one thread and eight give different orders", alg)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   Input
		alg  Algorithm
		want string
	}{
		{Input{}, "best", `unknown order algorithm "best"`},
		{Input{Traces: []prof.Trace{{}, {Funcs: []uint32{3}}}}, First, "trace 1 names function 3 of 0"},
		{Input{Funcs: make([]Func, 2), Edges: []Edge{{1, 2, 1}}}, Hot, "edge 0 joins functions 1 and 2 of 2"},
	} {
		if _, err := Compute(&test.in, test.alg, Options{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
	bad := &Input{Traces: []prof.Trace{{Funcs: []uint32{3}}, {}}}
	if Evaluate(bad, nil, 0) != nil || LeaveOneOut(bad, First, Options{}, 0) != nil {
		t.Error("an evaluation of functions that do not exist")
	}
}

// TestReasons checks which functions are placed for each reason.
func TestReasons(t *testing.T) {
	t.Parallel()
	in := &Input{
		Funcs: []Func{
			0: {Size: 10, Addr: 50, Content: []byte("abcdefgh")},
			1: {Size: 10, Addr: 40, Runs: 1},
			2: {Size: 10, Addr: 30, Runs: 9, Calls: 900},
			3: {Size: 10, Addr: 20, Runs: 9},
			4: {Size: 10, Addr: 10},
		},
		Traces: []prof.Trace{{Funcs: []uint32{3}}},
	}
	for _, test := range []struct {
		opts Options
		want Result
	}{
		{Options{}, Result{Order: []uint32{3, 2, 1, 4, 0}, Startup: 1, Hot: 2}},
	} {
		r, err := Compute(in, Startup, test.opts)
		if err != nil || !reflect.DeepEqual(*r, test.want) {
			t.Errorf("%+v: %+v, %v, want %+v", test.opts, r, err, test.want)
		}
	}
}

// Of two kinds of code by turns, similarity makes the file smaller, even if the tables grow;
// of code that has nothing in common it does not.
func TestCompress(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, kinds := range []int{2, 1} {
		in := &Input{}
		for i := range 200 {
			code := make([]byte, 2000)
			for j := range code {
				code[j] = byte(16*(i%kinds) + random.IntN(16))
			}
			in.Funcs = append(in.Funcs, Func{Addr: uint64(2000 * i), Size: 2000, Content: code})
		}
		r, err := Compute(in, Startup, Options{Compress: true})
		if err != nil {
			t.Fatal(err)
		}
		if want := 200 * (kinds - 1); r.Packed != want || (r.Similar < r.ByAddress) != (want > 0) {
			t.Errorf("%d kinds: %d packed, want %d: %d bytes, by address %d", kinds, r.Packed, want, r.Similar, r.ByAddress)
		}
	}
}

func TestFromModule(t *testing.T) {
	t.Parallel()
	m := &prof.Module{
		Map:    prof.Map{Funcs: []prof.Func{{Fragments: []prof.Fragment{{Addr: 4, Size: 8}, {Addr: 64, Size: 100}}}}},
		Counts: []prof.Counts{{Runs: 2, Calls: 7, OrderSum: 5}},
		Traces: []prof.Trace{{Funcs: []uint32{0}}},
	}
	want := &Input{Funcs: []Func{{Size: 8, Addr: 4, Calls: 7, Runs: 2, MeanOrder: 2.5}}, Traces: m.Traces}
	if got := FromModule(m, nil); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
