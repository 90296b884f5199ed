package account

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/calllog"
)

// code is what functions may do, in words: "b>c" is a jump by which b may end,
// "a.c" a call, "b>?" a jump to nobody knows where, "?.c" a call of c by unknown code.
type code map[string]bool

func words(text string) code {
	c := code{}
	for _, w := range strings.Fields(text) {
		c[w] = true
	}
	return c
}

func (c code) Jumps(from, to calllog.FuncID) bool {
	return c[string(rune(from))+">"+string(rune(to))]
}

func (c code) Closed(fn calllog.FuncID) bool { return !c[string(rune(fn))+">?"] }

func (c code) MayCall(caller, fn calllog.FuncID) bool {
	return c["?."+string(rune(fn))] || c[string(rune(caller))+"."+string(rune(fn))]
}

// TestTailCalls checks which calls are moved below a function that jumped to them, and which
// stay as recorded.
func TestTailCalls(t *testing.T) {
	t.Parallel()
	const asRecorded = "a 1 50 30; a/b 1 10 10; a/c 1 10 10 "
	for name, c := range map[string]struct {
		code, events, want string
		told               bool
	}{
		"all jumps lead to functions in the log": {
			told: true, code: "b>c a.c", events: "+a +b ~b +c -c -a",
			want: "a 1 50 30; a/b 1 20 10; a/b/c 1 10 10 inferred 1",
		},
		"a jump leads elsewhere": {
			told: true, code: "b>c b>? a.c", events: "+a +b ~b +c -c -a", want: asRecorded + "left 1",
		},
		"but the caller does not call it": {
			told: true, code: "b>c b>?", events: "+a +b ~b +c -c -a",
			want: "a 1 50 30; a/b 1 20 10; a/b/c 1 10 10 inferred 1",
		},
		"and unknown code may": {
			told: true, code: "b>c b>? ?.c", events: "+a +b ~b +c -c -a", want: asRecorded + "left 1",
		},
		"no jump leads there": {told: true, code: "b>d", events: "+a +b ~b +c -c -a", want: asRecorded},
		"a plain exit":        {told: true, code: "b>c", events: "+a +b -b +c -c -a", want: asRecorded},
		"plain exits that say nothing": {
			code: "b>c", events: "+a +b -b +c -c -a", want: "a 1 50 30; a/b 1 20 10; a/b/c 1 10 10 inferred 1",
		},
		"plain exits, and all jumps are known": {
			code: "b>c a.c", events: "+a +b -b +c -c -a", want: asRecorded + "left 1",
		},
		"something happens before": {
			told: true, code: "b>c", events: "+a +b ~b ! +c -c -a",
			want: "a 1 60 40; a/b 1 10 10; a/c 1 10 10",
		},
		"events may be missing before": {
			told: true, code: "b>c", events: "+a +b ~b || +c -c -a", want: asRecorded,
		},
		"a part of the log ends": {
			told: true, code: "b>c", events: "+a +b ~b | +c | -c | -a",
			want: "a 1 50 30; a/b 1 20 10; a/b/c 1 10 10 inferred 1",
		},
		"a chain": {
			told: true, code: "b>c c>d", events: "+a +b ~b +c +e -e ~c +d -d +e -e -a",
			want: "a 1 110 50; a/b 1 50 10; a/b/c 1 40 20 inferred 1; a/b/c/e 1 10 10; a/b/c/d 1 10 10 inferred 1; a/e 1 10 10",
		},
		"a circle": {
			told: true, code: "b>c c>b", events: "+a +b ~b +c ~c +b ~b +c -c -a",
			want: "a 1 90 50; a/b 2 40 20; a/b/c 2 20 20 inferred 2 left 1",
		},
		"without a caller": {
			told: true, code: "b>c", events: "+b ~b +c -c", want: "b 1 20 10; b/c 1 10 10 inferred 1",
		},
		"without a caller who is known not to call": {
			told: true, code: "b>c b>?", events: "+b ~b +c -c", want: "b 1 10 10; c 1 10 10 left 1",
		},
		"the caller of the chain is asked": {
			told: true, code: "b>c b>? c>d c>?", events: "+a +b ~b +c ~c +d -d -a",
			want: "a 1 70 40; a/b 1 30 10; a/b/c 1 20 10 inferred 1; a/b/c/d 1 10 10 inferred 1",
		},
		"an exit further down": {
			told: true, code: "b>c", events: "+a +b ~b +c +d -a",
			want: "a 1 50 30; a/b 1 20 10 deduced 1; a/b/c 1 10 10 deduced 1 inferred 1; a/b/c/d 1 0 0 deduced 1",
		},
		"the end": {
			told: true, code: "b>c", events: "+a +b ~b +c !",
			want: "a 1 40 20 open 1; a/b 1 20 10 open 1; a/b/c 1 10 10 open 1 inferred 1",
		},
		"an end that is held back": {told: true, code: "b>c", events: "+a +b ~b", want: "a 1 20 10 open 1; a/b 1 10 10"},
		"a second exit": {
			told: true, code: "b>c", events: "+a +b ~b +c -b -c -a",
			want: "a 1 60 30; a/b 1 30 10; a/b/c 1 20 20 inferred 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opt := Options{TailCalls: &TailCalls{Code: words(c.code), Told: c.told}}
			res, err := Run(t.Context(), memory(script(c.events)), opt)
			if err != nil {
				t.Fatal(err)
			}
			got := show(res.Threads[0].Trie)
			if res.Threads[0].Stats.TailsLeft > 0 {
				got += " left 1"
			}
			if strings.TrimSpace(c.want) != got {
				t.Errorf("%s\n got %s\nwant %s", c.events, got, c.want)
			}
			everyCut(t, c.events, opt, everything(res.Threads[0], nil))
		})
	}
}

// everyCut replays events that are divided at arbitrary places.
func everyCut(t *testing.T, events string, opt Options, want string) {
	log := memory(script(strings.Join(strings.Fields(events), " | ")))
	about := log.Threads()[0]
	for places := range 1 << (about.Parts - 1) {
		cuts := []int{0}
		for at := 1; at < about.Parts; at++ {
			if places>>(at-1)&1 != 0 {
				cuts = append(cuts, at)
			}
		}
		th := replayWith(t, log, append(cuts, about.Parts), opt).result(log.Threads()[0])
		th.Thread.Parts = 1
		if got := everything(th, nil); got != want {
			t.Fatalf("%s cut at %v:\n got %s\nwant %s", events, cuts, got, want)
		}
	}
}

// TestTailCallsMoveTime checks that moving tail calls below the functions that jumped to them
// changes neither the number of calls nor the self time of a function, and that the total of a
// stack is the sum of what is below it.
func TestTailCallsMoveTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(rt, "events")
		for i, b := range data {
			if b&15 > 10 { // what is not of a whole log
				data[i] = b & 0xf0
			}
		}
		log, tails := memory(decode(append(data, bytes.Repeat([]byte{7}, len(data))...))), drawTailCalls(rt)
		log.About.Clock.Hz = 1e9
		type sum struct{ calls, self uint64 }
		var sums [2]map[calllog.FuncID]sum
		for i, opt := range []Options{{}, {TailCalls: tails}} {
			res, err := Run(t.Context(), log, opt)
			if err != nil {
				rt.Fatal(err)
			}
			sums[i] = map[calllog.FuncID]sum{}
			trie := res.Threads[0].Trie
			below := make([]uint64, trie.Len())
			for id, n := range trie.Nodes() {
				s := sums[i][n.Func]
				sums[i][n.Func] = sum{s.calls + n.Calls, s.self + n.Self}
				below[id] += n.Self
				for p := n.Parent; p != 0; p = trie.Node(p).Parent {
					below[p] += n.Self
				}
			}
			for id, n := range trie.Nodes() {
				if below[id] != n.Total {
					rt.Fatalf("%v takes %d, and what is below it %d", trie.Stack(id), n.Total, below[id])
				}
			}
		}
		if !maps.Equal(sums[0], sums[1]) {
			rt.Fatalf("%v as recorded, %v with tail calls", sums[0], sums[1])
		}
	})
}

// drawTailCalls draws the tail calls that the functions of decode may make.
func drawTailCalls(t *rapid.T) *TailCalls {
	if !rapid.Bool().Draw(t, "tail calls") {
		return nil
	}
	c := code{}
	for from := rune(1); from <= 5; from++ {
		for to := rune(1); to <= 5; to++ {
			c[string(from)+">"+string(to)] = rapid.IntRange(0, 2).Draw(t, "jump") == 0
			c[string(from)+"."+string(to)] = rapid.Bool().Draw(t, "call")
		}
		c[string(from)+">?"] = rapid.IntRange(0, 2).Draw(t, "open") == 0
		c["?."+string(from)] = rapid.IntRange(0, 4).Draw(t, "strays") == 0
	}
	return &TailCalls{Code: c, Told: rapid.Bool().Draw(t, "told")}
}

// TestUnfiltered checks that one short call among many does not show that the log is
// unfiltered.
func TestUnfiltered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		events string
		hz     uint64
		want   bool
	}{
		"short calls":                   {"+a +b -b -a", 1e9, true},
		"a call of a microsecond":       {"+a @2000 -a", 1e9, false},
		"ticks of unknown length":       {"+a +b -b -a", 0, false},
		"one with arguments":            {"+a (b -b @5000 -a", 1e9, false},
		"one that calls":                {"+a +b @5000 -b -a", 1e9, false},
		"one that a block parts":        {"+a || -a", 1e9, false},
		"few of them":                   {"+a -a" + strings.Repeat(" !", 600), 1e9, false},
		"the end of one, the next's":    {"+a @3000 -a +b @9000 -b", 1e9, false},
		"a clock that is slow to count": {"+a -a", 1e6, false},
		"nothing":                       {"", 1e9, false},
	} {
		log := memory(script(c.events))
		log.About.Clock.Hz = c.hz
		if got, err := Unfiltered(t.Context(), log); got != c.want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
