package profgen

import (
	"math"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/flowcount"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// addressScale multiplies counts that are inferred from addresses: a sample in a block with
// this many instructions is a count of one.
const addressScale = 100

// FromAddresses infers counts from the instructions at which samples were taken, which are the
// moments of a result, by the control flow of each function (internal/samples/flowcount). All
// instructions are assumed to have the same cost. Counts have no unit: they are relative to
// each other. Direct calls of functions have the count of the block that contains them.
func FromAddresses(r *unwind.Result, code *machinecode.Set) *unwind.Result {
	hits := map[ref]uint64{}
	type function struct {
		in    *machinecode.Binary
		index int
	}
	met := map[function]bool{}
	for i := range r.Moments {
		m := &r.Moments[i]
		b := code.Binary(m.Leaf)
		if b == nil {
			continue
		}
		if in := b.RangeAt(code.Address(m.Leaf)); in != nil {
			hits[m.Leaf] += m.Count
			met[function{b, in.Function}] = true
		}
	}
	var counts unwind.Context
	for _, b := range code.Binaries() {
		for i := range b.Ranges() {
			if in := &b.Ranges()[i]; met[function{b, in.Function}] {
				inferRange(&counts, code, b, in, hits)
			}
		}
	}
	return &unwind.Result{Contexts: []unwind.Context{counts}, Stats: r.Stats}
}

// inferRange adds the counts of a range of code.
func inferRange(to *unwind.Context, code *machinecode.Set, b *machinecode.Binary, in *machinecode.Range, hits map[ref]uint64) {
	blocks := code.Blocks(b, in)
	graph := make([]flowcount.Block, len(blocks))
	for i := range blocks {
		x := &blocks[i]
		graph[i] = flowcount.Block{Next: x.Next, Entered: x.Entered, Left: x.Left, Cost: float64(x.Last - x.First + 1)}
		for r := x.First; r <= x.Last; r++ {
			graph[i].Samples += hits[r]
		}
	}
	count := func(x float64) uint64 { return uint64(math.Round(x * addressScale)) }
	found := flowcount.Infer(graph)
	for i := range blocks {
		x := &blocks[i]
		n := count(found.Blocks[i])
		if n == 0 {
			continue
		}
		to.Ranges = append(to.Ranges, unwind.Count{From: x.First, To: x.Last, Count: n})
		for r := x.First; r <= x.Last; r++ {
			target, ok := code.Target(r)
			inside := b.At(target)
			if class := code.Class(r); ok && inside.IsInstruction() && (class == controlflow.Call || class == controlflow.Jump && x.Left) {
				to.Branches = append(to.Branches, unwind.Count{From: r, To: inside, Count: n})
			}
		}
		for k, next := range x.Next {
			first := blocks[next].First
			if n := count(found.Edges[i][k]); n > 0 && first != x.Last+1 {
				to.Branches = append(to.Branches, unwind.Count{From: x.Last, To: first, Count: n})
			}
		}
	}
}
