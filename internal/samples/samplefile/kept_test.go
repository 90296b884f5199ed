package samplefile

import (
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/sample"
)

// ofNothing is a file that was read.
func ofNothing() *File {
	k := &Kept{info: &sample.Info{File: "a"}, stats: &sample.Stats{}}
	return &File{Source: k, in: k, note: func() string { return "" }}
}

// TestKept keeps samples between the events that were between them, as often as they were there.
func TestKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k, phase := &Kept{}, 0
		want := map[string]uint64{}
		for range rapid.IntRange(1, 5).Draw(t, "batches") {
			b := &sample.Batch{Whole: rapid.Bool().Draw(t, "whole")}
			if rapid.Bool().Draw(t, "event") {
				phase++
				b.Events = []sample.Event{{PID: int32(phase)}}
			}
			k.Batch(b)
			for range rapid.IntRange(0, 8).Draw(t, "kinds") {
				stack := make([]uint64, rapid.IntRange(0, 3).Draw(t, "depth"))
				for i := range stack {
					stack[i] = rapid.Uint64Range(1, 3).Draw(t, "frame")
				}
				unwound, pid := rapid.Uint8Range(0, 2).Draw(t, "unwound"), rapid.Int32Range(1, 2).Draw(t, "process")
				times := rapid.SampledFrom([]int{1, 2, 2000}).Draw(t, "times")
				for range times {
					k.Sample(&sample.Sample{PID: pid, Count: 1}, stack, unwound)
				}
				want[fmt.Sprint(phase, pid, stack, unwound)] += uint64(times)
			}
		}
		if !k.End(ofNothing()) {
			t.Fatal("not kept")
		}
		got, at, samples := map[string]uint64{}, 0, 0
		in := k.Open()
		for b, err := range in.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range b.Events {
				at = int(e.PID)
			}
			for i := range b.Samples {
				s, unwound := &b.Samples[i], uint8(0)
				if s.User != nil {
					unwound = s.User.Unwound
				}
				got[fmt.Sprint(at, s.PID, append([]uint64{}, s.Stack...), unwound)] += s.Count
				samples++
			}
			b.Release()
		}
		if !maps.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		if in.Info().File != "a" || samples > 2*240 { // there are 240 different ones
			t.Errorf("%v, %d samples", in.Info(), samples)
		}
	})
}

// TestKeptTooMuch gives up what does not fit, in place of growing with the length of the input.
func TestKeptTooMuch(t *testing.T) {
	t.Parallel()
	k := &Kept{}
	k.Batch(&sample.Batch{})
	stack := make([]uint64, 1<<12)
	for i := range uint64(3000) {
		stack[0] = i
		k.Sample(&sample.Sample{Count: 1}, stack, 1)
	}
	if k.End(ofNothing()) || k.batches != nil {
		t.Errorf("%d batches are kept", len(k.batches))
	}
}
