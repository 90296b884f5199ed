package probe

import (
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/arm"
)

// armPlaces returns the places of the probes of the blocks of fn.
func (r *Rewriter) armPlaces(fn *asm.Function, implied [][]int) *armBlocks {
	live := arm.Live(r.Unit, fn).In
	b := &armBlocks{places: make([]armPlace, len(implied))}
	first := 0
	for _, f := range fn.Frags {
		for i := range f.Blocks {
			p := &b.places[first+i]
			p.thumb, p.free = arm.Of(f).Thumb, arm.Tracked&^live[asm.Nodes+first+i]
			if _, live := p.register(); live {
				p.unwind = f.Unwind && asm.CFAOnStack(r.Unit.Src[f.Label:max(f.Label, f.Blocks[i].Probe)], "13", "sp")
			}
		}
		first += len(f.Blocks)
	}
	return b
}
