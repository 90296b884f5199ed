package account

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// script makes a thread of words: "+a" enters a, "-a" leaves it, "~a" leaves it
// by a tail exit, "(a" enters it with the argument 7, "!" is a custom event, "?"
// a typed one, "^a" arrives in a, "|" begins a part, "||" one before which events may be missing.
// Each event is 10 ticks after the one before; "@5" sets the time of the next.
func script(text string) []calllog.Part {
	kinds := map[byte]calllog.Kind{
		'+': calllog.Enter, '-': calllog.Exit, '~': calllog.TailExit, '^': calllog.Arrive, '(': calllog.EnterArgs, '!': calllog.Custom, '?': calllog.Typed,
	}
	parts := []calllog.Part{{}}
	now := uint64(100)
	for _, word := range strings.Fields(text) {
		p := &parts[len(parts)-1]
		switch {
		case word == "|" || word == "||":
			parts = append(parts, calllog.Part{Break: word == "||"})
		case word[0] == '@':
			fmt.Sscan(word[1:], &now)
		default:
			e := calllog.Event{Time: now, Kind: kinds[word[0]], CPU: 3}
			if len(word) > 1 {
				e.Func = calllog.FuncID(word[1])
			}
			if e.Kind == calllog.EnterArgs {
				p.Payloads = append(p.Payloads, calllog.Payload{Args: []uint64{7}})
				e.Payload = uint32(len(p.Payloads))
			}
			p.Events = append(p.Events, e)
			now += 10
		}
	}
	return parts
}

func memory(threads ...[]calllog.Part) *calllog.Memory {
	m := &calllog.Memory{}
	for i, parts := range threads {
		m.List = append(m.List, calllog.Thread{PID: 1, TID: uint32(i + 1)})
		m.Content = append(m.Content, parts)
	}
	return m
}

// show writes a trie as "a 1 total self; a/b ...", with the marks of calls.
func show(t *calltrie.Trie) string {
	var rows []string
	for id, n := range t.Nodes() {
		var path []string
		for _, f := range t.Stack(id) {
			if f == calltrie.Other {
				path = append(path, "other")
				continue
			}
			path = append(path, string(rune(f)))
		}
		row := fmt.Sprintf("%s %d %d %d", strings.Join(path, "/"), n.Calls, n.Total, n.Self)
		if n.Deduced > 0 {
			row += fmt.Sprintf(" deduced %d", n.Deduced)
		}
		if n.Open > 0 {
			row += fmt.Sprintf(" open %d", n.Open)
		}
		if n.Inferred > 0 {
			row += fmt.Sprintf(" inferred %d", n.Inferred)
		}
		rows = append(rows, row)
	}
	return strings.Join(rows, "; ")
}

// brief formats the statistics that the rules count and that are not zero.
func brief(s Stats) string {
	var list []string
	for _, x := range []struct {
		name string
		n    uint64
	}{
		{"orphans", s.Orphans},
		{"deduced", s.Deduced},
		{"open", s.Open},
		{"gaps", s.Gaps},
		{"clamped", s.Clamped},
		{"backwards", s.Backwards},
		{"deep", s.TooDeep},
		{"enteronly", s.EnterOnly},
	} {
		if x.n > 0 {
			list = append(list, fmt.Sprintf("%s %d", x.name, x.n))
		}
	}
	return strings.Join(list, " ")
}

func TestRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, log string
		opt       Options
		trie      string
		stats     string
	}{
		{
			name: "pairs", log: "+a +b -b +b -b +c -c -a",
			trie: "a 1 70 40; a/b 2 20 20; a/c 1 10 10",
		},
		{
			name: "recursion", log: "+a +a +a -a -a -a",
			trie: "a 1 50 20; a/a 1 30 20; a/a/a 1 10 10",
		},
		{
			name: "tail exit: the next is a sibling", log: "+m +a ~a +b -b -m",
			trie: "m 1 50 30; m/a 1 10 10; m/b 1 10 10",
		},
		{
			name: "deeper match, as after longjmp", log: "+m +a +b +c -c @200 -m",
			trie: "m 1 100 70; m/a 1 30 10 deduced 1; m/a/b 1 20 10 deduced 1; m/a/b/c 1 10 10", stats: "deduced 2",
		},
		{
			name: "the same, at the latest", log: "+m +a +b +c -c @200 -m", opt: Options{UpperBound: true},
			trie: "m 1 100 10; m/a 1 90 10 deduced 1; m/a/b 1 80 70 deduced 1; m/a/b/c 1 10 10", stats: "deduced 2",
		},
		{
			name: "the innermost match counts", log: "+a +a +b -a -a",
			trie: "a 1 40 20; a/a 1 20 20; a/a/b 1 0 0 deduced 1", stats: "deduced 1",
		},
		{
			name: "orphan", log: "-x +a -x +b -x -b -a -x",
			trie: "a 1 50 30; a/b 1 20 20", stats: "orphans 4",
		},
		{
			name: "a child process returns from what its parent called", log: "+a -a -b -main",
			trie: "a 1 10 10", stats: "orphans 2",
		},
		{
			name: "a block that continues the stack", log: "+m +a || +b -b -a -x -m",
			trie: "m 1 60 30; m/a 1 30 20; m/a/b 1 10 10", stats: "orphans 1",
		},
		{
			name: "a block after a gap", log: "+m +a || +b -b -x +c -c",
			trie: "m 1 30 10 deduced 1; m/a 1 20 10 deduced 1; m/a/b 1 10 10; c 1 10 10", stats: "orphans 1 deduced 2 gaps 1",
		},
		{
			name: "a gap, at the latest", log: "+m +a || +b -b -x +c -c", opt: Options{UpperBound: true},
			trie: "m 1 40 10 deduced 1; m/a 1 30 20 deduced 1; m/a/b 1 10 10; c 1 10 10", stats: "orphans 1 deduced 2 gaps 1",
		},
		{
			name: "a block whose first exit is of a deeper frame", log: "+m +a || -m -x",
			trie: "m 1 20 20; m/a 1 0 0 deduced 1", stats: "orphans 1 deduced 1",
		},
		{
			name: "an orphan while calls since the border are open tells nothing", log: "+m || +b -x -b -x +c -c",
			trie: "m 1 30 10 deduced 1; m/b 1 20 20; c 1 10 10", stats: "orphans 2 deduced 1 gaps 1",
		},
		{
			name: "a block in which control arrives in a call that was open: it continues the stack", log: "+m +a || ^a -x -a -m",
			trie: "m 1 50 20; m/a 1 30 30", stats: "orphans 1",
		},
		{
			name: "no block, no gap", log: "+m +a | +b -b -x -a -m",
			trie: "m 1 60 20; m/a 1 40 30; m/a/b 1 10 10", stats: "orphans 1",
		},
		{
			name: "open at the end", log: "+m +a +b -b +c !",
			trie: "m 1 50 10 open 1; m/a 1 40 20 open 1; m/a/b 1 10 10; m/a/c 1 10 10 open 1", stats: "open 3",
		},
		{
			name: "open calls dropped", log: "+m +a +b -b +c !", opt: Options{DropOpen: true},
			trie: "m 0 0 0; m/a 0 0 0; m/a/b 1 10 10; m/a/c 0 0 0", stats: "open 3",
		},
		{
			name: "the clock goes back", log: "+m +a @50 -a @200 -m",
			trie: "m 1 100 100; m/a 1 0 0", stats: "clamped 1 backwards 1",
		},
		{
			name: "callees longer than the caller", log: "+m +a @500 -a @200 -m",
			trie: "m 1 100 0; m/a 1 390 390", stats: "clamped 1 backwards 1",
		},
		{
			name: "enters alone", log: "+m +a +b +a +b",
			trie: "m 1 0 0 deduced 1; a 2 0 0 deduced 2; b 2 0 0 deduced 2", stats: "deduced 5 enteronly 1",
		},
		{
			name: "each entered once: a stack that is open", log: "+m +a",
			trie: "m 1 10 10 open 1; m/a 1 0 0 open 1", stats: "open 2",
		},
		{
			name: "too deep", log: "+a +b +c +d -d -c -b -a", opt: Options{depth: 2},
			trie: "a 1 70 20; a/b 1 50 50", stats: "deep 2",
		},
		{
			name: "too many nodes", log: "+a +b +c -c +d -d -b +b -b -a", opt: Options{MaxNodes: 3},
			trie: "a 1 90 30; a/b 2 60 40; other 2 20 20",
		},
		{
			name: "below other there is only other", log: "+a +b +c +b -b -c -b -a", opt: Options{MaxNodes: 2},
			trie: "a 1 70 20; other 3 50 50",
		},
		{
			name: "events that are no calls", log: "+m ! ? -m",
			trie: "m 1 30 30",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			res, err := Run(t.Context(), memory(script(c.log)), c.opt)
			if err != nil {
				t.Fatal(err)
			}
			if got := show(res.Threads[0].Trie); got != c.trie {
				t.Errorf("trie of %s\n got %s\nwant %s", c.log, got, c.trie)
			}
			if got := brief(res.Threads[0].Stats); got != c.stats {
				t.Errorf("stats of %s\n got %s\nwant %s", c.log, got, c.stats)
			}
		})
	}
}

// TestOrphansBelowMany checks that the search for orphans takes no longer in a deep stack than
// in a flat one.
func TestOrphansBelowMany(t *testing.T) {
	t.Parallel()
	const orphans = 300_000
	took := func(deep int) (best time.Duration) {
		parts := orphansBelow(deep, orphans)
		for _, opt := range []Options{{Workers: 1}, {Workers: 2, chunk: 100_000}, {Workers: 1}} {
			begin := time.Now()
			res, err := Run(t.Context(), memory(parts), opt)
			if err != nil {
				t.Fatal(err)
			}
			if d := time.Since(begin); best == 0 || d < best {
				best = d
			}
			if got, want := brief(res.Total()), fmt.Sprintf("orphans %d deduced %d open %d", orphans, (deep-1)%7, deep-1-(deep-1)%7); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		return best
	}
	// To look at nine thousand million frames takes hundreds of times as long.
	flat, deep := took(10), took(30_000)
	if deep > 100*flat {
		t.Errorf("%v below 30,000 calls, %v below 10", deep, flat)
	}
}

// orphansBelow has calls that stay open, and orphaned exits below them.
func orphansBelow(deep, orphans int) (parts []calllog.Part) {
	add := func(k calllog.Kind, f calllog.FuncID) {
		if n := len(parts); n == 0 || len(parts[n-1].Events) == 1000 {
			parts = append(parts, calllog.Part{})
		}
		p := &parts[len(parts)-1]
		p.Events = append(p.Events, calllog.Event{Time: uint64(len(parts)), Kind: k, Func: f})
	}
	for i := range deep {
		add(calllog.Enter, calllog.FuncID(1+i%7))
	}
	for i := range orphans {
		add(calllog.Enter, 9)
		add(calllog.Exit, calllog.FuncID(10+i%3))
		add(calllog.Exit, 9)
	}
	add(calllog.Exit, 1)
	return parts
}
