package account

import (
	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// minRoom is how many nodes a thread may have, however little memory there is.
const minRoom = 1 << 10

// rooms divides memory among threads by how much the log has of them, so that what comes
// out does not depend on who is first. It returns how many nodes each may have, 0 for any.
func rooms(threads []calllog.Thread, memory int64) []int {
	list := make([]int, len(threads))
	if memory <= 0 {
		return list
	}
	all := float64(0)
	for _, t := range threads {
		all += float64(t.Bytes)
	}
	for i, t := range threads {
		share := 1 / float64(len(threads))
		if all > 0 {
			share = float64(t.Bytes) / all
		}
		list[i] = max(minRoom, int(share*float64(memory/calltrie.NodeBytes)))
	}
	return list
}

// fold makes room in the trie. What is on the stack stays, and nothing else where calls
// are given one by one and no sums.
func (r *replayer) fold() {
	keep := r.room / 2
	if r.emit != nil {
		keep = 0
	}
	stay := make([]calltrie.NodeID, len(r.stack))
	for i := range r.stack {
		stay[i] = r.stack[i].node
	}
	where, lost := r.trie.Fold(keep, stay)
	for i := range r.stack {
		f := &r.stack[i]
		f.node = where[f.node]
		f.at = calltrie.First(f.node)
	}
	r.at = calltrie.First(r.base)
	for i := range r.slow.calls {
		c := &r.slow.calls[i]
		c.Node = where[c.Node]
	}
	if r.emit == nil {
		r.stats.Folded += lost.Calls
		r.stats.FoldedSelf += lost.Self
		r.stats.MostFolded += lost.MostTime
		r.stats.MostFoldedCalls += lost.MostCalls
	}
	// A deep stack must not have this done for each call.
	r.room = max(r.room, 2*r.trie.Len())
}
