package unwind

import (
	"fmt"
	"testing"

	"github.com/cairnprof/cairn/sample"
)

// TestEverywhere has a place for each sample that has something to show, also outside of the binaries,
// and counts each once.
func TestEverywhere(t *testing.T) {
	t.Parallel()
	const kernel, far = 1<<63 + 16, 0x7000_0000
	samples := []sample.Sample{
		{PID: 7, Count: 1, Stack: []uint64{kernel}},
		{PID: 7, Count: 2, Stack: []uint64{far}},
		{PID: 7, Count: 4, Stack: []uint64{kernel, far}},
		{PID: 7, Count: 8, Stack: []uint64{0x32, 0x27}},
		{PID: 7, Count: 16, Stack: []uint64{0x32}},
		{PID: 7, Count: 32}, // nothing
	}
	for i := range samples[3:5] {
		for j := range samples[3+i].Stack {
			samples[3+i].Stack[j] += text
		}
	}
	for _, tc := range []struct {
		opt                                   Options
		used, foreign, elsewhere, alone, none uint64
	}{
		{Options{Moments: true, Kernel: &Kernel{}}, 24, 0, 7, 16, 32},
		{Options{Moments: true, Everywhere: true, Kernel: &Kernel{}}, 31, 7, 0, 16, 32},
		{Options{Moments: true, Everywhere: true, Kernel: &Kernel{Omit: true}}, 30, 6, 1, 16, 32},
		{Options{Moments: true, Everywhere: true}, 31, 7, 0, 16, 32},
	} {
		u := New(code(t), tc.opt)
		u.Add(&sample.Batch{Samples: samples})
		r := u.Result()
		sum := uint64(0)
		for _, m := range r.Moments {
			sum += m.Count
		}
		st := r.Stats
		if got := [...]uint64{st.Used, st.Foreign, st.Elsewhere, st.Alone, st.NoStack, sum}; got != [...]uint64{tc.used, tc.foreign, tc.elsewhere, tc.alone, tc.none, tc.used} {
			t.Errorf("%+v: %v, want %+v", tc.opt, got, tc)
		}
	}
}

func TestKernelPart(t *testing.T) {
	t.Parallel()
	names := map[uint64]string{1 << 63: "read", 1<<63 + 1: "entry"}
	addrs := []uint64{1 << 63, 1<<63 + 2, 1<<63 + 3, 1<<63 + 1} // innermost first
	for _, tc := range []struct {
		kernel *Kernel
		want   string
	}{
		{&Kernel{}, "[entry [kernel] read]"},
		{&Kernel{One: true}, "[[kernel]]"},
		{&Kernel{Omit: true}, "[]"},
	} {
		loads := 0
		tc.kernel.SetNames(func() func(addr uint64) string {
			loads++
			return func(addr uint64) string { return names[addr] }
		})
		if got := fmt.Sprint(tc.kernel.Part(addrs, false).Names); got != tc.want {
			t.Errorf("%s, want %s", got, tc.want)
		}
		if a, b := tc.kernel.part(addrs, false), tc.kernel.part(addrs, true); a == b || a != tc.kernel.part(addrs, false) || !tc.kernel.at(b).Outside {
			t.Errorf("parts %d and %d", a, b)
		}
		if want := 1; !tc.kernel.One && !tc.kernel.Omit && loads != want || loads > 1 {
			t.Errorf("the names were loaded %d times", loads)
		}
		tc.kernel.SetNames(nil)
		if got := fmt.Sprint(tc.kernel.Part(addrs, false).Names); !tc.kernel.Omit && got != "[[kernel]]" {
			t.Errorf("without names: %s", got)
		}
	}
	if (*Kernel)(nil).at(3) != nil || (&Kernel{}).at(0) != nil {
		t.Error("a part of nothing")
	}
}
