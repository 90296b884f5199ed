package unwind

import (
	"errors"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/sample"
)

var errManyBinaries = errors.New("counts of addresses are of one binary")

// ReadCounts is the reverse of Counts: it converts stored counts to a result. Counts at
// addresses without an instruction in the binary are dropped; lost is the number of such
// addresses.
func ReadCounts(counts []sample.Counts, code *machinecode.Set, base uint64) (r *Result, lost int, err error) {
	if len(code.Binaries()) != 1 {
		return nil, 0, errManyBinaries
	}
	b := code.Binaries()[0]
	at := func(addr uint64) ref {
		if r := b.At(addr + base); r.IsInstruction() {
			return r
		}
		return machinecode.None
	}
	r = &Result{Contexts: make([]Context, len(counts))}
	for i := range counts {
		from, to := &counts[i], &r.Contexts[i]
		for _, addr := range from.Context {
			to.Frames = append(to.Frames, at(addr))
		}
		for _, c := range from.Ranges {
			if x := (Count{at(c.First), at(c.Last), c.Count}); x.From.IsInstruction() && x.To >= x.From {
				to.Ranges = append(to.Ranges, x)
			} else {
				lost++
			}
		}
		for _, c := range from.Branches {
			x := Count{at(c.From), at(c.To), c.Count}
			if c.From+base == uint64(external) {
				x.From = external
			}
			if x.From != machinecode.None && x.To != machinecode.None {
				to.Branches = append(to.Branches, x)
			} else {
				lost++
			}
		}
	}
	return r, lost, nil
}
