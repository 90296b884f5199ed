package machinecode

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/domtree"
)

// Flow records which instructions of a range must have run before others.
type Flow struct {
	leaders []Ref // first instructions of basic blocks, ascending
	end     Ref   // after the last block
	// before is the immediate dominator of each block. For blocks that are entered from
	// outside it is a virtual block after the last, which is its own dominator.
	before []int
}

// Flow returns the control flow of a range of a binary. cases has the observed targets of
// jumps to computed addresses. For a split part of a function it is nil, because its entries
// are not known.
func (s *Set) Flow(b *Binary, r *Range, cases map[Ref][]Ref) *Flow {
	s.whole("Flow")
	if !r.Start {
		return nil
	}
	leaders, entries, inside := s.leaders(b, r, cases)
	if len(leaders) == 0 {
		return nil
	}
	f := &Flow{leaders: leaders, end: b.From(r.Hi)}
	f.dominate(s.successors(f, inside, cases), entries)
	return f
}

// leaders returns the first instructions of the basic blocks of a range, ascending, those that
// are reached from elsewhere than the previous block, and a function that returns where a jump
// within the range goes.
func (s *Set) leaders(b *Binary, r *Range, cases map[Ref][]Ref) (leaders []Ref, entries map[Ref]bool, inside func(Ref) (Ref, bool)) {
	first, end := b.From(r.Lo), b.From(r.Hi)
	if first >= end {
		return nil, nil, nil
	}
	inside = func(at Ref) (Ref, bool) {
		addr, ok := s.Target(at)
		to := b.At(addr)
		return to, ok && to >= first && to < end
	}
	leaders = []Ref{first}
	entries = map[Ref]bool{first: true}
	for at := first; at < end; at++ {
		switch s.Class(at) {
		case controlflow.Jump, controlflow.Conditional:
			if to, ok := inside(at); ok {
				leaders = append(leaders, to)
			}
			leaders = append(leaders, at+1)
		case controlflow.Return:
			leaders = append(leaders, at+1)
		case controlflow.IndirectJump:
			leaders = append(append(leaders, at+1), within(cases[at], first, end)...)
		}
	}
	// The split part of a function may jump back.
	for i := range b.ranges {
		if o := &b.ranges[i]; o.Function == r.Function && o != r {
			for at := b.From(o.Lo); at < b.From(o.Hi); at++ {
				if to, ok := inside(at); ok {
					leaders = append(leaders, to)
					entries[to] = true
				}
			}
		}
	}
	slices.Sort(leaders)
	leaders = slices.Compact(leaders)
	if leaders[len(leaders)-1] == end {
		leaders = leaders[:len(leaders)-1]
	}
	return leaders, entries, inside
}

// successors returns the blocks that may run after each block.
func (s *Set) successors(f *Flow, inside func(Ref) (Ref, bool), cases map[Ref][]Ref) [][]int {
	out := make([][]int, len(f.leaders))
	for i := range f.leaders {
		last := f.last(i)
		class := s.Class(last)
		if class == controlflow.Jump || class == controlflow.Conditional {
			if to, ok := inside(last); ok {
				out[i] = append(out[i], f.block(to))
			}
		}
		for _, to := range within(cases[last], f.leaders[0], f.end) {
			out[i] = append(out[i], f.block(to))
		}
		if class != controlflow.Jump && class != controlflow.IndirectJump && class != controlflow.Return && i+1 < len(out) {
			out[i] = append(out[i], i+1)
		}
	}
	return out
}

// within returns the instructions in [first, end).
func within(refs []Ref, first, end Ref) (out []Ref) {
	for _, r := range refs {
		if r >= first && r < end {
			out = append(out, r)
		}
	}
	return out
}

// block returns the number of the block that contains an instruction.
func (f *Flow) block(at Ref) int {
	i, found := slices.BinarySearchFunc(f.leaders, at, cmp.Compare[Ref])
	if !found {
		i--
	}
	return i
}

// dominate computes immediate dominators. Blocks without predecessors are entered from
// outside, for example by exceptions.
func (f *Flow) dominate(successors [][]int, entries map[Ref]bool) {
	n := len(f.leaders)
	predecessors := make([][]int, n+1)
	for i, out := range successors {
		for _, to := range out {
			predecessors[to] = append(predecessors[to], i)
		}
	}
	successors = append(successors, nil)
	for i := range n {
		if len(predecessors[i]) == 0 || entries[f.leaders[i]] {
			predecessors[i] = append(predecessors[i], n)
			successors[n] = append(successors[n], i)
		}
	}
	f.before, _ = domtree.Of(n, successors, predecessors)
	for i := range f.before {
		if f.before[i] < 0 {
			f.before[i] = n // an unreachable cycle
		}
	}
}

// Before returns instructions that must have run before at, backwards: at itself, then the
// last and the first of each dominating basic block. For a nil Flow it returns only at.
func (f *Flow) Before(at Ref) []Ref {
	out := []Ref{at}
	if f == nil {
		return out
	}
	i := f.block(at)
	for out = append(out, f.leaders[i]); f.before[i] < len(f.leaders); {
		i = f.before[i]
		out = append(out, f.last(i), f.leaders[i])
	}
	return out
}

// last returns the last instruction of a block.
func (f *Flow) last(i int) Ref {
	if i+1 < len(f.leaders) {
		return f.leaders[i+1] - 1
	}
	return f.end - 1
}
