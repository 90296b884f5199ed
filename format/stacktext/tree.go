package stacktext

import "github.com/cairnprof/cairn/sample"

// node is a row of a printed call tree.
type node struct {
	frame    sample.NamedFrame
	value    uint64 // with callees
	own      uint64 // without
	hasOwn   bool   // own is printed
	children uint64 // sum of their values
}

// callTree converts the rows of a call tree, which come in preorder, to stacks.
type callTree struct {
	sink

	in      *lines
	unit    string
	moments bool   // values are numbers of moments
	command string // of the current stack
	path    []node // from the outermost to the last row
	frames  []sample.NamedFrame
}

// add adds a row at a depth, 0 for the outermost. A row that is deeper than the one after the last is its child.
func (t *callTree) add(depth int, n node) {
	depth = min(depth, len(t.path))
	t.cut(depth)
	if depth >= maxFrames {
		t.error(t.in.damage(deepStack))
		return
	}
	if depth > 0 {
		t.path[depth-1].children += n.value
	}
	t.path = append(t.path, n)
}

// cut passes on what the rows at a depth and below spent themselves, and forgets them.
func (t *callTree) cut(depth int) {
	for k := len(t.path) - 1; k >= depth; k-- {
		n := &t.path[k]
		own := n.own
		if !n.hasOwn && n.value > n.children {
			own = n.value - n.children
		}
		if own > 0 {
			t.frames = t.frames[:0]
			for i := range k + 1 {
				t.frames = append(t.frames, t.path[i].frame)
			}
			s := sample.NamedStack{
				Frames: t.frames, Command: t.command, PID: sample.UnknownPID, TID: sample.UnknownPID, Value: own, Unit: t.unit,
			}
			if t.moments {
				s.Moments = own
			}
			t.stack(&s)
		}
		t.path = t.path[:k]
	}
}
