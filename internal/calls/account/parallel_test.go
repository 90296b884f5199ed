package account

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// decode makes a thread from bytes: mostly calls that nest, and between them the errors that
// real logs have.
func decode(data []byte) []calllog.Part {
	parts := []calllog.Part{{}}
	now := uint64(1000)
	var open []calllog.FuncID
	for _, b := range data {
		p := &parts[len(parts)-1]
		op, arg := b&15, b>>4
		fn := calllog.FuncID(arg%5 + 1)
		now += uint64(arg) * 3
		e := calllog.Event{Time: now, CPU: uint16(arg), Kind: calllog.Enter, Func: fn}
		switch {
		case op < 5:
			open = append(open, fn)
		case op < 6:
			e.Kind = calllog.EnterArgs
			p.Payloads = append(p.Payloads, calllog.Payload{Args: []uint64{now, uint64(arg)}[:arg%3]})
			e.Payload = uint32(len(p.Payloads))
			open = append(open, fn)
		case op < 11 && len(open) > 0:
			e.Kind, e.Func = calllog.Exit, open[len(open)-1]
			if op == 10 {
				e.Kind = calllog.TailExit
			}
			open = open[:len(open)-1]
		case op < 12: // exit of anything
			e.Kind = calllog.Exit
		case op == 12: // calls end without an exit
			open = open[:max(0, len(open)-int(arg%4))]
			continue
		case op == 13: // the clock goes back
			now -= uint64(arg) * 20
			continue
		case op == 14:
			parts = append(parts, calllog.Part{Break: arg&1 != 0})
			if arg&6 == 6 { // lost events
				open = append(open[:len(open)/2], fn)
			}
			continue
		default:
			e.Kind, e.Func = calllog.Custom+calllog.Kind(arg&1), 0
			if arg&2 != 0 {
				e.Kind, e.Func = calllog.Suspend+calllog.Kind(arg&1), calllog.FuncID(arg>>2)
			}
		}
		p.Events = append(p.Events, e)
	}
	return parts
}

// replayWith replays a thread in chunks that begin at the given parts. The stack at the
// beginning of a chunk is not known.
func replayWith(tb testing.TB, log calllog.Log, cuts []int, opt Options) *replayer {
	tb.Helper()
	ctx := tb.Context()
	r := newReplayer(log, 0, opt)
	for i := range len(cuts) - 1 {
		c := replaySegment(ctx, stretch{log, 0, cuts[i], cuts[i+1]}, opt)
		if c.err != nil {
			tb.Fatal(c.err)
		}
		if err := r.apply(ctx, log, c); err != nil {
			tb.Fatal(err)
		}
	}
	r, err := r.conclude(ctx, log)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// everything prints the contents of a thread, node by node.
func everything(th Thread, slow []Call) string {
	var w strings.Builder
	fmt.Fprintf(&w, "%+v first %d last %d busy %d\n", th.Stats, th.First, th.Last, th.Busy)
	for id, n := range th.Trie.Nodes() {
		l := &n.Latency
		fmt.Fprintf(&w, "%d: %d below %d: %d calls %d %d, %d to %d, %d deduced, %d open, %d inferred, %v\n", id, n.Func, n.Parent,
			n.Calls, n.Total, n.Self, n.Min, n.Max, n.Deduced, n.Open, n.Inferred, l.Buckets())
	}
	for _, c := range slow {
		fmt.Fprintf(&w, "%+v\n", c)
	}
	return w.String()
}

func drawOptions(t *rapid.T) Options {
	return Options{
		TailCalls:  drawTailCalls(t),
		DropOpen:   rapid.Bool().Draw(t, "drop"),
		UpperBound: rapid.Bool().Draw(t, "upper"),
		Slowest:    rapid.IntRange(0, 6).Draw(t, "slowest"),
		MaxNodes:   rapid.SampledFrom([]int{0, 1, 2, 9}).Draw(t, "nodes"),
		depth:      rapid.SampledFrom([]int{0, 0, 3, 6}).Draw(t, "depth"),
		pieces:     rapid.SampledFrom([]int{0, 0, 1, 3, 20, 40}).Draw(t, "pieces"),
		nodes:      rapid.SampledFrom([]int{0, 0, 4, 10}).Draw(t, "chunk nodes"),
		looked:     rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(t, "looked"),
	}
}

// drawParts draws events on one stack.
func drawParts(t *rapid.T) []calllog.Part {
	parts := drawStacks(t)
	for i := range parts {
		parts[i].Events = slices.DeleteFunc(parts[i].Events, func(e calllog.Event) bool { return e.Kind >= calllog.Suspend })
	}
	return parts
}

// drawStacks draws events of a thread that may change between stacks.
func drawStacks(t *rapid.T) []calllog.Part {
	one := rapid.Byte()
	if rapid.Bool().Draw(t, "mostly tail exits and new parts") {
		one = rapid.Custom(func(t *rapid.T) byte {
			op := rapid.SampledFrom([]byte{0, 0, 0, 0, 10, 10, 10, 8, 11, 12, 14, 14, 14, 15}).Draw(t, "op")
			return op | rapid.ByteRange(0, 4).Draw(t, "arg")<<4
		})
	}
	return decode(rapid.SliceOfN(one, 0, 300).Draw(t, "events"))
}

// TestChunks checks that the result does not depend on where a thread is divided.
func TestChunks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		log, opt := memory(drawStacks(rt)), drawOptions(rt)
		log.About.Clock.Hz = rapid.SampledFrom([]uint64{0, 1e9, 3e8}).Draw(rt, "hz")
		about := log.Threads()[0]
		whole := newReplayer(log, 0, opt)
		if err := whole.run(t.Context(), wholeThread(log, 0)); err != nil {
			rt.Fatal(err)
		}
		whole, err := whole.conclude(t.Context(), log)
		if err != nil {
			rt.Fatal(err)
		}
		cuts := []int{0}
		for at := 1; at < about.Parts; at++ {
			if rapid.Bool().Draw(rt, "cut") {
				cuts = append(cuts, at)
			}
		}
		pieced := replayWith(t, log, append(cuts, about.Parts), opt)
		want := everything(whole.result(about), whole.slow.sorted())
		if got := everything(pieced.result(about), pieced.slow.sorted()); got != want {
			rt.Fatalf("cut at %v:\n%s\nwhole:\n%s", cuts, got, want)
		}
		if err := sums(&whole.stats, whole.trie, whole.busy, opt); err != nil {
			rt.Fatal(err)
		}
	})
}

// sums checks the invariants of a trie.
func sums(s *Stats, trie *calltrie.Trie, busy uint64, opt Options) error {
	var calls, self, deduced, open uint64
	for _, n := range trie.Nodes() {
		calls, self, deduced, open = calls+n.Calls, self+n.Self, deduced+n.Deduced, open+n.Open
		l := &n.Latency
		if l.Count() != n.Calls {
			return fmt.Errorf("%d calls, %d durations", n.Calls, l.Count())
		}
	}
	want := s.Enters - s.TooDeep
	if opt.DropOpen {
		want, open = want-s.Open, s.Open
	}
	switch {
	case calls != want || deduced != s.Deduced || open != s.Open:
		return fmt.Errorf("%d calls, %d deduced, %d open in the trie of %+v", calls, deduced, open, *s)
	case s.Clamped == 0 && !(opt.DropOpen && s.Open > 0) && self != busy:
		return fmt.Errorf("%d is the sum of self times, %d the busy time, of %+v", self, busy, *s)
	}
	return nil
}

// TestWorkers checks that the result does not depend on the number of workers.
func TestWorkers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var threads [][]calllog.Part
		for range rapid.IntRange(0, 4).Draw(rt, "threads") {
			threads = append(threads, drawStacks(rt))
		}
		log, opt := memory(threads...), drawOptions(rt)
		var results []string
		for _, workers := range []int{1, 3} {
			opt.Workers = workers
			var bytes int64
			opt.Progress = func(n int64) { bytes = n }
			opt.chunk = map[int]int64{1: 1 << 40, 3: int64(rapid.IntRange(1, 500).Draw(rt, "chunk"))}[workers]
			res, err := Run(t.Context(), log, opt)
			if err != nil {
				rt.Fatal(err)
			}
			var w strings.Builder
			var size int64
			for _, th := range res.Threads {
				size += th.Bytes
				w.WriteString(everything(th, nil))
			}
			if bytes != size {
				rt.Fatalf("progress to %d of %d bytes", bytes, size)
			}
			fmt.Fprintf(&w, "%+v", res.Slowest)
			results = append(results, w.String())
		}
		if results[0] != results[1] {
			rt.Fatalf("one worker:\n%s\nthree:\n%s", results[0], results[1])
		}
	})
}

// TestCalls checks that the single calls add up to the trie, and that the longest of them are
// the slowest calls.
func TestCalls(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		log, opt := memory(drawStacks(rt)), drawOptions(rt)
		res, err := Run(t.Context(), log, opt)
		if err != nil {
			rt.Fatal(err)
		}
		replay := NewReplay(log, 0, opt)
		again := make([]calltrie.Stats, res.Threads[0].Trie.Len())
		var all []Call
		for c, err := range replay.All(t.Context()) {
			if err != nil {
				rt.Fatal(err)
			}
			n := &again[c.Node]
			n.Add(c.Duration, c.Self)
			if res.Threads[0].Trie.OfOthers(c.Node) {
				n.Total -= c.Duration - c.Self
			}
			all = append(all, *c)
			all[len(all)-1].Args = slices.Clone(c.Args)
		}
		for id, n := range res.Threads[0].Trie.Nodes() {
			g := &again[id]
			if g.Calls != n.Calls || g.Total != n.Total || g.Self != n.Self {
				rt.Fatalf("node %d: %+v in calls, %+v in the trie", id, g, n.Stats)
			}
		}
		if got, want := everything(replay.Thread(), nil), everything(res.Threads[0], nil); got != want {
			rt.Fatalf("replay:\n%s\nrun:\n%s", got, want)
		}
		slices.SortFunc(all, func(a, b Call) int { return slower(&a, &b) })
		all = all[:min(len(all), opt.Slowest)]
		if got, want := fmt.Sprintf("%+v", res.Slowest), fmt.Sprintf("%+v", all); got != want {
			rt.Fatalf("slowest %s, want %s", got, want)
		}
	})
}

func FuzzRun(f *testing.F) {
	f.Add([]byte{0x10, 0x20, 0x30, 0x36, 0x46, 0x1e, 0x1b, 0x40, 0x46, 0x46})
	f.Add([]byte{0x05, 0x15, 0x7e, 0xa6, 0x0c, 0x3b, 0xfd, 0x06})
	f.Fuzz(func(t *testing.T, data []byte) {
		log := memory(decode(data))
		opt := Options{Slowest: 3, MaxNodes: 50, depth: 40}
		about := log.Threads()[0]
		cuts := make([]int, about.Parts+1)
		for i := range cuts {
			cuts[i] = i
		}
		whole := replayWith(t, log, []int{0, about.Parts}, opt)
		direct, err := Run(t.Context(), log, opt)
		if err != nil {
			t.Fatal(err)
		}
		pieced := replayWith(t, log, cuts, opt)
		want := everything(direct.Threads[0], direct.Slowest)
		for _, r := range []*replayer{whole, pieced} {
			if got := everything(r.result(about), r.slow.sorted()); got != want {
				t.Fatalf("in chunks:\n%s\nat once:\n%s", got, want)
			}
		}
		if err := sums(&whole.stats, whole.trie, whole.busy, opt); err != nil {
			t.Fatal(err)
		}
	})
}
