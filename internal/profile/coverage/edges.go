package coverage

// Code that was compiled without optimisation may have blocks for edges behind a conditional jump: nop, a probe, and for
// the edge of the jump one to where that led; the jump leads behind it then (internal/instrument/probe/edges.go). So does
// one that would not reach over the probes of AArch64 (aarch64reach.go there): behind it, in its block, is a jump to where
// it led. The flow graph is that of the code without them.

// edgeBlocks are the blocks of the map that edges between pieces have.
type edgeBlocks map[[2]int]int

// edgeRuns returns the number of runs that went from one piece directly to another, and whether that is known: the edge
// has a block.
func (fl *flow) edgeRuns(from, to int) (runs uint64, known bool) {
	block, known := fl.edges[[2]int{from, to}]
	if !known {
		return 0, false
	}
	return blockRuns(fl.counts, block), true
}

// wayRuns is edgeRuns, also for the only way from a piece.
func (fl *flow) wayRuns(from, to int) (runs uint64, known bool) {
	if len(fl.pieces[from].succs) == 1 {
		return blockRuns(fl.counts, fl.pieces[from].block), true
	}
	return fl.edgeRuns(from, to)
}

// withoutEdges removes the pieces that are blocks of edges, and records which block an edge has.
func (fl *flow) withoutEdges(d *decoder) {
	target := make([]int, len(fl.pieces)) // where a piece of an edge leads, else itself
	is, counts := make([]bool, len(fl.pieces)), make([]bool, len(fl.pieces))
	index, n, first := make([]int, len(fl.pieces)), 0, 0
	for i := range fl.pieces {
		target[i] = i
		to, ok := fl.edge(d, i, first)
		first += len(fl.pieces[i].insts)
		if counts[i] = ok; !ok {
			to, ok = fl.farther(i)
		}
		if ok {
			is[i], target[i] = true, to
		} else {
			index[i] = n
			n++
		}
	}
	if n == len(fl.pieces) {
		return
	}
	fl.edges = edgeBlocks{}
	for i := range fl.pieces {
		if is[i] {
			continue
		}
		p := &fl.pieces[i]
		for k, s := range p.succs {
			if s == computed {
				continue
			}
			p.succs[k] = index[target[s]]
			if counts[s] {
				fl.edges[[2]int{index[i], p.succs[k]}] = fl.pieces[s].block
			}
		}
		if !p.decides {
			continue
		}
		over := i+1 < len(fl.pieces) && is[i+1] && fl.pieces[i+1].insts[len(fl.pieces[i+1].insts)-1].jump
		for k, s := range p.ways {
			if s != nowhere {
				p.ways[k] = index[target[s]]
			}
		}
		if over { // the jump is the opposite of the compiler's
			p.ways[0], p.ways[1] = p.ways[1], p.ways[0]
			p.succs[0], p.succs[1] = p.succs[1], p.succs[0]
		}
	}
	kept := fl.pieces[:0]
	for i := range fl.pieces {
		if !is[i] {
			kept = append(kept, fl.pieces[i])
		}
	}
	fl.pieces = kept
}

// edge reports whether piece i is the block of an edge, and returns the piece to which that leads: it has nop, a probe,
// and perhaps a jump. All other blocks have their probe at the beginning, and something else behind it.
func (fl *flow) edge(d *decoder, i, first int) (to int, ok bool) {
	p := &fl.pieces[i]
	if i == 0 || fl.pieces[i-1].block == p.block || len(p.succs) != 1 || p.succs[0] == computed || len(p.insts) < 2 || !p.insts[0].padding {
		return 0, false
	}
	rest := p.insts[1:]
	if last := len(rest) - 1; rest[last].jump {
		if !fl.pieces[i-1].decides {
			return 0, false // the jump is the compiler's: its line is known by this block
		}
		rest = rest[:last]
	}
	probe := false
	for k := range rest {
		if rest[k].kind != none || rest[k].padding {
			return 0, false
		}
		probe = probe || d.raw[first+1+k].Refers
	}
	return p.succs[0], probe
}

// farther reports whether piece i is the jump of a conditional one that would not reach its target, and returns the piece
// to which that leads.
func (fl *flow) farther(i int) (to int, ok bool) {
	p := &fl.pieces[i]
	if i == 0 || len(p.insts) != 1 || !p.insts[0].jump || len(p.succs) != 1 || p.succs[0] == computed {
		return 0, false
	}
	before := &fl.pieces[i-1]
	return p.succs[0], before.block == p.block && before.decides && before.ways == [2]int{i + 1, i}
}
