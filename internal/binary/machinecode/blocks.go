package machinecode

import "github.com/cairnprof/cairn/internal/binary/controlflow"

// Block is a basic block of a range of code.
type Block struct {
	First, Last Ref
	Next        []int // indexes of the blocks that may run after it
	// Entered reports that control may enter the block from elsewhere, and Left that it may
	// leave to elsewhere after it.
	Entered, Left bool
}

// Blocks returns the basic blocks of a range of a binary, ascending. The targets of jumps to
// computed addresses are not known: control leaves to elsewhere after them, and blocks without
// a known predecessor are entered from elsewhere.
func (s *Set) Blocks(b *Binary, r *Range) []Block {
	s.whole("Blocks")
	leaders, entries, inside := s.leaders(b, r, nil)
	if len(leaders) == 0 {
		return nil
	}
	f := &Flow{leaders: leaders, end: b.From(r.Hi)}
	next := s.successors(f, inside, nil)
	out := make([]Block, len(leaders))
	led := make([]bool, len(leaders))
	for i := range out {
		x := &out[i]
		*x = Block{First: leaders[i], Last: f.last(i), Next: next[i], Entered: entries[leaders[i]]}
		for _, to := range x.Next {
			led[to] = true
		}
		switch s.Class(x.Last) {
		case controlflow.Return, controlflow.IndirectJump:
			x.Left = true
		case controlflow.Jump, controlflow.Conditional:
			_, ok := inside(x.Last)
			x.Left = !ok
		}
		x.Left = x.Left || len(x.Next) == 0
	}
	for i := range out {
		out[i].Entered = out[i].Entered || !led[i]
	}
	return out
}
