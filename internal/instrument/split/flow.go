package split

import (
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/prof"
)

// Flow is how often the blocks of a function ran, and how often control went from each to another, in the map's
// numbering.
type Flow struct {
	Times []uint64
	Edges []Edge
}

// Edge is how often control went from a block to another.
type Edge struct {
	From, To int
	Times    uint64
}

// withoutWays returns the flow of the blocks of f that are not those of edges: an edge with a block of its own ran as
// often as that block went on.
func (f *Flow) withoutWays(fn *asm.Function) *Flow {
	out := &Flow{}
	index, way := make([]int, 0, len(f.Times)), make([]bool, 0, len(f.Times))
	for _, fr := range fn.Frags {
		for k := range fr.Blocks {
			isWay := fr.Blocks[k].Way != nil // it is behind the block that it comes from
			if !isWay {
				out.Times = append(out.Times, f.Times[len(index)])
			}
			index, way = append(index, len(out.Times)-1), append(way, isWay)
		}
	}
	for _, e := range f.Edges {
		if !way[e.To] {
			out.Edges = append(out.Edges, Edge{index[e.From], index[e.To], e.Times})
		}
	}
	return out
}

// fits reports whether all blocks that f names exist.
func (f *Flow) fits(blocks int) bool {
	for _, e := range f.Edges {
		if e.From < 0 || e.To < 0 || e.From >= blocks || e.To >= blocks {
			return false
		}
	}
	return len(f.Times) == blocks
}

// Copies returns the functions of the module that Blocks takes for f, and that have the executions of their blocks.
func (c *ColdProfile) Copies(f FuncInfo) (funcs []*prof.Func, counts []*prof.Counts) {
	list, _ := c.find(f)
	for _, i := range list {
		fn := &c.m.Funcs[i]
		if fn.Signature == f.Signature && fn.NumBlocks() == f.Blocks && len(fn.Flow) == f.Blocks && len(c.m.Counts[i].Times) == f.Blocks-1 {
			funcs, counts = append(funcs, fn), append(counts, &c.m.Counts[i])
		}
	}
	return funcs, counts
}
