package tailcall

import "slices"

// like returns the chain that was seen behind stack[i] where the same ran further in.
// So many jumps behind are known already.
func (f *Full) like(stack []ref, i, jumps int) verdict {
	q := question{call: stack[i]}
	out := verdict{rule: Unknown}
	for n, r := range stack[i+1:] {
		if q.leaf = f.graph.function(r); q.leaf == none {
			return verdict{rule: NotFunction}
		}
		v := f.evidence.seenAt(q, r)
		if v.rule == ending {
			v = f.before(stack, i, v.jumps, jumps)
		}
		switch {
		case v.known():
			return v
		case v.rule == Ambiguous:
			out = v
		}
		// Behind a jump is the rest of a chain.
		if n == len(q.calls) || !f.graph.code.Class(r).IsCall() {
			break
		}
		q.calls[n] = r
	}
	return out
}

// before finds how a chain began that ends with some jumps.
func (f *Full) before(stack []ref, i int, end []ref, jumps int) verdict {
	if jumps += len(end); jumps > maxJumps {
		return verdict{rule: Ambiguous}
	}
	v := f.inferWithin(append(slices.Clone(stack[:i+1]), end[0]), i, jumps)
	if v.known() {
		return verdict{slices.Concat(v.jumps, end), RuleAlike}
	}
	return v
}
