package sampleprof

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// cutoffs are the shares of all counts, in millionths, that a summary tells of: those
// of LLVM's ProfileSummaryBuilder::DefaultCutoffs.
var cutoffs = []uint64{
	10000, 100000, 200000, 300000, 400000, 500000, 600000, 700000, 800000,
	900000, 950000, 990000, 999000, 999900, 999990, 999999,
}

// summary is the section of that name: what a compiler tells hot from cold by. Of
// contexts it is that of their functions, whoever called them.
func summary(list []Context) []byte {
	functions := Profile{}
	for _, c := range list {
		functions.Func(c.Frames[len(c.Frames)-1].Func).Add(c.Samples)
	}
	var counts []uint64
	var total, head uint64
	for _, s := range functions {
		counts = s.counts(counts)
		head = max(head, s.Head)
	}
	slices.SortFunc(counts, func(a, b uint64) int { return cmp.Compare(b, a) })
	for _, n := range counts {
		total = saturate(total, n)
	}
	most := uint64(0)
	if len(counts) > 0 {
		most = counts[0]
	}
	var b []byte
	for _, v := range []uint64{total, most, head, uint64(len(counts)), uint64(len(functions)), uint64(len(cutoffs))} {
		b = binary.AppendUvarint(b, v)
	}
	i, sum := 0, uint64(0)
	for _, c := range cutoffs {
		hi, lo := bits.Mul64(total, c)
		want, _ := bits.Div64(hi, lo, 1_000_000)
		for i < len(counts) && sum < want {
			sum += counts[i]
			i++
			for i < len(counts) && counts[i] == counts[i-1] { // all that are alike
				sum += counts[i]
				i++
			}
		}
		least := uint64(0)
		if i > 0 {
			least = counts[i-1]
		}
		for _, v := range []uint64{c, least, uint64(i)} {
			b = binary.AppendUvarint(b, v)
		}
	}
	return b
}

// counts adds the counts of all places of s and of what was inlined into it.
func (s *Samples) counts(to []uint64) []uint64 {
	for _, l := range s.Body {
		to = append(to, l.Count)
	}
	for _, at := range s.Inlined {
		for _, in := range at {
			to = in.counts(to)
		}
	}
	return to
}
