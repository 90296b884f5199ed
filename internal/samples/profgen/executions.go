package profgen

import (
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// Executions has how often the instructions of a binary ran, and how often control went from one to another, as far as
// samples show it.
type Executions struct {
	code   *machinecode.Set
	binary *machinecode.Binary
	ran    []uint64 // by instruction of the binary
	on     []uint64 // by instruction: how often the next one ran after it
	taken  map[[2]ref]uint64
}

// NewExecutions returns those of the only binary of code. All contexts are added up.
func NewExecutions(r *unwind.Result, code *machinecode.Set) *Executions {
	b := code.Binaries()[0]
	n := int(b.End - b.First)
	x := &Executions{code: code, binary: b, ran: make([]uint64, n+1), on: make([]uint64, n+1), taken: map[[2]ref]uint64{}}
	for _, c := range r.Contexts {
		for _, run := range c.Ranges {
			if run.From < b.First || run.To >= b.End || run.To < run.From {
				continue
			}
			x.ran[run.From-b.First] += run.Count
			x.ran[run.To+1-b.First] -= run.Count
			x.on[run.From-b.First] += run.Count
			x.on[run.To-b.First] -= run.Count
		}
		for _, br := range c.Branches {
			x.taken[[2]ref{br.From, br.To}] += br.Count
		}
	}
	for i := 1; i <= n; i++ {
		x.ran[i] += x.ran[i-1]
		x.on[i] += x.on[i-1]
	}
	return x
}

// bounds returns the first and the last instruction of the code in [lo, hi), which is straight. Behind a jump there may be
// padding.
func (x *Executions) bounds(lo, hi uint64) (first, last ref, ok bool) {
	first = x.binary.At(lo)
	if !first.IsInstruction() {
		return first, first, false
	}
	end := x.binary.From(hi)
	for last = first; last+1 < end && !x.code.Class(last).Ends(); last++ {
	}
	return first, last, true
}

// Of returns how often the straight code in [lo, hi) ran: the mean of its first and its last instruction, as a call in it may
// be at the end of what a sample shows.
func (x *Executions) Of(lo, hi uint64) uint64 {
	first, last, ok := x.bounds(lo, hi)
	if !ok {
		return 0
	}
	a, b := x.ran[first-x.binary.First], x.ran[last-x.binary.First]
	return a/2 + b/2 + (a%2+b%2)/2
}

// On returns how often control went on from the straight code in [lo, hi) without a jump.
func (x *Executions) On(lo, hi uint64) uint64 {
	if _, last, ok := x.bounds(lo, hi); ok {
		return x.on[last-x.binary.First]
	}
	return 0
}

// Taken returns how often the jump at the end of the straight code in [lo, hi) was taken to an address.
func (x *Executions) Taken(lo, hi, to uint64) uint64 {
	_, last, ok := x.bounds(lo, hi)
	if !ok {
		return 0
	}
	return x.taken[[2]ref{last, x.binary.At(to)}]
}
