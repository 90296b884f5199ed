package account

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/calllog"
)

// wholeCall is a call of the whole log, with the data by which it is selected.
type wholeCall struct {
	Call
	inside int
}

// TestSelect checks that a selection has the matching calls of the whole log, cut to the
// selected time.
func TestSelect(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		parts := drawParts(rt)
		opt := Options{UpperBound: rapid.Bool().Draw(rt, "upper")}
		want := calllog.Selection{Depth: rapid.IntRange(0, 3).Draw(rt, "depth")}
		if rapid.Bool().Draw(rt, "steady") {
			last := steady(parts)
			want.Longer = rapid.Uint64Range(0, 6).Draw(rt, "longer")
			if rapid.Bool().Draw(rt, "window") {
				want.From = rapid.Uint64Range(0, last+2).Draw(rt, "from")
				want.To = rapid.Uint64Range(want.From, last+3).Draw(rt, "to")
			}
		}
		if want.To == 0 {
			opt.DropOpen = rapid.Bool().Draw(rt, "drop")
		}
		if rapid.Bool().Draw(rt, "within some") {
			fn := calllog.FuncID(rapid.IntRange(1, 4).Draw(rt, "within"))
			want.Within = func(id calllog.FuncID) bool { return id == fn }
		}
		want.UpperBound, want.DropOpen = opt.UpperBound, opt.DropOpen
		log := memory(parts)
		selected := calllog.Select(log, want)
		got := callTexts(rt, t, selected, opt)
		expected := selectedTexts(rt, t, log, want, opt)
		slices.Sort(got)
		slices.Sort(expected)
		if !slices.Equal(got, expected) {
			rt.Fatalf("%+v\ngot\n%s\nwant\n%s", want, strings.Join(got, "\n"), strings.Join(expected, "\n"))
		}
		if want.Within == nil && want.To == 0 && customs(selected) != customs(log) {
			rt.Fatalf("%d custom events of %d", customs(selected), customs(log))
		}
	})
}

// steady makes the times of a log monotonic, and returns the last one.
func steady(parts []calllog.Part) (last uint64) {
	for i := range parts {
		for k := range parts[i].Events {
			e := &parts[i].Events[k]
			last = max(last, e.Time)
			e.Time = last
		}
	}
	return last
}

func customs(log calllog.Log) (n int) {
	for it := range calllog.ByTime(log) {
		if it.Kind == calllog.Custom || it.Kind == calllog.Typed {
			n++
		}
	}
	return n
}

func callText(c *Call, depth int, from, to uint64) string {
	start, end := max(c.Start, from), min(c.Start+c.Duration, to)
	return fmt.Sprintf("%d at depth %d from %d to %d args %v", c.Func, depth, start, end, c.Args)
}

func callTexts(rt *rapid.T, t *testing.T, log calllog.Log, opt Options) (texts []string) {
	for c, err := range Calls(t.Context(), log, 0, opt) {
		if err != nil {
			rt.Fatal(err)
		}
		texts = append(texts, callText(c, c.Depth, 0, math.MaxUint64))
	}
	return texts
}

// selectedTexts returns the texts of the calls of the whole log that are selected.
func selectedTexts(rt *rapid.T, t *testing.T, log calllog.Log, want calllog.Selection, opt Options) (texts []string) {
	all := make(map[uint64]*wholeCall)
	// Calls that are left out may have others below them, so take in all.
	for c, err := range Calls(t.Context(), log, 0, Options{UpperBound: opt.UpperBound}) {
		if err != nil {
			rt.Fatal(err)
		}
		x := &wholeCall{Call: *c}
		x.Args = slices.Clone(c.Args)
		all[c.ID] = x
	}
	from, to := want.From, want.To
	if to == 0 {
		to = math.MaxUint64
	}
	ids := make([]uint64, 0, len(all))
	for id := range all {
		ids = append(ids, id)
	}
	slices.Sort(ids) // callers come first
	for _, id := range ids {
		c := all[id]
		if p := all[c.Parent]; p != nil && p.inside > 0 {
			c.inside = p.inside + 1
		} else if want.Within == nil || want.Within(c.Func) {
			c.inside = 1
		}
		end := c.Start + c.Duration
		switch {
		case c.inside == 0, want.Depth > 0 && c.inside > want.Depth, c.Duration < want.Longer:
		case c.Start >= to, end <= from && c.Start < from:
		case opt.DropOpen && c.End == Open:
		default:
			texts = append(texts, callText(&c.Call, c.inside, from, to))
		}
	}
	return texts
}

// TestSelectStacks checks that a selection of everything follows the stacks of a thread as the accounting does:
// it has all calls that return, where and when they do.
func TestSelectStacks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		parts := append(script("+z -z"), drawStacks(rt)...) // a thread with exits
		steady(parts)
		before := calllog.Exit
		for i := range parts {
			// A stack that begins otherwise than by a call is below none, and the selection does not say so, nor
			// where events may be missing.
			parts[i].Break = parts[i].Break && before != calllog.Suspend
			parts[i].Events = slices.DeleteFunc(parts[i].Events, func(e calllog.Event) bool {
				odd := before == calllog.Suspend && !e.Kind.IsEnter() && e.Kind < calllog.Suspend
				if !odd {
					before = e.Kind
				}
				return odd
			})
			for k := range parts[i].Events {
				if e := &parts[i].Events[k]; i > 0 && e.Kind == calllog.Exit && rapid.IntRange(0, 9).Draw(rt, "arrival") == 0 {
					e.Kind = calllog.Arrive
				}
			}
		}
		opt := Options{UpperBound: rapid.Bool().Draw(rt, "upper")}
		log := memory(parts)
		got := make(map[string]int)
		for _, text := range callTexts(rt, t, calllog.Select(log, calllog.Selection{UpperBound: opt.UpperBound}), opt) {
			got[text]++
		}
		for c, err := range Calls(t.Context(), log, 0, opt) {
			if err != nil {
				rt.Fatal(err)
			}
			if text := callText(c, c.Depth, 0, math.MaxUint64); c.End == Returned {
				if got[text]--; got[text] < 0 {
					rt.Fatalf("%s is not in the selection", text)
				}
			}
		}
	})
}
