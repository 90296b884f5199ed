package tailcall

import "slices"

// like returns the chain that branches showed after the call stack[i] while the same code
// ran in the inner frames. The last known jumps of the chain are given.
func (f *Full) like(stack []ref, i, jumps int) verdict {
	q := question{call: stack[i]}
	out := verdict{rule: Unknown}
	nothing := f.evidence.empty()
	for n, r := range stack[i+1:] {
		if q.leaf = f.function(r); q.leaf == none {
			return verdict{rule: NotFunction}
		}
		v := out
		if !nothing {
			v = f.evidence.seenAt(q, r)
		}
		if v.rule == ending {
			v = f.before(stack, i, v.jumps, jumps)
		}
		switch {
		case v.known():
			return v
		case v.rule == Ambiguous:
			out = v
		}
		// After a jump, only the rest of a chain is missing.
		if n == len(q.calls) || !f.graph.code.Class(r).IsCall() {
			break
		}
		q.calls[n] = r
	}
	return out
}

// before finds the first jumps of a chain whose last jumps are known.
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
