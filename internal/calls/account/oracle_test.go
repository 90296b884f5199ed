package account

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/calllog"
)

// naive replays a thread by the rules of the package documentation, without optimisations, and
// lists its calls as they end.
type naive struct {
	opt     Options
	stack   []*naiveCall
	border  int // height where the block began, -1 when settled
	last    uint64
	entered int
	calls   []string
	gaps    int
	orphans int
}

type naiveCall struct {
	fn            calllog.FuncID
	id            int
	start, inside uint64
}

func (x *naive) close(end uint64, how End) {
	c := x.stack[len(x.stack)-1]
	total := end - min(c.start, end)
	self := total - min(c.inside, total)
	path, parent := "", 0
	for _, f := range x.stack {
		path += fmt.Sprint("/", f.fn)
	}
	x.stack = x.stack[:len(x.stack)-1]
	if n := len(x.stack); n > 0 {
		parent = x.stack[n-1].id
		x.stack[n-1].inside += total
	}
	x.calls = append(x.calls, fmt.Sprintf("%d in %d: %s from %d took %d self %d, %v", c.id, parent, path, c.start, total, self, how))
}

func (x *naive) closeTo(height int, now uint64) {
	for len(x.stack) > height {
		if x.opt.UpperBound {
			x.close(now, Deduced)
		} else {
			x.close(x.last, Deduced)
		}
	}
}

func (x *naive) exit(e calllog.Event) {
	at := -1
	for i, c := range x.stack {
		if c.fn == e.Func {
			at = i
		}
	}
	switch {
	case at >= 0:
		x.closeTo(at+1, e.Time)
		x.close(e.Time, map[calllog.Kind]End{calllog.Exit: Returned, calllog.TailExit: Tail}[e.Kind])
		if at < x.border {
			x.border = -1
		}
	default:
		x.orphans++
		if len(x.stack) == x.border {
			if x.border > 0 {
				x.gaps++
			}
			x.closeTo(0, e.Time)
			x.border = -1
		}
	}
}

func (x *naive) run(parts []calllog.Part) {
	x.border = -1
	exits, times := 0, map[calllog.FuncID]int{}
	twice := false
	for _, p := range parts {
		for _, e := range p.Events {
			if e.Kind.IsExit() {
				exits++
			}
			if e.Kind.IsEnter() {
				times[e.Func]++
				twice = twice || times[e.Func] > 1
			}
		}
	}
	for _, p := range parts {
		if p.Break {
			x.border = len(x.stack)
		}
		for _, e := range p.Events {
			switch {
			case e.Kind.IsEnter():
				x.entered++
				x.stack = append(x.stack, &naiveCall{fn: e.Func, id: x.entered, start: e.Time})
				if exits == 0 && twice {
					x.close(e.Time, Deduced)
				}
			case e.Kind.IsExit():
				x.exit(e)
			}
			x.last = e.Time
		}
	}
	for len(x.stack) > 0 && !x.opt.DropOpen {
		x.close(x.last, Open)
	}
}

// TestNaive compares the replayer with naive.
func TestNaive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		parts := drawParts(rt)
		opt := Options{DropOpen: rapid.Bool().Draw(rt, "drop"), UpperBound: rapid.Bool().Draw(rt, "upper"), looked: rapid.IntRange(0, 3).Draw(rt, "looked")}
		want := naive{opt: opt}
		want.run(parts)
		replay := NewReplay(memory(parts), 0, opt)
		var got []string
		for c, err := range replay.All(t.Context()) {
			if err != nil {
				rt.Fatal(err)
			}
			path := ""
			for _, f := range replay.Trie().Stack(c.Node) {
				path += fmt.Sprint("/", f)
			}
			if c.Depth != strings.Count(path, "/") {
				rt.Fatalf("depth %d of %s", c.Depth, path)
			}
			got = append(got, fmt.Sprintf("%d in %d: %s from %d took %d self %d, %v", c.ID, c.Parent, path, c.Start, c.Duration, c.Self, c.End))
		}
		if !slices.Equal(got, want.calls) {
			rt.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want.calls, "\n"))
		}
		if s := replay.Thread().Stats; int(s.Gaps) != want.gaps || int(s.Orphans) != want.orphans {
			rt.Fatalf("%d gaps and %d orphans, want %d and %d", s.Gaps, s.Orphans, want.gaps, want.orphans)
		}
	})
}

// TestTicker checks that the conversion of times equals that of the clock, to the nanosecond.
func TestTicker(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		hz := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 10e9), rapid.Just(uint64(1e9))).Draw(rt, "hz")
		c := calllog.Clock{Hz: hz}
		tick := newTicker(c)
		for _, v := range rapid.SliceOfN(rapid.Uint64(), 1, 20).Draw(rt, "ticks") {
			if got, want := tick.time(v), c.Nanoseconds(v); got != want {
				rt.Fatalf("%d ticks of %d Hz are %d ns, want %d", v, hz, got, want)
			}
		}
	})
}

// faulty is a log with errors between its batches.
type faulty struct {
	*calllog.Memory
	err error
}

func (f *faulty) Batches(thread, from, to int) iter.Seq2[*calllog.Batch, error] {
	return func(yield func(*calllog.Batch, error) bool) {
		var d *calllog.Damage
		for b, err := range f.Memory.Batches(thread, from, to) {
			if !yield(nil, f.err) || !errors.As(f.err, &d) || !yield(b, err) {
				return
			}
		}
	}
}

func TestDamage(t *testing.T) {
	t.Parallel()
	damage := &calllog.Damage{File: "x", What: "torn"}
	log := &faulty{memory(script("+a | +b -b | -a"), script("+a | -a | +a -a")), damage}
	for _, workers := range []int{1, 3} {
		res, err := Run(t.Context(), log, Options{Workers: workers, chunk: 8})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Damage) != 6 || res.Damage[5] != damage {
			t.Errorf("damage %v, want six times that between batches", res.Damage)
		}
		total := res.Total()
		if got := total.Enters; got != 4 || brief(total) != "" {
			t.Errorf("%d enters, %s; want 4 and nothing wrong", got, brief(total))
		}
	}
	calls, damaged := 0, 0
	for c, err := range Calls(t.Context(), log, 0, Options{}) {
		if c != nil {
			calls++
		}
		if err != nil {
			damaged++
		}
	}
	if calls != 2 || damaged != 3 {
		t.Errorf("%d calls and %d times damage, want 2 and 3", calls, damaged)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	log := &faulty{memory(script("+a | -a"), script("+a -a")), broken}
	for _, workers := range []int{1, 3} {
		if _, err := Run(t.Context(), log, Options{Workers: workers, chunk: 8}); !errors.Is(err, broken) {
			t.Errorf("error %v, want %v", err, broken)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, log.Memory, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a canceled run", err)
	}
	var errs []error
	for _, err := range Calls(ctx, log.Memory, 0, Options{}) {
		errs = append(errs, err)
	}
	if len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
		t.Errorf("errors %v of canceled calls", errs)
	}
	for range Calls(t.Context(), log.Memory, 0, Options{}) {
		break // and no more
	}
}

// TestSlowest checks the stacks, the arguments and the callers of the slowest calls.
func TestSlowest(t *testing.T) {
	t.Parallel()
	log := memory(script("+m (a +b -b -a | (a -a -m"), script("+m (a -a"))
	for _, chunk := range []int64{8, 1 << 30} {
		res, err := Run(t.Context(), log, Options{Workers: 2, Slowest: 4, chunk: chunk})
		if err != nil {
			t.Fatal(err)
		}
		want := []Call{
			{ID: 1, Func: 'm', Node: 1, Depth: 1, Start: 100, Duration: 70, Self: 30, CPU: 3},
			{ID: 2, Parent: 1, Func: 'a', Node: 2, Depth: 2, Start: 110, Duration: 30, Self: 20, Args: []uint64{7}, CPU: 3},
			{Thread: 1, ID: 1, Func: 'm', Node: 1, Depth: 1, Start: 100, Duration: 20, Self: 10, End: Open, CPU: 3},
			{ID: 3, Parent: 2, Func: 'b', Node: 3, Depth: 3, Start: 120, Duration: 10, Self: 10, CPU: 3},
		}
		if got, want := fmt.Sprintf("%+v", res.Slowest), fmt.Sprintf("%+v", want); got != want {
			t.Errorf("slowest\n%s\nwant\n%s", got, want)
		}
		if s := res.Total(); s.Shortest != 10 || s.Leaves != 1 || s.MaxDepth != 3 {
			t.Errorf("stats %+v", s)
		}
		if got, want := show(res.Merged()), "m 2 90 40 open 1; m/a 3 50 40; m/a/b 1 10 10"; got != want {
			t.Errorf("merged %s, want %s", got, want)
		}
	}
}

// TestShortest checks the statistics of the calls that a filter would drop.
func TestShortest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		log              string
		shortest, leaves uint64
	}{
		{"+m +a @200 -a +b @300 -b -m", 90, 2},
		{"+m +a || -a +b @300 -b -m", 170, 1},    // the border parts a
		{"+m (a -a +b ~b +c @300 -c -m", 150, 1}, // a has arguments, b did not return
		{"+m +a +b -a @300 -m -x", 0, 0},
	} {
		for _, chunk := range []int64{8, 1 << 30} {
			res, err := Run(t.Context(), memory(script(c.log)), Options{Workers: 2, chunk: chunk})
			if err != nil {
				t.Fatal(err)
			}
			if s := res.Total(); s.Shortest != c.shortest || s.Leaves != c.leaves {
				t.Errorf("%s: %d is the shortest of %d, want %d of %d", c.log, s.Shortest, s.Leaves, c.shortest, c.leaves)
			}
		}
	}
}
