package flamegraph

import (
	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// Below returns a trie of the calls of the functions that match, with everything below them: such a function is
// outermost there, whichever function called it. A match below another one stays where it is. All numbers are
// unchanged; callers are left out, as their numbers would be wrong for a part of their calls.
func Below(t *calltrie.Trie, match func(calllog.FuncID) bool) *calltrie.Trie {
	out := calltrie.New()
	where := make([]calltrie.NodeID, t.Len()) // Root: not below one that matches
	for id, n := range t.Nodes() {
		at := where[n.Parent]
		if at == calltrie.Root && !match(n.Func) {
			continue
		}
		where[id] = out.Child(at, n.Func)
		out.Node(where[id]).Merge(&n.Stats)
	}
	return out
}
