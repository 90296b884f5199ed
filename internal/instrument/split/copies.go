package split

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Problem: in any order a block is behind one of its predecessors alone, and the others jump to it. The handlers of an
// interpreter all jump back to the few instructions that read the next opcode, and all ways through a function to those
// that restore registers and return.
//
// Choice: where the executions of edges are known, a small block that control often jumps to is copied behind the block
// that jumps, with what follows it as long as that saves more: to the end of the function or to the jump through a table.
// The jump goes away, and each copy of a jump through a table is predicted by its own history. A copy has the lines of the
// text and the unwind state of the block, and no labels; the block itself stays, for those that jump to it still. A part of
// its executions is taken for those of the copy, and the pieces are ordered again with it.
//
// Cost: text, so that only what saves a share of all that the program executed is copied, and at most as much as is hot in the function.

const (
	maxCopied   = 96     // bytes behind a jump, on x86-64 an estimate
	maxPieces   = 1 << 9 // copies in a function
	copiedShare = 1 << 13
	copiedUnit  = 32 // bytes that must save that share
)

// copier is the state of copying pieces.
type copier struct {
	*splitPlan
	out   [][]int // by piece: those that control goes on to, by tables too
	next  []int   // by piece: the one that follows it in the order, or -1
	least float64 // executed jumps that copies of copiedUnit bytes must save
	left  int     // bytes that may be copied
}

// copyHot copies pieces to where control jumps to them, in the order, and reports whether there are any.
func (p *splitPlan) copyHot(executed uint64) bool {
	c := copier{splitPlan: p, out: make([][]int, len(p.pieces)), next: make([]int, len(p.pieces)), least: float64(executed) / copiedShare}
	for i, k := range p.order {
		c.next[k] = -1
		if i+1 < len(p.order) {
			c.next[k] = p.order[i+1]
		}
		c.left += p.roughSize(k)
	}
	edges := slices.Collect(maps.Keys(p.flow.edges))
	slices.SortFunc(edges, func(a, b [2]int) int {
		return cmp.Or(cmp.Compare(p.flow.edges[b], p.flow.edges[a]), cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	for _, e := range edges {
		c.out[e[0]] = append(c.out[e[0]], e[1])
	}
	before := slices.Clone(p.pieces)
	for _, e := range edges {
		if float64(p.flow.edges[e]) < c.least || len(p.pieces) > len(before)+maxPieces {
			break
		}
		if chain := c.worth(e[0], e[1]); chain != nil {
			c.copy(e[0], chain)
		}
	}
	if len(p.pieces) == len(before) {
		return false
	}
	p.uncopied = before
	first := p.order[0]
	p.order = p.order[:0:0]
	for k := first; k >= 0; k = c.next[k] {
		p.order = append(p.order, k)
	}
	return true
}

// worth returns the pieces from piece to on that are worth a copy behind piece k, or nil.
func (c *copier) worth(k, to int) (chain []int) {
	times := c.flow.edges[[2]int{k, to}]
	saved := c.leaves(k, to, float64(times))
	if saved <= 0 || times >= c.flow.times[to] {
		return nil
	}
	var all []int
	reach, most, size := float64(times), 0.0, 0
	for x := to; ; {
		if size += c.roughSize(x); size > min(maxCopied, c.left) || x == k || slices.Contains(all, x) || !c.copyable(x) {
			break
		}
		all = append(all, x)
		jumps, goesOn := c.jumps(x)
		ways := c.ways(x)
		if s := saved + reach*(jumps-goesOn); s > most && s*copiedUnit >= c.least*float64(max(size, copiedUnit)) {
			chain, most = slices.Clone(all), s
		}
		if len(ways) == 0 || c.flow.times[x] == 0 {
			break
		}
		x2, share := c.likely(x, ways)
		saved += reach * (jumps - (1 - share))
		reach *= share
		x = x2
	}
	return chain
}

// leaves returns how many jumps a copy of piece to behind piece k saves of those that leave k.
func (c *copier) leaves(k, to int, times float64) float64 {
	pc := &c.pieces[k]
	switch {
	case c.next[k] == to || pc.cold || c.pieces[to].cold || pc.target == to && pc.behind == to:
		return 0
	case pc.flow == asm.FlowJump && pc.target == to:
		if s := c.text.statement(pc.last); pc.last+1 != pc.end || string(s.Word) != dialects[c.unit.Kind].jump {
			return 0
		}
		return times
	case pc.flow == asm.FlowNext && pc.behind == to && !c.endsInCall(k):
		return times
	case pc.flow == asm.FlowBranch && (pc.target == to || pc.behind == to):
		other := pc.target + pc.behind - to
		if c.next[k] == other {
			times -= float64(c.flow.edges[[2]int{k, other}])
		}
		return times
	}
	return 0
}

// endsInCall reports whether nothing need follow piece k: a call that does not return.
func (c *copier) endsInCall(k int) bool {
	if c.pieces[k].last < 0 {
		return false
	}
	kind, target := c.classify(c.text.statement(c.pieces[k].last))
	return kind == asm.FlowCall && c.neverReturns(c.unit.Machine.Callee(target))
}

// jumps returns how many jumps an execution of a piece costs: in its place, and in a copy.
func (c *copier) jumps(k int) (here, copied float64) {
	ways := c.ways(k)
	if len(ways) == 0 {
		return 0, 0
	}
	for _, to := range ways {
		if to == c.next[k] {
			_, share := c.likely(k, []int{to})
			return 1 - share, 1
		}
	}
	return 1, 1
}

// likely returns the way that control goes most often from a piece, and its share.
func (c *copier) likely(k int, ways []int) (to int, share float64) {
	sum := uint64(0)
	for _, way := range c.ways(k) {
		sum += c.flow.edges[[2]int{k, way}]
	}
	to = ways[0]
	for _, way := range ways[1:] {
		if c.flow.edges[[2]int{k, way}] > c.flow.edges[[2]int{k, to}] {
			to = way
		}
	}
	return to, float64(c.flow.edges[[2]int{k, to}]) / float64(max(sum, 1))
}

// copyable reports whether a piece can be copied: it consists of instructions that mean the same in two places, has no part
// in the exception table, and is no target of indirect branches alone.
func (c *copier) copyable(k int) bool {
	pc := &c.pieces[k]
	if k == 0 || pc.copied || pc.cold || pc.lands || pc.insns == 0 || c.endsInCall(k) {
		return false
	}
	for i := pc.first; i < pc.end; i++ {
		if !c.own(i) {
			continue
		}
		l, s := &c.text.lines[i], c.text.statement(i)
		switch kind, _ := c.classify(s); {
		case l.app > 0, kind == asm.FlowLanding, kind == asm.FlowSign:
			return false
		case l.kind == asm.LineInsn && c.lsda != nil && c.lsda.entryAt(i) >= 0:
			return false
		case l.kind == asm.LineDirective && (asm.EmitsBytes(s.Word) || string(s.Word) == ".tlsdesccall"):
			return false
		}
	}
	return true
}

// copy copies a chain of pieces behind piece k.
func (c *copier) copy(k int, chain []int) {
	for _, x := range chain {
		n := len(c.pieces)
		pc := c.pieces[x]
		pc.label, pc.own, pc.copied = "", false, true
		c.left -= c.roughSize(x)
		c.pieces = append(c.pieces, pc)
		c.next = append(c.next, c.next[k])
		c.next[k] = n
		if from := &c.pieces[k]; from.target == x {
			from.target, from.led = n, true
		} else {
			from.behind = n
		}
		c.share(k, x, n)
		k = n
	}
}

// share gives the executions of piece x that come from piece k to its copy n.
func (c *copier) share(k, x, n int) {
	flow := c.flow
	times := flow.edges[[2]int{k, x}]
	delete(flow.edges, [2]int{k, x})
	flow.edges[[2]int{k, n}] = times
	c.out[k] = append(slices.DeleteFunc(c.out[k], func(to int) bool { return to == x }), n)
	part := min(1, float64(times)/float64(max(flow.times[x], 1)))
	flow.times = append(flow.times, times)
	flow.times[x] -= min(flow.times[x], times)
	c.out = append(c.out, slices.Clone(c.out[x]))
	for _, to := range c.out[x] {
		whole := flow.edges[[2]int{x, to}]
		moved := min(whole, uint64(float64(whole)*part))
		flow.edges[[2]int{n, to}], flow.edges[[2]int{x, to}] = moved, whole-moved
	}
}
