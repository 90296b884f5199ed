package unwind

import (
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/stackcopy"
	"github.com/cairnprof/cairn/sample"
)

// TestOpenCalls uses the calls that a processor has recorded as open: their addresses are those of calls, also where a
// function has no frame yet. As many as a processor records may not be all.
func TestOpenCalls(t *testing.T) {
	t.Parallel()
	deep := append([]uint64{0x32}, slices.Repeat([]uint64{0x22}, 16)...)
	for _, tc := range []struct {
		name           string
		stack          []uint64
		cut, full, all uint64
		frames         []uint64 // outermost first
	}{
		{"in g", stack(0x32, 0x22, 0x02), 0, 0, 1, []uint64{0x02, 0x22}},
		{"at the beginning of g", stack(0x30, 0x22, 0x02), 0, 0, 1, []uint64{0x02, 0x22}},
		{"called by the kernel", append([]uint64{1<<63 + 16}, stack(0x32, 0x22, 0x02)...), 0, 0, 1, nil},
		{"not a call", stack(0x32, 0x22, 0x01, 0x02), 1, 0, 1, []uint64{0x22}},
		{"return addresses", stack(0x32, 0x27, 0x07), 1, 0, 1, nil},
		{"as many as there can be", stack(deep...), 0, 1, 1, nil},
		{"one more", stack(append(deep, 0x02)...), 0, 0, 1, nil},
	} {
		s := sample.Sample{PID: 7, Count: 1, Stack: tc.stack, AtCalls: true}
		if unread := unwound(code(t), Options{Moments: true, Kernel: &Kernel{}}, s); unread.Stats.Used != tc.all {
			t.Errorf("%s: %d used without looking for frames", tc.name, unread.Stats.Used)
		}
		u := New(code(t), Options{Moments: true, Frameless: true, TailCalls: true, Kernel: &Kernel{}})
		u.Add(&sample.Batch{Samples: []sample.Sample{s}})
		r := u.Result()
		if st := &r.Stats; st.CutStacks != tc.cut || st.Full != tc.full || st.Used != tc.all {
			t.Errorf("%s: %d cut, %d full, %d used", tc.name, st.CutStacks, st.Full, st.Used)
		}
		var frames []uint64
		for _, m := range r.Moments {
			for _, f := range m.Frames {
				if f.IsInstruction() {
					frames = append(frames, u.code.Address(f)-text)
				}
			}
		}
		if tc.frames != nil && !slices.Equal(frames, tc.frames) {
			t.Errorf("%s: %x, want %x", tc.name, frames, tc.frames)
		}
	}
}

// TestInCalls uses callers that are addresses in the instructions of calls, at any of their bytes, or after these in old
// recordings: that of f's call in main is before another call.
func TestInCalls(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		stack  []uint64
		cut    uint64
		frames []uint64 // outermost first
	}{
		{"last bytes", stack(0x32, 0x26, 0x06), 0, []uint64{0x02, 0x22}},
		{"two before the end", stack(0x32, 0x25, 0x05), 0, []uint64{0x02, 0x22}},
		{"first bytes", stack(0x32, 0x22, 0x02), 0, []uint64{0x02, 0x22}},
		{"one call after another", stack(0x32, 0x0c), 0, []uint64{0x08}},
		{"after the calls", stack(0x32, 0x27, 0x07), 0, []uint64{0x02, 0x22}},
		{"not a call", stack(0x32, 0x22, 0x00, 0x02), 1, []uint64{0x22}},
		{"outside", stack(0x32, 0x26, 0xff, 0x06), 0, nil},
	} {
		u := New(code(t), Options{Moments: true, Frameless: true, TailCalls: true, Kernel: &Kernel{}})
		u.Add(&sample.Batch{Samples: []sample.Sample{
			{PID: 7, Count: 1, Stack: tc.stack, InCalls: true},
			{PID: 7, Count: 1, Stack: stack(0x32, 0x22, 0x02)}, // is not of this kind
		}})
		r := u.Result()
		if st := &r.Stats; st.CutStacks != tc.cut+1 || st.Used != 2 {
			t.Errorf("%s: %d cut, %d used", tc.name, st.CutStacks, st.Used)
		}
		var frames []uint64
		for _, m := range r.Moments {
			for _, f := range m.Frames {
				if f.IsInstruction() {
					frames = append(frames, u.code.Address(f)-text)
				}
			}
		}
		if tc.frames != nil && !slices.Equal(frames, tc.frames) {
			t.Errorf("%s: %x, want %x", tc.name, frames, tc.frames)
		}
	}
}

// TestCopiedAnywhere uses stacks that tables unwound where frame pointers miss the caller, also if frames are used as they are.
func TestCopiedAnywhere(t *testing.T) {
	t.Parallel()
	s := sample.Sample{PID: 7, Count: 1, Stack: stack(0x30, 0x27, 0x07)} // at the beginning of g
	opt := Options{Moments: true, Kernel: &Kernel{}, Tables: func(*sample.Mapping) *stackcopy.Table { return nil }}
	if r := unwound(code(t), opt, s); r.Stats.Used != 0 || r.Stats.NoFrame != 1 {
		t.Errorf("of frame pointers: %d used, %d without a frame", r.Stats.Used, r.Stats.NoFrame)
	}
	s.User = &sample.UserState{Unwound: 1 + uint8(stackcopy.Whole)}
	if r := unwound(code(t), opt, s); r.Stats.Used != 1 || r.Stats.NoFrame != 0 {
		t.Errorf("of a copy: %d used, %d without a frame", r.Stats.Used, r.Stats.NoFrame)
	}
}

func unwound(set *machinecode.Set, opt Options, s sample.Sample) *Result {
	u := New(set, opt)
	u.Add(&sample.Batch{Samples: []sample.Sample{s}})
	return u.Result()
}
