package unwind

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/cairnprof/cairn/sample"
)

// source is a source of batches that the test made.
type source struct {
	batches []*sample.Batch
	err     error // at the end
}

func (s *source) Info() *sample.Info   { return &sample.Info{} }
func (s *source) Stats() *sample.Stats { return &sample.Stats{} }

func (s *source) Batches(context.Context) iter.Seq2[*sample.Batch, error] {
	return func(yield func(*sample.Batch, error) bool) {
		for _, b := range s.batches {
			if !yield(b, nil) {
				return
			}
		}
		if s.err != nil {
			yield(nil, s.err)
		}
	}
}

// moving has a process that maps the binary at another address for each batch.
func moving() *source {
	s := &source{}
	for i := range 40 {
		base := uint64(0x5500_0000_0000 + i*0x10000)
		s.batches = append(s.batches, &sample.Batch{
			Events: []sample.Event{
				{Kind: sample.Exec, PID: 9},
				{Kind: sample.Map, PID: 9, Mapping: sample.Mapping{Start: base, Size: 0x1000, Offset: 0x1000, Path: "prog", Exec: true}},
			},
			Samples: []sample.Sample{{
				PID: 9, Count: 2, Stack: []uint64{base + 0x32, base + 0x27, base + 0x7},
				Branches: []sample.Branch{{From: base + 0x22, To: base + 0x30}, {From: base + 0x02, To: base + 0x20}},
			}},
		})
	}
	return s
}

// TestRun checks that each worker knows where the binary is mapped at the time of a sample.
func TestRun(t *testing.T) {
	t.Parallel()
	set := code(t)
	for _, workers := range []int{0, 1, 2, 5} {
		r, err := Run(context.Background(), moving(), set, Options{}, workers)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := show(set, r), "[] 2>20*80; [2] 20-22*80 22>30*80"; got != want {
			t.Errorf("%d workers: %s", workers, got)
		}
		if r.Stats.Used != 80 || !r.Stats.Mapped {
			t.Errorf("%d workers: %+v", workers, r.Stats)
		}
	}
}

// TestRunMoments checks that the sampled stacks are those of all workers, in order.
func TestRunMoments(t *testing.T) {
	t.Parallel()
	set := code(t)
	for _, workers := range []int{1, 3} {
		src := moving()
		for i, b := range src.batches {
			s := &b.Samples[0]
			s.Branches = nil
			if i%2 == 1 {
				s.Stack = s.Stack[1:]
				s.Stack[0] -= 5 // at the call
			}
		}
		r, err := Run(context.Background(), src, set, Options{Moments: true, TailCalls: true}, workers)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		for _, m := range r.Moments {
			got += fmt.Sprintf("%d calls, at %x: %d; ", len(m.Frames), set.Address(m.Leaf)-text, m.Count)
		}
		if want := "1 calls, at 22: 40; 2 calls, at 32: 40; "; got != want || r.Stats.Used != 80 {
			t.Errorf("%d workers: %s %+v", workers, got, r.Stats)
		}
	}
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	src := moving()
	src.err = errors.New("no more")
	if r, err := Run(context.Background(), src, code(t), Options{}, 2); !errors.Is(err, src.err) || r != nil {
		t.Errorf("%v, %v", r, err)
	}
}

// TestCounts checks that counts of addresses that are written and read are the same.
func TestCounts(t *testing.T) {
	t.Parallel()
	set := code(t)
	u := New(set, Options{})
	u.Add(&sample.Batch{Samples: []sample.Sample{{
		PID: 7, Count: 5, Stack: stack(0x32, 0xff, 0x27, 0x7), Branches: branches(0xff, 0x30, 0x22, 0xff, 0x02, 0x20),
	}}})
	r := u.Result()
	base := set.Binaries()[0].Base
	counts := r.Counts(set, base)
	back, lost, err := ReadCounts(counts, set, base)
	if err != nil || lost != 0 {
		t.Fatalf("%d lost, %v", lost, err)
	}
	if got, want := show(set, back), show(set, r); got != want || got == "" {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	counts[0].Branches[0].To += 0x1000
	if _, lost, _ = ReadCounts(counts, set, base); lost != 1 {
		t.Errorf("%d lost", lost)
	}
}
