package sample

import "sync"

// Batch is a run of records. All Events happened before all Samples.
type Batch struct {
	Events  []Event
	Samples []Sample
	Whole   bool // Info.Whole of the source

	// Contents of the samples, one after the other, and how much of them belongs to existing samples.
	frames         []uint64
	branches       []Branch
	copied         int // bytes of copies of stacks
	framesDone     int
	branchesDone   int
	mispredictions uint64
}

var batches = sync.Pool{New: func() any { return new(Batch) }}

// NewBatch returns an empty batch.
func NewBatch() *Batch { return batches.Get().(*Batch) }

// Release releases the batch with its samples: their memory is reused. Events stay valid. A batch that is not
// released is left to the garbage collector. Any goroutine may release it, once.
func (b *Batch) Release() {
	*b = Batch{Samples: b.Samples[:0], frames: b.frames[:0], branches: b.branches[:0]}
	batches.Put(b)
}

// Frame adds an address to the stack of the current sample, from the inside outwards.
func (b *Batch) Frame(addr uint64) { b.frames = append(b.frames, addr) }

// Branch adds a branch to the current sample, newest first.
func (b *Batch) Branch(from, to uint64, mispredicted bool) {
	if mispredicted {
		b.mispredictions |= 1 << (len(b.branches) - b.branchesDone) // none after the 64th
	}
	b.branches = append(b.branches, Branch{From: from, To: to})
}

// Depth returns the numbers of frames and branches of the current sample.
func (b *Batch) Depth() (frames, branches int) {
	return len(b.frames) - b.framesDone, len(b.branches) - b.branchesDone
}

// End adds s with the frames and branches that were added since the last sample.
func (b *Batch) End(s Sample) *Sample {
	nf, nb := len(b.frames), len(b.branches)
	s.Stack = b.frames[b.framesDone:nf:nf]
	s.Branches = b.branches[b.branchesDone:nb:nb]
	s.Mispredicted = b.mispredictions
	b.framesDone, b.branchesDone, b.mispredictions = nf, nb, 0
	if s.User != nil {
		b.copied += len(s.User.Stack)
	}
	b.Samples = append(b.Samples, s)
	return &b.Samples[len(b.Samples)-1]
}

// Drop discards the frames and branches that were added since the last sample.
func (b *Batch) Drop() {
	b.frames, b.branches = b.frames[:b.framesDone], b.branches[:b.branchesDone]
	b.mispredictions = 0
}

// DropFrames discards the frames that were added since the last sample.
func (b *Batch) DropFrames() { b.frames = b.frames[:b.framesDone] }

// Add adds a copy of a sample of another batch.
func (b *Batch) Add(s *Sample) *Sample {
	b.frames = append(b.frames, s.Stack...)
	b.branches = append(b.branches, s.Branches...)
	b.mispredictions = s.Mispredicted
	return b.End(*s)
}

// Size returns the approximate size of the batch in bytes.
func (b *Batch) Size() int {
	const sampleSize = 120
	return b.copied + 8*len(b.frames) + 16*len(b.branches) + sampleSize*len(b.Samples)
}
