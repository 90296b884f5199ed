package callgraph

import "github.com/cairnprof/cairn/prof"

// madeCalls knows the direct calls in blocks of a module that ran.
type madeCalls struct {
	mod     *prof.Module
	byBlock map[place][]int
	of      map[int][]int // callees of a function
}

type place struct{ fn, block int }

func newMadeCalls(mod *prof.Module) *madeCalls {
	c := &madeCalls{mod, map[place][]int{}, map[int][]int{}}
	names := newNameIndex(mod.Funcs)
	for i := range mod.Funcs {
		f := &mod.Funcs[i]
		for _, call := range f.Calls {
			callee, ok := names.find(call.Callee, f.File)
			if !ok || !mod.Counts[i].Covered(int(call.Block)) || mod.Counts[callee].Runs == 0 {
				continue
			}
			at := place{i, int(call.Block)}
			c.byBlock[at] = append(c.byBlock[at], callee)
			c.of[i] = append(c.of[i], callee)
		}
	}
	return c
}

// kind returns the kind of edge, if any, that a return address in a block of the caller
// implies for a callee that found it on the stack. Even if no direct call leads to the callee,
// it need not be the called function: wrappers end by jumping to a pointer.
func (c *madeCalls) kind(caller, block, callee int) (kind Kind, made bool) {
	to := c.mod.Funcs[callee].Addr()
	if c.mod.Funcs[caller].Mode != prof.ModeFull {
		return Observed, true
	}
	direct := c.byBlock[place{caller, block}]
	for _, k := range direct {
		if c.mod.Funcs[k].Addr() == to {
			return Observed, true
		}
	}
	if c.leads(direct, to) {
		return 0, false
	}
	return Possible, true
}

// leads reports whether calls that ran lead from some functions to an address.
func (c *madeCalls) leads(from []int, to uint64) bool {
	seen := map[int]bool{}
	for todo := append([]int{}, from...); len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		if c.mod.Funcs[at].Addr() == to {
			return true
		}
		todo = append(todo, c.of[at]...)
	}
	return false
}
