package samplefile

import (
	"context"
	"iter"
	"slices"

	"github.com/cairnprof/cairn/sample"
)

// Kept has the samples of a file that was read once, with the stacks that were unwound then, so that it need
// not be read again. Equal samples that follow each other are one.
type Kept struct {
	batches []*sample.Batch
	open    *sample.Batch // the last of batches, nil if there is none to which samples can be added
	folder  sample.Folder // of open
	size    int           // of the batches
	info    *sample.Info
	stats   *sample.Stats
	note    string
	failed  bool // there are too many
	plain   bool // a sample has callers that are not of a copy, or branches
}

const (
	maxKept = 64 << 20 // bytes
	maxSize = 4 << 20  // bytes of a batch
)

// ends are the UserStates of copies that were unwound.
var ends [1 << 8]sample.UserState

func init() {
	for i := range ends {
		ends[i].Unwound = uint8(i)
	}
}

// Batch keeps the events of a batch, whose samples follow.
func (k *Kept) Batch(b *sample.Batch) {
	if k.failed || len(b.Events) == 0 && k.open != nil {
		return
	}
	if k.close(); !k.failed {
		k.begin(slices.Clone(b.Events), b.Whole)
	}
}

// begin opens a batch.
func (k *Kept) begin(events []sample.Event, whole bool) {
	k.open = sample.NewBatch()
	k.open.Events, k.open.Whole = events, whole
	k.batches = append(k.batches, k.open)
	k.folder.Begin(k.open)
}

// Sample keeps a sample of the batch. Of a copy of a stack that was unwound, stack are the frames and unwound is
// sample.UserState.Unwound.
func (k *Kept) Sample(s *sample.Sample, stack []uint64, unwound uint8) {
	if k.failed {
		return
	}
	k.plain = k.plain || len(s.Branches) > 0 || unwound == 0 && slices.ContainsFunc(stack, func(addr uint64) bool { return addr < kernelSpace })
	x := *s
	x.Stack, x.User = stack, nil
	if unwound != 0 {
		x.User = &ends[unwound]
	}
	k.folder.Keep(&x)
	if k.open.Size() < maxSize {
		return
	}
	whole := k.open.Whole
	if k.close(); !k.failed {
		k.begin(nil, whole)
	}
}

func (k *Kept) close() {
	if k.open == nil {
		return
	}
	const event = 200
	k.size += k.open.Size() + event*len(k.open.Events)
	if k.open = nil; k.size > maxKept {
		for _, b := range k.batches {
			b.Release()
		}
		*k = Kept{failed: true}
	}
}

// End ends reading of f, and reports whether all of it was kept.
func (k *Kept) End(f *File) bool {
	k.close()
	k.info, k.stats, k.note = f.Info(), f.Stats(), f.note()
	return !k.failed
}

// Open returns the kept samples. They can be read once.
func (k *Kept) Open() *File {
	return &File{Source: k, in: k, note: func() string { return k.note }}
}

// Copied reports whether all stacks outside of the kernel are of copies, and no sample has branches.
func (k *Kept) Copied() bool { return !k.plain }

// kernelSpace is the first address of the kernel.
const kernelSpace = 1 << 63

// Info returns that of the file.
func (k *Kept) Info() *sample.Info { return k.info }

// Stats returns that of the file.
func (k *Kept) Stats() *sample.Stats { return k.stats }

// Close implements io.Closer.
func (*Kept) Close() error { return nil }

// Batches returns the kept batches.
func (k *Kept) Batches(ctx context.Context) iter.Seq2[*sample.Batch, error] {
	return func(yield func(*sample.Batch, error) bool) {
		for _, b := range k.batches {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}
