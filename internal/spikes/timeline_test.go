package spikes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/spikes"
)

// timelineOf draws calls that are written as a(b()c()): a letter with brackets, and digits for
// microseconds.
func timelineOf(t testing.TB, text string, end uint64) *spikes.Timeline {
	t.Helper()
	var events []calllog.Event
	var stack []calllog.FuncID
	now := uint64(1000)
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
			now += uint64(c-'0') * 1000
		case c == ')':
			events = append(events, calllog.Event{Time: now, Func: stack[len(stack)-1], Kind: calllog.Exit})
			stack = stack[:len(stack)-1]
		case c != '(':
			events = append(events, calllog.Event{Time: now, Func: calllog.FuncID(c), Kind: calllog.Enter})
			stack = append(stack, calllog.FuncID(c))
		}
	}
	log := &calllog.Memory{List: []calllog.Thread{{TID: 1}}, Content: [][]calllog.Part{{{Events: events}}}}
	line, err := spikes.NewTimeline(log, 0, end, func(id calllog.FuncID) string { return string(rune(id)) })
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		calls string
		want  []string // depth, function, from..to in microseconds, calls
	}{
		{"a(b()c())5", nil}, // all within one step of the clock
		{"a(b(3)c(2))", []string{"0 a -5..0 1", "1 b -5..-2 1", "1 c -2..0 1"}},
		{"a(b(1)b()b()b(1)b(1))", []string{"0 a -3..0 1", "1 b -3..0 3"}},        // of one function, in a row
		{"a(b(1)1b(1))", []string{"0 a -3..0 1", "1 b -3..-2 1", "1 b -1..0 1"}}, // not in a row
		{"a(b(1)c(1)b(1))", []string{"0 a -3..0 1", "1 b -3..-2 1", "1 c -2..-1 1", "1 b -1..0 1"}},
		{"a(1)b(2c(1d(", []string{"0 a -4..-3 1", "0 b -3..0 1", "1 c -1..0 1"}}, // that go on at the end
	} {
		length := strings.Map(func(c rune) rune {
			if c >= '0' && c <= '9' {
				return c
			}
			return -1
		}, test.calls)
		end := uint64(1000)
		for _, c := range length {
			end += uint64(c-'0') * 1000
		}
		line := timelineOf(t, test.calls, end)
		var got []string
		for _, b := range line.Bars {
			got = append(got, fmt.Sprintf("%d %s %d..%d %d", b.Depth, line.Names[b.Name], b.From/1000, b.To/1000, b.Calls))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.calls, got, test.want)
		}
		if want := uint64(strings.Count(test.calls, "(")); line.Calls != want {
			t.Errorf("%s: %d calls, want %d", test.calls, line.Calls, want)
		}
	}
	// Of too many the shorter ones are left out; what is very deep is not drawn.
	many := timelineOf(t, strings.Repeat("a(1)b(2)", 3000), 0)
	long := 0
	for _, b := range many.Bars {
		if many.Names[b.Name] == "b" {
			long++
		}
	}
	if len(many.Bars) != 4000 || many.Left != 2000 || long != 3000 {
		t.Errorf("%d bars, %d long ones, %d left", len(many.Bars), long, many.Left)
	}
	if deep := timelineOf(t, strings.Repeat("a(", 1000)+"1"+strings.Repeat(")", 1000), 0); len(deep.Bars) != 200 {
		t.Errorf("%d bars", len(deep.Bars))
	}
}
