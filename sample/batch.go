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
	copies         copies
	framesDone     int
	branchesDone   int
	mispredictions uint64
}

// copies has the UserStates of samples.
type copies struct {
	stacks  []byte
	regs    []uint64
	states  []UserState
	current *UserState // of the current sample, nil if there is none
	size    int        // of the stacks in bytes
	held    []Memory   // that stacks are in
}

var batches = sync.Pool{New: func() any { return new(Batch) }}

// NewBatch returns an empty batch.
func NewBatch() *Batch { return batches.Get().(*Batch) }

// Release releases the batch with its samples: their memory is reused. Events stay valid. A batch that is not
// released is left to the garbage collector. Any goroutine may release it, once.
func (b *Batch) Release() {
	c := &b.copies
	for _, m := range c.held {
		m.Release()
	}
	clear(c.held)
	clear(c.states) // they may refer to memory that has been replaced by more
	*b = Batch{
		Samples: b.Samples[:0], frames: b.frames[:0], branches: b.branches[:0],
		copies: copies{stacks: c.stacks[:0], regs: c.regs[:0], states: c.states[:0], held: c.held[:0]},
	}
	batches.Put(b)
}

// Frame adds an address to the stack of the current sample, from the inside outwards.
func (b *Batch) Frame(addr uint64) { b.frames = append(b.frames, addr) }

// Unframe removes the last n addresses from the stack of the current sample.
func (b *Batch) Unframe(n int) { b.frames = b.frames[:max(b.framesDone, len(b.frames)-n)] }

// Branch adds a branch to the current sample, newest first.
func (b *Batch) Branch(from, to uint64, mispredicted bool) {
	if mispredicted {
		b.mispredictions |= 1 << (len(b.branches) - b.branchesDone) // none after the 64th
	}
	b.branches = append(b.branches, Branch{From: from, To: to})
}

// Copy adds the registers, those with a bit in mask, and the copy of the stack of the current
// sample. It keeps no reference to either.
func (b *Batch) Copy(mask uint64, regs []uint64, stack []byte) {
	c := &b.copies
	n := len(c.stacks)
	c.stacks = append(c.stacks, stack...)
	b.Refer(mask, regs, c.stacks[n:len(c.stacks):len(c.stacks)])
}

// Memory is what copies of stacks are in, until nobody holds it any more.
type Memory interface {
	Hold()
	Release()
}

// Hold keeps memory until the batch is released.
func (b *Batch) Hold(m Memory) {
	c := &b.copies
	if n := len(c.held); n > 0 && c.held[n-1] == m {
		return
	}
	m.Hold()
	c.held = append(c.held, m)
}

// Refer is Copy for a copy of a stack in memory that is held: it is not copied again.
func (b *Batch) Refer(mask uint64, regs []uint64, stack []byte) {
	c := &b.copies
	n := len(c.regs)
	c.regs = append(c.regs, regs...)
	c.states = append(c.states, UserState{Mask: mask, Regs: c.regs[n:len(c.regs):len(c.regs)], Stack: stack})
	c.current = &c.states[len(c.states)-1]
	c.size += len(stack)
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
	if b.copies.current != nil {
		s.User, b.copies.current = b.copies.current, nil
	}
	b.Samples = append(b.Samples, s)
	return &b.Samples[len(b.Samples)-1]
}

// Drop discards the frames and branches that were added since the last sample.
func (b *Batch) Drop() {
	b.frames, b.branches = b.frames[:b.framesDone], b.branches[:b.branchesDone]
	b.mispredictions, b.copies.current = 0, nil
}

// DropFrames discards the frames that were added since the last sample.
func (b *Batch) DropFrames() { b.frames = b.frames[:b.framesDone] }

// DropBranches discards the branches that were added since the last sample.
func (b *Batch) DropBranches() { b.branches, b.mispredictions = b.branches[:b.branchesDone], 0 }

// Add adds a copy of a sample of another batch.
func (b *Batch) Add(s *Sample) *Sample {
	b.frames = append(b.frames, s.Stack...)
	b.branches = append(b.branches, s.Branches...)
	b.mispredictions = s.Mispredicted
	if u := s.User; u != nil {
		b.Copy(u.Mask, u.Regs, u.Stack)
	}
	return b.End(*s)
}

// Size returns the approximate size of the batch in bytes.
func (b *Batch) Size() int {
	const sampleSize = 120
	return b.copies.size + 8*len(b.copies.regs) + 8*len(b.frames) + 16*len(b.branches) + sampleSize*len(b.Samples)
}
