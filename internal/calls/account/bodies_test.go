package account

import (
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// TestFunctionsOf: ids of one function are one row. A call of one body by another is a part of it.
func TestFunctionsOf(t *testing.T) {
	t.Parallel()
	const main, whole, base, other, begun, ended = 1, 2, 3, 4, 5, 6
	trie := calltrie.New()
	add := func(total, self uint64, stack ...calllog.FuncID) {
		id := calltrie.Root
		for _, fn := range stack {
			id = trie.Child(id, fn)
		}
		trie.Node(id).Add(total, self)
	}
	add(100, 10, main)
	add(50, 5, main, whole)
	add(45, 30, main, whole, base)
	add(15, 15, main, whole, base, other)
	add(40, 40, main, base)
	add(20, 20, main, begun, ended) // the log began inside of the other body, whose call does not count
	got := FunctionsOf(trie, func(fn calllog.FuncID) calllog.FuncID {
		switch fn {
		case base:
			return whole
		case ended:
			return begun
		}
		return fn
	})
	want := map[calllog.FuncID][3]uint64{main: {1, 100, 10}, whole: {2, 90, 75}, other: {1, 15, 15}, begun: {1, 20, 20}}
	for _, f := range got {
		if c := [3]uint64{f.Calls, f.Total, f.Self}; c != want[f.Func] {
			t.Errorf("function %d: calls, total and self %v, want %v", f.Func, c, want[f.Func])
		}
		delete(want, f.Func)
	}
	if len(want) > 0 {
		t.Errorf("no rows for %v", want)
	}
}
