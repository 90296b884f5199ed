package export

import (
	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// LeftOut replaces the frames in the middle of a stack that exceeds MaxFrames. No log has a
// function with this number.
const LeftOut = ^calllog.FuncID(0)

// LeftOutName is how to show LeftOut.
const LeftOutName = "[frames omitted]"

// MaxFrames is how many frames of a stack are written out at most. A list of
// stacks grows with the square of their depth: the 65536 stacks of a recursion
// that deep would be two thousand million frames.
const MaxFrames = 512

// EachStack calls do with every node of a trie that has calls or self time and the functions
// on its stack, outermost first, until it returns an error. If a stack has more than most
// frames, those in the middle are replaced by LeftOut. The stack's memory is reused. Nodes
// come in the order of the trie, in which callers are before callees.
func EachStack(t *calltrie.Trie, most int, do func(stack []calllog.FuncID, n *calltrie.Node) error) error {
	room := make([]calllog.FuncID, most)
	outermost := uint32(most / 4)
	depth := make([]uint32, t.Len())
	outer := make([]calltrie.NodeID, t.Len()) // the last of the outermost frames
	for id, n := range t.Nodes() {
		depth[id], outer[id] = depth[n.Parent]+1, id
		if depth[id] > outermost {
			outer[id] = outer[n.Parent]
		}
		if n.Calls == 0 && n.Self == 0 {
			continue
		}
		stack := room[:min(depth[id], uint32(most))]
		if depth[id] <= uint32(most) {
			fill(stack, t, id)
		} else {
			fill(stack[:outermost], t, outer[id])
			stack[outermost] = LeftOut
			fill(stack[outermost+1:], t, id)
		}
		if err := do(stack, n); err != nil {
			return err
		}
	}
	return nil
}

// fill fills stack with the innermost frames down to that of node id.
func fill(stack []calllog.FuncID, t *calltrie.Trie, id calltrie.NodeID) {
	for i := len(stack) - 1; i >= 0; i-- {
		n := t.Node(id)
		stack[i], id = n.Func, n.Parent
	}
}
