package account

import (
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// TestStarters: the calls of a goroutine are below the functions that started it, which have its
// time in addition to their own.
func TestStarters(t *testing.T) {
	t.Parallel()
	const a, b, c = 1, 2, 3
	event := func(at uint64, kind calllog.Kind, fn calllog.FuncID) calllog.Event {
		return calllog.Event{Time: at, Kind: kind, Func: fn}
	}
	part := func(events ...calllog.Event) []calllog.Part { return []calllog.Part{{Events: events, Break: true}} }
	log := memory(
		part(event(0, calllog.Enter, a), event(2, calllog.Enter, b), event(3, calllog.Exit, b), event(5, calllog.Exit, a)),
		part(event(3, calllog.Enter, c), event(4, calllog.Enter, a), event(9, calllog.Exit, a), event(10, calllog.Exit, c)),
	)
	log.List[1].Starters = []calllog.FuncID{a, b}
	res, err := Run(t.Context(), log, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := calltrie.New()
	for _, row := range []struct {
		stack              []calllog.FuncID
		calls, total, self uint64
	}{
		{[]calllog.FuncID{a}, 1, 5 + 7, 4},
		{[]calllog.FuncID{a, b}, 1, 1 + 7, 1},
		{[]calllog.FuncID{a, b, c}, 1, 7, 2},
		{[]calllog.FuncID{a, b, c, a}, 1, 5, 5},
	} {
		at := calltrie.Root
		for _, fn := range row.stack {
			at = want.Child(at, fn)
		}
		s := &want.Node(at).Stats
		s.Calls, s.Total, s.Self = row.calls, row.total, row.self
	}
	if got := show(res.Merged()); got != show(want) {
		t.Errorf("got\n%s\nwant\n%s", got, show(want))
	}
}
