package account

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/quantile"
)

// A madeCall is a call of a generated run.
type madeCall struct {
	stack           []calllog.FuncID // from the outermost to the function itself
	total, self     uint64
	deduced, isOpen bool
}

// makeCalls draws calls that nest like those of one thread. There are few functions, so many
// calls are recursive.
func makeCalls(t *rapid.T) []madeCall {
	var calls []madeCall
	left := rapid.IntRange(1, 300).Draw(t, "calls")
	var run func(stack []calllog.FuncID) uint64
	run = func(stack []calllog.FuncID) uint64 {
		left--
		stack = append(slices.Clone(stack), calllog.FuncID(rapid.IntRange(1, 6).Draw(t, "func")))
		self := rapid.OneOf(rapid.Uint64Range(0, 50), rapid.Uint64Range(0, 1<<40)).Draw(t, "self")
		total := self
		for left > 0 && len(stack) < 12 && rapid.IntRange(0, 2).Draw(t, "more") > 0 {
			total += run(stack)
		}
		calls = append(calls, madeCall{stack, total, self, rapid.Bool().Draw(t, "deduced"), rapid.Bool().Draw(t, "open")})
		return total
	}
	for left > 0 {
		run(nil)
	}
	return calls
}

// trieOf adds the calls to tries of two threads, and merges the tries.
func trieOf(calls []madeCall) *calltrie.Trie {
	merged := calltrie.New()
	for half := range 2 {
		t := calltrie.New()
		for i, c := range calls {
			if i%2 != half {
				continue
			}
			id := calltrie.Root
			for _, fn := range c.stack {
				id = t.Child(id, fn)
			}
			n := t.Node(id)
			n.Add(c.total, c.self)
			if c.deduced {
				n.Deduced++
			}
			if c.isOpen {
				n.Open++
			}
		}
		merged.Merge(calltrie.Root, t, nil)
	}
	return merged
}

// tally is the expected cost of a group of calls.
type tally struct {
	durations                        []uint64
	total, raw, self, deduced, opens uint64
}

func (y *tally) add(c *madeCall, outermost bool) {
	y.durations = append(y.durations, c.total)
	y.raw += c.total
	y.self += c.self
	if outermost {
		y.total += c.total
	}
	if c.deduced {
		y.deduced++
	}
	if c.isOpen {
		y.opens++
	}
}

// check compares costs with those computed from the calls.
func (y *tally) check(got *Costs) error {
	slices.Sort(y.durations)
	n := len(y.durations)
	if want := (Costs{
		Calls: uint64(n), Total: y.total, TotalRaw: y.raw, Self: y.self, Min: y.durations[0], Max: y.durations[n-1],
		Median: got.Median, P90: got.P90, P99: got.P99, Spread: true, Deduced: y.deduced, Open: y.opens,
	}); *got != want {
		return fmt.Errorf("got %+v, want %+v", *got, want)
	}
	for _, p := range []struct{ got, want uint64 }{
		{got.Median, y.durations[n/2]}, {got.P90, y.durations[n*9/10]}, {got.P99, y.durations[n*99/100]},
	} {
		// In a bucket the value may be anywhere: half of its 32nd part away
		// from the middle.
		off := max(p.got, p.want) - min(p.got, p.want)
		if n <= quantile.Exact && off != 0 || float64(off) > 0.016*float64(p.want) {
			return fmt.Errorf("percentile %d of %d calls, want %d", p.got, n, p.want)
		}
	}
	return nil
}

func TestFunctions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		calls := makeCalls(t)
		want := map[calllog.FuncID]*tally{}
		for i := range calls {
			c := &calls[i]
			last := len(c.stack) - 1
			fn := c.stack[last]
			if want[fn] == nil {
				want[fn] = &tally{}
			}
			want[fn].add(c, !slices.Contains(c.stack[:last], fn))
		}
		got := Functions(trieOf(calls))
		if !slices.IsSortedFunc(got, func(a, b Function) int { return int(a.Func) - int(b.Func) }) {
			t.Fatal("not in order")
		}
		if len(got) != len(want) {
			t.Fatalf("%d functions, want %d", len(got), len(want))
		}
		for i := range got {
			if err := want[got[i].Func].check(&got[i].Costs); err != nil {
				t.Fatalf("function %d: %v", got[i].Func, err)
			}
		}
	})
}

func TestEdges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		calls := makeCalls(t)
		type pair [2]calllog.FuncID
		edge := func(stack []calllog.FuncID, i int) pair {
			if i == 0 {
				return pair{Outside, stack[0]}
			}
			return pair{stack[i-1], stack[i]}
		}
		want := map[pair]*tally{}
		for i := range calls {
			c := &calls[i]
			last := len(c.stack) - 1
			e := edge(c.stack, last)
			outermost := true
			for k := range last {
				outermost = outermost && edge(c.stack, k) != e
			}
			if want[e] == nil {
				want[e] = &tally{}
			}
			want[e].add(c, outermost)
		}
		got := Edges(trieOf(calls))
		if len(got) != len(want) {
			t.Fatalf("%d edges, want %d", len(got), len(want))
		}
		for i := range got {
			e := &got[i]
			if err := want[pair{e.Caller, e.Callee}].check(&e.Costs); err != nil {
				t.Fatalf("edge %d -> %d: %v", e.Caller, e.Callee, err)
			}
		}
	})
}

// TestFunctionsWithoutCalls checks that a function that is only a caller has no calls of its
// own.
func TestFunctionsWithoutCalls(t *testing.T) {
	t.Parallel()
	trie := calltrie.New()
	trie.Node(trie.Child(trie.Child(calltrie.Root, 1), 2)).Add(5, 5)
	got := Functions(trie)
	want := []Function{{Func: 1}, {2, Costs{Calls: 1, Total: 5, TotalRaw: 5, Self: 5, Min: 5, Median: 5, P90: 5, P99: 5, Max: 5, Spread: true}}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := Functions(calltrie.New()); len(got) != 0 {
		t.Errorf("an empty trie has functions %v", got)
	}
}

// TestDeepChain checks that the deepest chain that a log can contain does not take time
// quadratic in its depth.
func TestDeepChain(t *testing.T) {
	t.Parallel()
	trie, id := calltrie.New(), calltrie.Root
	const depth = 1 << 20
	for range depth {
		id = trie.Child(id, 1)
		trie.Node(id).Add(1, 1)
	}
	got := Functions(trie)
	if len(got) != 1 || got[0].Calls != depth || got[0].Total != 1 || got[0].TotalRaw != depth {
		t.Errorf("got %+v", got)
	}
}
