package order

import (
	"math"
	"reflect"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

func TestLog2(t *testing.T) {
	t.Parallel()
	for x := uint64(1); x < 100_000; x += 1 + x/50 {
		got, want := float64(log2(x))/(1<<costBits), math.Log2(float64(x))
		if math.Abs(got-want) > 1e-9 {
			t.Fatalf("log2(%d) is %v, want %v", x, got, want)
		}
	}
}

// TestCost compares costs with those of LLVM's BalancedPartitioning.
func TestCost(t *testing.T) {
	t.Parallel()
	steps := costSteps(5)
	grow := func(x int) float64 { // x log2(x+1)
		var sum int64
		for _, s := range steps[:x] {
			sum += s
		}
		return float64(sum) / (1 << costBits)
	}
	for _, test := range []struct {
		x, y int
		want float64
	}{{2, 2, -6.340}, {1, 3, -7}, {3, 1, -7}, {1, 1, -2}, {0, 2, -3.170}, {4, 0, -9.288}} {
		if got := -(grow(test.x) + grow(test.y)); math.Abs(got-test.want) > 0.0005 {
			t.Errorf("cost of %d and %d is %.4f, want %.3f", test.x, test.y, got, test.want)
		}
	}
	// From (3,1): the lone one going over gains 2.288, another going away
	// costs 0.660.
	b := &bisection{cost: steps}
	gain := func(to, from int) float64 { return float64(b.cost[to]-b.cost[from-1]) / (1 << costBits) }
	if over, away := gain(3, 1), gain(1, 3); math.Abs(over-2.288) > 0.0005 || math.Abs(away+0.660) > 0.0005 {
		t.Errorf("gains are %.3f and %.3f, want 2.288 and -0.660", over, away)
	}
}

// utilitiesOf does the part of byPartitioning before the partitioning.
func utilitiesOf(traces []trace, funcs int, filter bool) [][]uint32 {
	in := &Input{Funcs: make([]Func, funcs)}
	utils, n := prefixUtilities(in, traces, BP)
	if filter {
		dropOutliers(nodesOf(in, traces), utils, n)
	}
	return utils
}

// TestUtilities checks the vectors of LLVM's own unit tests.
func TestUtilities(t *testing.T) {
	t.Parallel()
	one := []trace{{funcs: []uint32{0, 1, 2, 3}}}
	if got, want := utilitiesOf(one, 4, false), [][]uint32{{0, 1, 2}, {1, 2}, {2}, {2}}; !reflect.DeepEqual(got, want) {
		t.Errorf("one trace: %v, want %v", got, want)
	}
	two := []trace{{funcs: []uint32{0, 1, 2, 3, 4}}, {funcs: []uint32{4, 2}}}
	want := [][]uint32{{0, 1, 2, 3}, {1, 2, 3}, {2, 3, 5}, {2, 3}, {3, 4, 5}}
	if got := utilitiesOf(two, 5, false); !reflect.DeepEqual(got, want) {
		t.Errorf("two traces: %v, want %v", got, want)
	}
	want = [][]uint32{{1}, {1}, {5}, {}, {5}}
	if got := utilitiesOf(two, 5, true); !reflect.DeepEqual(got, want) {
		t.Errorf("two traces without outliers: %v, want %v", got, want)
	}
}

func TestSizeCuts(t *testing.T) {
	t.Parallel()
	in := &Input{Funcs: []Func{{Size: 10}, {Size: 1}, {Size: 1}, {Size: 30}, {Size: 1}, {Size: 1}}}
	// By position the cuts are at 1, 2 and 4. At 4 the size before has also
	// more than doubled, from 10 at the first cut.
	got := sizeCuts(in, []uint32{0, 1, 2, 3, 4, 5})
	if want := []int{0, 1, 2, 2, 3, 3}; !reflect.DeepEqual(got, want) {
		t.Errorf("cuts %v, want %v", got, want)
	}
}

// TestBisectJoins checks that nodes that share utilities become neighbours, wherever they are
// at the start.
func TestBisectJoins(t *testing.T) {
	t.Parallel()
	const sets, members = 8, 16
	utils := make([][]uint32, sets*members)
	ids := make([]uint32, len(utils))
	for i := range ids {
		ids[i] = uint32(i)
		utils[i] = []uint32{uint32(i % sets)}
	}
	order := bisected(ids, utils, sets)
	changes := 0
	for i := 1; i < len(order); i++ {
		if order[i]%sets != order[i-1]%sets {
			changes++
		}
	}
	if changes > sets+2 {
		t.Errorf("%d changes of set along the order, want about %d", changes, sets-1)
	}
}

func TestRepetitions(t *testing.T) {
	t.Parallel()
	in := &Input{Funcs: make([]Func, 3), Traces: []prof.Trace{{Funcs: []uint32{1, 1, 2, 1}}, {Weight: 4, Funcs: []uint32{2, 0}}}}
	r, err := Compute(in, First, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []uint32{2, 0, 1}; !reflect.DeepEqual(r.Order, want) || r.Startup != 3 {
		t.Errorf("%+v, want order %v", r, want)
	}
}
