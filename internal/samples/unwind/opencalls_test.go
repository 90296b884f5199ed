package unwind

import (
	"slices"
	"testing"

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
		u := New(code(t), Options{Moments: true, Frameless: true, TailCalls: true, Kernel: &Kernel{}})
		u.Add(&sample.Batch{Samples: []sample.Sample{{PID: 7, Count: 1, Stack: tc.stack, AtCalls: true}}})
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
