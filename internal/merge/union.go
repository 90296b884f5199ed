package merge

import (
	"slices"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/prof"
)

// union is a block without a probe that ran in an image if any of several
// flags is set. How often it ran in the sum of all images does not follow from
// the sums of the flags, so these are counted image by image. A block that
// another one alone implies needs no count of its own.
type union struct{ from, to int } // into evidence

// addUnions collects the unions of all functions.
func (l *Layout) addUnions() {
	for i := range l.m.Funcs {
		f := &l.m.Funcs[i]
		for k := range f.Implied {
			if im := &f.Implied[k]; len(im.By) > 1 {
				from := len(l.evidence)
				for _, by := range im.By {
					l.evidence = appendEvidence(l.evidence, f, int(by))
				}
				l.unions = append(l.unions, union{from, len(l.evidence)})
			}
		}
	}
}

// appendEvidence appends the offsets of which one is not zero if a block with
// a probe ran. The entry block of a function that counts its calls has no flag
// but a counter.
func appendEvidence(to []int32, f *prof.Func, block int) []int32 {
	at := int(f.Record)
	if f.Mode == prof.ModeFull {
		if block == 0 {
			for k := range wire.CallerOffset {
				to = append(to, int32(at+k))
			}
			return to
		}
		at += wire.FullHeaderSize - 1
	}
	return append(to, int32(at+probeIndex(f, block)))
}

// probeIndex returns how many of the blocks before a block have a probe.
func probeIndex(f *prof.Func, block int) int {
	bare, _ := slices.BinarySearchFunc(f.Implied, block, func(im prof.Implied, block int) int { return int(im.Block) - block })
	return block - bare
}

// addUnions adds the unions of an image to the sums.
func (a *Accumulator) addUnions(data []byte) {
	for i, u := range a.l.unions {
		for _, off := range a.l.evidence[u.from:u.to] {
			if int(off) < len(data) && data[off] != 0 {
				a.unions[i]++
				break
			}
		}
	}
}

// blockSums returns the sums of the non-entry blocks of f. flags are the sums
// of its flags, entry is that of its entry block, and unions are those of the
// unions from this function on; it returns what is left of them.
func blockSums(f *prof.Func, flags []uint64, entry uint64, unions []uint64) (sums, rest []uint64) {
	n := f.NumBlocks()
	if n == 1 {
		return nil, unions
	}
	of := func(block int) uint64 {
		switch {
		case block == 0:
			return entry
		case f.Mode == prof.ModeFull:
			return flags[probeIndex(f, block)-1]
		}
		return flags[probeIndex(f, block)]
	}
	sums = make([]uint64, n-1)
	implied := f.Implied
	for b := 1; b < n; b++ {
		switch {
		case len(implied) == 0 || int(implied[0].Block) != b:
			sums[b-1] = of(b)
			continue
		case len(implied[0].By) == 1:
			sums[b-1] = of(int(implied[0].By[0]))
		default:
			sums[b-1], unions = unions[0], unions[1:]
		}
		implied = implied[1:]
	}
	return sums, unions
}
