package account

import (
	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// minRoom is the minimum number of nodes that a thread may have.
const minRoom = 1 << 10

// rooms divides memory among threads by their sizes in the log, so that the result does not depend on
// scheduling. It returns the maximum number of nodes of each, 0 for any.
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

// fold makes room in the trie. It keeps the stack, and nothing else if only single calls are needed.
func (r *replayer) fold() {
	keep := r.room / 2
	if r.emit != nil {
		keep = 0
	}
	stay := make([]calltrie.NodeID, len(r.stack.Frames))
	for i := range r.stack.Frames {
		stay[i] = r.stack.Frames[i].Data.node
	}
	if r.stacks != nil {
		stay = append(stay, r.base)
	}
	r.eachStack(func(c *coroutine) {
		stay = append(stay, c.base)
		for i := range c.stack.Frames {
			stay = append(stay, c.stack.Frames[i].Data.node)
		}
	})
	where, lost := r.trie.Fold(keep, stay)
	moved := func(stack []frame) {
		for i := range stack {
			f := &stack[i].Data
			f.node = where[f.node]
			f.at = calltrie.First(f.node)
		}
	}
	moved(r.stack.Frames)
	r.eachStack(func(c *coroutine) {
		moved(c.stack.Frames)
		c.base = where[c.base]
		c.at = calltrie.First(c.base)
	})
	if r.stacks != nil {
		r.base = where[r.base]
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
	// With a deep stack this must not happen at each call.
	r.room = max(r.room, 2*r.trie.Len())
}
