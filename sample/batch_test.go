package sample

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestBatch(t *testing.T) {
	t.Parallel()
	b := NewBatch()
	defer b.Release()
	b.Frame(1)
	b.Frame(2)
	for i := range uint64(70) {
		b.Branch(i, i+1, i == 0 || i == 63 || i == 64)
	}
	if f, n := b.Depth(); f != 2 || n != 70 {
		t.Errorf("%d frames, %d branches", f, n)
	}
	b.End(Sample{PID: 7, Count: 1})
	b.Frame(3)
	b.Branch(9, 9, true)
	b.Drop()
	b.Frame(4)
	b.End(Sample{Count: 2})
	first, second := &b.Samples[0], &b.Samples[1]
	if len(first.Stack) != 2 || len(first.Branches) != 70 || first.Mispredicted != 1|1<<63 || first.PID != 7 {
		t.Errorf("%+v", first)
	}
	if fmt.Sprint(second.Stack, second.Branches, second.Mispredicted) != "[4] [] 0" {
		t.Errorf("%+v", second)
	}
	// Its memory is its own: a sample cannot grow into the next.
	first.Stack = append(first.Stack, 99)
	if second.Stack[0] != 4 {
		t.Error("two samples share memory")
	}
	copied := NewBatch()
	defer copied.Release()
	if c := copied.Add(first); len(c.Stack) != 3 || len(c.Branches) != 70 || c.Mispredicted != first.Mispredicted {
		t.Errorf("%+v", c)
	}
}

// fold returns a batch with the samples of b, equal ones as one.
func fold(b *Batch) *Batch {
	var f Folder
	f.Begin(NewBatch())
	for i := range b.Samples {
		f.Keep(&b.Samples[i])
	}
	return f.Batch
}

// TestFold sums up what is equal and leaves the rest alone.
func TestFold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := NewBatch()
		defer b.Release()
		sums := map[string]uint64{}
		n := rapid.IntRange(0, 50).Draw(t, "samples")
		key := func(s *Sample) string {
			return fmt.Sprint(s.PID, s.TID, s.Event, s.Stack, s.Branches, s.Mispredicted)
		}
		for range n {
			small := rapid.Uint64Range(0, 2)
			for range small.Draw(t, "frames") {
				b.Frame(small.Draw(t, "frame"))
			}
			for range small.Draw(t, "branches") {
				b.Branch(small.Draw(t, "from"), 1, rapid.Bool().Draw(t, "mispredicted"))
			}
			s := b.End(Sample{TID: int32(small.Draw(t, "thread")), Count: 1 + small.Draw(t, "count")})
			sums[key(s)] += s.Count
		}
		seen := map[string]uint64{}
		folded := fold(b).Samples
		for i := range folded {
			seen[key(&folded[i])] += folded[i].Count
		}
		if fmt.Sprint(seen) != fmt.Sprint(sums) {
			t.Fatalf("%v, want %v", seen, sums)
		}
	})
	b := NewBatch()
	for i := range uint64(1000) {
		b.Frame(i % 3)
		b.End(Sample{Count: 1})
	}
	if b := fold(b); len(b.Samples) != 3 || b.Samples[0].Count != 334 {
		t.Errorf("%d samples are left of 1000 with 3 stacks", len(b.Samples))
	}
}
