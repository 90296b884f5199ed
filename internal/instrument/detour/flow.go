package detour

import (
	"slices"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// flow is the control flow of a function, in enough detail to find loops.
type flow struct {
	function *function
	ends     []uint64 // addresses after branches, ascending
	edges    []edge   // ascending by from
	tables   []uint64 // where computed jumps may lead
	computed bool     // there are computed jumps
	repeats  bool     // some instruction is a loop by itself
}

// edge is a branch within the function; to 0 is a computed one.
type edge struct{ from, to uint64 }

// add adds the next instruction.
func (f *flow) add(addr uint64, i x86.Inst) {
	// rep movs and the like are loops.
	if i.Map == x86.MapOne && i.Prefix&(x86.PrefixRep|x86.PrefixRepne) != 0 &&
		(i.Opcode >= 0xa4 && i.Opcode <= 0xa7 || i.Opcode >= 0xaa && i.Opcode <= 0xaf) {
		f.repeats = true
	}
	switch i.Class {
	case controlflow.Jump, controlflow.Conditional:
		f.edges = append(f.edges, edge{addr, i.Target(addr)})
	case controlflow.IndirectJump:
		f.computed = true
		// An index into a table of addresses. The scan of all data finds such tables, but not their functions:
		// functions with such code mostly have loops.
		f.repeats = f.repeats || i.Mod() != 3 && i.ModRM&7 == 4 && i.SIB>>3&7 != 4
		f.edges = append(f.edges, edge{addr, 0})
	case controlflow.Return, controlflow.Trap:
	default:
		return
	}
	if i.Class.Ends() {
		f.ends = append(f.ends, addr)
	}
}

// cyclic reports whether the flow has a cycle. A cycle needs a branch to a lower address; most functions have
// none.
func (f *flow) cyclic() bool {
	if f.repeats {
		return true
	}
	lo, hi := f.function.Addr, f.function.Addr+uint64(len(f.function.code))
	back := f.computed && len(f.tables) > 0
	for _, e := range f.edges {
		back = back || e.to != 0 && e.to <= e.from && e.to >= lo
	}
	return back && f.search(lo, hi)
}

// search looks for a cycle from lo on. Its nodes are the targets of branches; from each, control continues to
// the next instruction that ends it, and along all branches before that.
func (f *flow) search(lo, hi uint64) bool {
	const open, done = 1, 2
	state := map[uint64]int{}
	type visit struct {
		node uint64
		next []uint64
	}
	stack := []visit{{lo, f.leads(lo, lo, hi)}}
	state[lo] = open
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if len(top.next) == 0 {
			state[top.node] = done
			stack = stack[:len(stack)-1]
			continue
		}
		to := top.next[0]
		top.next = top.next[1:]
		switch state[to] {
		case open:
			return true
		case 0:
			state[to] = open
			stack = append(stack, visit{to, f.leads(to, lo, hi)})
		}
	}
	return false
}

// leads returns where control can get from node in one step: along the branches of its block, or to the next
// block.
func (f *flow) leads(node, lo, hi uint64) []uint64 {
	k, _ := slices.BinarySearchFunc(f.edges, node, func(e edge, at uint64) int {
		if e.from < at {
			return -1
		}
		return 1
	})
	e, _ := slices.BinarySearch(f.ends, node)
	end := hi
	if e < len(f.ends) {
		end = f.ends[e]
	}
	if k == len(f.edges) || f.edges[k].from > end {
		return nil
	}
	// The block of node ends with its first branch.
	branch := f.edges[k]
	var to []uint64
	if branch.to == 0 {
		to = slices.DeleteFunc(slices.Clone(f.tables), func(t uint64) bool { return t < lo || t >= hi })
	} else if branch.to >= lo && branch.to < hi {
		to = append(to, branch.to)
	}
	if branch.from != end {
		to = append(to, branch.from+1) // within the branch: the next step starts after it
	}
	return to
}
