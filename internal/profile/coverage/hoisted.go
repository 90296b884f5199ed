package coverage

import (
	"slices"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
)

// LLVM computes values ahead of the test that they depend on: in the block before it, behind the calls there, and ahead of
// a loop, whatever the loop calls. It leaves some of this code its line. The next test, or selection, is then of an earlier
// place than the line:
//
//	if (n == 5 &&
//	    s[0] == 'r')    s[0] is read ahead of the test of n, on which it does not depend
//
// Code that is not moved may have such a test behind it, too, as the second line of a statement that ends with a test of its
// first. It is unknown as well.

// hoisted reports whether instruction k of the line in its piece may have been moved ahead of a test on which the line
// depends.
func (o *observer) hoisted(e *early, k int) bool {
	fl, back := e.flow, e.flow.backEdges()
	inLoop := false
	for at, n := e.piece, 0; n <= len(fl.pieces); n++ {
		p := &fl.pieces[at]
		for k++; k < len(p.insts); k++ {
			switch in := &p.insts[k]; {
			case in.kind == calls && !inLoop:
				return false
			case in.use == machinecode.Selects && in.kind != none && o.depends(e, in):
				return true
			}
		}
		isBack := func(to int) bool { return back[[2]int{at, to}] }
		switch {
		case len(p.succs) == 0 || slices.ContainsFunc(p.succs, isBack):
			return false
		case len(p.succs) > 1:
			return o.depends(e, &p.insts[len(p.insts)-1])
		}
		to := p.succs[0]
		inLoop = inLoop || slices.ContainsFunc(fl.preds[to], func(from int) bool { return back[[2]int{from, to}] })
		at, k = to, -1
	}
	return true
}
