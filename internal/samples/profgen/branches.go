package profgen

import (
	"cmp"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/sample"
)

// Branches returns the branches of all contexts by their link-time addresses; the source is 0
// outside of the code, which is of one binary. Where control continued in another block
// without a jump there is a branch to the next instruction as well: BOLT assumes that code
// without an entry did not run.
func Branches(r *unwind.Result, code *machinecode.Set) []sample.BranchCount {
	type edge struct{ from, to ref }
	sums := map[edge]uint64{}
	targets := jumpTargets(r, code)
	for _, c := range r.Contexts {
		for _, b := range c.Branches {
			sums[edge{b.From, b.To}] += b.Count
		}
		for _, run := range c.Ranges {
			for at := run.From; at < run.To; at++ {
				if code.Class(at) == controlflow.Conditional || targets[at+1] {
					sums[edge{at, at + 1}] += run.Count
				}
			}
		}
	}
	out := make([]sample.BranchCount, 0, len(sums))
	for e, n := range sums {
		x := sample.BranchCount{Branch: sample.Branch{To: code.Address(e.to)}, Count: n}
		if e.from.IsInstruction() {
			x.From = code.Address(e.from)
		}
		out = append(out, x)
	}
	stablesort.Func(out, func(a, b sample.BranchCount) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return out
}

// jumpTargets reports for each instruction whether it is the target of a direct or an observed
// jump: blocks begin there.
func jumpTargets(r *unwind.Result, code *machinecode.Set) []bool {
	is := make([]bool, code.Len()+1)
	b := code.Binaries()[0]
	for at := b.First; at < b.End; at++ {
		switch code.Class(at) {
		case controlflow.Jump, controlflow.Conditional:
			if to, ok := code.Target(at); ok {
				is[b.At(to)] = true
			}
		}
	}
	for _, c := range r.Contexts {
		for _, x := range c.Branches {
			if code.Class(x.From) == controlflow.IndirectJump {
				is[x.To] = true
			}
		}
	}
	return is
}
