package sample

import "slices"

// A Folder adds samples to a batch that has no others. Those that are equal, except for Count and Period, are one with the
// sums of these. Its memory for comparisons is bounded: a few equal samples may remain.
//
// Of samples with 32 branches at random moments only one in a hundred has an equal, unless the program hardly
// does anything else; of stacks without branches, most.
type Folder struct {
	*Batch
	last [1 << 12]folded // the last sample by its digest
}

// folded is a sample of the batch. Samples with other digests differ, and need not be read to see that.
type folded struct {
	next   int32 // 1 + its index
	digest uint32
}

// Begin makes an empty batch the one that samples are added to.
func (f *Folder) Begin(b *Batch) { *f = Folder{Batch: b} }

// Keep adds a copy of a sample whose User, if there is one, stays valid.
func (f *Folder) Keep(s *Sample) {
	sum := digest(s)
	slot := &f.last[sum%uint32(len(f.last))]
	if slot.next > 0 && slot.digest == sum {
		if old := &f.Samples[slot.next-1]; equal(old, s) {
			old.Count += s.Count
			old.Period += s.Period
			return
		}
	}
	f.frames = append(f.frames, s.Stack...)
	f.branches = append(f.branches, s.Branches...)
	f.mispredictions = s.Mispredicted
	f.End(*s)
	*slot = folded{int32(len(f.Samples)), sum}
}

// digest mixes the parts of a sample that differ most, so that it is cheap if samples have no equal.
func digest(s *Sample) uint32 {
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
	return uint32(h >> 32)
}

func equal(a, b *Sample) bool {
	return a.PID == b.PID && a.TID == b.TID && a.Event == b.Event && a.Mispredicted == b.Mispredicted && a.AtCalls == b.AtCalls && a.InCalls == b.InCalls && a.User == b.User &&
		slices.Equal(a.Stack, b.Stack) && slices.Equal(a.Branches, b.Branches)
}
