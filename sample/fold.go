package sample

import "slices"

// Fold merges samples that are equal, except for Count and Period, into one with the sums of these, in place of
// the first. Its memory for comparisons is bounded: a few equal samples may remain.
//
// Of samples with 32 branches at random moments only one in a hundred has an equal, unless the program hardly
// does anything else; of stacks without branches, most.
func (b *Batch) Fold() {
	const slots = 1 << 12
	if len(b.Samples) < 2 {
		return
	}
	var first [slots]int32 // 1 + index of a sample by its digest
	kept := b.Samples[:0]
	for i := range b.Samples {
		s := &b.Samples[i]
		slot := &first[digest(s)%slots]
		if *slot > 0 {
			if old := &kept[*slot-1]; equal(old, s) {
				old.Count += s.Count
				old.Period += s.Period
				continue
			}
		}
		kept = append(kept, *s)
		*slot = int32(len(kept))
	}
	b.Samples = kept
}

// digest mixes the parts of a sample that differ most, so that it is cheap if samples have no equal.
func digest(s *Sample) uint64 {
	const odd = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	h := uint64(len(s.Stack))<<32 | uint64(uint32(s.TID))
	mix := func(v uint64) { h = (h ^ v) * odd; h ^= h >> 29 }
	if n := len(s.Stack); n > 0 {
		mix(s.Stack[0])
		mix(s.Stack[n/2])
		mix(s.Stack[n/4])
	}
	if n := len(s.Branches); n > 0 {
		mix(s.Branches[0].From)
		mix(s.Branches[n/2].From)
		mix(s.Branches[n-1].To)
	}
	return h >> 32
}

func equal(a, b *Sample) bool {
	return a.PID == b.PID && a.TID == b.TID && a.Event == b.Event && a.Mispredicted == b.Mispredicted && a.AtCalls == b.AtCalls && a.User == b.User &&
		slices.Equal(a.Stack, b.Stack) && slices.Equal(a.Branches, b.Branches)
}
